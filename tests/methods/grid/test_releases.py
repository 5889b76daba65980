"""Releases on a grid from publish to verify: what is shown, counted, spent, attacked, forged and refused."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.cli.app import app
from reticent.conditions import Condition
from reticent.core import Draft
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.grid.box_tables import read_boxes, read_cells
from reticent.methods.grid.counts import GridCount, count_boxes, count_sample, most_missed
from reticent.methods.grid.details import BisectionDetails, SampleDetails
from reticent.release import adversary_view_of, open_public
from reticent.reports import write_report
from tests.oracles.grid_mechanisms import sample_outputs

TOWNS, ILL = ["Aix", "Apt", "Arles", "Avignon"], ["flu", "cold", "gout"]
GRID = {"age": {"from": 0, "to": 100, "step": 25}, "town": TOWNS, "illness": ILL}
DP = rt.UnboundedDP(1, "1e-4")
SAMPLE = rt.GridSample(GRID, sample="0.3")
COUNTS = rt.GridCounts(GRID, depth=4, histogram="illness")


def rows(many: int = 1500) -> pl.DataFrame:
    draw = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(many)],
            "age": draw.integers(0, 101, many),
            "town": draw.choice(TOWNS[:3], many, p=[0.6, 0.3, 0.1]),
            "illness": draw.choice(ILL, many, p=[0.7, 0.25, 0.05]),
        }
    )


def table(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    chosen = rows() if frame is None else frame
    return rt.Table(chosen, quasi=["age", "town"], sensitive="illness", identifiers=["name"], **more)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[rt.Release, Path]:
    release = rt.publish(table(), DP, SAMPLE)
    return release, release.save(tmp_path_factory.mktemp("sampled") / "release")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[rt.Release, Path]:
    place = tmp_path_factory.mktemp("counted")
    release = rt.publish(table(), rt.UnboundedDP(1), COUNTS, ledger=place / "ledger.sqlite")
    return release, release.save(place / "release")


# The whole way.


def test_a_sample_shows_joint_cells_with_enough_rows_and_never_how_many_rows_there_were(sampled):
    release, folder = sampled
    least = json.loads((folder / "public" / "manifest.json").read_text())["details"]["least"]
    assert least == rt.grid.plan("0.3", 1, "1e-4").least
    assert release.frame.columns == ["age", "town", "illness", "sampled_rows"]
    assert release.frame["sampled_rows"].min() >= least
    assert release.frame.select(pl.struct("age", "town", "illness").n_unique()).item() == release.frame.height
    assert rt.verify(folder).holds
    told = "".join((folder / "public" / name).read_text("utf-8") for name in ("manifest.json", "STATEMENT.txt"))
    sampled_rows = release.private.search["sampled"]
    assert not re.search(rf"\b(1,?500|{sampled_rows:,}|{sampled_rows})\b", told)
    assert "publisher's word" in "".join(check.detail for check in rt.verify(folder).checks)


def test_boxes_and_their_values_have_noisy_counts(counted):
    release, folder = counted
    assert release.frame.columns == ["age", "town", "illness", "noisy_count"]
    boxes = release.frame.height // 4
    assert release.frame["illness"].to_list() == ["*", *ILL] * boxes
    assert 1 < boxes <= 16
    assert rt.verify(folder).holds
    total = release.count("age >= 0")
    # Eight standard errors: the interval itself fails one time in twenty.
    assert abs(total.value - 1500) < 8 * total.standard_error


def test_without_a_sample_people_blend_in_crowds_and_nothing_more_is_claimed(tmp_path):
    release = rt.publish(table(), rt.CrowdBlending(10), rt.GridSample(GRID))
    true = rows().with_columns(age=(pl.col("age") // 25).clip(0, 3)).group_by("age", "town", "illness").len()
    assert sorted(release.frame["sampled_rows"]) == sorted(true.filter(pl.col("len") >= 10)["len"])
    assert rt.verify(release.save(tmp_path / "release")).holds
    exact = release.count("illness = 'flu'")
    assert exact.confidence == 1
    assert exact.interval[0] <= (rows()["illness"] == "flu").sum() <= exact.interval[1]
    both = rt.publish(table(), DP & rt.CrowdBlending(40), SAMPLE)
    assert both.manifest.details["least"] == 40
    with pytest.raises(PolicyError, match="not differentially private"):
        rt.publish(table(), DP, rt.GridSample(GRID))


# Counting.


def test_intervals_hold_the_true_number_as_often_as_they_say():
    frame = rows(600)
    conditions = ("illness = 'flu'", "age between 25 and 49", "age between 10 and 60 and illness in ('flu', 'cold')", "town = 'Avignon'")  # fmt: skip
    truths = [_true(frame, condition) for condition in conditions]
    own, runs = table(frame), 25
    for method, promise in (
        (rt.GridSample(GRID, sample="0.5"), rt.UnboundedDP(2, "0.01")),
        (rt.GridCounts(GRID, depth=4, stop=20, histogram="illness"), rt.UnboundedDP(2)),
    ):
        held = np.zeros(len(conditions))
        for seed in range(runs):
            draft = method.draft(own, promise, Context(Randomness(seed)))
            for place, condition in enumerate(conditions):
                low, high = _counted(draft, condition).interval
                held[place] += low <= truths[place] <= high
        # At least 95 % each, within five standard errors.
        assert (held / runs >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs)).all(), held


def _counted(draft: Draft, condition: str) -> GridCount:
    (shown,) = (each.frame() for each in draft.tables.values())
    asked = Condition.parse(condition)
    if draft.format == "grid sample":
        details = SampleDetails.from_json(draft.details)
        return count_sample(details, shown, read_cells(details.grid, shown), asked)
    halved = BisectionDetails.from_json(draft.details)
    return count_boxes(halved, shown, read_boxes(halved, shown), asked)


def _true(frame: pl.DataFrame, condition: str) -> int:
    return int(Condition.parse(condition).mask(frame).sum())


def test_estimates_scale_the_sample_and_say_how_far_they_go(sampled):
    release, folder = sampled
    for condition in ("town = 'Aix'", "town = 'Aix' and illness = 'flu'"):
        answer, true = open_public(folder).count(condition), _true(rows(), condition)
        spare = 6 * answer.standard_error
        assert answer.interval[0] - spare <= true <= answer.interval[1] + spare
        assert abs(answer.value - true) < 0.5 * true
        assert answer.bounds == answer.interval
    hidden = release.count("town = 'Avignon'")
    assert (hidden.value, hidden.interval[0], hidden.hidden) == (0, 0, 12)
    assert "12 cells that could meet it are not published" in "\n".join(hidden.lines())
    assert release.count("age >= 0").cells == release.frame.height
    with pytest.raises(PolicyError, match="a single estimator"):
        release.count("age >= 0", estimator="intersect")
    with pytest.raises((PolicyError, DataError), match="street"):
        release.count("street = 'a'")


# Noise and draws.


def test_published_counts_are_not_biased_by_the_halving():
    """The count that stops a box is small by chance; the published one is drawn afresh."""
    frame = rows(200).with_columns(age=pl.lit(10))
    off = []
    for seed in range(60):
        draft = rt.GridCounts({"age": {"from": 0, "to": 64, "step": 1}}, depth=6, stop=10).draft(
            table(frame), rt.UnboundedDP("0.7"), Context(Randomness(seed))
        )
        shown = draft.tables["boxes"].frame()
        off.append(int(shown["noisy_count"].sum()) - 200)
    law = BisectionDetails.from_json(draft.details).plan.counts
    spread = math.sqrt(float(law.variance) * 64 / len(off))
    assert abs(np.mean(off)) < 5 * spread


def test_rows_are_sampled_with_exactly_the_chance_and_afresh_each_time():
    method = rt.GridSample({"age": {"from": 0, "to": 100, "step": 100}}, sample="1/3", least=2)
    contexts = (Context(Randomness(seed)) for seed in range(60))
    kept = [method.draft(table(), rt.CrowdBlending(2), context).search["sampled"] for context in contexts]
    assert len(set(kept)) > 20
    assert abs(np.mean(kept) - 500) < 5 * math.sqrt(1500 * 2 / 9 / 60)


def test_a_seed_repeats_the_draws_and_the_certificate_says_so():
    for promise, method in ((DP, SAMPLE), (rt.UnboundedDP(1), COUNTS)):
        one, other = (rt.publish(table(), promise, method, insecure_seed=3) for _ in range(2))
        assert one.frame.equals(other.frame)
        assert one.certificate["randomness"]["releasable"] is False


def test_noise_beyond_most_counts_is_warned_of():
    sparse = {"age": {"from": 0, "to": 100, "step": 1}, "town": TOWNS}
    release = rt.publish(
        table(rows(50)), rt.UnboundedDP("0.5"), rt.GridCounts(sparse, depth=8, stop=0), insecure_seed=1
    )
    assert any("noise is larger than most counts" in risk for risk in release.certificate["residual_risks"])
    quiet = rt.publish(table(), rt.UnboundedDP(5), rt.GridCounts(GRID, depth=1), insecure_seed=1)
    assert not any("noise is larger" in risk for risk in quiet.certificate["residual_risks"])
    domain = {"town": TOWNS, "illness": ILL}
    central = rt.publish(table(rows(40)), rt.NoisyCounts("0.1"), rt.CentralCounts(domain=domain), insecure_seed=1)
    assert any("noise is larger than most counts" in risk for risk in central.certificate["residual_risks"])


# Budgets.


def test_fresh_samples_add_up_in_the_ledger_until_nothing_is_left(ledger):
    method = rt.GridSample(GRID, sample="0.3", budget={"epsilon": 2, "delta": "3e-4"})
    rt.publish(table(dataset="wards"), DP, method)
    with pytest.raises(LedgerError, match="released already"):
        rt.publish(table(dataset="wards"), DP, method)
    rt.publish(table(dataset="wards"), DP, method, again=True)
    with Ledger(ledger) as book:
        assert dict(book.accounts.of("wards").left) == {"epsilon": 0, "delta": Fraction(1, 10_000)}
        assert book.accounts.of("wards").relation == "add/remove"
    with pytest.raises(LedgerError, match=r"epsilon runs out\. It has epsilon 0 of 2"):
        rt.publish(table(dataset="wards"), rt.UnboundedDP(1), COUNTS, again=True)
    with pytest.raises(PolicyError, match="has no name"):
        rt.publish(table(), DP, method)


# What an adversary sees.


def test_adversaries_see_crowds_in_a_sample_and_noise_in_counts(sampled, counted):
    release, folder = sampled
    seen = adversary_view_of(folder)
    assert int(seen.groups.sizes.sum()) == int(release.frame["sampled_rows"].sum())
    assert int(seen.groups.histograms.counts.min()) >= release.manifest.details["least"]
    assert rt.attacks.attack(folder)
    release, folder = counted
    channel = adversary_view_of(folder).channel
    assert math.log(channel.true / channel.other) <= 0.5 + 1e-12
    people = rows().head(40)
    shown = channel.shows(people)
    side = release.public.form.as_shown(release.public, people)
    counts = {row[:3]: row[3] for row in release.frame.rows()}
    assert shown.tolist() == [counts[row] >= 1 for row in side.select("age", "town", "illness").rows()]


def test_reports_and_previews_are_made(sampled, counted, tmp_path):
    for release, _ in (sampled, counted):
        page = write_report(release, tmp_path / "report.html", table=table()).read_text("utf-8")
        assert "the plan of what was drawn satisfies" in page
        assert f"{release.frame.height:,}</b><span>{release.public.form.row_noun} published" in page
        assert "records suppressed" not in page
        assert "are not in the release" not in page
    assert rt.preview(table(), DP, SAMPLE).error.figures["rows_shown_from"] > 0


def test_the_estimate_of_a_sample_says_by_how_much_it_is_biased():
    """Cells of 12 rows are hidden mostly: without the words an analyst takes 0 for an estimate of 240."""
    frame = pl.DataFrame({"cell": [i % 20 for i in range(240)]})
    grid = {"cell": list(range(20))}
    method = rt.GridSample(grid, sample="0.3", least=5)
    found = []
    for seed in range(60):
        release = rt.publish(rt.Table(frame, quasi=["cell"]), rt.CrowdBlending(5), method, insecure_seed=seed)
        found.append(release.count("cell >= 0"))
    mean = sum(each.value for each in found) / len(found)
    assert mean < 150
    assert all(mean + each.bias >= 240 for each in found)
    assert any("biased: on average it misses up to" in line for line in found[0].lines())
    assert found[0].as_dict()["bias"] == found[0].bias


@pytest.mark.parametrize(("least", "sample"), [(2, "1/2"), (5, "3/10"), (20, "1/5")])
def test_no_cell_misses_more_on_average_than_is_said(least, sample):
    share = Fraction(sample)

    def missed(rows: int) -> float:
        chances = [math.comb(rows, x) * float(share) ** x * float(1 - share) ** (rows - x) for x in range(least)]
        return sum(x * chance for x, chance in enumerate(chances)) / float(share)

    most = max(missed(rows) for rows in range(1, 12 * least))
    assert most_missed(least, share) == pytest.approx(most, rel=1e-9)


# Refusals.


@pytest.mark.parametrize(
    ("definition", "method", "given", "message"),
    [
        (rt.KAnonymity(3), SAMPLE, {}, "judges groups|keep"),
        (rt.UnboundedDP(1), SAMPLE, {}, "needs a delta above 0"),
        (rt.UnboundedDP("0.1", "1e-6"), SAMPLE, {}, "needs an epsilon of at least 0.3567"),
        (rt.UnboundedDP(1, "0.3"), SAMPLE, {}, "not below the sampling probability 3/10"),
        (DP, rt.GridSample(GRID, sample="0.3", least=3), {}, "does not satisfy UnboundedDP"),
        (rt.CrowdBlending(9), rt.GridSample(GRID, least=5), {}, "in crowds of 5, fewer than 9"),
        (DP, rt.GridSample(sample="0.3"), {}, "needs grid"),
        (DP, SAMPLE, {"unit": "person", "key": "town"}, "protects one row"),
        (rt.CrowdBlending(3), COUNTS, {}, "supports UnboundedDP"),
        (rt.UnboundedDP("1e-5"), COUNTS, {}, "epsilon is too small for so many levels"),
        (rt.UnboundedDP(1), rt.GridCounts({"noisy_count": [1], "age": [1]}), {}, "Rename the column"),
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused_with_the_way_out(definition, method, given, message):
    with pytest.raises(PolicyError, match=message):
        rt.publish(table(**given), definition, method)


def test_definitions_do_not_judge_plans_of_other_kinds():
    assert "does not bound" in str(rt.UnboundedDP(1).fits(object()))
    assert "has none" in str(rt.CrowdBlending(3).fits(object()))
    assert rt.NoisyCounts(1).fits(rt.GridSample(GRID, sample="0.3").plan(DP)) is not None
    assert "2.72 times as likely with a person's record in the table as without it" in rt.UnboundedDP(1).meaning()


@pytest.mark.parametrize("frame", [rows(1), rows(1).head(0)])
def test_a_table_of_nobody_has_releases_too(frame, tmp_path):
    if not frame.height:
        with pytest.raises(DataError, match="no rows"):
            table(frame)
        return
    empty = rt.publish(table(frame), DP, SAMPLE)
    assert empty.frame.height == 0
    assert rt.verify(empty.save(tmp_path / "release")).holds
    assert rt.publish(table(frame), rt.UnboundedDP(1), COUNTS, ledger=tmp_path / "other").frame.height >= 4


@pytest.mark.slow
def test_both_methods_draw_by_the_law_that_is_stated():
    """Four rows on a grid of four cells, thousands of times: every outcome as often as its exact chance says (chi-squared, five sigma)."""
    frame = pl.DataFrame({"x": ["a", "a", "a", "b"], "s": ["u", "v", "u", "u"]})
    own, grid, runs = rt.Table(frame, quasi=["x"], sensitive="s"), {"x": ["a", "b"], "s": ["u", "v"]}, 3000
    share = math.exp(-1)

    def noise(value: int) -> float:
        return (1 - share) / (1 + share) * share ** abs(value)

    # One decision and one count of a box, each with half of epsilon = 2: scale 1. The box of all is halved if its noisy count is at least 4.
    halved = sum(noise(value) for value in range(61))
    chances = {(4 + value,): (1 - halved) * noise(value) for value in range(-40, 41)}
    for one in range(-40, 41):
        chances |= {(3 + one, 1 + other): halved * noise(one) * noise(other) for other in range(-40, 41)}
    counts = rt.GridCounts(grid, depth=1, stop=4)
    sample, kept = rt.GridSample(grid, sample="1/2", least=2), Fraction(1, 2)
    cells = ["".join(row) for row in frame.rows()]
    samples = {shown: float(chance) for shown, chance in sample_outputs(cells, kept, 2).items()}
    for method, definition, expected in (
        (counts, rt.UnboundedDP(2), chances),
        (sample, rt.UnboundedDP(2, "0.49"), samples),
    ):
        seen: Counter[tuple] = Counter()
        for seed in range(runs):
            (shown,) = (
                each.frame() for each in method.draft(own, definition, Context(Randomness(seed))).tables.values()
            )
            if method is counts:
                seen[tuple(shown["noisy_count"])] += 1
            else:
                seen[tuple(sorted((x + s, count) for x, s, count in shown.rows()))] += 1
        often = {outcome: chance for outcome, chance in expected.items() if chance * runs >= 8}
        rest = 1 - sum(often.values())
        found = sum((seen[outcome] - runs * chance) ** 2 / (runs * chance) for outcome, chance in often.items())
        if rest * runs > 1:
            found += (runs - sum(seen[outcome] for outcome in often) - runs * rest) ** 2 / (runs * rest)
        freedom = len(often)
        assert found <= freedom + 5 * math.sqrt(2 * freedom), (method, found, freedom)


# Forged folders.


def _forge(folder: Path, place: Path, change: Callable[[dict], None], rows: Callable[[str], str] = str) -> rt.release.Verification:  # fmt: skip
    """The folder with changed details or rows, and a certificate that was made to fit."""
    shutil.copytree(folder / "public", place / "public")
    public = place / "public"
    manifest = json.loads((public / "manifest.json").read_text("utf-8"))
    change(manifest["details"])
    (public / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")  # fmt: skip
    (data,) = public.glob("*.csv")
    data.write_text(rows(data.read_text("utf-8")), "utf-8")
    certificate = json.loads((public / "certificate.json").read_text("utf-8"))
    for name in certificate["files"]:
        content = (public / name).read_bytes()
        certificate["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    written = json.dumps(certificate, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (public / "certificate.json").write_text(written, "utf-8")
    return rt.verify(place)


def _nothing(details: dict) -> None:
    pass


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("sampled", lambda d: d.update(least=2), "does not|above|delta"),
        ("sampled", lambda d: d.update(sample="9/10"), "above|delta"),
        ("sampled", lambda d: d.update(sample="1/10000000"), "denominator"),
        ("sampled", lambda d: d["grid"][1]["cells"].pop(0), "not a cell of the grid|meaning"),
        ("sampled", lambda d: d["grid"].append(d["grid"][0]), "twice|describes"),
        ("counted", lambda d: d.update(depth=20), "halved at most"),
        ("counted", lambda d: d["scales"].update(counts="1/2"), "above|delta"),
        ("counted", lambda d: d["scales"].update(decisions=None), "must be stated"),
        ("counted", lambda d: d["scales"].update(histogram=str(2**40)), "at most"),
        ("counted", lambda d: d.update(histogram="town"), "halving|boxes"),
        ("counted", lambda d: d.update(more=1), "unknown entries"),
    ],
)  # fmt: skip
def test_forged_details_are_found_out(kind, change, message, sampled, counted, tmp_path):
    folder = {"sampled": sampled, "counted": counted}[kind][1]
    found = _forge(folder, tmp_path / "forged", change)
    assert not found.holds
    assert any(re.search(message, check.detail) for check in found.failures), found.failures


def _without_first(text: str) -> str:
    head, _, *rest = text.splitlines(keepends=True)
    return "".join([head, *rest])


def _exchanged(text: str) -> str:
    head, one, other, *rest = text.splitlines(keepends=True)
    return "".join([head, other, one, *rest])


@pytest.mark.parametrize("change", [_exchanged, lambda text: text.replace("Aix", "Nice"), lambda text: text + text.splitlines()[-1] + "\n"])  # fmt: skip
def test_rows_that_are_none_of_the_grid_are_found_out(change, sampled, counted, tmp_path):
    for number, (_, folder) in enumerate((sampled, counted)):
        assert not _forge(folder, tmp_path / str(number), _nothing, change).holds
    assert not _forge(counted[1], tmp_path / "gone", _nothing, _without_first).holds


# Faces.


def test_a_policy_publishes_on_a_grid_and_the_command_line_counts(tmp_path, monkeypatch):
    rows().write_csv(tmp_path / "rows.csv")
    (tmp_path / "policy.toml").write_text(
        'dataset = "wards"\n[data]\nsource = "rows.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n[[definition]]\nname = "UnboundedDP"\n'
        'epsilon = 1\ndelta = "1e-4"\n[method]\nname = "GridSample"\nsample = "0.3"\nbudget = { epsilon = 3, delta = "1e-3" }\n'
        '[method.grid]\nage = { from = 0, to = 100, step = 25 }\ntown = ["Aix", "Apt", "Arles", "Avignon"]\nillness = ["flu", "cold", "gout"]\n'
    )
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(app, ["publish", "policy.toml", "-o", "release", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(run(app, ["verify", "release", "--json"]).output)["ok"]
    told = json.loads(run(app, ["query", "release", "town = 'Aix'", "--json"]).output)
    assert told["interval"][0] <= told["value"] <= told["interval"][1]


def test_the_command_line_plans_a_sample():
    done = CliRunner().invoke(app, ["grid", "plan", "--sample", "0.2", "--epsilon", "2", "--least", "5", "--json"])
    found = json.loads(done.output)
    assert (found["least"], found["delta"], found["known"]) == (5, 0.00032, "exact")
    told = " ".join(CliRunner().invoke(app, ["grid", "plan"]).output.split())
    assert "at least 12 rows of a sample of 1/5 satisfy epsilon = 1, delta = 5.525e-07" in told
    assert "Example: reticent grid plan" in " ".join(CliRunner().invoke(app, ["grid", "plan", "--help"]).output.split())
