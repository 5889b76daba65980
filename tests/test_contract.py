"""The calls that scripts outside the project rely on, each as it is written down for them."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from inspect import Parameter
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import reticent as rt
from reticent.base.parameters import parameters_of
from reticent.cli.app import app
from reticent.registry import DEFINITIONS, METHODS, ROOMS

AGES = [23, 24, 26, 27, 31, 33, 36, 38, 41, 44, 46, 49]
ZIPS = ["13053", "13068", "13053", "13068", "14853", "14853", "14850", "14850", "13053", "13068", "13053", "13068"]
DISEASES = ["flu", "gout", "cold", "flu", "gout", "cold", "flu", "gout", "cold", "flu", "gout", "cold"]
ARX = "17;[0, 50);*\n" + "".join(f"{age};[0, 50);*\n" for age in sorted(set(AGES)))


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame({"name": [f"p{i}" for i in range(12)], "age": AGES, "zip": ZIPS, "disease": DISEASES})


@pytest.fixture
def table(frame: pl.DataFrame) -> rt.Table:
    age = rt.Hierarchy.intervals(widths=[5, 10, 20, 40], origin=0, domain=(17, 90))
    return rt.Table(
        frame,
        quasi={"age": age, "zip": rt.Hierarchy.masking(digits=5)},
        sensitive="disease",
        identifiers=["name"],
        other=[],
        key=None,
        weight=None,
        nulls="refuse",
        dataset=None,
    )


def test_clusters_of_points_and_of_a_table(table: rt.Table) -> None:
    points = [[0, 0], [0, 1], [1, 0], [1, 1], [9, 9], [9, 8], [8, 9], [8, 8], [50, 50]]
    for found in (rt.Gather(r=4, epsilon=0).fit(points), rt.Gather(r=4, epsilon="1/9").fit(np.array(points))):
        assert len(found.labels) == 9
        assert found.radius <= 4 * found.lower_bound
        assert len(found.centres) == found.labels.max() + 1
    assert found.labels.tolist() == [0] * 4 + [1] * 4 + [-1]
    fitted = rt.Gather(r=5, epsilon=0).fit(table)
    assert min(fitted.sizes) >= 5
    assert fitted.lower_bound <= fitted.radius <= 2 * 2 * fitted.lower_bound


def test_every_way_to_make_a_hierarchy(tmp_path: Path, frame: pl.DataFrame) -> None:
    path = tmp_path / "adult_hierarchy_age.csv"
    path.write_text(ARX)
    read = rt.Hierarchy.from_csv(path, separator=";")
    assert rt.search(rt.Table(frame, quasi={"age": read}, sensitive="disease"), rt.KAnonymity(5)).best.levels == {
        "age": 1
    }
    for made in (
        rt.Hierarchy.suppression(),
        rt.Hierarchy.taxonomy({"*": {"south": ["13053", "13068"], "north": ["14850", "14853"]}}),
        rt.Hierarchy.masking(digits=5),
    ):
        assert rt.search(rt.Table(frame, quasi={"zip": made}), rt.KAnonymity(2)).best is not None
    assert rt.Hierarchy.dates() is not None


def test_search_says_what_it_found(table: rt.Table) -> None:
    found = rt.search(
        table, rt.KAnonymity(3) & rt.EntropyLDiversity(2), suppression="0.05", objective="loss", seconds=None
    )
    best = found.best
    assert best is not None
    assert set(best.levels) == {"age", "zip"}
    assert best.objective > 0
    assert best.suppressed == 0
    assert best.groups >= 1
    assert found.proven
    assert found.bound == best.objective
    assert found.passing is None or found.passing > 0
    exhaustive = rt.search(table, rt.KAnonymity(3), suppression="0")
    assert all(set(node) == {"age", "zip"} for node in exhaustive.minimal)
    assert rt.search(table, rt.KAnonymity(13)).best is None
    with pytest.raises(rt.Infeasible):
        rt.publish(table, rt.KAnonymity(13))


def test_anatomy_publishes_two_tables(table: rt.Table) -> None:
    release = rt.publish(table, rt.DistinctLDiversity(3), method=rt.Anatomy())
    assert release.tables["quasi"].height == 12
    assert release.tables["sensitive"]["count"].sum() == 12


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_publish_save_verify_and_count(table: rt.Table, tmp_path: Path, form: str) -> None:
    private = rt.KAnonymity(3) if form == "generalize" else rt.DistinctLDiversity(3)
    release = rt.publish(table, private, method=rt.Lattice(objective="loss", suppression="0.05", format=form))
    assert release.frame.height == 12 or form == "bucketize"
    assert release.tables
    assert sum(release.groups.sizes) == 12
    assert release.certificate
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release", population=None, key=None).holds
    for measure in (
        "loss",
        "loss_geometric",
        "discernibility",
        "average_group_size",
        "non_uniform_entropy",
        "kl",
        "ncp",
    ):
        assert release.utility[measure] is not None
    counted = release.count("age between 30 and 40 and disease = 'flu'")
    assert counted.value >= 0
    assert counted.bounds is not None or counted.standard_error is not None


def test_assess_gives_verdict_value_and_witness(table: rt.Table) -> None:
    assessment = rt.assess(table, rt.KAnonymity(2))
    assert (assessment.holds, assessment.value) == (False, 1)
    assert assessment.witness is not None
    assert rt.assess(rt.publish(table, rt.KAnonymity(2)), rt.KAnonymity(2)).holds


def test_a_saved_scheme_recodes_new_rows(table: rt.Table, frame: pl.DataFrame, tmp_path: Path) -> None:
    release = rt.publish(table, rt.KAnonymity(3))
    release.save(tmp_path / "release")
    recoded = rt.apply(tmp_path / "release", frame.head(3), unseen="error")
    assert set(recoded["age"]) <= set(release.frame["age"])


def definitions(population: pl.DataFrame) -> list[rt.Definition]:
    return [
        rt.KAnonymity(2),
        rt.DistinctLDiversity(2),
        rt.DistinctLDiversity(2, column="disease"),
        rt.EntropyLDiversity(2, dont_care=()),
        rt.ProbabilisticLDiversity(2),
        rt.RecursiveLDiversity(2, 2, dont_care=()),
        rt.NegativePositiveDiversity(2, "0.1", 2, ["flu"], ["gout"]),
        rt.TCloseness("0.5", distance="equal"),
        rt.AlphaKAnonymity("0.7", 2),
        rt.DeltaDisclosure(2),
        rt.BetaLikeness(2),
        rt.BetaLikeness(2, enhanced=False),
        rt.KMap(2, population),
        rt.DeltaPresence(0, 1, population),
        rt.AverageRisk("0.5"),
        rt.MUnique(2),
        rt.MEligible(2),
        rt.WorstCaseKnowledge("0.9", 1),
        rt.NegatedKnowledge("0.9", 1),
    ]


@pytest.mark.parametrize("number", range(19))
def test_every_definition_is_assessed_and_searched(table: rt.Table, frame: pl.DataFrame, number: int) -> None:
    definition = definitions(pl.concat([frame, frame]).drop("name", "disease"))[number]
    assert isinstance(rt.assess(table, definition).holds, bool)
    found = rt.search(table, definition)
    assert found.best is None or rt.assess(rt.publish(table, definition), definition).holds


def test_knowledge_of_two_buckets() -> None:
    curve = rt.knowledge.curve([(2, 2, 1), (2, 1, 1, 1)], k=3)
    assert curve == [Fraction(2, 5), Fraction(2, 3), 1, 1]
    assert rt.knowledge.negation_curve([(2, 2, 1), (2, 1, 1, 1)], 3)[0] == Fraction(2, 5)


def test_what_if_on_a_table() -> None:
    people = pl.DataFrame({"name": ["Charlie", "Hannah"], "sex": ["m", "m"], "disease": ["Flu", "Gout"]})
    table = rt.Table(people, quasi=["sex"], sensitive="disease", key="name")
    found = rt.knowledge.what_if(table, know=["Hannah=Flu -> Charlie=Flu"], ask="Charlie=Flu", people=None)
    assert (found.prior, found.posterior, found.contradiction) == (Fraction(1, 2), 1, False)
    assert found.cost is not None


def test_a_randomized_view_from_plan_to_estimate() -> None:
    plan = rt.randomize.plan(
        n=30162,
        domain={"age": 72, "score": 101, "town": 500},
        k=10,
        gamma="1/5",
        preset="tight",
        adversary="independent",
        views=1,
    )
    assert 0 < plan.alpha < 1
    assert 0 < plan.beta < 1
    assert plan.worst_posterior <= Fraction(1, 5)
    assert plan.expected_rows > 0
    assert plan.verdict
    domain = {"age": list(range(18, 90)), "score": list(range(101)), "town": list(range(500))}
    rows = pl.DataFrame({name: [values[i % len(values)] for i in range(500)] for name, values in domain.items()})
    sizes = {name: len(values) for name, values in domain.items()}
    small = rt.randomize.plan(n=rows.height, domain=sizes, k=10, gamma="1/5", preset="tight")
    view = rt.randomize.publish(rows, small, domain=domain, dataset="scores", insecure_seed=1)
    estimate = view.estimate("score < 3*age")
    low, high = estimate.interval
    assert low <= estimate.value <= high
    assert estimate.standard_error > 0
    by_hand = sum(score < 3 * age for age in domain["age"] for score in domain["score"]) * len(domain["town"])
    assert rt.randomize.count_domain("score < 3*age", domain) == by_hand


def test_the_auditors_answer_or_deny() -> None:
    auditor = rt.audit.SumAuditor(n=6)
    assert auditor.ask({0, 1, 2}) is True
    assert auditor.ask({0, 1}) is False
    maxima = rt.audit.MaxAuditor(n=4, duplicates=True)
    assert maxima.ask({0, 1}) is True
    maxima.record({0, 1}, 9)
    assert maxima.ask({0}) is False
    found = rt.audit.check_log([({0, 1}, "sum", 7), ({0}, "sum", 3)], n=6)
    assert found.exposed == {0: 3, 1: 4}
    assert found.certificate[1]


def test_views_are_checked_from_their_texts() -> None:
    assert rt.views.check(secret="S(x) :- R(x,y)", view="V(y) :- R(x,y)").status == "DISCLOSES"
    ddl = "CREATE TABLE r (a int, b int)"
    found = rt.views.check(
        secret="SELECT a FROM r WHERE b = 1",
        view=["SELECT a FROM r WHERE b = 0"],
        schema=ddl,
        semantics="sql",
        keys={"r": [[0]]},
        domains={"r": {1: [0, 1]}},
    )
    assert found.status in {"PRIVATE", "DISCLOSES", "UNKNOWN"}


@pytest.mark.parametrize("law", ["binomial", "exponential"])
@pytest.mark.parametrize("query", ["count", "histogram", "sum"])
def test_a_plan_of_joint_noise(query: str, law: str) -> None:
    plan = rt.noise.plan(epsilon=1, delta="1e-6", parties=7, faults=2, query=query, law=law)
    assert plan.coins <= 5 * plan.quota
    assert plan.rounds > 0


def reticent(*arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "reticent", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    printed: dict[str, object] = json.loads(done.stdout)
    assert "ok" in printed
    return printed


def test_the_command_line_prints_one_object(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(
        '[data]\nsource = "people.csv"\n[roles]\nquasi = ["age", "zip"]\nsensitive = "disease"\nkey = "name"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 3\n'
    )
    policy, folder = str(tmp_path / "policy.toml"), str(tmp_path / "release")
    assert reticent("publish", policy, "-o", folder)["ok"]
    assert printed("verify", folder)["holds"]
    asked = printed("knowledge", "whatif", policy, "--know", "p0=flu", "--ask", "p0=flu")
    assert asked["posterior"] == "1"
    texts = {"schema": "CREATE TABLE r (a int, b int);", "secret": "SELECT a FROM r;", "view": "SELECT b FROM r;"}
    for name, text in texts.items():
        (tmp_path / f"{name}.sql").write_text(text)
    options = [part for name in texts for part in (f"--{name}", str(tmp_path / f"{name}.sql"))]
    assert printed("views", "check", *options, ok=False)["status"] == "DISCLOSES"


def test_inspecting_previewing_and_comparing(tmp_path: Path, frame: pl.DataFrame, table: rt.Table) -> None:
    frame.write_csv(tmp_path / "file.csv")
    for source in (str(tmp_path / "file.csv"), frame):
        p = rt.inspect(source)
        assert p.roles.keys() == set(frame.columns)
        assert "[roles]" in p.policy
        assert isinstance(p.table(), rt.Table)
        assert all(isinstance(note, str) for note in p.notes)
    found = rt.preview(table, rt.KAnonymity(3), method=None)
    assert found.utility["loss"] > 0
    assert found.loss_by_column.keys() == {"age", "zip"}
    assert found.frame.height <= 12
    assert min(found.groups.sizes) >= 3
    compared = rt.compare(
        table, [rt.KAnonymity(2), rt.KAnonymity(3)], methods=[rt.Lattice(), rt.Mondrian(values="sets")]
    )
    assert compared.table.height == 4
    assert not (tmp_path / "ledger.sqlite").exists()


def test_synthetic_data_are_planned_drawn_and_tested() -> None:
    plan = rt.synthesize.plan(
        groups=[12, 40], domain=233726, epsilon=4.6, delta="1e-5", mode="tight", delta_scope="per_person"
    )
    assert set(plan.alpha) == {12, 40}
    assert (float(plan.epsilon), float(plan.delta)) == (4.6, 1e-5)
    drawn = rt.synthesize.sample({"a": 3, "b": 1}, plan.alpha[12], 4, ["a", "b", "c"], insecure_seed=1)
    assert sum(drawn.values()) == 4
    assert rt.synthesize.disclosure({"a": 3}, {"b": 3}, "0.01", 4.6, ["a", "b"]) is True
    assert rt.synthesize.disclosure({"a": 3}, {"a": 3}, "0.5", 4.6, ["a", "b"]) is False


def test_suppressing_cells(table: rt.Table) -> None:
    found = rt.Suppress(k=3).fit(table)
    assert len(found.labels) == table.rows
    assert min(found.labels.tolist().count(label) for label in set(found.labels.tolist())) >= 3
    assert 0 <= found.lower_bound <= found.cost
    assert found.sdcmicro_count is not None
    release = rt.publish(table, rt.KAnonymity(3), method=rt.Suppress())
    assert min(release.groups.sizes) >= 3


def test_parties_compute_joint_noise() -> None:
    rows: dict[str, list[list[int]]] = {
        "count": [[1], [0, 1], [1], [0]],
        "histogram": [[0], [1, 1], [2], [0]],
        "sum": [[3], [0, 7], [1], [2]],
    }
    for query, values in rows.items():
        answer = rt.noise.run_local(
            values=values,
            epsilon=1,
            delta="1e-6",
            faults=1,
            query=query,
            cells=3 if query == "histogram" else None,
            bits=3 if query == "sum" else 1,
            law="exponential" if query == "sum" else "binomial",
            level="semi-honest" if query == "sum" else "byzantine",
            behaviours={2: "lie in shares"} if query == "histogram" else None,
        )
        assert isinstance(answer.total, list if query == "histogram" else int)
        assert [entry["step"] for entry in answer.transcript][-1] == "answer"
        assert set(answer.blamed) == ({2} if query == "histogram" else set())
        assert {each.numbers for each in answer.results if each.party != 2} == {
            tuple(answer.total) if isinstance(answer.total, list) else (answer.total,)
        }


def test_a_table_that_changes_is_republished(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"id": [f"p{i}" for i in range(6)], "age": [21, 22, 24, 23, 41, 42], "disease": ["a", "b", "c", "d", "c", "e"]}
    )
    h = rt.republish.History.open(
        tmp_path / "history", m=2, key="id", sensitive="disease", quasi={"age": None}, domain=list("abcdef"),
        ranges=None, choice="near", balance="filled", baseline=None,
    )  # fmt: skip
    h.import_release(rows, [1, 1, 2, 2, 3, 3], rows["id"].to_list())
    h.publish(rows.with_columns(age=pl.col("age") + 1), insecure_seed=None)
    h.publish(rows.filter(pl.col("id") != "p3"), insecure_seed=7)
    assert len(h.series) == 3
    assert h.series[1].signature(0) <= set(range(6))
    assert rt.republish.check_tau_safety(h).holds
    with pytest.raises(rt.PolicyError, match="at least 5"):
        rt.republish.History.open(
            tmp_path / "other", m=2, key="id", sensitive="disease", quasi={"age": None}, domain=list("abcd")
        )
    with pytest.raises(rt.Infeasible):
        rt.republish.History.open(
            tmp_path / "third", m=3, key="id", sensitive="disease", quasi={"age": None}, domain=list("abcdefgh")
        ).publish(rows.filter(pl.col("disease") == "c"))


def test_a_series_is_attacked_by_following_people(tmp_path: Path) -> None:
    values = ["cataract", "pneumonia", "flu", "glaucoma", "gout"]
    rows = pl.DataFrame({"id": ["a", "b", "c", "d"], "age": [21, 22, 41, 42], "disease": values[:4]})
    quasi = {"age": None}
    h = rt.republish.History.open(
        tmp_path / "history",
        m=2,
        key="id",
        sensitive="disease",
        quasi=quasi,
        domain=values,
        ranges=None,
        choice="near",
        balance="filled",
        baseline=None,
    )
    h.publish(rows, insecure_seed=None)
    h.publish(rows.with_columns(age=pl.col("age") + 1))
    assert rt.republish.check_tau_safety(h).holds
    for mode in ("exact", "fixpoint", "join"):
        learned = rt.attacks.series(h, mode=mode, knows_change=True)
        assert set(learned) == {"a", "b", "c", "d"}
        assert set(learned["a"]) == {1, 2}
        assert all(isinstance(chance, Fraction) for chance in learned["a"][1].values())
    exact = rt.attacks.series(h)
    assert {chance for releases in exact.values() for found in releases.values() for chance in found.values()} == {
        Fraction(1, 2)
    }


def test_bang(table: rt.Table) -> None:
    b = rt.Bang(minimum=2).build(table)
    for k in (2, 5):
        assert b.draft(k=k).groups.sizes.min() >= k
        assert b.draft(k=k).groups.sizes.sum() == 12
    r = rt.publish(table, rt.KAnonymity(5) & rt.DistinctLDiversity(3), method=rt.Bang())
    assert r.groups.sizes.min() >= 5
    low, high = r.count("age between 30 and 40").bounds
    assert low <= 4 <= high


def test_attack_and_report_take_any_kind_of_target(table: rt.Table, frame: pl.DataFrame, tmp_path: Path) -> None:
    release = rt.publish(table, rt.KAnonymity(3), method="Mondrian")
    release.save(tmp_path / "release")
    for target in (release, tmp_path / "release", str(tmp_path / "release")):
        found = rt.attack(target, raw=None, people=None)
        assert found.table.height == len(found) > 0
        assert found.table["adversary"].to_list() == [each.adversary for each in found]
    compared = rt.attack(release, raw=table)
    assert compared.table.filter(pl.col("adversary") == "linkage")["share_before"].item() == 1
    # Minimality reruns the method, which takes a table with roles.
    assert [*rt.attack(release, raw=frame).table["adversary"], "minimality"] == compared.table["adversary"].to_list()
    page = rt.report(tmp_path / "release", tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert rt.report(release, str(tmp_path / "both.html"), raw=table).exists()
    with pytest.raises(rt.PolicyError, match="regression"):
        rt.report(release, tmp_path / "other.html", regression="age ~ zip")
    with pytest.raises(rt.PolicyError, match="mode"):
        rt.attack(release, mode="exact")


def test_a_release_leaves_in_the_frames_that_people_use(table: rt.Table) -> None:
    release = rt.publish(table, rt.KAnonymity(3), method="Mondrian")
    assert (
        release.to_pandas()["age"].tolist() == release.to_arrow()["age"].to_pylist() == release.frame["age"].to_list()
    )


def test_methods_are_named_by_a_string_everywhere(table: rt.Table) -> None:
    assert rt.preview(table, rt.KAnonymity(3), method="Mondrian").method["name"] == "Mondrian"
    assert rt.compare(table, rt.KAnonymity(3), methods=["Mondrian", rt.Lattice()]).table["method"].to_list() == [
        "Mondrian",
        "Lattice",
    ]
    with pytest.raises(rt.PolicyError, match="Did you mean 'Mondrian'"):
        rt.publish(table, rt.KAnonymity(3), method="Mondrain")


def test_a_wrong_parameter_is_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="k must be at least 1") as caught:
        rt.KAnonymity(0)
    assert isinstance(caught.value, rt.ParameterError)
    assert isinstance(caught.value, rt.PolicyError)


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(AttributeError, match="Did you mean 'KAnonymity'"):
        _ = rt.KAnonimity


def test_a_definition_can_be_evaluated_from_its_repr(table: rt.Table) -> None:
    names = {name: getattr(rt, name) for name in rt.__all__}
    for definition in definitions(table.frame.select("age", "zip")):
        if not definition.needs_population:
            assert eval(repr(definition), {}, names) == definition
    both = rt.KAnonymity(2) & rt.TCloseness("0.3")
    assert eval(repr(both), {}, names) == both
    assert eval(repr(rt.Mondrian(values="sets")), {}, names) == rt.Mondrian(values="sets")


@pytest.mark.parametrize("place", ["rt", *(f"rt.{door}" for door in ROOMS)])
def test_every_door_corrects_a_misspelt_name(place: str) -> None:
    door = eval(place, {"rt": rt})
    name = max((each for each in door.__all__ if not each.startswith("_")), key=len)
    with pytest.raises(AttributeError, match=f"Did you mean '{name}'"):
        getattr(door, name[:-2] + name[-1] + name[-2] + "x")
    assert not hasattr(door, "nothing_like_any_of_these")


def test_an_account_is_found_by_name_in_a_fresh_process(frame: pl.DataFrame) -> None:
    method = rt.CentralCounts(domain={"disease": ["cold", "flu", "gout"]}, budget={"epsilon": 3, "delta": "1e-6"})
    rows = rt.Table(frame, quasi=["age"], sensitive="disease", dataset="wards")
    rt.publish(rows, rt.NoisyCounts(1), method=method)
    code = 'import reticent as rt; a = rt.ledger.account("wards"); print(a.unit, a.relation, a.spent.epsilon, a.left.epsilon)'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["row", "replace", "1", "2"]


def test_people_with_several_rows_and_declared_columns(frame: pl.DataFrame) -> None:
    visits = pl.concat([frame, frame.head(3)]).with_columns(shoe_size=pl.lit(40))
    quasi = {"age": None, "zip": None}
    told = {"shoe_size": "nobody knows it"}
    table = rt.Table(visits, quasi=quasi, sensitive="disease", identifiers=["name"], key="name", declared=told)
    assert table.unit == "person"
    assert dict(table.declared) == told
    assert rt.Table(visits, quasi=quasi, identifiers=["name"], key="name", unit="person").unit == "person"
    assert rt.Table(frame, quasi=quasi, identifiers=["name"], key="name").unit == "row"


def test_an_adversary_who_knows_any_few_columns(table: rt.Table) -> None:
    release = rt.publish(table, rt.AnyColumns(1, rt.KAnonymity(2)), method="Mondrian")
    assert rt.assess(release, rt.AnyColumns(1, rt.KAnonymity(2))).holds


def test_gate_page_and_dossier_on_the_command_line(table: rt.Table, tmp_path: Path) -> None:
    folder = rt.publish(table, rt.KAnonymity(3), method="Mondrian").save(tmp_path / "release")
    (tmp_path / "limits.toml").write_text('[definitions]\nhold = ["KAnonymity(3)"]')
    page, dossier = tmp_path / "page.html", tmp_path / "dossier.html"
    assert printed("gate", folder, "--limits", tmp_path / "limits.toml")["checks"]
    assert printed("verify", folder, "--page", page)["page"] == str(page)
    assert printed("dossier", folder, "--for", "gdpr", "-o", dossier)["output"] == str(dossier)
    assert page.exists()
    assert dossier.exists()


def printed(*arguments: object, ok: bool = True) -> dict[str, Any]:
    """What the command line prints with ``--json``, in this process; another program is started once, to publish."""
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["ok"] is ok
    assert done.exit_code == (0 if ok else 1)
    return found


NAMES = {name: getattr(rt, name) for name in rt.__all__}
NUMBERS = st.fractions(0, 8, max_denominator=10).map(str) | st.integers(1, 9) | st.sampled_from([0.25, 1.5])
# What cannot be drawn from an annotation: a mapping with a meaning of its own, or another definition.
GIVEN: dict[str, dict[str, Any]] = {
    "AnyColumns": {"inner": rt.KAnonymity(3)},
    "InTurn": {"inner": rt.DistinctLDiversity(2), "columns": ("zip",)},
    "LAlphaDiversity": {"weights": {"flu": 1, "gout": "3/4"}},
    "CategoryDiversity": {"categories": (("flu", "cold"), ("gout",))},
    "ConfidenceBounding": {"values": ("flu",)},
    "KMap": {"population": None},
    "DeltaPresence": {"population": None, "low": "1/4", "high": "1/2"},
    "BoundedBelief": {"d": "1/30", "gamma": "1/5"},
}


def drawn(hint: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated parameter; mappings and paths are left as they are by default."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is type(None):
        return st.none()
    if kind is Literal:
        return st.sampled_from(inner)
    if kind in (Union, UnionType):
        if Fraction in inner:
            return NUMBERS
        return st.one_of(*(drawn(each) for each in inner))
    return {
        int: st.integers(1, 9),
        bool: st.booleans(),
        float: st.sampled_from([0.5, 2.0]),
        str: st.sampled_from(["age", "loss", "tight", "quick", "near"]),
        Fraction: st.fractions(0, 1, max_denominator=9),
    }.get(hint, st.nothing())


@pytest.mark.parametrize(("kind", "name"), [("definition", n) for n in DEFINITIONS] + [("method", n) for n in METHODS])
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_the_repr_of_a_definition_and_of_a_method_makes_it_again(kind: Any, name: str, data: st.DataObject) -> None:
    make, hints = getattr(rt, name), get_type_hints(getattr(rt, name))
    parameters = dict(GIVEN.get(name, {}))
    for key, each in parameters_of(kind, name).items():
        values = drawn(hints[key])
        if key in parameters or values.is_empty:
            continue
        if each.default is Parameter.empty or data.draw(st.booleans(), label=f"{key} is given"):
            parameters[key] = data.draw(values, label=key)
    try:
        made = make(**parameters)
    except rt.PolicyError:
        reject()
    if parameters.get("population", 0) is not None:
        assert eval(repr(made), {}, NAMES) == made
