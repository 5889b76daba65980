"""Noise that nobody holds: parties who do not trust each other add up their data and publish the sum with noise, and no party knows either alone
(spec 002, section 3 with its corrections in 7.1).

What is private, and what it costs (nothing here talks to anybody):

``laws``         the laws of noise in exact numbers: what two neighbouring tables can be told apart by
``planning``     ``plan(epsilon, delta, parties, faults, query, law, bits)`` gives a :class:`NoisePlan`: ``coins`` (honest coins that one sum needs),
                 ``quota`` (coins that each party deals for one sum), ``rounds``; for the exponential law also ``width`` (bits of each geometric),
                 ``precision`` (random bits of each biased coin) and ``thresholds`` (bit i is 1 iff its random number of ``precision`` bits is at most
                 ``thresholds[i]``)

``central``      noise by a trusted curator, from OpenDP: the noisy answers of ``audit``, and ``CentralCounts``

How parties compute it (nothing here decides about privacy: quotas and thresholds come from the plan):

``tasks``        what all parties agree on before they begin, and how rows become the bits that a party shares
``network``      what a party sees of the others: rounds, erasures, blame, a transcript; everything below talks through it alone
``field``        arithmetic in GF(2^31 - 1) on arrays, polynomials, and decoding with errors and erasures
``channels``     one link for each pair of parties: authenticated, encrypted, every message bound to its session, round, sender, receiver and item
``rounds``       who has sent what by the deadline of a round; what is missing is an erasure, never a value
``agreement``    broadcast: all honest parties hold the same value of every sender
``sharing``      verifiable secret sharing, opening, and agreement on a digest before anything is opened
``proofs``       a dealer's proof that shared values are bits, or products of each other
``coins``        public coins that nobody can bias
``multiplying``  products and hidden bits in shares
``circuits``     biased coins and geometric numbers from hidden bits
``protocol``     one run of a party from its rows to the noisy answer
``party``        a party as a process; ``running`` starts all of them on this machine: ``run_local``; ``behaviours`` faults by name, for tests

Names are loaded when they are first used: a party's process needs a few of these modules and should start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.noise.behaviours import BEHAVIOURS
    from reticent.noise.central import CentralNoise, central_noise, noisy_total
    from reticent.noise.channels import Identity
    from reticent.noise.format import channel_through
    from reticent.noise.laws import (
        BinomialLaw,
        DiscreteLaplaceLaw,
        ExponentialLaw,
        NoiseLaw,
        exponential,
        hidden_by_noise,
    )
    from reticent.noise.network import NoiseAborted
    from reticent.noise.party import LifetimeBudget, PartySettings, run_party
    from reticent.noise.planning import NoisePlan, plan
    from reticent.noise.protocol import PartyResult
    from reticent.noise.rounds import PartyPlace
    from reticent.noise.running import JointAnswer, PartyReport, run_local
    from reticent.noise.tasks import JointTask

_HOMES = {
    "behaviours": ("BEHAVIOURS",),
    "central": ("CentralNoise", "central_noise", "noisy_total"),
    "channels": ("Identity",),
    "format": ("channel_through",),
    "laws": ("BinomialLaw", "DiscreteLaplaceLaw", "ExponentialLaw", "NoiseLaw", "exponential", "hidden_by_noise"),
    "network": ("NoiseAborted",),
    "party": ("LifetimeBudget", "PartySettings", "run_party"),
    "planning": ("NoisePlan", "plan"),
    "protocol": ("PartyResult",),
    "rounds": ("PartyPlace",),
    "running": ("JointAnswer", "PartyReport", "run_local"),
    "tasks": ("JointTask",),
}

__all__ = [
    "BEHAVIOURS",
    "BinomialLaw",
    "CentralNoise",
    "DiscreteLaplaceLaw",
    "ExponentialLaw",
    "Identity",
    "JointAnswer",
    "JointTask",
    "LifetimeBudget",
    "NoiseAborted",
    "NoiseLaw",
    "NoisePlan",
    "PartyPlace",
    "PartyReport",
    "PartyResult",
    "PartySettings",
    "central_noise",
    "channel_through",
    "exponential",
    "hidden_by_noise",
    "noisy_total",
    "plan",
    "run_local",
    "run_party",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"reticent.noise.{module}"), name)
    raise AttributeError(f"module 'reticent.noise' has no attribute {name!r}")
