"""Auditors whose refusals leak, and the attacks that prove it: for demonstration only, nothing else imports this room.

* ``gates`` – what an attacker faces: a gate in front of data. `AuditedGate` is ours.
* ``auditors`` – three gates that look at the true answer before they decide.
* ``attacks`` – one attack for each of them; each runs against any gate.
* ``stories`` – `stories()` runs every attack against the leaky gate and against ours, and reports who was exposed.
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
