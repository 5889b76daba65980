"""The small tables agree with what the specs say about them."""

from __future__ import annotations

from math import log

import polars as pl

from reticent.core import Groups
from reticent.demo import (
    six_patients,
    six_patients_release,
    ten_people,
    ten_people_table,
    twelve_patients,
    twelve_patients_table,
)
from reticent.engine import count_table


def test_twelve_patients_have_the_marginal_of_the_spec() -> None:
    counts = dict(twelve_patients().group_by("condition").len().iter_rows())
    assert counts == {"cancer": 5, "viral infection": 4, "heart disease": 3}
    assert abs(-sum(n / 12 * log(n / 12) for n in counts.values()) - log(2.9374925)) < 1e-7


def test_twelve_patients_have_a_lattice_of_24_nodes_with_three_groups_of_four_at_the_diverse_one() -> None:
    table = twelve_patients_table()
    assert [hierarchy.height for hierarchy in table.hierarchies] == [3, 2, 1]
    groups = count_table(table).generalize((1, 1, 1)).groups()
    assert groups.sizes.tolist() == [4, 4, 4]
    assert sorted(sorted(groups.histogram(g).values()) for g in range(3)) == [[1, 1, 2]] * 3


def test_ten_people_make_the_two_buckets_of_the_spec() -> None:
    table = ten_people_table()
    assert [hierarchy.height + 1 for hierarchy in table.hierarchies] == [2, 3, 2]
    groups = count_table(table).generalize((1, 2, 0)).groups()
    assert sorted(sorted(groups.histogram(g).values(), reverse=True) for g in range(2)) == [[2, 1, 1, 1], [2, 2, 1]]
    assert ten_people()["name"].n_unique() == 10


def test_six_patients_form_two_classes_of_three_with_the_entropy_of_the_spec() -> None:
    released = six_patients_release()
    assert six_patients().height == released.height == 6
    histograms = [
        dict(part.group_by("disease").len().iter_rows())
        for part in released.partition_by(["age", "zip", "gender"], maintain_order=True)
    ]
    assert histograms == [{"flu": 2, "HIV": 1}, {"flu": 1, "gastritis": 1, "HIV": 1}]
    groups = Groups.from_histograms(histograms)
    assert groups.sizes.tolist() == [3, 3]
    first = -sum(n / 3 * log(n / 3) for n in histograms[0].values())
    assert abs(first - 0.63651) < 1e-5
    assert isinstance(released, pl.DataFrame)
