"""Distributed noise generation: parties who do not trust each other publish the noisy sum of their data, and no party
learns the exact sum or the noise. Source: [Dwork2006b], with corrections.

Privacy and its cost (no communication here):

``laws`` exact noise distributions and the privacy loss between neighbouring tables ``cost_plan``
``plan(epsilon, delta, parties, faults, query, law, bits)`` gives a :class:`NoisePlan`: ``coins`` (honest coins that one
sum needs), ``quota`` (coins that each party deals for one sum), ``rounds``; for the exponential law also ``width``
(bits of each geometric), ``precision`` (random bits of each biased coin) and ``thresholds`` (bit i is 1 iff its random
number of ``precision`` bits is at most ``thresholds[i]``)

``central`` noise by a trusted curator, from OpenDP: the noisy answers of ``audit``, and ``CentralCounts``
``whole_noise`` the same in either currency (discrete Gaussian, discrete Laplace), for ``Marginals`` and ``Statistics``;
``contribution`` how far a unit moves their numbers, ``composed_plan`` what many such steps cost together; ``scaled_numbers`` bounded numbers
as integers; ``noisy_estimates`` statistics and intervals from noisy numbers; ``noisy_sum`` the answer to a counting query from noisy counts

The protocol (nothing here decides about privacy: quotas and thresholds come from the plan):

``tasks``           the public parameters of a run, and the encoding of rows as shared bits
``network``         a party's view of the others: rounds, erasures, blame, a transcript; the only communication interface of the modules below
``field``           arithmetic in GF(2^31 - 1) on arrays, polynomials, and decoding with errors and erasures
``channels``        one link for each pair of parties: authenticated, encrypted, every message bound to its session, round, sender, receiver and item
``rounds``          synchronous rounds with deadlines; a missing message is an erasure, never a value
``agreement``       broadcast: all honest parties hold the same value of every sender
``secret_sharing``  verifiable secret sharing, opening, and agreement on a digest before anything is opened
``proofs``          a dealer's proof that shared values are bits, or products of each other
``coins``           public coins that nobody can bias
``multiplication``  products and hidden bits in shares
``circuits``        biased coins and geometric numbers from hidden bits
``protocol``        one run of a party from its rows to the noisy answer
``party``           a party as a process; ``local_run`` starts all of them on this machine: ``run_local``; ``faults`` faults by name, for tests

Names are loaded when they are first used: a party's process needs a few of these modules and should start fast.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names

if TYPE_CHECKING:
    from reticent.noise.central import CentralNoise, central_noise, noisy_total
    from reticent.noise.certificates import make_party_keys, read_certificate
    from reticent.noise.channels import Identity, public_key_of
    from reticent.noise.composed_plan import CURRENCIES, ComposedPlan, Currency, least_scale
    from reticent.noise.contribution import Contribution
    from reticent.noise.cost_plan import LAWS, LEVELS, MOST_COINS, MOST_PARTIES, NoisePlan, plan
    from reticent.noise.faults import BEHAVIOURS
    from reticent.noise.laws import (
        HISTOGRAM,
        BinomialLaw,
        DiscreteLaplaceLaw,
        ExponentialLaw,
        NoiseLaw,
        exponential,
        hidden_by_noise,
        law_from,
    )
    from reticent.noise.local_run import JointAnswer, PartyReport, run_local
    from reticent.noise.network import NoiseAborted
    from reticent.noise.noisy_estimates import (
        LEAVES,
        TREE_LEVELS,
        Estimates,
        leaf_edges,
        moved,
        plain_sums,
        quantiles,
        ratios,
        rounded,
        tree_counts,
        tree_nodes,
        variances,
    )
    from reticent.noise.noisy_sum import NoisySum
    from reticent.noise.party import (
        GATHERING,
        MOST_DELTA,
        PATIENCE,
        TOTAL,
        LifetimeBudget,
        PartySettings,
        RunFigures,
        run_party,
    )
    from reticent.noise.protocol import PartyResult
    from reticent.noise.rounds import PartyAddress
    from reticent.noise.scaled_numbers import Bounds
    from reticent.noise.tasks import JointTask
    from reticent.noise.whole_noise import CONFIDENCE, WholeNoise, opendp_core

_HOMES = {
    "BEHAVIOURS": "faults",
    "BinomialLaw": "laws",
    "Bounds": "scaled_numbers",
    "CONFIDENCE": "whole_noise",
    "CURRENCIES": "composed_plan",
    "CentralNoise": "central",
    "ComposedPlan": "composed_plan",
    "Contribution": "contribution",
    "Currency": "composed_plan",
    "DiscreteLaplaceLaw": "laws",
    "Estimates": "noisy_estimates",
    "ExponentialLaw": "laws",
    "GATHERING": "party",
    "HISTOGRAM": "laws",
    "Identity": "channels",
    "JointAnswer": "local_run",
    "JointTask": "tasks",
    "LAWS": "cost_plan",
    "LEAVES": "noisy_estimates",
    "LEVELS": "cost_plan",
    "LifetimeBudget": "party",
    "MOST_COINS": "cost_plan",
    "MOST_DELTA": "party",
    "MOST_PARTIES": "cost_plan",
    "NoiseAborted": "network",
    "NoiseLaw": "laws",
    "NoisePlan": "cost_plan",
    "NoisySum": "noisy_sum",
    "PATIENCE": "party",
    "PartyAddress": "rounds",
    "PartyReport": "local_run",
    "PartyResult": "protocol",
    "PartySettings": "party",
    "RunFigures": "party",
    "TOTAL": "party",
    "TREE_LEVELS": "noisy_estimates",
    "WholeNoise": "whole_noise",
    "central_noise": "central",
    "exponential": "laws",
    "hidden_by_noise": "laws",
    "law_from": "laws",
    "leaf_edges": "noisy_estimates",
    "least_scale": "composed_plan",
    "make_party_keys": "certificates",
    "moved": "noisy_estimates",
    "noisy_total": "central",
    "opendp_core": "whole_noise",
    "plain_sums": "noisy_estimates",
    "plan": "cost_plan",
    "public_key_of": "channels",
    "quantiles": "noisy_estimates",
    "ratios": "noisy_estimates",
    "read_certificate": "certificates",
    "rounded": "noisy_estimates",
    "run_local": "local_run",
    "run_party": "party",
    "tree_counts": "noisy_estimates",
    "tree_nodes": "noisy_estimates",
    "variances": "noisy_estimates",
}

__all__ = [
    "BEHAVIOURS",
    "CONFIDENCE",
    "CURRENCIES",
    "GATHERING",
    "HISTOGRAM",
    "LAWS",
    "LEAVES",
    "LEVELS",
    "MOST_COINS",
    "MOST_DELTA",
    "MOST_PARTIES",
    "PATIENCE",
    "TOTAL",
    "TREE_LEVELS",
    "BinomialLaw",
    "Bounds",
    "CentralNoise",
    "ComposedPlan",
    "Contribution",
    "Currency",
    "DiscreteLaplaceLaw",
    "Estimates",
    "ExponentialLaw",
    "Identity",
    "JointAnswer",
    "JointTask",
    "LifetimeBudget",
    "NoiseAborted",
    "NoiseLaw",
    "NoisePlan",
    "NoisySum",
    "PartyAddress",
    "PartyReport",
    "PartyResult",
    "PartySettings",
    "RunFigures",
    "WholeNoise",
    "central_noise",
    "exponential",
    "hidden_by_noise",
    "law_from",
    "leaf_edges",
    "least_scale",
    "make_party_keys",
    "moved",
    "noisy_total",
    "opendp_core",
    "plain_sums",
    "plan",
    "public_key_of",
    "quantiles",
    "ratios",
    "read_certificate",
    "rounded",
    "run_local",
    "run_party",
    "tree_counts",
    "tree_nodes",
    "variances",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _HOMES)
