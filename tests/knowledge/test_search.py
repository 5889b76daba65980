"""Finding safe releases: goldens G5 and G6, chains and descent (erratum 8), growing column sets, utilities."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from reticent.errors import Infeasible, PolicyError
from reticent.knowledge.bucketization_search import (
    Audit,
    LevelLattice,
    Rollup,
    all_minimal,
    all_minimal_by_subsets,
    descend,
    lowest_on_chain,
    partition_histograms,
    ranked,
    require_nested,
)
from reticent.worst_case import Buckets, curve
from tests.knowledge.conftest import flu_rows, golden
from tests.knowledge.test_definition import flu_table

LATTICE = LevelLattice((1, 2, 1))


def flu_labels(node: tuple[int, int, int]) -> list[tuple[str, ...]]:
    zips = [lambda text: text, lambda text: text[:4] + "*"]
    ages = [lambda text: text, lambda text: str(int(text) // 5 * 5), lambda text: text[0] + "*"]
    sexes = [lambda text: text, lambda text: "*"]
    return [(zips[node[0]](row["zip"]), ages[node[1]](row["age"]), sexes[node[2]](row["sex"])) for row in flu_rows()]


def flu_histograms(node: tuple[int, int, int]) -> list[Counter]:
    return partition_histograms(flu_labels(node), [row["disease"] for row in flu_rows()])


def test_the_disclosure_of_every_node_of_the_flu_lattice():
    wanted = golden("lattice")["disclosure"]
    for node in LATTICE.nodes():
        found = curve(flu_histograms(node), 2)
        expected = wanted.get(",".join(map(str, node)))
        if expected is None:
            assert found[0] == 1
        else:
            assert found == [Fraction(value) for value in expected]


@pytest.mark.parametrize("case", golden("lattice")["minimal"], ids=lambda case: f"{case['c']}, {case['k']}")
def test_minimal_nodes_of_the_flu_lattice(case):
    audit = Audit.make(flu_histograms, case["c"], case["k"])
    wanted = tuple(map(tuple, case["nodes"]))
    assert all_minimal(LATTICE, audit).minimal == wanted
    assert all_minimal_by_subsets(LATTICE, Audit.make(flu_histograms, case["c"], case["k"])).minimal == wanted
    if "floor" in case:
        with pytest.raises(Infeasible, match=case["floor"]):
            lowest_on_chain(LATTICE.chain((0, 1, 2)), audit)


def partitions(people: list[str]) -> list[frozenset[frozenset[str]]]:
    if not people:
        return [frozenset()]
    first, *rest = people
    found = []
    for smaller in partitions(rest):
        found.append(smaller | {frozenset({first})})
        found += [smaller - {block} | {block | {first}} for block in smaller]
    return found


class PartitionLattice:
    """All partitions, fine to coarse; a direct predecessor cuts one block in two."""

    def __init__(self, people: list[str]) -> None:
        self._nodes = sorted(partitions(people), key=lambda node: (-len(node), sorted(map(sorted, node))))

    def nodes(self):
        return self._nodes

    def predecessors(self, node):
        for block in node:
            members = sorted(block)
            for bits in range(1, 2 ** (len(members) - 1)):
                part = frozenset(member for place, member in enumerate(members) if bits >> place & 1)
                yield node - {block} | {part, block - part}


@pytest.mark.parametrize("case", golden("partitions")["cases"], ids=lambda case: f"{case['c']}, {case['k']}")
def test_the_full_partition_lattice_of_six_people(case):
    values = golden("partitions")["people"]
    lattice = PartitionLattice(sorted(values))
    assert len(lattice.nodes()) == golden("partitions")["partitions"]

    def histograms(node):
        return [Counter(values[person] for person in block) for block in node]

    audit = Audit.make(histograms, case["c"], case["k"])
    found = all_minimal(lattice, audit)
    assert len(found.minimal) == case["minimal"]
    assert len(found.safe) == case["safe"]
    exhaustive = {node for node in lattice.nodes() if curve(histograms(node), case["k"])[-1] < Fraction(case["c"])}
    assert found.safe == exhaustive
    triples = [node for node in found.minimal if sorted(map(len, node)) == [3, 3]]
    assert len(triples) == 4


def test_binary_search_finds_the_lowest_safe_node_with_few_checks():
    chain = LATTICE.chain((0, 1, 2))
    audit = Audit.make(flu_histograms, "0.7", 1)
    assert lowest_on_chain(chain, audit) == (1, 2, 0)
    assert audit.checks <= 4


def test_the_lowest_node_of_a_chain_may_lie_above_a_minimal_one():
    """Erratum 8, in small: the chain raises sex first, and descent takes it back."""
    audit = Audit.make(flu_histograms, "0.7", 1)
    stopped = lowest_on_chain(LATTICE.chain((2, 0, 1)), audit)
    assert stopped == (1, 2, 1)
    assert descend(stopped, LATTICE, audit) == (1, 2, 0)


def test_an_empty_chain_is_refused():
    with pytest.raises(PolicyError, match="no bucketization"):
        lowest_on_chain([], Audit.make(flu_histograms, "0.7", 1))


@pytest.mark.parametrize("negations", [False, True])
def test_both_searches_equal_the_exhaustive_filter(negations):
    for c, k in product(("0.5", "0.6", "0.7", "0.9", "1"), range(3)):
        everything = Audit.make(flu_histograms, c, k, negations=negations)
        safe = {node for node in LATTICE.nodes() if everything(node)}
        for search in (all_minimal, all_minimal_by_subsets):
            found = search(LATTICE, Audit.make(flu_histograms, c, k, negations=negations))
            assert found.safe == safe
            assert set(found.minimal) == {node for node in safe if not safe & set(LATTICE.predecessors(node))}


def test_nodes_are_ranked_by_a_utility_with_a_fixed_tie_break():
    nodes = [(1, 2, 1), (1, 2, 0), (0, 2, 1)]
    assert ranked(nodes, flu_histograms, "buckets") == [(0, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert ranked(nodes, flu_histograms, "average_size")[-1] == (1, 2, 1)
    assert ranked(nodes, flu_histograms, "discernibility") == [(1, 2, 0), (0, 2, 1), (1, 2, 1)]
    assert ranked(nodes, flu_histograms, "entropy") == [(1, 2, 0), (0, 2, 1), (1, 2, 1)]
    assert ranked(nodes, flu_histograms, "levels") == [(0, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert ranked(nodes, flu_histograms, lambda node: -sum(node))[0] == (1, 2, 1)
    with pytest.raises(PolicyError, match="no utility 'beauty'"):
        ranked(nodes, flu_histograms, "beauty")
    with pytest.raises(PolicyError, match="level vectors"):
        ranked(["a"], flu_histograms, "levels")


def test_a_chain_whose_steps_do_not_nest_is_refused():
    require_nested([flu_labels(node) for node in LATTICE.chain((0, 1, 2))])
    with pytest.raises(PolicyError, match=r"splits bucket 'x' of step 0 into 'p' and 'q'"):
        require_nested([["x", "x", "y"], ["p", "q", "q"]])
    with pytest.raises(PolicyError, match="labels 2 people"):
        require_nested([["x", "x", "y"], ["p", "q"]])
    with pytest.raises(PolicyError, match="do not go with"):
        partition_histograms(["x"], ["flu", "mumps"])


def test_the_nodes_of_a_table_are_rolled_up_and_give_the_same_answers():
    rollup = Rollup(flu_table())
    assert rollup.lattice == LevelLattice((5, 3, 1))
    for node in reversed(LATTICE.nodes()):
        ours = sorted(tuple(sorted(counts)) for counts in Buckets.of(rollup(node)))
        assert ours == sorted(tuple(sorted(counts.values())) for counts in flu_histograms(node))
    audit = Audit.make(rollup, "0.7", 1)
    assert descend(lowest_on_chain(rollup.lattice.chain((2, 0, 1)), audit), rollup.lattice, audit) == (1, 2, 0)
    assert all_minimal(rollup.lattice, audit).minimal == ((1, 2, 0),)


@pytest.mark.parametrize(("c", "k"), [("1.2", 1), ("-0.1", 1), ("0.5", -1)])
def test_an_audit_refuses_bad_parameters(c, k):
    with pytest.raises(PolicyError):
        Audit.make(flu_histograms, c, k)
