"""Drawn rows beside true ones in the steward's report; the public report never compares with the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.errors import PolicyError
from reticent.release import Release
from reticent.reports import write_report, write_stewards_report
from reticent.reports.flow_figures import FlowFacts, flow_facts

TITLE = "How well synthetic rows match true ones"
PLACES = [f"{tract}{block}" for tract in ("10", "11", "20", "21") for block in range(5)]
COORDINATES = pl.DataFrame(
    {
        "place": PLACES,
        "latitude": [41.0 + int(place[:2]) / 50 + int(place[2]) / 500 for place in PLACES],
        "longitude": [-71.0 - int(place[1]) / 20 - int(place[2]) / 300 for place in PLACES],
    }
)
MASKED = rt.Hierarchy.masking(3, keep=[3, 2, 1, 0])


def commuters() -> pl.DataFrame:
    """Everybody lives in the tract of their place of work."""
    random = np.random.default_rng(2)
    work = random.choice(PLACES, 600)
    return pl.DataFrame({"work": work, "home": [place[:2] + str(random.integers(0, 5)) for place in work]})


def table() -> rt.Table:
    return rt.Table(commuters(), quasi={"work": MASKED}, sensitive={"home": MASKED})


def released(epsilon: float) -> Release:
    sizes = commuters().group_by("work").len("size")
    method = rt.Synthetic(groups=sizes, domain=PLACES, public="a register of workplaces")
    return rt.publish(table(), rt.ProbabilisticDP(epsilon, "0.001"), method, insecure_seed=5)


def facts(epsilon: float) -> FlowFacts:
    found = flow_facts(table(), released(epsilon).public, COORDINATES)
    assert found is not None
    return found


def test_people_elsewhere_or_without_a_home_are_compared_as_the_release_shows_them() -> None:
    """Values that stand for others are no difference between true and drawn rows."""
    frame = commuters().with_columns(
        home=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("abroad")).when(pl.int_range(pl.len()) % 3 == 1).then(None).otherwise("home")
    )  # fmt: skip
    given = rt.Table(frame, quasi={"work": MASKED}, sensitive="home", nulls="category")
    sizes = frame.group_by("work").len("size")
    method = rt.Synthetic(groups=sizes, domain=PLACES, elsewhere="999", missing="000")
    made = rt.publish(given, rt.ProbabilisticDP(12, "0.001"), method, insecure_seed=5)
    found = flow_facts(given, made.public)
    assert found is not None
    assert found.levels[0].values < 0.1
    parts = rt.Synthetic(groups=sizes, parts={place: place[:2] for place in [*PLACES, "abroad"]}, missing="none")
    coarse = rt.publish(given, rt.ProbabilisticDP(12, "0.001"), parts, insecure_seed=5)
    # Which value belongs to which part is not in the release, so nothing is compared.
    assert flow_facts(given, coarse.public) is None


def test_little_noise_matches_better_than_much_at_every_level() -> None:
    close, far = facts(12), facts(0.5)
    assert [each.level for each in close.levels] == ["as published", "level 1", "level 2"]
    for one, other in zip(close.levels, far.levels, strict=True):
        assert one.together < other.together
    coarser = [each.together for each in far.levels]
    assert coarser == sorted(coarser, reverse=True)
    assert close.queries[0].mean_error < far.queries[0].mean_error
    assert close.distances[-1].mean_error < far.distances[-1].mean_error
    assert far.distances[-1].bias > 0


def test_the_stewards_page_tells_it_and_the_public_one_does_not(tmp_path: Path) -> None:
    release = released(4)
    release.save(tmp_path / "release")
    page = write_stewards_report(release, tmp_path / "mine.html", table(), coordinates=COORDINATES).read_text()
    assert TITLE in page
    assert page.count('class="flow before"') > 5
    assert "Average distance, group by group" in page
    assert "What adversaries achieve" in page
    public = write_report(tmp_path / "release", tmp_path / "public.html", public=True).read_text()
    assert TITLE not in public
    assert "flow before" not in public
    without = write_stewards_report(release, tmp_path / "plain.html", table()).read_text()
    assert TITLE in without
    assert "Average distance" not in without


def test_releases_of_true_rows_have_no_such_part(tmp_path: Path) -> None:
    other = rt.Table(commuters(), quasi={"work": MASKED}, sensitive="home")
    release = rt.publish(other, rt.KAnonymity(5))
    assert flow_facts(other, release.public, COORDINATES) is None
    assert TITLE not in write_stewards_report(release, tmp_path / "page.html", other).read_text()


def test_weights_count_as_rows() -> None:
    counted = commuters().group_by("work", "home").len("jobs")
    weighted = rt.Table(counted, quasi={"work": MASKED}, sensitive={"home": MASKED}, weight="jobs")
    release = released(4)
    one, other = (flow_facts(each, release.public) for each in (table(), weighted))
    assert one is not None
    assert other is not None
    assert one.levels == other.levels


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_command_reads_coordinates_and_needs_the_table(tmp_path: Path) -> None:
    released(4).save(tmp_path / "release")
    commuters().write_csv(tmp_path / "jobs.csv")
    COORDINATES.write_csv(tmp_path / "places.csv")
    (tmp_path / "policy.toml").write_text(
        '[data]\nsource = "jobs.csv"\ntypes = { work = "text", home = "text" }\n[roles]\nquasi = ["work"]\nsensitive = ["home"]\n'
        '[hierarchies.work]\nkind = "masking"\ndigits = 3\n[[definition]]\nname = "ProbabilisticDP"\nepsilon = 4\ndelta = "0.001"\n'
    )
    given = ["report", tmp_path / "release", "-o", tmp_path / "page.html", "--coordinates", tmp_path / "places.csv"]
    refused = run(*given)
    assert isinstance(refused.exception, PolicyError)
    assert "add --policy" in str(refused.exception)
    done = run(*given, "--policy", tmp_path / "policy.toml", "--json")
    assert done.exception is None, done.exception
    assert json.loads(done.stdout)["ok"]
    assert "Where flows go" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("columns", [["place"], ["place", "latitude"]])
def test_coordinates_without_their_columns_are_named(columns: list[str]) -> None:
    with pytest.raises(rt.DataError, match="latitude and longitude"):
        flow_facts(table(), released(4).public, COORDINATES.select(columns))
