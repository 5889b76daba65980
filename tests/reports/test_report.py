"""The report says what holds, shows what it must, and keeps private what is private."""

from __future__ import annotations

import json
import re
import stat
import time
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import reticent as rt
from reticent.attacks import Findings, Homogeneity, Linkage, attack
from reticent.base.figures import Bar, attacks, best_guesses, crowd_sizes, sensitive_values
from reticent.cli.app import app_for
from reticent.definitions import DistinctLDiversity, KAnonymity, TCloseness
from reticent.demo import hospital, hospital_policy_text, hospital_table, ten_people_table, voter_roll
from reticent.errors import DataError
from reticent.methods.lattice import Lattice
from reticent.methods.lattice.figure import LatticeFacts, lattice
from reticent.propose import exposures, risk_views
from reticent.release import PublicSide, Release, publish
from reticent.reports import write_report
from reticent.reports.attack_figures import attack_figures
from reticent.reports.page_parts import plain_table
from reticent.table import Table

_VOID = {"meta", "br", "img", "hr", "link", "input"}


class Page(HTMLParser):
    """Checks that tags close in order, and collects what a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.pictures: list[Mapping[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [str(given[name]) for name in ("src", "href", "action") if name in given]
        if tag == "svg":
            self.pictures.append(given)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Nothing stays open."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def table() -> Table:
    return hospital_table(hospital(1500))


@pytest.fixture(scope="module")
def release(table: Table, tmp_path_factory: pytest.TempPathFactory) -> Release:
    ledger = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    return publish(table, KAnonymity(5) & DistinctLDiversity(3), Lattice(suppression="0.05"), ledger=ledger)


@pytest.fixture(scope="module")
def whole(table: Table, release: Release, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The steward's report with everything in it."""
    adversaries = (Linkage(voter_roll(table.frame), who="name"), Homogeneity())
    pairs = list(zip(attack(table, *adversaries), attack(release.public, *adversaries), strict=True))
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(release, path, table=table, attacks=pairs).read_text("utf-8")


def written(release: Any, path: Path, **options: Any) -> str:
    return write_report(release, path / "report.html", **options).read_text("utf-8")


def test_the_page_is_well_formed_and_asks_nobody_for_anything(whole: str) -> None:
    page = Page(whole)
    assert [address for address in page.addresses if not address.startswith("#")] == []
    assert "url(" not in whole
    assert "@import" not in whole
    assert "<script" not in whole
    assert " style=" not in whole
    assert set(re.findall(r"https?://[^\"'< ]+", whole)) == {"http://www.w3.org/2000/svg"}


def test_the_page_tells_the_whole_story(whole: str, release: Release) -> None:
    text = Page(whole).text
    for words in (
        "Holds. Recomputed from the published files",
        "For the steward: do not publish this page",
        "What is guaranteed, and against whom",
        "KAnonymity(k=5)",
        "Not covered",
        "What adversaries achieve",
        "How many people look alike",
        "How diagnosis is spread",
        "How it was made",
        "It is proven that no other does better",
        "What it cost",
        "What remains",
        "Certificate",
        f"{release.private.suppressed:,} records suppressed",
    ):
        assert words in text, words
    for claim in release.certificate["claims"]:
        assert claim["covers"] in text
        assert claim["does_not_cover"] in text
    for risk in release.certificate["residual_risks"]:
        assert risk in text
    for entry in release.certificate["files"].values():
        assert entry["sha256"] in text


def test_every_picture_says_what_it_shows(whole: str) -> None:
    pictures = [picture for picture in Page(whole).pictures if picture.get("aria-hidden") != "true"]
    assert [picture["viewbox"].split()[2] for picture in pictures] == ["720", "340"] * 6  # type: ignore[union-attr]  # it has one
    for picture in pictures:
        assert picture["role"] == "img"
        assert len(str(picture["aria-label"])) > 30


@pytest.mark.slow
def test_the_report_is_written_within_three_seconds(release: Release, table: Table, tmp_path: Path) -> None:
    started = time.perf_counter()
    written(release, tmp_path, table=table)
    assert time.perf_counter() - started < 3


