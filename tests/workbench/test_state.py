"""What every page shows of a project, against public calls and independent counts; by HTTP, without a browser."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app_for
from reticent.errors import DataError
from reticent.ledger import Ledger
from reticent.policy import Policy
from reticent.workbench.figures import many, percent_text
from tests.workbench.conftest import HOST, Shop

QUASI = ["age", "sex", "town"]


def test_the_rail_has_the_figures_of_the_public_calls(shop: Shop, policy: Path, people: pl.DataFrame) -> None:
    told, read = shop.rail(shop.opened(policy)), Policy.read(policy)
    table = read.table()
    made = rt.preview(table, read.definition, read.method(table, read.definition))
    alone = people.group_by(QUASI).len().filter(pl.col("len") == 1).height
    assert told["Rows"] == f"{people.height:,}"
    assert (told["Identifiers"], told["Known to others"], told["Sensitive"]) == ("1", "3", "1")
    assert told["Exposed as it stands"] == f"{percent_text(alone / people.height)} unique ({alone})"
    assert told["Guarantee"].replace("\u00a0", " ") == "k-anonymity, k = 5 distinct l-diversity, l = 2"
    candidate = f"{percent_text(made.utility['loss'])} of the detail lost, {many(made.suppressed, 'suppressed record')}"
    assert told["Candidate: Lattice"] == candidate
    assert made.suppressed > 0


def published(shop: Shop, project: Any, **fields: str) -> None:
    """Publish by the form of the page, and look at the page until the release is there."""
    assert shop.client.post(f"/p/{project.id}/publish", dataset="people of the town", **fields).status_code == 303
    shop.client("GET", f"/p/{project.id}/publishing?v={project.head}")


def test_the_rail_says_what_the_ledger_says(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    assert shop.rail(project)["Released before"] == "never"
    published(shop, project)
    assert len(project.releases) == 1
    assert shop.rail(project)["Released before"] == "once"
    shop.client.post(f"/p/{project.id}/definition", place="0", **{"value-k": "7"})
    published(shop, project)
    assert project.fact("publishing") is not None, "a second release of the same people must be asked for"
    assert shop.rail(project)["Released before"] == "once"
    shop.client.post(f"/p/{project.id}/publishing/dismiss")
    published(shop, project, again="1", output="releases/second")
    assert len(project.releases) == 2
    with Ledger(policy.parent / "ledger.sqlite") as ledger:
        kept = [each for each in ledger.entries("people of the town") if each.status != "withdrawn"]
    assert len(kept) == 2
    assert shop.rail(project)["Released before"] == "2 times"


def test_a_release_is_there_before_its_report_and_without_it(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    shop.held.add("report")
    published(shop, project, report="1")
    folder = Path(project.releases[0]["path"])
    html = shop.page(project, "publish")
    assert "verified" in html
    assert "Writing the steward’s report" in html
    assert "The release is complete." in html
    assert rt.verify(folder).holds
    assert shop.client("GET", f"/p/{project.id}/release/0/release.zip").status_code == 200
    assert "no report yet" in unescape(shop.client("GET", f"/p/{project.id}/release/0/report.html").text)
    assert shop.rail(project)["Released before"] == "once"
    shop.end("report", "stopped")
    html = shop.page(project, "publish")
    assert "The report was stopped. The release is complete." in html
    shop.client.post(f"/p/{project.id}/release/0/report")
    shop.end("report", "failed")
    html = shop.page(project, "publish")
    assert "The report was not written. The release is complete." in html
    assert "nothing was published" not in html
    assert not (folder / "private" / "report.html").exists()
    assert rt.verify(folder).holds
    shop.held.clear()
    assert shop.client.post(f"/p/{project.id}/release/0/report").status_code == 303
    assert "Write the steward’s report</button>" not in shop.page(project, "publish")
    report = shop.client("GET", f"/p/{project.id}/release/0/report.html")
    assert "people of the town" in report.text
    assert "no release by groups under this definition can be below" in report.text


def test_a_report_is_written_later_from_the_folder_alone(
    shop: Shop, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.workbench.tasks.release_task._made", {})
    project = shop.opened(policy)
    published(shop, project)
    assert "Write the steward’s report</button>" in shop.page(project, "publish")
    monkeypatch.setattr("reticent.workbench.tasks.release_task._made", {})
    shop.client.post(f"/p/{project.id}/release/0/report")
    assert "attack" in shop.client("GET", f"/p/{project.id}/release/0/report.html").text
    (Path(project.releases[0]["path"]) / "private" / "report.html").unlink()
    for result in project.cache.glob("report-*.json"):
        result.unlink()
    assert "Write the steward’s report</button>" in shop.page(project, "publish")


def test_a_release_whose_process_ended_after_it_was_written_is_not_lost(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    shop.held.add("publish")
    published(shop, project)
    assert project.releases == []
    shop.work("publish")
    # Nobody looked at the page meanwhile, and the server was stopped: neither job nor result is left.
    shop.client.desk.jobs.drop(
        next(iter(each for each in shop.client.desk.jobs._jobs if shop.client.desk.jobs._jobs[each].task == "publish"))
    )
    for result in project.cache.glob("publish-*.json"):
        result.unlink()
    html = shop.page(project, "publish")
    assert len(project.releases) == 1
    assert "verified" in html
    assert "Nothing was published" not in html


def test_drivers_of_exposure_are_counted_record_by_record(shop: Shop, policy: Path, people: pl.DataFrame) -> None:
    def alone(names: tuple[str, ...]) -> int:
        return people.group_by(names).len().filter(pl.col("len") == 1).height if names else 0

    adds = dict.fromkeys(QUASI, 0.0)
    orders = list(permutations(QUASI))
    for order in orders:
        for place, name in enumerate(order):
            adds[name] += (alone(order[: place + 1]) - alone(order[:place])) / len(orders)
    project = shop.opened(policy)
    shop.part(project, "exposure")
    job = shop.client.desk.job(shop.client.desk.view(project.id, project.head, "columns"), "exposure")
    drivers = {each["column"]: each for each in job.result["sets"][0]["drivers"]}
    found = {name: each["adds"] for name, each in drivers.items()}
    # The workbench takes the mean over forty orders of the columns, here it is over all of them.
    assert found == pytest.approx(adds, rel=0.15)
    assert sum(found.values()) == pytest.approx(alone(tuple(QUASI)))
    for name in QUASI:
        others = tuple(each for each in QUASI if each != name)
        assert drivers[name]["alone"] == alone((name,))
        assert drivers[name]["drives"] == alone(tuple(QUASI)) - alone(others)
    shown = re.findall(r"<b>([^<]*)</b> of the exposure", shop.part(project, "columns", "columns"))
    assert sorted(shown) == sorted(percent_text(each / sum(found.values()), 0) for each in found.values())


def levels_of(shop: Shop, project: Any, column: int, description: dict[str, Any], way: str = "levels") -> Any:
    return shop.client.post(f"/p/{project.id}/{way}", place=str(column), description=json.dumps(description))


def test_the_finest_and_coarsest_level_bound_policy_and_search(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    shop.page(project, "columns")
    limited = {"kind": "intervals", "widths": [5, 10, 20], "min_level": 1, "max_level": 2}
    assert levels_of(shop, project, 1, limited).status_code == 303
    assert project.content()["hierarchies"]["age"] == limited
    shop.part(project, "solutions", "explore")
    found = shop.client.desk.job(shop.client.desk.view(project.id, project.head, "explore"), "solutions").result
    ages = {each["levels"][0] for each in found["nodes"]} | {levels[0] for levels, _ in found["status"]}
    assert ages == {1, 2}
    read = Policy.parse(project.text(), "policy", project.folder)
    best = rt.search(read.table(), read.definition, suppression="0.05").best
    assert best is not None
    assert found["best"] == list(best.levels.values())


def test_edited_levels_show_at_once_how_many_combinations_they_leave(
    shop: Shop, policy: Path, people: pl.DataFrame
) -> None:
    project = shop.opened(policy)
    shop.page(project, "columns")
    for borders in ([30, 40], [25, 33, 47], [50]):
        html = levels_of(shop, project, 1, {"kind": "cuts", "levels": [borders]}, "levels/try").text
        part = sum((pl.col("age") >= border).cast(pl.Int8) for border in borders)
        expected = people.with_columns(part=part).select("part", "sex", "town").n_unique()
        shown = [
            [int(cell.replace(",", "")) for cell in re.findall(r'class="num">([\d,]+)', line)]
            for line in html.split("<li")
        ]
        assert any(expected in cells for cells in shown), (expected, shown)
    assert project.head == 1, "nothing was saved"


def test_undo_and_redo_go_through_the_states_of_the_policy(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    shop.client.post(f"/p/{project.id}/role", column="town", role="")
    shop.client.post(f"/p/{project.id}/role", column="sex", role="sensitive")
    texts = [project.text(number) for number in (1, 2, 3)]
    assert len(set(texts)) == 3
    for way, head in (("undo", 2), ("undo", 1), ("redo", 2), ("redo", 3), ("redo", 3)):
        where = shop.client.post(f"/p/{project.id}/move/{way}", page="columns").headers["location"]
        assert where == f"/p/{project.id}/v/{head}/columns"
        assert project.policy_path.read_text() == texts[head - 1]
    assert 'disabled title="Redo' in shop.client("GET", f"/p/{project.id}/rail?v=3&page=columns").text
    # An earlier state keeps its address, and is shown as it was.
    assert "earlier state" in shop.client("GET", f"/p/{project.id}/v/1/columns").text


def test_names_and_cells_are_shown_as_text(shop: Shop, tmp_path: Path) -> None:
    name, column, cell = "<script>alert(1)<script>.csv", "<img src=x onerror=alert(2)>", "=HYPERLINK(3)"
    lines = [f"{20 + n % 30},<b>{n % 3}</b>,{cell}" for n in range(200)]
    headers = {"origin": f"http://{HOST}", "x-file-name": "%3Cscript%3Ealert(1)%3Cscript%3E.csv"}
    content = f"age,{column},note\n" + "\n".join(lines)
    answered = shop.client("POST", "/upload", content=content, headers=headers)
    project = shop.client.desk.projects.find(answered.json()["address"].split("/")[2])
    assert (project.folder / "uploads" / name).exists()
    shop.client("GET", f"/p/{project.id}/pending")
    assert project.head == 1
    shown = [shop.client("GET", "/").text, *(shop.page(project, each) for each in ("data", "columns", "guarantee"))]
    shown.append(shop.part(project, "rows", start=0, count=12))
    assert cell in shown[-1]
    assert unescape(shown[-1]).count(column) > 0
    for html in shown:
        assert not re.search(r"<script>|<img|<b>\d</b>,", html)
    assert name in unescape(shown[0])


def test_forgetting_removes_uploads_results_and_releases(shop: Shop, policy: Path) -> None:
    headers = {"origin": f"http://{HOST}", "x-file-name": "people.csv"}
    content = (policy.parent / "people.csv").read_bytes()
    where = shop.client("POST", "/upload", content=content, headers=headers).json()["address"]
    project = shop.client.desk.projects.find(where.split("/")[2])
    shop.client("GET", f"/p/{project.id}/pending")
    shop.page(project, "columns")
    published(shop, project)
    held = {each.name for each in project.folder.rglob("*")}
    assert {"people.csv", "results", "release-1"} <= held
    assert shop.client.post(f"/p/{project.id}/forget").status_code == 303
    assert not project.folder.exists()
    assert not [each for each in shop.home.rglob("*") if each.is_file()]
    with pytest.raises(DataError, match="no such project"):
        shop.client.desk.projects.find(project.id)
    assert (policy.parent / "people.csv").exists(), "a file that was opened where it lies stays"


def assert_same_files(ours: Path, theirs: Path) -> None:
    """All files of two public folders are equal; of certificates all but the time and the ledger."""
    names = sorted(each.name for each in ours.iterdir())
    assert names == sorted(each.name for each in theirs.iterdir())
    for name in set(names) - {"certificate.json", "STATEMENT.txt"}:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    mine, other = (json.loads((each / "certificate.json").read_text()) for each in (ours, theirs))
    assert {name for name in {*mine, *other} if mine.get(name) != other.get(name)} <= {"created", "ledger"}


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ("csv", {}),
        ("parquet", {}),
        ("csv", {'name = "DistinctLDiversity"\nl = 2': 'name = "TCloseness"\nt = "0.4"'}),
        ("parquet", {'sensitive = ["illness"]': 'sensitive = ["illness"]\nnulls = "category"'}),
        ("csv", {'name = "Lattice"': 'name = "Mondrian"', 'suppression = "0.05"': 'values = "ranges"'}),
    ],
    ids=["csv", "parquet", "t-closeness", "missing values", "Mondrian"],
)
def test_what_is_published_is_what_the_command_publishes(
    shop: Shop, policy: Path, people: pl.DataFrame, files: str, changed: dict[str, str]
) -> None:
    """Byte for byte; in the certificate all but its time and the ledger, which has one release more."""
    text = policy.read_text()
    for before, after in changed.items():
        assert before in text
        text = text.replace(before, after)
    policy.write_text(text)
    if "nulls" in text:
        holes = pl.when(pl.col("name").str.ends_with("7")).then(None)
        people.with_columns(holes.otherwise(pl.col(each)).alias(each) for each in QUASI).write_csv(
            policy.parent / "people.csv"
        )
    project = shop.opened(policy)
    published(shop, project, files=files)
    ours = Path(project.releases[0]["path"]) / "public"
    again, ledger = policy.parent / "again", policy.parent / "other.sqlite"
    command = ["publish", str(project.policy_path), "-o", str(again), "--ledger", str(ledger)]
    result = CliRunner().invoke(app_for(command), command)
    assert result.exit_code == 0, result.output
    assert (ours / f"data.{files}").exists()
    assert_same_files(ours, again / "public")


def test_an_address_that_asks_for_the_whole_table_gets_a_page_of_it(shop: Shop, policy: Path) -> None:
    html = shop.part(shop.opened(policy), "rows", start=0, count=1_000_000)
    assert html.count("person ") == 100


MOST_BYTES = 300_000
"""No answer about a table may be larger, however many rows it has."""


@pytest.mark.slow
def test_no_answer_on_a_large_table_is_large(shop: Shop, shared_data: Path) -> None:
    project = shop.opened(shared_data / "ihis_synth" / "ihis_synth.parquet")
    answers = {
        name: shop.page(project, name) for name in ("data", "columns", "columns/1", "guarantee", "explore", "publish")
    }
    answers["rows"] = shop.part(project, "rows", start=1_000_000, count=12)
    answers["many rows"] = shop.part(project, "rows", start=0, count=1_000_000)
    for name, page in (
        ("columns", "columns"),
        ("exposure", "columns"),
        ("exposed", "columns"),
        ("solutions", "explore"),
        ("candidate", "explore"),
    ):
        answers[name] = shop.part(project, name, page)
    answers["levels"] = shop.part(project, "levels", "columns/1", place=1)
    answers["many exposed"] = shop.part(project, "exposed", "columns", count=1_000_000)
    answers["rail"] = shop.client("GET", f"/p/{project.id}/rail?v=1&page=data").text
    assert "1,193,504" in answers["rail"]
    assert "verdict" in answers["candidate"]
    assert {name: len(html.encode()) for name, html in answers.items() if len(html.encode()) > MOST_BYTES} == {}
