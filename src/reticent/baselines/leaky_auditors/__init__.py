"""Query auditors whose refusals leak, and the attacks that prove it: for demonstration only, not imported elsewhere.

* ``gates`` – the attacker's interface: a gate in front of data. `AuditedGate` uses our auditors.
* ``auditors`` – three gates whose decisions depend on the true answer.
* ``attacks`` – one attack for each of them; each runs against any gate.
* ``stories`` – `stories()` runs every attack against the leaky gate and against ours, and reports the disclosures.
"""

from __future__ import annotations

from reticent.baselines.leaky_auditors.attacks import Claims, drop_attack, equality_attack, parity_attack
from reticent.baselines.leaky_auditors.auditors import ChinGate, MixedGate, OppositeGate
from reticent.baselines.leaky_auditors.gates import AuditedGate, Gate
from reticent.baselines.leaky_auditors.stories import GateOutcome, Story, stories

__all__ = [
    "AuditedGate",
    "ChinGate",
    "Claims",
    "Gate",
    "GateOutcome",
    "MixedGate",
    "OppositeGate",
    "Story",
    "drop_attack",
    "equality_attack",
    "parity_attack",
    "stories",
]
