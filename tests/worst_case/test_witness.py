"""The worst facts: replayed in the exact solver (O6), stable, and in words."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from reticent.worst_case import RankedAtom, curve, negation_curve, negation_witness, witness
from reticent.worst_case.worst_facts import plain_name
from tests.oracles.knowledge_facts import belief
from tests.worst_case.strategies import bucket_lists, given, varied_lists

FIGURE_3 = [(2, 2, 1), (2, 1, 1, 1)]


@given(bucket_lists, st.integers(0, 6))
def test_replaying_the_facts_gives_exactly_the_disclosure(histograms, k):
    worst = witness(histograms, k)
    assert worst.disclosure == curve(histograms, k)[k]
    assert worst.replay(histograms) == worst.disclosure
    assert len(worst.antecedents) <= k


@given(varied_lists, st.integers(0, 4))
def test_an_independent_solver_replays_the_facts_to_the_same_number(histograms, k):
    worst = witness(histograms, k)
    target = (worst.consequent.bucket, worst.consequent.person, worst.consequent.rank)
    clauses = [(((atom.bucket, atom.person, atom.rank),), (target,)) for atom in worst.antecedents]
    ordered = [sorted(counts, reverse=True) for counts in histograms]
    both, hit = belief(ordered, clauses, target)
    assert hit / both == worst.disclosure


@given(bucket_lists, st.integers(0, 6))
def test_replaying_the_negations_gives_exactly_their_disclosure(histograms, k):
    worst = negation_witness(histograms, k)
    assert worst.disclosure == negation_curve(histograms, k)[k]
    assert worst.replay(histograms) == worst.disclosure
    assert worst.people == 1


@given(bucket_lists, st.integers(0, 4))
def test_every_fact_names_people_and_values_that_are_there(histograms, k):
    worst = witness(histograms, k)
    for atom in (worst.consequent, *worst.antecedents):
        assert atom.person < sum(histograms[atom.bucket])
        assert atom.rank < len(histograms[atom.bucket])
    assert worst.consequent == RankedAtom(worst.consequent.bucket, 0, 0)
    assert len(set(worst.antecedents)) == len(worst.antecedents)
    assert worst.consequent not in worst.antecedents


def test_the_worst_fact_of_the_flu_example_is_that_ed_has_no_flu():
    worst = witness(FIGURE_3, 1)
    labels = [["LungCancer", "Flu", "Mumps"], ["Flu", "BreastCancer", "HeartDisease", "OvarianCancer"]]

    def named(atom):
        return plain_name(atom)[0], labels[atom.bucket][atom.rank]

    assert worst.sentences(named) == ["person 1 of bucket 1 does not have Flu"]
    assert worst.conclusion(named) == "person 1 of bucket 1 has LungCancer with probability 2/3 = 0.6667"


def test_the_crossing_witness_names_one_person_in_either_bucket():
    worst = witness([(8, 8, 1, 1, 1), (8, 5, 1, 1, 1, 1, 1)], 2)
    assert worst.consequent == RankedAtom(1, 0, 0)
    assert worst.antecedents == (RankedAtom(0, 0, 0), RankedAtom(0, 0, 1))
    assert worst.disclosure == Fraction(76, 91)
    assert worst.sentences()[0] == "if person 1 of bucket 1 has value 1 then person 1 of bucket 2 has value 1"
    assert worst.buckets == (0, 1)
    assert worst.people == 2


def test_ties_go_to_fewer_people_and_then_to_the_lower_bucket():
    assert witness([(2, 2, 1), (2, 2, 1)], 1).buckets == (0,)
    assert witness([(5, 4, 3, 2), (2, 2, 1), (2, 2, 1)], 1).buckets == (1,)
    single = witness([(1, 1, 1, 1)], 1)
    assert single.people == 1
    assert single.disclosure == Fraction(1, 3)


def test_a_certain_bucket_needs_only_its_other_values_ruled_out():
    worst = witness([(4, 3, 2, 1), (2, 1)], 3)
    assert worst.disclosure == 1
    assert worst.antecedents == tuple(RankedAtom(0, 0, rank) for rank in (1, 2, 3))
    assert witness([(4, 3, 2, 1), (2, 1)], 2).antecedents == (RankedAtom(1, 0, 1),)


@given(varied_lists, st.integers(0, 3), st.integers(2, 6))
def test_repeating_the_buckets_does_not_change_the_facts(histograms, k, repeats):
    assert witness(histograms, k).disclosure <= witness(histograms * repeats, k).disclosure
    again = witness(histograms * repeats, k)
    assert again == witness(histograms * repeats, k)
    assert again.replay(histograms * repeats) == again.disclosure


def test_without_facts_the_witness_is_the_most_frequent_value():
    worst = witness(FIGURE_3, 0)
    assert worst.sentences() == []
    assert worst.disclosure == Fraction(2, 5)


def profiles(left: int, most: int):
    """All ways to hand out atoms, most to the first person."""
    if not left:
        yield ()
    for first in range(min(left, most), 0, -1):
        yield from ((first, *rest) for rest in profiles(left - first, first))


def best_in_bucket(counts: tuple[int, ...], atoms: int) -> tuple[Fraction, int]:
    """(least chance, fewest people) by trying every profile."""
    ordered, n = sorted(counts, reverse=True), sum(counts)
    options = []
    for profile in profiles(atoms, atoms):
        chance = Fraction(1)
        for person, given_atoms in enumerate(profile):
            chance *= Fraction(max(0, n - person - sum(ordered[:given_atoms])), max(1, n - person))
        options.append((chance, len(profile)))
    return min(options)


@given(
    st.lists(st.lists(st.integers(1, 3), min_size=4, max_size=5).map(tuple), min_size=1, max_size=4), st.integers(0, 3)
)
def test_no_other_facts_reach_as_much_with_fewer_people_or_a_lower_first_bucket(histograms, k):
    choices = []
    for shares in product(range(k + 1), repeat=len(histograms)):
        if sum(shares) != k:
            continue
        for holder, counts in enumerate(histograms):
            ratio, people, used = Fraction(sum(counts), max(counts)), 0, []
            for bucket, share in enumerate(shares):
                chance, named = best_in_bucket(histograms[bucket], share + (bucket == holder))
                ratio, people = ratio * chance, people + named
                used += [bucket] if share or bucket == holder else []
            choices.append((ratio, people, used[0]))
    ratio, people, first = min(choices)
    worst = witness(histograms, k)
    assert worst.disclosure == 1 / (1 + ratio)
    assert (worst.people, worst.buckets[0]) == (people, first)
