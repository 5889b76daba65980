"""Dossiers: figures against thresholds in exact arithmetic, every heading of every regime, and nothing that is taken for a determination."""

from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, MissingPackage, PolicyError
from reticent.release import Release, readable
from reticent.reports.dossier import Dossier
from reticent.reports.dossier_page import render_dossier
from reticent.reports.pdf_printer import VARIABLE, printed
from reticent.reports.regimes import REGIMES


def table_of(sizes: tuple[int, ...]) -> rt.Table:
    """A table with a group of each size, which no generalization needs to merge."""
    ages = [10 * number for number, size in enumerate(sizes, start=1) for _ in range(size)]
    return rt.Table(
        pl.DataFrame({"age": ages, "illness": ["flu", "cold", "ulcer"] * (len(ages) // 3) + ["flu"] * (len(ages) % 3)}),
        quasi={"age": rt.Hierarchy.intervals(widths=[10, 50], domain=(0, 99))},
        sensitive="illness",
    )


def release_of(sizes: tuple[int, ...]) -> Release:
    return rt.publish(table_of(sizes), rt.KAnonymity(min(sizes)))


@pytest.fixture(scope="module")
def release() -> Release:
    return release_of((6, 12, 30))


@pytest.mark.parametrize(("smallest", "meets"), [(10, False), (11, False), (12, True), (13, True)])
def test_a_risk_of_nine_per_cent_needs_groups_of_twelve(smallest: int, meets: bool) -> None:
    """1/11 is 0.0909, which is above 0.09."""
    made = rt.dossier(release_of((smallest, 40)), "ema-prci")
    assert (made.measures[0].exact, made.measures[0].meets) == (f"1/{smallest}", meets)
    assert made.measures[2].threshold == "at least 12"
    assert ("is met" in made.judgement) == meets


def test_measures_are_those_of_the_published_rows(release: Release) -> None:
    made = {each.name: each for each in rt.dossier(release, "ema-prci").measures}
    sizes = release.frame.group_by("age").len()["len"].to_list()
    assert Fraction(made["Largest probability of re-identification"].exact) == Fraction(1, min(sizes))
    # The mean over people of 1 / size of their group.
    average = sum(Fraction(1, size) * size for size in sizes) / sum(sizes)
    assert Fraction(made["Average probability of re-identification"].exact) == average
    above = sum(size for size in sizes if Fraction(1, size) > Fraction(9, 100))
    assert Fraction(made["People with a probability above 0.09"].exact) == Fraction(above, sum(sizes))
    assert above == 6


@pytest.mark.parametrize("regime", REGIMES)
def test_every_heading_and_every_field_is_there(regime: str, release: Release, tmp_path: Path) -> None:
    made = rt.dossier(release, regime)
    page = made.save(tmp_path / "dossier.html").read_text()
    assert "Evidence, not a determination" in page
    assert REGIMES[regime].determination in page
    for heading in REGIMES[regime].headings:
        assert f"<h2>{heading.title}</h2>" in page
        assert heading.source in page
    for field in REGIMES[regime].fields:
        assert field.question in page
    assert {each.name for each in made.missing} == {each.name for each in REGIMES[regime].fields}
    kinds = {kind for heading in REGIMES[regime].headings for kind in heading.evidence}
    assert kinds == {
        "columns", "flow", "guarantee", "risk", "singling out", "linkability", "inference", "utility", "residual", "certificate",
    }  # fmt: skip
    assert 'src="http' not in page
    assert stat.S_IMODE((tmp_path / "dossier.html").stat().st_mode) == 0o600
    told = json.loads(made.save(tmp_path / "dossier.json").read_bytes())
    assert told["measures"][0]["exact"] == "1/6"
    assert [each["title"] for each in told["sections"]] == [each.title for each in REGIMES[regime].headings]


def test_what_the_steward_states_is_shown_as_text(release: Release, tmp_path: Path) -> None:
    said = {"purpose": "Research on <b>asthma</b> & flu", "recipients": "   ", "trial": "for another regime"}
    made = rt.dossier(release, "gdpr", statements=said)
    page = made.save(tmp_path / "dossier.html").read_text()
    assert "Research on &lt;b&gt;asthma&lt;/b&gt; &amp; flu" in page
    names = {each.name for each in made.missing}
    assert "recipients" in names
    assert "purpose" not in names


@pytest.mark.parametrize(
    ("limit", "meets"), [("1/6", True), ("0.17, as agreed", True), ("0.1666", False), ("0.05 by our rules", False)]
)
def test_the_expert_states_the_limit(release: Release, limit: str, meets: bool) -> None:
    made = rt.dossier(release, "hipaa-expert", statements={"risk_limit": limit})
    assert made.measures[0].meets is meets
    assert made.measures[0].threshold.endswith(", stated by the steward")
    assert rt.dossier(release, "hipaa-expert").measures[0].meets is None
    # A regime that asks for no limit is not given one, and the one that it names wins.
    assert rt.dossier(release, "gdpr", statements={"risk_limit": limit}).measures[0].threshold == "no number is named"
    assert rt.dossier(release, "ema-prci", statements={"risk_limit": limit}).measures[0].threshold == "at most 0.09"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"risk_limit": "small"}, "must begin with a probability"),
        ({"risk_limit": "2"}, "must begin with a probability"),
        ({"risk_limit": "1/0"}, "must begin with a probability"),
        ({"purpos": "x"}, "Did you mean 'purpose'"),
        ({"purpose": 7}, "must be text"),
    ],
)
def test_statements_that_make_no_sense_are_refused(release: Release, said: dict[str, str], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        rt.dossier(release, "sp800-188", statements=said)


def test_regimes_and_endings_that_are_not_known_are_refused(release: Release, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="regime must be one of hipaa-expert, gdpr"):
        rt.dossier(release, "hipaa")
    with pytest.raises(PolicyError, match="html, pdf, json"):
        rt.dossier(release, "gdpr").save(tmp_path / "dossier.docx")


def blocks(made: Dossier) -> dict[str, str]:
    return {block.title: json.dumps(block.as_json()) for section in made.sections for block in section.blocks}


def test_the_public_folder_alone_tells_nothing_of_the_table(release: Release, tmp_path: Path) -> None:
    saved = release.save(tmp_path / "release")
    whole, public = rt.dossier(saved, "satre"), rt.dossier(saved / "public", "satre")
    assert (whole.private, public.private) == (True, False)
    assert "Suppressed records" in blocks(whole)["Data flow"]
    assert "Suppressed" not in blocks(public)["Data flow"]
    assert "Not measured here" in blocks(public)["Utility"]
    assert "From the published files alone" in public.save(tmp_path / "public.html").read_text()


def test_with_the_table_adversaries_run_before_and_after() -> None:
    table = table_of((6, 12, 30))
    made = rt.dossier(rt.publish(table, rt.KAnonymity(6)), "gdpr", raw=table)
    linked = next(
        block for section in made.sections for block in section.blocks if block.title == "Attacks: linkability"
    )
    assert any(before is not None for before, _ in linked.attacks)
    assert "need the table" not in blocks(made)["Attacks: linkability"]
    assert "need the table" in blocks(rt.dossier(rt.publish(table, rt.KAnonymity(6)), "gdpr"))["Attacks: linkability"]


def test_examples_about_people_stay_with_the_steward() -> None:
    table = table_of((6, 12, 30))
    made = rt.dossier(rt.publish(table, rt.KAnonymity(6)), "gdpr", raw=table)
    told = json.dumps(made.as_dict())
    for section in made.sections:
        for block in section.blocks:
            for before, after in block.attacks:
                assert after.example not in told
                assert before is None or before.example not in told


def test_exact_values_in_buckets_are_not_called_groups() -> None:
    """Anatomy publishes exact quasi values: people who are unique by them have a probability of 1, whatever the size of their bucket."""
    table = rt.Table(
        {"age": list(range(20, 32)), "illness": ["flu", "cold", "ulcer", "asthma"] * 3},
        quasi=["age"],
        sensitive="illness",
    )
    made = rt.dossier(rt.publish(table, rt.MUnique(2), rt.Anatomy()), "ema-prci")
    assert (made.measures[0].exact, made.measures[0].meets) == ("1", False)


def test_counts_with_noise_have_no_probability_and_name_the_guarantee(tmp_path: Path) -> None:
    rows = {"town": ["Aix", "Apt"] * 40, "s": ["x", "y"] * 40}
    method = rt.CentralCounts(domain={"town": ["Aix", "Apt"], "s": ["x", "y"]})
    release = rt.publish(rt.Table(rows, quasi=["town"], sensitive="s"), rt.NoisyCounts(epsilon=1), method)
    for regime in REGIMES:
        made = rt.dossier(release, regime)
        assert [(each.exact, each.meets) for each in made.measures] == [(None, None)]
        assert "does not apply" in made.measures[0].measured
        assert "NoisyCounts" in blocks(made)["The guarantee, recomputed from the files"]
        assert made.judgement == ""
        assert made.save(tmp_path / "dossier.html").exists()


def test_a_browser_prints_the_page(release: Release, tmp_path: Path) -> None:
    try:
        path = rt.dossier(release, "satre").save(tmp_path / "dossier.pdf")
    except MissingPackage:
        pytest.skip("no browser is installed")
    assert path.read_bytes().startswith(b"%PDF-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_browser_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "a-browser-that-is-not-there")
    with pytest.raises(MissingPackage, match=r"name a browser with RETICENT_BROWSER, or write \.html"):
        printed(b"<p>page</p>")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(broken))
    with pytest.raises(DataError, match=r"did not print the page \(no display\)"):
        printed(b"<p>page</p>")


def test_the_verdict_is_that_of_verify_whatever_adversaries_achieve(tmp_path: Path) -> None:
    """Adversaries who succeed are told beside it; a folder whose files were changed does not hold."""
    table = table_of((12, 30))
    made = rt.publish(table, rt.KAnonymity(12))
    folder = made.save(tmp_path / "release")
    beside = rt.dossier(folder, "gdpr", raw=table)
    assert beside.headline == rt.verify(folder).headline == rt.dossier(made, "gdpr", raw=table).headline
    assert beside.as_dict()["adversaries_that_succeed"] == beside.succeeded
    data = folder / "public" / "data.csv"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    changed = rt.dossier(folder, "gdpr")
    assert changed.headline == rt.verify(folder).headline
    assert changed.headline.state == "does not hold"


def test_adversaries_that_succeed_are_told_beside_the_verdict() -> None:
    same = pl.DataFrame({"age": [10] * 6 + [20] * 6, "illness": ["flu"] * 6 + ["cold"] * 6})
    table = rt.Table(same, quasi=["age"], sensitive="illness")
    made = rt.dossier(rt.publish(table, rt.KAnonymity(6)), "hipaa-expert", raw=table)
    assert made.succeeded
    assert made.attacked in render_dossier(made)
    (residual,) = [block for part in made.sections for block in part.blocks if block.title == "Residual risks"]
    assert any("succeeds" in each for each in residual.items)
    assert not any("succeeds" in each for each in made.headline.reasons)


def test_a_folder_whose_files_were_changed_has_the_verdict_of_verify(release: Release, tmp_path: Path) -> None:
    """A headline that says less than the release does: neither report nor dossier repeats it."""
    folder = release.save(tmp_path / "release")
    path = folder / "public" / "certificate.json"
    certificate = json.loads(path.read_bytes())
    certificate["headline"] = {"state": "holds, but", "reasons": ["Nothing to worry about."]}
    path.write_bytes(readable(certificate))
    found = rt.verify(folder)
    assert found.headline.state == "does not hold"
    assert rt.dossier(folder, "gdpr").headline == found.headline
    assert rt.attack(folder) is not None
    assert "Does not hold" in rt.report(folder, tmp_path / "report.html").read_text()


def test_no_page_calls_a_release_good_above_adversaries_that_succeed() -> None:
    """Two of four illnesses in each group, as promised: whoever rules one out knows the other."""
    illness = ["flu", "cold"] * 20 + ["gout", "burn"] * 20
    two = pl.DataFrame({"age": [10] * 40 + [20] * 40, "illness": illness})
    table = rt.Table(two, quasi=["age"], sensitive="illness")
    made = rt.dossier(rt.publish(table, rt.KAnonymity(6) & rt.DistinctLDiversity(2)), "gdpr")
    assert (made.headline.state, made.succeeded > 0) == ("holds", True)
    page = render_dossier(made)
    assert 'class="verdict unknown"' in page
    assert 'class="verdict">' not in page
    assert "Holds, but" in page
