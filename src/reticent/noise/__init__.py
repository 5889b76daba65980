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

``field``        arithmetic in GF(2^31 - 1) on arrays, polynomials, and decoding with errors and erasures
``channels``     one link for each pair of parties: authenticated, encrypted, every message bound to its session, round, sender, receiver and item
``rounds``       who has sent what by the deadline of a round; what is missing is an erasure, never a value
``agreement``    broadcast: all honest parties hold the same value of every sender
``sharing``      verifiable secret sharing, opening, and agreement on a digest before anything is opened
``proofs``       a dealer's proof that a shared value is a bit
``coins``        public coins that nobody can bias
``multiplying``  products and hidden bits in shares
``circuits``     biased coins and geometric numbers from hidden bits
``protocol``     one run of a party from its rows to the noisy answer
``party``        a party as a process; ``running`` starts all of them on this machine: ``run_local``
"""

from reticent.noise.central import CentralNoise, central_noise, noisy_total
from reticent.noise.laws import BinomialLaw, DiscreteLaplaceLaw, ExponentialLaw, NoiseLaw
from reticent.noise.planning import NoisePlan, plan

__all__ = [
    "BinomialLaw",
    "CentralNoise",
    "DiscreteLaplaceLaw",
    "ExponentialLaw",
    "NoiseLaw",
    "NoisePlan",
    "central_noise",
    "noisy_total",
    "plan",
]
