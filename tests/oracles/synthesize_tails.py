"""The least noise by looking everywhere: a fine grid of scales and every step of a threshold, with tails summed term by term."""

from __future__ import annotations

from math import exp, fsum, lgamma

import numpy as np


def union_bound(size, drawn, weights, counts, scale, excess):
    """The bound on the disclosure set in floating point, class by class."""
    total = scale * float(np.dot(weights, counts))
    people = np.arange(size + 1)
    tails = []
    for weight in weights:
        alpha = scale * weight
        thresholds = np.floor(excess * (alpha + np.maximum(people - 1, 0)) * (1 + 1e-12))
        inside = people + alpha
        found = [
            tail(drawn, a, size + total - a, int(r)) for r, a in zip(thresholds.tolist(), inside.tolist(), strict=True)
        ]
        tails.append(found)
    tails = np.array(tails)
    apart = float(np.dot(counts, tails.max(axis=1)))
    zero = float(np.dot(counts, tails[:, 0]))
    return min(apart, zero + size * float((tails[:, 1:] / people[1:]).max()))


def tail(drawn, a, b, threshold):
    """P(BetaBinomial > threshold), every term by logarithms of gamma functions."""
    fixed = lgamma(drawn + 1) + lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(a + b + drawn)
    return fsum(
        exp(fixed - lgamma(h + 1) - lgamma(drawn - h + 1) + lgamma(a + h) + lgamma(b + drawn - h))
        for h in range(threshold + 1, drawn + 1)
    )


def least_scale(size, drawn, weights, counts, ratio, delta, step=4e-4):
    """The least scale on the grid whose bound, with the margin, is at most delta."""
    excess = ratio - 1
    top = drawn / excess / min(weights)
    steps = [r / excess / weight for weight in weights for r in range(1, drawn + 1)]
    grid = np.geomspace(top * 1e-3, top, int(np.log(1e3) / step))
    for scale in sorted({*grid.tolist(), *steps, top}):
        if scale <= top and union_bound(size, drawn, weights, counts, scale, excess) * (1 + 1e-6) <= delta:
            return scale
    return top


def reference_masses(size, drawn, inside, outside, excess):
    """The masses by number of people: beta-binomial ones at thresholds that need not be whole."""
    found = {}
    for x in range(size + 1):
        f = excess * (inside + max(x - 1, 0))
        if f < drawn:
            a, b = x + inside, size - x + outside
            terms = [lgamma(drawn + 1), -lgamma(f + 1), -lgamma(drawn - f + 1), lgamma(a + b), -lgamma(a), -lgamma(b)]
            found[x] = exp(fsum([*terms, lgamma(a + f), lgamma(b + drawn - f), -lgamma(a + b + drawn)]))
    return found
