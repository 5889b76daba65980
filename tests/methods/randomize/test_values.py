"""What a declared domain takes in: every value as it is, or not at all."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from reticent.errors import DataError, PolicyError
from reticent.methods.randomize import Attribute, open_published, plan, publish
from reticent.release import verify
from tests.methods.randomize.examples import scores_frame, scores_plan

_NOON = datetime.datetime(2024, 1, 1, 12)
_DAYS = [datetime.date(2024, 1, day) for day in range(1, 30)]


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (range(20, 60), 25.7),
        ([25, 30, 99], 25.7),
        (_DAYS, _NOON),
        ([True, False], 7),
        ([datetime.datetime(2024, 1, 1)], datetime.datetime(2024, 1, 1, 0, 0, 1)),
        (range(20, 60), 2**64 - 1),
    ],
)
def test_a_value_is_never_cut_to_fit_the_domain(domain, value):
    attribute = Attribute.of("x", domain)
    given = pl.Series([attribute.listed[0], value], strict=False)
    with pytest.raises(DataError, match=r"row 2: the value .* is not in the declared domain"):
        attribute.encode(given)


def test_a_number_is_no_day():
    with pytest.raises(DataError, match="has type Int64, but its domain has the type date"):
        Attribute.of("x", _DAYS).encode(pl.Series([19723]))


@pytest.mark.parametrize(
    ("domain", "given", "codes"),
    [
        (range(20, 60), pl.Series([25.0, 20.0]), [5, 0]),
        (range(20, 60), pl.Series(["25", "20"]), [5, 0]),
        (range(20, 60), pl.Series([25, 20], dtype=pl.UInt64), [5, 0]),
        ([None, 20, 25], pl.Series([25.0, float("nan"), None]), [2, 0, 0]),
        (_DAYS, pl.Series([datetime.datetime(2024, 1, 3)]), [2]),
        (["1", "a"], pl.Series(["a", "1"], dtype=pl.Categorical), [1, 0]),
        (["1", "2"], pl.Series([2, 1]), [1, 0]),
        ([0.5, 2.0], pl.Series([2]), [1]),
    ],
)
def test_the_same_value_in_another_type_is_taken(domain, given, codes):
    assert Attribute.of("x", domain).encode(given).tolist() == codes


def test_steps_over_all_whole_numbers_lose_none():
    wide = Attribute.of("x", {"from": -9 * 10**18, "to": 9 * 10**18, "step": 10**18})
    assert wide.size == 19
    assert wide.listed.to_list() == [step * 10**18 for step in range(-9, 10)]
    assert wide.encode(wide.listed).tolist() == list(range(19))


@pytest.mark.parametrize(
    "domain",
    [
        {"from": 1, "to": 10**30},
        range(2**63 - 1, 2**63 + 3),
        [2**63, 2**63 + 1],
        [10**30],
        pl.Series([2**63], dtype=pl.UInt64),
    ],
)
def test_numbers_beyond_sixty_four_bits_are_refused_by_name(domain):
    with pytest.raises(PolicyError, match=r"domain\['x'\]: whole numbers must be between -2\^63 and 2\^63 - 1"):
        Attribute.of("x", domain)


def test_column_names_with_quotes_commas_and_lines_come_back_from_csv(tmp_path):
    domain = {'say "a"': [1, 2, 3], "b,c": ["", None, 'x"y'], "two\nlines": range(9)}
    frame = pl.DataFrame({'say "a"': [1], "b,c": [None], "two\nlines": [4]}, schema_overrides={"b,c": pl.String})
    view = publish(frame, plan(n=1, domain=domain, k=1, gamma="1/2"), insecure_seed=1)
    view = replace(view, keys=np.arange(view.domain.size))
    view.save(tmp_path / "view")
    assert open_published(tmp_path / "view").frame.equals(view.frame)
    assert verify(tmp_path / "view").holds


def test_a_csv_with_other_columns_is_refused(tmp_path):
    publish(scores_frame(), scores_plan(), insecure_seed=1).save(tmp_path / "view")
    table = tmp_path / "view" / "public" / "view.csv"
    table.write_text(table.read_text().replace("age,nationality,score", "score,nationality,age", 1))
    with pytest.raises(DataError, match="begins with 'score,nationality,age', but the manifest lists the columns"):
        open_published(tmp_path / "view")
