"""Compiled arithmetic modulo 61-bit primes, against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest

from reticent.audit import _kernels as kernels
from reticent.audit.primes import RandomWords

EDGES = [0, 1, 2, 2**30, 2**31 - 1, 2**31, 2**32, 2**59 + 12345]


@pytest.fixture(params=[2**60 + 33, 2**61 - 1, 2**61 - 31, None], ids=["least", "largest", "near the top", "drawn"])
def prime(request):
    return request.param or RandomWords(insecure_seed=3).prime()


def numbers(prime, count, seed):
    edges = [*EDGES, prime - 1, prime - 2, prime // 2]
    drawn = np.random.default_rng(seed).integers(0, prime, count, dtype=np.uint64).tolist()
    return edges + drawn


def test_products_are_exact(prime):
    first, second = numbers(prime, 300, 1), numbers(prime, 300, 2)
    for a in first[:40]:
        for b in second[:40]:
            assert int(kernels.product(np.uint64(a), np.uint64(b), np.uint64(prime))) == a * b % prime
    found = kernels.products(np.array(first, dtype=np.uint64), np.array(second, dtype=np.uint64), np.uint64(prime))
    assert found.tolist() == [a * b % prime for a, b in zip(first, second, strict=True)]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 64, 5000])
def test_scalar_products_are_exact_even_with_the_largest_numbers(prime, length):
    drawn = np.random.default_rng(length).integers(0, prime, (2, length), dtype=np.uint64)
    largest = np.full(length, prime - 1, dtype=np.uint64)
    for first, second in ((drawn[0], drawn[1]), (largest, largest), (largest, drawn[0])):
        expected = sum(a * b for a, b in zip(first.tolist(), second.tolist(), strict=True)) % prime
        assert int(kernels.dot(first, second, np.uint64(prime))) == expected


def test_triangular_systems_are_solved(prime):
    size, modulus = 12, np.uint64(prime)
    generator = np.random.default_rng(4)
    square = generator.integers(0, prime, (size, size), dtype=np.uint64)
    dense = np.ones(size, dtype=bool)
    dense[[2, 5]] = False
    square[:2, 2] = square[:5, 5] = 0
    flipped = square.T.copy()
    diagonal = [int(square[k, k]) for k in range(size)]
    inverses = np.array([pow(value, -1, prime) for value in diagonal], dtype=np.uint64)
    right = generator.integers(0, prime, size, dtype=np.uint64)
    lower = [[int(square[i, j]) if j <= i else 0 for j in range(size)] for i in range(size)]
    upper = [[1 if i == j else int(square[i, j]) if j > i else 0 for j in range(size)] for i in range(size)]

    def times(matrix, vector):
        return [sum(row[j] * vector[j] for j in range(size)) % prime for row in matrix]

    transposed = [list(column) for column in zip(*lower, strict=True)]
    two = np.stack([right, right[::-1]])
    for solved, wanted in zip(kernels.solve_columns(square, inverses, two, modulus), two, strict=True):
        assert times(lower, solved.tolist()) == wanted.tolist()
    assert times(transposed, kernels.solve_combination(flipped, inverses, right, modulus).tolist()) == right.tolist()
    for solved, wanted in zip(kernels.solve_weights(square, two, modulus), two, strict=True):
        assert times(upper, solved.tolist()) == wanted.tolist()
    transposed = [list(column) for column in zip(*upper, strict=True)]
    assert times(transposed, kernels.solve_row(flipped, dense, right, modulus).tolist()) == right.tolist()


def test_the_search_adds_the_weights_of_set_bits(prime):
    generator = np.random.default_rng(6)
    bits = generator.integers(0, 2, (20, 19), dtype=np.uint8)
    traces = np.packbits(bits, axis=1, bitorder="little")
    weights = generator.integers(0, prime, 19, dtype=np.uint64)
    sums = [sum(int(w) for w, bit in zip(weights, row, strict=True) if bit) % prime for row in bits]
    expected = np.array(sums, dtype=np.uint64)
    assert kernels.first_different(expected, traces, weights, np.uint64(prime)) == -1
    expected[13] = (int(expected[13]) + 1) % prime
    assert kernels.first_different(expected, traces, weights, np.uint64(prime)) == 13