def test_the_stewards_file_is_the_owners_alone(release: Release, tmp_path: Path) -> None:
    path = write_report(release, tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_saved_release_is_reported_from_its_folder(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    text = Page(written(tmp_path / "release", tmp_path)).text
    assert "Holds" in text
    assert f"{release.private.suppressed:,} records suppressed" in text
    assert "How it was made" in text
    assert "as it stood" not in text


def test_the_public_report_holds_nothing_private(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    for source in (release, tmp_path / "release", tmp_path / "release" / "public"):
        text = Page(written(source, tmp_path, public=True)).text
        assert "Public report" in text
        assert "Holds" in text
        for words in (
            "records suppressed",
            "How it was made",
            "What it cost",
            "as it stood",
            "adversaries achieve",
            "steward",
        ):
            assert words not in text, words


def test_the_public_report_needs_no_private_side_and_does_not_look_at_it(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    first = written(tmp_path / "release", tmp_path, public=True)
    (tmp_path / "release" / "private" / "search.json").write_text('{"suppressed_rows": 123456}')
    assert written(tmp_path / "release", tmp_path, public=True) == first


def test_the_public_report_does_not_depend_on_the_table_or_attacks(
    release: Release, table: Table, tmp_path: Path
) -> None:
    pairs = list(zip(attack(table, Homogeneity()), attack(release.public, Homogeneity()), strict=True))
    risk = {"risks": risk_views(table), "exposed": [each.exposed for each in exposures(table, ())]}
    told = written(release, tmp_path, public=True, table=table, attacks=pairs, **risk)
    assert told == written(release, tmp_path, public=True)


def test_without_a_private_side_the_stewards_report_says_what_to_do(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    with pytest.raises(DataError, match=r"private side .* cannot be read .* a public report"):
        write_report(tmp_path / "release" / "public", tmp_path / "report.html")


def test_a_broken_promise_is_told_at_the_top(release: Release, tmp_path: Path) -> None:
    side = release.public
    claims = [{**side.certificate["claims"][0], "parameters": {"k": 1000}}]
    broken = PublicSide(side.manifest, {**side.certificate, "claims": claims}, side.rows)
    text = Page(written(replace(release, public=broken), tmp_path)).text
    assert "Does not hold: claim KAnonymity(k=1000)" in text
    assert "fewer than 1000 people" in text


def test_a_promise_that_this_version_does_not_know_is_not_called_kept(release: Release, tmp_path: Path) -> None:
    side = release.public
    claims = [*side.certificate["claims"], {**side.certificate["claims"][0], "definition": "Unheard", "parameters": {}}]
    strange = PublicSide(side.manifest, {**side.certificate, "claims": claims}, side.rows)
    text = Page(written(replace(release, public=strange), tmp_path)).text
    assert "Not shown to hold: claim Unheard was not re-checked." in text
    assert "Holds" not in text


def test_a_release_made_with_an_insecure_seed_is_not_called_safe(tmp_path: Path) -> None:
    made = publish(ten_people_table(), KAnonymity(2), insecure_seed=1)
    text = Page(written(made, tmp_path)).text
    assert "Holds, but: NOT RELEASABLE" in text


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_can_be_read_against_its_ground(theme: int) -> None:
    """WCAG AA: a contrast of 4.5 for text, 3 for the parts of a picture that carry meaning."""
    style = files("reticent.reports").joinpath("templates", "report.css").read_text("utf-8")
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[theme]
    found = {
        name: (c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]))
        for name, c in re.findall(r"--([a-z-]+): (#[0-9a-f]+);", block)
    }

    def contrast(one: str, other: str) -> float:
        high, low = sorted((luminance(found[one]), luminance(found[other])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    texts = [
        ("ink", "paper"),
        ("ink", "card"),
        ("muted", "card"),
        ("muted", "paper"),
        ("accent", "card"),
        ("good", "card"),
        ("bad", "card"),
    ]
    texts += [
        ("good", "good-soft"),
        ("bad", "bad-soft"),
        ("warn", "warn-soft"),
        ("ink", "good-soft"),
        ("ink", "faint"),
        ("good", "faint"),
    ]
    for one, other in texts:
        assert contrast(one, other) >= 4.5, (one, other)
    for one in ("chosen", "accent", "good", "bad"):
        assert contrast(one, "card") >= 3, one


def test_values_cannot_smuggle_markup_into_the_page(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>&\"'"
    frame = pl.DataFrame({"zip": ["1", "1", "2", "2"], evil: [evil, "b", evil, "b"]})
    made = publish(Table(frame, quasi=["zip"], sensitive=evil), DistinctLDiversity(2))
    content = written(made, tmp_path, table=Table(frame, quasi=["zip"], sensitive=evil))
    Page(content)
    assert "<script" not in content
    assert "&lt;script&gt;alert" in content


def test_other_definitions_formats_and_tables_without_secrets_are_reported_too(tmp_path: Path) -> None:
    people = ten_people_table()
    close = publish(people, TCloseness("0.9"), Lattice())
    assert "Holds" in Page(written(close, tmp_path, table=people)).text
    apart = publish(people, DistinctLDiversity(2), Lattice(format="bucketize"))
    assert "finds a bucket with this many people" in Page(written(apart, tmp_path, table=people)).text
    plain = Table(people.frame, quasi=["sex"])
    crowd = Page(written(publish(plain, KAnonymity(2)), tmp_path, table=plain)).text
    assert "How sure a guess" not in crowd


def facts(heights: tuple[int, ...], chosen: tuple[int, ...], passing: bool = True) -> LatticeFacts:
    status = {}
    if passing:
        for levels in np.ndindex(tuple(height + 1 for height in heights)):
            status[levels] = "passing" if all(a >= b for a, b in zip(levels, chosen, strict=True)) else "failing"
    return LatticeFacts(tuple(f"c{i}" for i in range(len(heights))), heights, chosen, status)


def test_a_small_lattice_is_drawn_node_by_node_with_edges() -> None:
    drawn = lattice(facts((3, 2, 1), (1, 1, 1)))
    assert drawn.svg.count("<circle") == 24 + 3
    assert drawn.svg.count('class="edge"') == 3 * 3 * 2 + 4 * 2 * 2 + 4 * 3 * 1
    assert drawn.svg.count("node chosen") == 2
    assert "24 ways to generalize: 6 known to pass, 18 known to fail" in drawn.description
    assert sum(int(row[1]) for row in drawn.rows) == 24


def test_a_large_lattice_is_thinned_to_bands() -> None:
    heights = (5, 4, 6, 3, 2, 7, 4, 1, 9, 3)
    drawn = lattice(facts(heights, (1,) * 10, passing=False))
    assert drawn.svg.count("<rect") == 3 * (sum(heights) + 1)
    assert len(drawn.svg) < 60_000
    assert "not needed to find the best" in drawn.description


def test_a_lattice_of_astronomic_size_can_be_drawn() -> None:
    drawn = lattice(facts((9,) * 24, (1,) * 24, passing=False))
    assert f"{10**24:,} ways to generalize" in drawn.description


def test_search_figures_without_a_lattice_draw_nothing() -> None:
    assert LatticeFacts.of({}) is None
    assert LatticeFacts.of({"columns": ["a"], "heights": [1], "chosen": {"a": 1}}) == LatticeFacts(
        ("a",), (1,), (1,), {}
    )


def test_crowds_count_people_not_groups() -> None:
    drawn = crowd_sizes(np.array([5, 5, 90]), np.ones(100, dtype=np.int64), 5)
    shares = {row[0]: row[1:] for row in drawn.rows}
    assert shares["1"] == ("100.0%", "0.0%")
    assert shares["5–9"] == ("0.0%", "10.0%")
    assert shares["50–99"] == ("0.0%", "90.0%")
    assert "smallest group has 5 people, and the median person is in a group of 90" in drawn.description
    assert "guaranteed: at least 5" in drawn.svg


def test_the_names_of_large_crowds_do_not_run_into_each_other() -> None:
    """Eleven sizes leave sixty units each; a name that is wider begins only."""
    drawn = crowd_sizes(np.array([5, 40, 700, 1500, 3000]), np.array([1] * 50), None)
    assert ">500–999<" in drawn.svg
    assert ">1,000…<" in drawn.svg
    assert ">2,000…<" in drawn.svg
    assert "1,000–1,999" in [row[0] for row in drawn.rows]


def test_guesses_tell_certainty_apart_from_near_certainty() -> None:
    drawn = best_guesses("ill", np.array([5, 99, 1]), np.array([5, 100, 10]))
    rows = {row[0]: row[1] for row in drawn.rows}
    assert rows["certain"] == "5"
    assert rows["90–100 %"] == "100"
    assert rows["10–20 %"] == "10"


def test_rare_values_are_drawn_together_and_nothing_is_lost() -> None:
    before = {f"v{number}": number + 1 for number in range(40)}
    drawn = sensitive_values("ill", before, {"v39": 40, "new": 2})
    assert drawn.rows[-1][0] == "29 others"
    assert sum(int(row[1].replace(",", "")) for row in drawn.rows) == sum(before.values())
    assert sum(int(row[3]) for row in drawn.rows) == 42


def test_attacks_show_intervals_where_a_sample_was_attacked() -> None:
    drawn = attacks([Bar("linkage", 0.5, 0.01, (0.4, 0.6), None), Bar("homogeneity", None, 0.0)])
    assert drawn.svg.count("whisker") == 1
    assert drawn.rows == (("linkage", "50%", "1.0%", "–", "–"), ("homogeneity", "–", "0%", "–", "–"))
    assert drawn.svg.count("notch") == 0
    known = attacks([Bar("inference", None, 0.4, None, (0.3, 0.5), 0.35)])
    assert known.svg.count("notch") == known.narrow.count("notch") == 1
    assert known.rows == (("inference", "–", "40%", "30% to 50%", "35%"),)


def test_the_command_writes_the_report_beside_the_private_files(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "release")
    result = CliRunner().invoke(app_for(["report"]), ["report", str(tmp_path / "release"), "--json"])
    assert json.loads(result.stdout) == {
        "ok": True,
        "report": str(tmp_path / "release" / "private" / "report.html"),
        "public": False,
    }
    assert (tmp_path / "release" / "private" / "report.html").exists()


def test_the_command_takes_the_policy_and_a_list_of_people_for_before_and_after(
    release: Release, table: Table, tmp_path: Path
) -> None:
    release.save(tmp_path / "release")
    hospital(1500).write_csv(tmp_path / "hospital.csv")
    voter_roll(table.frame).write_csv(tmp_path / "voters.csv")
    (tmp_path / "policy.toml").write_text(hospital_policy_text())
    arguments = ["report", str(tmp_path / "release"), "-o", str(tmp_path / "r.html")]
    options = ["--policy", str(tmp_path / "policy.toml"), "--people", str(tmp_path / "voters.csv")]
    result = CliRunner().invoke(app_for(["report"]), [*arguments, *options, "--who", "name"])
    assert result.exit_code == 0, result.output
    text = Page((tmp_path / "r.html").read_text("utf-8")).text
    assert any(f"{name} (" in text for name in voter_roll(table.frame)["name"].to_list())
    assert "Linkage: people who match exactly one published row" in text
    assert "Singling out: people who can be singled out" in text
    assert "As it stood:" in text
    assert "What drove the risk" in text
    assert "Columns that together identify people" in text
    assert "The most exposed, before publication" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--public", "--policy", "policy.toml"], "A public report must not use the table"),
        (["--people", "people.csv"], "needs the original table: add --policy"),
        (["--policy", "policy.toml", "--who", "name"], "add --people"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(options: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app_for(["report"]), ["report", str(tmp_path), *options])
    assert message in str(result.exception)


def test_the_contents_lead_to_every_section(whole: str) -> None:
    targets = re.findall(r'<section id="([^"]+)">', whole)
    assert re.findall(r'<a href="#([^"]+)">', whole) == targets
    assert len(set(targets)) == len(targets) > 6


def test_five_published_rows_and_the_price_are_on_the_page(whole: str) -> None:
    assert "5 of" in whole.split('id="what-is-published"')[1][:300]
    assert re.search(r'<div class="verdict">.*?It costs \d+% of the detail', whole, re.DOTALL)


def test_many_numbers_are_a_histogram_of_round_ranges_that_loses_nobody() -> None:
    before = {str(number * 7): 1 + number % 3 for number in range(500)} | {"1000000": 1}
    drawn = sensitive_values("pay", before, before)
    assert sum(int(row[1].replace(",", "")) for row in drawn.rows) == sum(before.values())
    assert drawn.rows[0][0] == "0 to 200"
    assert drawn.rows[-1][0] == "3,400 and above"
    assert sensitive_values("pay", None, {str(number): 1 for number in range(20)}).rows[0][0] == "0"


@given(st.dictionaries(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 9), min_size=25, max_size=60))
def test_a_histogram_of_any_numbers_keeps_every_row(counts: dict[float, int]) -> None:
    drawn = sensitive_values("x", None, {str(value): count for value, count in counts.items()})
    assert sum(int(row[1].replace(",", "")) for row in drawn.rows) == sum(counts.values())


def test_a_bar_is_green_only_where_hardly_anybody_is_hit() -> None:
    assert [Bar("x", None, share).colour for share in (0.0, 0.05, 0.06, 1.0)] == ["good", "good", "even", "even"]
    assert Bar("x", None, 0.01, succeeds=True).colour == "warn"


def test_a_promise_that_costs_a_whole_column_gets_no_green_tick(tmp_path: Path) -> None:
    rows = {"age": list(range(20, 40)), "town": ["Aix", "Apt"] * 10, "ill": ["flu", "cold", "flu", "ulcer"] * 5}
    table = Table(rows, quasi=["age", "town"], sensitive="ill")
    release = publish(table, KAnonymity(5), Lattice())
    page = write_report(release, tmp_path / "steward.html", table=table).read_text("utf-8")
    assert '<div class="verdict unknown">' in page
    assert "It is of little use" in page
    assert "Nothing is left of age." in page
    public = write_report(release, tmp_path / "public.html", public=True).read_text("utf-8")
    assert "It is of little use" not in public


def test_a_range_of_dates_stands_on_one_line() -> None:
    table = plain_table(("born", "story"), [("[1940-01-10, 1949-04-04]", "word " * 40)]).html
    assert '<th class="whole" scope="row">[1940-01-10, 1949-04-04]</th>' in table
    assert table.count('class="whole"') == 1


def test_dates_of_a_wide_table_break_between_them_and_never_within() -> None:
    """Three ranges of dates and two further columns are too wide for one line each, and the last column would be out of sight."""
    dates = "[1940-01-10, 1949-04-04]"
    table = plain_table(("a", "b", "c", "zip", "ill"), [(dates, dates, dates, "{1, 2 and 7 more}", "flu")]).html
    whole = '<span class="whole">[1940-01-10,</span> <span class="whole">1949-04-04]</span>'
    assert table.count(whole) == 3
    assert '<td class="whole">flu</td>' in table
    assert whole not in plain_table(("a", "b"), [(dates, dates)]).html


def test_bars_say_what_was_counted_and_what_is_no_promise() -> None:
    """Units are named as records, and the legend mentions results that no guarantee limits."""
    promised = Findings("linkage", "a list", "fit exactly one published row", 0, 60, "")
    figure = Findings("column in turn", "others", "have sex guessed", 58, 60, "", unit="records", judged=False)
    told = "".join(each.html for each in attack_figures([(None, promised), (None, figure)]))
    assert "people who fit exactly one published row" in told
    assert "records that have sex guessed" in told
    assert "published: no more than without the release, or not limited by a guarantee" in told
    assert all("no promise" not in each.html for each in attack_figures([(None, promised)]))


def test_of_a_series_one_release_shows_a_part_of_the_definition(tmp_path: Path) -> None:
    """Who is in which group is not public: it was said that all groups satisfy the definition, above that all of it was not re-checked."""
    frame = pl.DataFrame({"id": range(40), "age": [20 + n % 20 for n in range(40)], "ill": ["flu", "gout"] * 20})
    table = rt.Table(frame, quasi=["age"], sensitive="ill", key="id", dataset="series")
    method = rt.Republish(domain=["flu", "gout", "ulcer", "burn", "cold"])
    release = publish(table, rt.TauSafety(2), method, ledger=tmp_path / "ledger.sqlite", insecure_seed=1)
    text = Page(write_report(release, tmp_path / "page.html", public=True).read_text("utf-8")).text
    assert "groups satisfy the part of the definition that one release shows." in text
