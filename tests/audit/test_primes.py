"""The private prime, and uniform numbers below it."""

from __future__ import annotations

from reticent.audit.primes import RandomWords, is_prime

# Strong pseudoprimes to the first few bases, and numbers that are products of two large primes.
COMPOSITE = (2047, 3215031751, 3474749660383, 341550071728321, 3825123056546413051, (2**31 - 1) ** 2, 1 << 61)


def test_the_test_of_primes_agrees_with_a_sieve():
    sieve = [True] * 20_000
    sieve[:2] = [False, False]
    for number in range(2, 142):
        if sieve[number]:
            sieve[number * number :: number] = [False] * len(sieve[number * number :: number])
    assert [is_prime(number) for number in range(20_000)] == sieve


def test_pseudoprimes_are_not_taken_for_primes():
    assert not any(map(is_prime, COMPOSITE))
    assert is_prime(2**61 - 1)
    assert is_prime(2**31 - 1)


def test_primes_have_61_bits_and_are_drawn_anew():
    drawn = {RandomWords().prime() for _ in range(20)}
    assert len(drawn) == 20
    assert all(prime.bit_length() == 61 and is_prime(prime) for prime in drawn)


def test_draws_lie_below_the_bound_and_cover_it_evenly():
    bound = 3 * 2**58
    drawn = RandomWords(insecure_seed=5).below(bound, 30_000)
    assert len(drawn) == 30_000
    assert int(drawn.max()) < bound
    thirds = [int(((drawn >= third * 2**58) & (drawn < (third + 1) * 2**58)).sum()) for third in range(3)]
    assert all(abs(count - 10_000) < 5 * 82 for count in thirds)


def test_a_seed_repeats_the_draws_and_no_seed_does_not():
    assert RandomWords(insecure_seed=1).prime() == RandomWords(insecure_seed=1).prime()
    assert RandomWords().words(4).tolist() != RandomWords().words(4).tolist()
