"""The sign of a sum of logarithms of integers, decided exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext

_FIRST_PRECISION = 40


def sign_of_logarithms(terms: Iterable[tuple[int, int]]) -> int:
    """The sign (-1, 0 or 1) of the sum of ``exponent * ln(base)`` over integer pairs ``(base, exponent)``.

    The sum is the logarithm of a product of powers. Rewritten over pairwise coprime bases, that product is 1 only if
    nothing is left (unique factorization), so a tie is detected without computing any power; anything else is decided
    at rising precision, which must end because the sum is not zero.
    """
    powers = _over_coprime_bases(terms)
    if not powers:
        return 0
    precision = _FIRST_PRECISION
    while True:
        with localcontext() as context:
            context.prec = precision
            logarithms = [exponent * Decimal(base).ln() for base, exponent in powers]
            total = sum(logarithms, start=Decimal(0))
            # Every logarithm, product and partial sum has an error of at most one unit in its last place.
            error = sum(map(abs, logarithms), start=Decimal(0)) * (len(logarithms) + 2) * Decimal(10) ** (1 - precision)
            if abs(total) > error:
                return 1 if total > 0 else -1
        precision *= 2


def _over_coprime_bases(terms: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a product of powers, given as ``(base, exponent)``, rewritten over pairwise coprime bases above 1, without
    zero exponents.
    """
    coprime: list[tuple[int, int]] = []
    waiting = list(terms)
    while waiting:
        base, exponent = waiting.pop()
        if base == 1 or exponent == 0:
            continue
        for index, (other, power) in enumerate(coprime):
            common = math.gcd(base, other)
            if common > 1:
                del coprime[index]
                waiting += [(common, exponent + power), (base // common, exponent), (other // common, power)]
                break
        else:
            coprime.append((base, exponent))
    return coprime
