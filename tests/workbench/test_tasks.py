"""What runs in the worker processes, called directly: figures that pages show are those of the public calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.policy import Policy, publish_policy
from reticent.registry import METHODS
from reticent.table import Anything
from reticent.utility import WorkloadError
from reticent.workbench import figures
from reticent.workbench.pages.more import _first_facts, public_values
from reticent.workbench.tasks import columns, data, explore, release_task, verticals, warmth
from reticent.workbench.tasks.distributions import distributions, spread
from reticent.workbench.worker import TASKS, Reporter


class Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def context(self) -> rt.Context:
        return rt.Context()

    def early(self, result: Any) -> None:
        self.answers.append(result)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("project")
    rows = [
        f"{20 + n * 7 % 40},{'fm'[n % 2]},{1000 + n % 5},{('flu', 'cold', 'asthma', 'gout')[n // 3 % 4]}"
        for n in range(300)
    ]
    (place / "people.csv").write_text("age,sex,town,illness\n" + "\n".join(rows))
    return place


@pytest.fixture(scope="module")
def policy(folder: Path) -> str:
    found = data.look(Told(), str(folder), "people.csv", {})  # type: ignore[arg-type]
    assert found["refusal"] is None
    return str(found["text"])


def test_every_task_is_a_function_of_its_module() -> None:
    from importlib import import_module

    for name, module in TASKS.items():
        assert callable(getattr(import_module(module), name)), name


def test_a_first_look_reads_proposes_and_can_be_kept_as_json(folder: Path, policy: str) -> None:
    found = data.look(Told(), str(folder), "people.csv", {})  # type: ignore[arg-type]
    assert json.loads(json.dumps(found)) == found
    assert found["columns"]["illness"]["role"] == "sensitive"
    assert found["rows"] == 300
    Policy.parse(policy, "policy", folder)


def test_a_page_of_rows_tells_what_was_found_out(folder: Path, policy: str) -> None:
    page = data.rows(Told(), str(folder), policy, 298, 12)  # type: ignore[arg-type]
    assert page["total"] == 300
    assert len(page["rows"]) == 2
    assert page["found"] == {"encoding": "utf-8", "delimiter": ",", "header": True, "skip_rows": 0}
    assert set(page["options"]) == {"encoding", "delimiter", "header", "skip_rows", "number_names"}


def test_a_typed_file_has_nothing_to_read_in_another_way(tmp_path: Path) -> None:
    pl.DataFrame({"age": [30 + n % 30 for n in range(200)], "sex": ["f", "m"] * 100}).write_parquet(
        tmp_path / "people.parquet"
    )
    text = str(data.look(Told(), str(tmp_path), "people.parquet", {})["text"])  # type: ignore[arg-type]
    assert data.rows(Told(), str(tmp_path), text, 0, 5)["options"] == []  # type: ignore[arg-type]


def test_distributions_count_every_row(folder: Path, policy: str) -> None:
    found = {each["name"]: each for each in columns.profiles(Told(), str(folder), policy)["columns"]}  # type: ignore[arg-type]
    assert sum(found["age"]["chart"]["counts"]) == 300
    values = found["sex"]["chart"]
    assert {each["label"]: each["count"] for each in values["values"]} == {"f": 150, "m": 150}
    assert values["others"] == 0


def test_exposure_is_that_of_the_table_and_shows_nobody(folder: Path, policy: str) -> None:
    found = columns.exposure(Told(), str(folder), policy)  # type: ignore[arg-type]
    table = Policy.parse(policy, "policy", folder).table()
    alone = table.frame.group_by(list(table.quasi)).len().filter(rt_len_is_one()).height
    assert found["sets"][0]["unique"] == alone
    assert "exposed" not in json.dumps(found)


def rt_len_is_one() -> Any:
    import polars as pl

    return pl.col("len") == 1


def test_levels_that_are_tried_count_the_combinations_that_they_leave(folder: Path, policy: str) -> None:
    import polars as pl

    described = {"kind": "cuts", "levels": [[30, 40, 50], [40]]}
    found = columns.hierarchy(Told(), str(folder), policy, "age", described)  # type: ignore[arg-type]
    frame = Policy.parse(policy, "policy", folder).table().frame
    others = [name for name in ("sex", "town") if name in frame.columns]
    cut = frame.with_columns(sum((pl.col("age") >= border).cast(pl.Int8) for border in (30, 40, 50)).alias("part"))
    assert found["levels"][0]["combinations"] == frame.select("age", *others).n_unique()
    assert found["levels"][1]["combinations"] == cut.select("part", *others).n_unique()
    assert found["levels"][3]["combinations"] == frame.select(others).n_unique()
    assert sum(each["rows"] for each in found["levels"][2]["values"]) == 300


def test_the_solution_space_is_that_of_the_search(folder: Path, policy: str) -> None:
    told = Told()
    found = explore.solutions(told, str(folder), policy)  # type: ignore[arg-type]
    read = Policy.parse(policy, "policy", folder)
    best = rt.search(read.table(), read.definition, suppression="0.05").best
    assert best is not None
    assert found["best"] == list(best.levels.values())
    assert found["value"] == pytest.approx(best.objective)
    judged = {tuple(each["levels"]) for each in found["nodes"]} | {tuple(levels) for levels, _ in found["status"]}
    assert len(judged) == found["size"]
    assert told.answers[0]["best"] == found["best"]
    json.dumps(found)


def test_a_candidate_shows_the_same_rows_before_and_after(folder: Path, policy: str) -> None:
    found = explore.candidate(Told(), str(folder), policy)  # type: ignore[arg-type]
    read = Policy.parse(policy, "policy", folder)
    made = rt.preview(read.table(), read.definition, read.method(read.table(), read.definition))
    assert found["loss"] == pytest.approx(made.utility["loss"])
    assert found["smallest"] >= 5
    assert len(found["before"]["rows"]) == len(found["after"]["rows"])
    sensitive = found["before"]["columns"].index("illness")
    for before, after in zip(found["before"]["rows"], found["after"]["rows"], strict=True):
        assert after is None or after[sensitive] == before[sensitive]
    json.dumps(found)


def test_a_large_table_has_a_candidate_before_all_methods_were_compared(
    folder: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    monkeypatch.setattr(explore, "_SLOW_ROWS", 100)
    found = explore.candidate(told, str(folder), policy)  # type: ignore[arg-type]
    assert [each["name"] for each in told.answers] == ["Lattice"]
    assert found["loss"] <= told.answers[0]["loss"]
    assert found["definition"] == told.answers[0]["definition"]


def test_another_node_is_another_candidate(folder: Path, policy: str) -> None:
    read = Policy.parse(policy, "policy", folder)
    top = {each.column: each.height for each in read.table().hierarchies}
    found = explore.candidate(Told(), str(folder), policy, {"name": "Lattice", "node": top})  # type: ignore[arg-type]
    assert found["loss"] == pytest.approx(1.0)
    assert found["suppressed"] == 0
    assert found["query_error"]["median"] > 0


def test_exact_values_answer_every_query() -> None:
    table = rt.Table({"age": [31, 33, 33, 58] * 5, "sex": ["f", "m"] * 10}, quasi=["age", "sex"])
    asked = rt.preview(table, rt.KAnonymity(1), rt.Lattice()).query_error(50)
    assert asked is not None
    assert asked.errors.max() == 0


@pytest.mark.parametrize("method", [None, 'name = "Mondrian"\nsuppression = "0.05"'])
def test_prices_of_other_guarantees_are_those_of_the_policys_method(
    folder: Path, policy: str, method: str | None
) -> None:
    text = policy if method is None else policy.replace('suppression = "0.05"', method)
    found = explore.prices(Told(), str(folder), text)  # type: ignore[arg-type]
    read = Policy.parse(text, "policy", folder)
    table, definition = read.table(), rt.KAnonymity(7) & read.definitions[1]
    stricter = next(each for each in found["prices"] if each["parameter"] == "k" and each["value"] == 7)
    made = rt.preview(table, definition, read.method(table, definition))
    assert stricter["loss"] == pytest.approx(made.utility["loss"])
    assert stricter["suppressed"] == made.suppressed
    assert [each["limit"] for each in found["limits"]] == ["0", "0.01", "0.02", "0.05", "0.1", "0.2"]
    limited = rt.preview(table, read.definition, read.method(table, read.definition, suppression="0.2"))
    assert found["limits"][-1]["loss"] == pytest.approx(limited.utility["loss"])


@pytest.mark.parametrize(
    ("name", "value", "steps"),
    [("k", 5, [4, 7]), ("l", 2, [3]), ("t", "0.3", ["0.45", "0.2"]), ("column", "x", []), ("alone", True, [])],
)
def test_the_next_values_of_a_parameter(name: str, value: Any, steps: list[Any]) -> None:
    assert explore.next_values(name, value) == steps


def test_a_publication_is_verified(folder: Path, policy: str, tmp_path: Path) -> None:
    text = policy.replace('files = "csv"', f'files = "csv"\noutput = "{tmp_path / "out"}"')
    found = release_task.publish(Told(), str(folder), text, "now")  # type: ignore[arg-type]
    assert found["verified"]["holds"]
    assert rt.verify(tmp_path / "out").holds
    known = release_task.history(Told(), found["dataset"], None, "now") if found["dataset"] else None  # type: ignore[arg-type]
    assert known is None or len(known["entries"]) == 1


def test_the_report_of_a_publication_tells_its_progress_and_nothing_stops_it(
    folder: Path, policy: str, tmp_path: Path
) -> None:
    stages: list[str] = []
    context = rt.Context(
        listen=lambda event: stages.append(event.stage), stop=lambda: any("report" in each for each in stages)
    )
    made = publish_policy(Policy.parse(policy, "the policy", folder), tmp_path / "out", report=True, context=context)
    after = stages[stages.index("writing the steward's report") :]
    assert made.report is not None
    assert made.report.is_file()
    assert "attacking" in after


def test_every_stage_is_shown_and_only_events_within_one_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    clock = iter([1.0, 1.01, 1.02, 1.5, 1.51])
    monkeypatch.setattr("reticent.workbench.worker.time.monotonic", lambda: next(clock))
    context = Reporter(SimpleNamespace(send=sent.append), SimpleNamespace(value=False)).context()  # type: ignore[arg-type]
    for stage, completed in (("reading", 0), ("attacking", 0), ("attacking", 1), ("attacking", 2), ("drawing", 2)):
        context.step(stage, completed, 4)
    shown = [("reading", 0.0), ("attacking", 0.0), ("attacking", 0.5), ("drawing", 0.5)]
    assert sent == [("event", (stage, share, "")) for stage, share in shown]


def test_views_are_judged_with_the_databases_that_show_it() -> None:
    schema = "CREATE TABLE employee (name text, department text, phone text);"
    found = verticals.views_check(
        Told(), "SELECT name, phone FROM employee", "SELECT name, department FROM employee", schema
    )  # type: ignore[arg-type]
    assert found["cards"][0]["title"].startswith("DISCLOSES")
    assert len(found["cards"]) == 3
    assert found["cards"][1]["tables"][-1]["heads"] == ["name", "department", "phone"]
    private = verticals.views_check(
        Told(),
        "SELECT name FROM employee WHERE department = 'a'",
        "SELECT name FROM employee WHERE department = 'b'",
        schema,
    )  # type: ignore[arg-type]
    assert private["cards"][0]["tone"] == "good"


def test_plans_are_cards_and_bad_input_is_named() -> None:
    assert verticals.synthetic_plan(Told(), "120, 80", 50, "2", "1e-5")["cards"]  # type: ignore[arg-type]
    assert verticals.randomized_plan(Told(), 100, "age=100, sex=2, town=50", "10", "1/5")["cards"]  # type: ignore[arg-type]
    assert verticals.noise_plan(Told(), "1", "1e-6", 4, 1, "count")["cards"]  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="sizes of the groups"):
        verticals.synthetic_plan(Told(), "many", 50, "2", "1e-5")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="number of values"):
        verticals.randomized_plan(Told(), 10, "age", "10", "1/5")  # type: ignore[arg-type]


def test_facts_are_weighed_against_the_candidate(folder: Path, policy: str) -> None:
    found = verticals.knowledge_curve(Told(), str(folder), policy, "illness", 3)  # type: ignore[arg-type]
    assert found["curve"] == sorted(found["curve"])
    assert 0 < found["curve"][0] < 1


def test_a_plain_file_is_attacked_with_named_or_proposed_columns(folder: Path) -> None:
    path = str(folder / "people.csv")
    named = verticals.file_attack(Told(), path, "", "age, sex, town", "illness")  # type: ignore[arg-type]
    table = rt.Table(pl.read_csv(path), quasi=["age", "sex", "town"], sensitive="illness")
    assert named["cards"] == [verticals.plain_card(rt.attack(table).card())]
    proposed = verticals.file_attack(Told(), path, "")  # type: ignore[arg-type]
    assert proposed["cards"][0]["tables"][0]["rows"]


def test_methods_with_differential_privacy_are_compared_by_columns_that_are_declared(folder: Path, policy: str) -> None:
    pytest.importorskip("opendp")
    domain = "age = { low = 0, high = 100, bins = 5 }\nsex = ['f', 'm']"
    found = verticals.dp_comparison(Told(), str(folder), policy, "1, 3", "1e-6", domain, "age x sex")  # type: ignore[arg-type]
    (card,) = found["cards"]
    assert [row[:2] for row in card["tables"][0]["rows"]] == [
        [method, epsilon] for epsilon in ("1", "3") for method in ("AIM", "MST", "the listed marginals")
    ]
    assert not card["notes"]
    with pytest.raises(PolicyError, match="one column on a line"):
        verticals.dp_comparison(Told(), str(folder), policy, "1", "1e-6", "age = ?", "")  # type: ignore[arg-type]


def test_only_levels_that_the_rows_do_not_decide_are_offered_as_public_values() -> None:
    content = {
        "roles": {"quasi": ["age", "town", 'a "b"'], "sensitive": ["illness"]},
        "hierarchies": {
            "age": {"kind": "intervals", "widths": [5], "domain": [0, 120]},
            "town": {"kind": "intervals", "widths": [5]},
        },
    }
    lines = public_values(content).splitlines()
    assert lines == ['"age" = { level = 1 }', '"town" = []', '"a \\"b\\"" = []', '"illness" = []']
    levels: dict[str, dict[str, Any]] = {
        "age": {"kind": "cuts", "levels": [[30, 60], [60]], "domain": [0, 120]},
        "town": {"kind": "taxonomy", "tree": {"north": ["Kiel"], "south": ["Ulm"]}},
        'a "b"': {"kind": "taxonomy", "tree": {"n": ["x"]}, "from_data": True},
        "illness": {"kind": "suppression", "domain": ["flu", "cold"]},
    }
    lines = public_values({**content, "hierarchies": levels}).splitlines()
    assert [line.partition(" = ")[2] for line in lines] == ["{ level = 1 }", "{ level = 0 }", "[]", '["flu", "cold"]']
    assert public_values({**content, "method": {"name": "Marginals", "domain": {"age": [1]}}}) == ""


def test_the_typical_error_is_that_of_counts_that_are_not_tiny() -> None:
    measured = WorkloadError("uniform", 1.0, 1000, np.array([1, 2, 10, 500]), np.array([9.0, 2.0, 15.0, 400.0]))
    assert explore._query_error(measured) == {"queries": 4, "frequent": 2, "median": 0.35, "off": 6.5}
    tiny = WorkloadError("uniform", 1.0, 1000, np.array([1, 2]), np.array([9.0, 2.0]))
    assert explore._query_error(tiny) == {"queries": 2, "frequent": 0, "median": None, "off": 4.0}


def test_a_limit_that_could_not_be_priced_costs_at_most_what_a_release_within_it_costs() -> None:
    stopped = {"limit": "0", "loss": None, "suppressed": None, "problem": "takes longer", "stopped": True}
    within = {"limit": "0.05", "loss": 0.07, "suppressed": 0, "problem": None, "stopped": False}
    beyond = {"limit": "0.1", "loss": 0.05, "suppressed": 60, "problem": None, "stopped": False}
    limits = [stopped, within, beyond]
    assert explore._bounded(stopped, limits, 1000) == {**stopped, "loss": 0.07, "suppressed": 0, "at_most": True}
    assert explore._bounded(stopped, [stopped, beyond], 1000) == {**stopped, "at_most": False}
    impossible = {**stopped, "stopped": False}
    assert explore._bounded(impossible, limits, 1000) == {**impossible, "at_most": False}
    assert explore._bounded(within, limits, 1000)["loss"] == 0.07


@pytest.mark.slow
def test_a_method_that_is_added_to_the_registry_is_tried(
    folder: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "Another", METHODS["Mondrian"]._replace(attribute="Mondrian"))
    found = {each["name"]: each for each in explore.methods(Told(), str(folder), policy)["methods"]}  # type: ignore[arg-type]
    assert found["Another"]["problem"] is None
    assert found["Another"]["loss"] == found["Mondrian"]["loss"]


def test_a_histogram_names_the_values_that_it_holds() -> None:
    months = columns.bins_of(pl.Series(list(range(1, 13)) * 20), "integer")
    assert months["ends"] == ["1", "12"]
    assert months["labels"] == [str(month) for month in range(1, 13)]
    tailed = pl.Series([*range(100)] * 10 + [90_000, -5])
    found = columns.bins_of(tailed, "integer")
    first, last = found["ends"]
    assert first.endswith(" or less")
    assert last.endswith(" or more")
    assert sum(found["counts"]) == len(tailed)
    assert columns.bins_of(pl.Series(list(range(1974, 2019))), "integer")["ends"] == ["1974", "2018"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12.300000000001, "12.3"), (1234567.5, "1234567.5"), (0.000123456789, "0.000123457"), (0.0, "0")],
)
def test_fractions_are_shown_short_and_without_an_exponent(value: float, text: str) -> None:
    assert data.cell_text(value) == text


def test_labels_of_long_fractions_are_shortened_and_others_kept() -> None:
    assert [data.label_text(each) for each in ("0.30000000000000004", "[1.25, 3)", "80331", "1.5")] == [
        "0.3",
        "[1.25, 3)",
        "80331",
        "1.5",
    ]


def test_people_in_groups_add_up_to_everybody_although_they_have_several_rows(tmp_path: Path) -> None:
    rows = [f"P{n // 3},{20 + n // 3 % 4 * 10},{('flu', 'cold', 'gout')[n % 3]}" for n in range(180)]
    (tmp_path / "visits.csv").write_text("patient_id,age,illness\n" + "\n".join(rows))
    text = str(data.look(Told(), str(tmp_path), "visits.csv", {})["text"])  # type: ignore[arg-type]
    found = explore.candidate(Told(), str(tmp_path), text)  # type: ignore[arg-type]
    assert sum(each["people"] for each in found["sizes"]) == 60
    exposure = columns.exposure(Told(), str(tmp_path), text)  # type: ignore[arg-type]
    assert exposure["several_rows"]


def test_what_one_definition_leaves_open_and_another_rules_out_does_not_remain(folder: Path, policy: str) -> None:
    found = explore.candidate(Told(), str(folder), policy)  # type: ignore[arg-type]
    assert {each["name"] for each in Policy.parse(policy, "policy", folder).sections.definition} >= {
        "KAnonymity",
        "DistinctLDiversity",
    }
    assert found["not_covered"]
    assert not any("all matching records share" in each for each in found["not_covered"])


def test_a_series_is_rehearsed_for_one_of_several_sensitive_columns(tmp_path: Path) -> None:
    rows = [
        f"P{n},{20 + n % 40},{('flu', 'cold', 'gout', 'asthma', 'burn', 'cough')[n % 6]},{'ab'[n % 2]}"
        for n in range(240)
    ]
    (tmp_path / "patients.csv").write_text("patient_id,age,diagnosis,disease\n" + "\n".join(rows))
    text = str(data.look(Told(), str(tmp_path), "patients.csv", {})["text"])  # type: ignore[arg-type]
    assert set(Policy.parse(text, "policy", tmp_path).table().sensitive) == {"diagnosis", "disease"}
    found = verticals.series_plan(Told(), str(tmp_path), text, 2, 3, "0.05", "0.05", "0.05", "", "diagnosis")  # type: ignore[arg-type]
    assert found["cards"][0]["title"] == "Counterfeits planned"


@pytest.mark.parametrize(
    ("task", "arguments", "told"),
    [
        ("randomized_plan", (1000, "age=x, sex=2", "10", "0.2"), "Give age a whole number"),
        ("series_next", ("/no/such/history", "/no/such/file.csv", ""), "reticent republish"),
    ],
)
def test_forms_say_what_to_fill_in(task: str, arguments: tuple[Any, ...], told: str) -> None:
    with pytest.raises((DataError, PolicyError), match=told):
        getattr(verticals, task)(Told(), *arguments)


def test_public_values_that_are_missing_are_all_named() -> None:
    with pytest.raises(PolicyError, match="List the public values of sex, town"):
        verticals._declared("age = { level = 1 }\nsex = []\ntown = []")


def test_the_first_facts_of_a_form_are_those_of_two_people() -> None:
    content = {"roles": {"key": "id", "sensitive": ["illness"]}}
    page = {
        "columns": [{"name": "id"}, {"name": "illness"}],
        "rows": [["P1", "flu"], ["P1", "cold"], ["P2", None], ["P3", "gout"]],
    }
    assert _first_facts(content, page) == {"know": "P1=flu", "ask": "P3=gout"}
    assert _first_facts({"roles": {"sensitive": ["illness"]}}, page) == {}


def test_a_published_label_counts_in_equal_parts_for_its_values() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31, None] * 20, "sex": ["f", "m", "f", "m", "f"] * 20})
    age = rt.Hierarchy.intervals([10], domain=(20, 39))
    table = rt.Table(frame, quasi={"age": age, "sex": None}, nulls="category")
    made = rt.preview(table, rt.KAnonymity(2), rt.Lattice(node={"age": 1, "sex": 0}))
    drawn = {each["column"]: each for each in distributions(table, made)}
    counts = dict(
        zip(drawn["age"]["labels"], zip(drawn["age"]["counts"], drawn["age"]["after"], strict=True), strict=True)
    )
    assert counts == dict.fromkeys(("20", "21", "30", "31", "missing"), (20, 20.0))
    assert dict(zip(drawn["sex"]["labels"], drawn["sex"]["after"], strict=True)) == {"f": 60.0, "m": 40.0}
    everything = spread(pl.Series("age", [20, 21, 30]), pl.Series("age", ["*"] * 9), {"*": Anything()})
    assert everything.tolist() == [3.0, 3.0, 3.0]


def test_facts_are_weighed_by_someone_who_sees_the_candidate(tmp_path: Path) -> None:
    rows = [f"P{n},{20 + n},{('flu', 'cold', 'gout')[n % 3]}" for n in range(60)]
    (tmp_path / "patients.csv").write_text("patient_id,age,illness\n" + "\n".join(rows))
    text = str(data.look(Told(), str(tmp_path), "patients.csv", {})["text"])  # type: ignore[arg-type]
    found = verticals.what_if(Told(), str(tmp_path), text, "P0=flu", "P1=cold", "illness")  # type: ignore[arg-type]
    # Nobody shares an age, so only the groups of the candidate leave anything open.
    assert "P1=cold has probability 1 " not in found["cards"][0]["title"]
    assert "P1=cold has probability" in found["cards"][0]["title"]


def test_a_scatter_has_round_numbers_at_its_axes() -> None:
    points = [{"key": "a", "objective": 0.511, "risk": 0.052}, {"key": "b", "objective": 0.27, "risk": 0.019}]
    ticks = re.findall(r'<text class="tick"[^>]*>([^<]*)</text>', figures.scatter(points, ["a", "b"], "/p", "node"))
    assert [each for each in ticks if "%" in each] == [
        *("0%", "10.0%", "20.0%", "30.0%", "40.0%", "50.0%"),
        *("0%", "1.0%", "2.0%", "3.0%", "4.0%", "5.0%"),
    ]


@pytest.mark.parametrize(("lane", "ahead"), [("look", "look"), ("search", "candidate"), ("side", "candidate")])
def test_a_worker_warms_up_only_until_something_is_asked(
    monkeypatch: pytest.MonkeyPatch, lane: str, ahead: str
) -> None:
    ran: list[str] = []
    for module, names in (
        (data, ("look", "rows")),
        (columns, ("profiles", "exposure")),
        (explore, ("candidate", "solutions")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, lambda *given, name=name: ran.append(name))
    warmth.warm(lane, lambda: True)
    assert ran == []
    warmth.warm(lane, lambda: bool(ran))
    assert ran == [ahead]
    warmth.warm(lane, lambda: False)
    assert ran[1:] == (["look", "rows", "profiles", "exposure"] if lane == "look" else ["candidate", "solutions"])
