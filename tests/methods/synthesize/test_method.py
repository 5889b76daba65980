"""Synthetic from table to verified release: what is declared, what is refused, what is published, and what damage verify finds."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.release import open_public

TOWNS = ["Aix", "Apt", "Arles", "Gap"]
SIZES = {"mill": 40, "port": 60}
PROMISE = rt.ProbabilisticDP(2, "0.001")


def jobs(**changed: object) -> pl.DataFrame:
    rows = [("mill", TOWNS[i % 3]) for i in range(40)] + [("port", TOWNS[(i * i + i) // 2 % 4]) for i in range(60)]
    return pl.DataFrame(rows, schema=["work", "home"], orient="row").with_columns(**changed)  # type: ignore[arg-type]


def table(frame: object = None, **more: object) -> rt.Table:
    return rt.Table(jobs() if frame is None else frame, quasi=["work"], sensitive="home", **more)  # type: ignore[arg-type]


def method(**more: object) -> rt.Synthetic:
    return rt.Synthetic(**{"groups": SIZES, "domain": TOWNS, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "release"
    return rt.publish(table(), PROMISE, method(public="register"), insecure_seed=1).save(folder)


def test_every_group_keeps_its_size_and_shows_values_of_the_domain():
    release = rt.publish(table(), PROMISE, method())
    sizes = dict(release.frame.group_by("work").len().rows())
    assert sizes == SIZES
    assert set(release.frame["home"]) <= set(TOWNS)
    assert release.tables["groups"].rows() == [("mill", 40), ("port", 60)]
    assert release.tables["domain"]["home"].to_list() == TOWNS
    assert "mechanism" in json.dumps(release.manifest.details) or release.manifest.details["mode"] == "tight"


def test_files_frames_and_mappings_declare_the_same(tmp_path):
    pl.DataFrame({"work": ["port", "mill"], "size": [60, 40]}).write_csv(tmp_path / "groups.csv")
    pl.DataFrame({"home": TOWNS}).write_csv(tmp_path / "domain.csv")
    ways = [
        method(),
        method(groups=str(tmp_path / "groups.csv"), domain=tmp_path / "domain.csv"),
        method(groups=pl.read_csv(tmp_path / "groups.csv"), domain=dict.fromkeys(TOWNS, 7)),
    ]
    drawn = [rt.publish(table(), PROMISE, each, insecure_seed=2) for each in ways]
    assert all(each.frame.equals(drawn[0].frame) for each in drawn)
    assert all(each.manifest.details == drawn[0].manifest.details for each in drawn)


def test_a_table_may_be_one_group():
    release = rt.publish(rt.Table(jobs().select("home"), sensitive="home"), PROMISE, method(groups=100))
    assert release.frame.height == 100
    assert release.count("home = 'Aix'").most == 100


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"groups": {"mill": 41, "port": 60}}, "declared 41, found 40"), ({"groups": {"mill": 40}}, "which groups does not declare"),
        ({"groups": {"mill": 40, "port": 60, "farm": 3}}, "declared 3, found 0"), ({"domain": TOWNS[:3]}, "Rows are never dropped"),
        ({"domain": ["Aix"]}, "a single value"), ({"domain": [*TOWNS, "Aix"]}, "twice"), ({"groups": {"mill": 0, "port": 60}}, "an empty group"),
        ({"groups": {"mill": 1.5, "port": 60}}, "whole numbers"), ({"groups": pl.DataFrame({"work": ["a"]})}, "column 'size'"),
        ({"groups": pl.DataFrame({"shop": ["a"], "size": [3]})}, "not a quasi column"), ({"domain": None}, "needs domain"), ({"groups": None}, "needs groups"),
        ({"domain": {**dict.fromkeys(TOWNS[:3], 2), "Gap": 0}}, "above 0"), ({"missing": "lost", "domain": dict(zip(TOWNS, range(1, 5), strict=True))}, "weight for every value, but has none for 'lost'"),
        ({"groups": "nowhere.csv"}, "There is no file"), ({"parts": {"Aix": "east"}}, "Remove domain"),
        ({"domain": ["Aix", None]}, "domain has missing values"),
        ({"keep": {"Aix": 1}}, "none for 'Apt'"), ({"keep": {**dict.fromkeys(TOWNS, 1), "Rome": 1}}, "'Rome', which is not in the domain"),
        ({"keep": dict.fromkeys(TOWNS, 2)}, "keep must be at most 1"), ({"keep": {**dict.fromkeys(TOWNS, 1), "Gap": None}}, "none for 'Gap'"), ({"keep": "by value"}, "the domain has no probabilities"),
        ({"domain": pl.DataFrame({"home": TOWNS, "keep": ["0.5"] * 4})}, "Pass keep='by value'"),
        ({"domain": pl.DataFrame({"home": TOWNS, "keep": ["0.5"] * 4}), "keep": dict.fromkeys(TOWNS, 1)}, "use one of them"),
        ({"keep": pl.DataFrame({"town": TOWNS, "keep": ["0.5"] * 4})}, "must have the columns 'home' and 'keep'"),
        ({"domain": pl.DataFrame({"home": TOWNS, "keep": ["0.5"] * 4}), "keep": "by value", "missing": "lost"}, "a keep for every value, but has none for 'lost'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_anything_is_recorded(changed, word, tmp_path):
    book = tmp_path / "ledger.sqlite"
    with pytest.raises((PolicyError, DataError), match=word):
        rt.publish(table(dataset="jobs"), PROMISE, method(**changed), ledger=book)
    with Ledger(book) as ledger:
        assert ledger.entries("jobs") == []


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"mode": "loose"}, "mode must be one of"), ({"delta_scope": "all"}, "delta_scope must be one of"), ({"rows_per_person": 0}, "at least 1"),
        ({"screen": True, "keep": "0.5"}, "no proof"), ({"keep": 2}, "at most 1"), ({"keep": [1, 1]}, "keep must be a number"), ({"keep": "0.5", "mode": "thesis"}, "false"), ({"budget": {"delta": 1}}, "totals of epsilon"),
        ({"groups": [1, 2]}, "groups must be"), ({"domain": 5}, "domain must be"), ({"public": 3}, "must be a text"), ({"parts": 3}, "parts must be"), ({"screen": "yes"}, "true or false"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_named(parameters, word):
    with pytest.raises(PolicyError, match=word):
        method(**parameters)


def test_only_probabilistic_privacy_is_kept():
    for definition in (rt.KAnonymity(2), PROMISE & rt.KAnonymity(2), rt.BoundedBelief("1/10", "1/2")):
        with pytest.raises(PolicyError, match=r"ProbabilisticDP|groups of rows|does not keep"):
            rt.publish(table(), definition, method())
    with pytest.raises(PolicyError, match="Synthetic"):
        rt.publish(table(), PROMISE, rt.Lattice())


def test_rows_outside_and_missing_rows_are_shown_and_never_dropped():
    frame = jobs().with_columns(home=pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("home"))
    frame = frame.with_columns(home=pl.when(pl.int_range(pl.len()) >= 70).then(pl.lit("Rome")).otherwise("home"))
    with pytest.raises(DataError, match="30 rows have no value"):
        rt.publish(table(frame, nulls="category"), PROMISE, method())
    with pytest.raises(DataError, match="30 rows have a value in column 'home' that is not"):
        rt.publish(table(frame, nulls="category"), PROMISE, method(missing="unknown"))
    with pytest.raises(PolicyError, match="drops rows"):
        rt.publish(table(frame, nulls="drop"), PROMISE, method(missing="unknown"))
    release = rt.publish(
        table(frame, nulls="category"),
        rt.ProbabilisticDP(8),
        method(missing="unknown", elsewhere="abroad"),
        insecure_seed=3,
    )
    assert release.frame.height == 100
    assert abs(release.count("home = 'unknown'").value - 30) < 20
    assert abs(release.count("home = 'abroad'").value - 30) < 20
    assert any("'unknown' also stands" in risk for risk in release.certificate["residual_risks"])


def test_whole_weights_count_rows_and_parts_of_rows_are_refused():
    counted = jobs().group_by("work", "home").len("jobs")
    heavy = rt.publish(table(counted, weight="jobs"), PROMISE, method(), insecure_seed=4)
    assert heavy.frame.height == 100
    with pytest.raises(DataError, match="whole numbers"):
        rt.publish(table(counted.with_columns(jobs=pl.col("jobs") + 0.5), weight="jobs"), PROMISE, method())


def test_people_with_several_rows_need_a_plan_for_them():
    frame = jobs().with_columns(person=pl.int_range(pl.len()) // 2)
    several = table(frame, key="person", unit="person", identifiers=["person"])
    with pytest.raises(PolicyError, match="maximum number of rows"):
        rt.publish(several, PROMISE, method())
    release = rt.publish(several, PROMISE, method(rows_per_person=2))
    assert release.manifest.details["rows_per_person"] == 2
    three = table(
        frame.with_columns(person=pl.int_range(pl.len()) // 4), key="person", unit="person", identifiers=["person"]
    )
    with pytest.raises(DataError, match="A person has 4 rows"):
        rt.publish(three, PROMISE, method(rows_per_person=2))


def test_several_rows_cost_what_composition_says():
    one = rt.synthesize.plan([100], 50, "3", "0.01")
    two = rt.synthesize.plan([100], 50, "3", "0.01", rows_per_person=2)
    assert two.alpha[100] > one.alpha[100]
    loss = two.privacy_loss()
    assert rt.ProbabilisticDP(3, "0.01").assess(two).holds
    assert not rt.ProbabilisticDP("2.9", "0.01").assess(two).holds
    assert loss.delta == pytest.approx(2 * float(loss.ratio) ** 0.5 * two.need(100).failure(two.alpha[100]), rel=1e-6)


def test_a_whole_release_divides_delta_among_its_groups():
    apart = rt.synthesize.plan([30] * 50, 100, "3", "0.01")
    whole = rt.synthesize.plan([30] * 50, 100, "3", "0.01", delta_scope="whole_release")
    assert whole.alpha[30] > apart.alpha[30]
    assert whole.need(30).delta == apart.delta / 50
    assert whole.privacy_loss().delta <= whole.delta


def test_a_second_draw_is_another_release_and_spends_again(tmp_path):
    book, named = tmp_path / "ledger.sqlite", table(dataset="jobs")
    spending = method(budget={"epsilon": 5, "delta": "0.01"})
    rt.publish(named, PROMISE, spending, ledger=book)
    with pytest.raises(LedgerError, match="released already"):
        rt.publish(named, PROMISE, spending, ledger=book)
    rt.publish(named, PROMISE, spending, ledger=book, again=True)
    with pytest.raises(LedgerError, match=r"epsilon runs out\. It has epsilon 1 of 5"):
        rt.publish(named, PROMISE, spending, ledger=book, again=True)
    with Ledger(book) as ledger:
        assert dict(ledger.accounts.of("jobs").spent) == {"epsilon": 4, "delta": rt.ProbabilisticDP(1, "0.002").delta}


def test_a_draw_is_not_previewed():
    found = rt.preview(table(), PROMISE, method())
    assert found.frame.height == 0
    assert 0 < found.utility["real_share"] < 1
    assert rt.compare(table(), PROMISE, [method()]).table["rows"].null_count() == 1


WEIGHTED, KEPT = dict(zip(TOWNS, (1, 2, 2, 5), strict=True)), dict(zip(TOWNS, ("0.5", "1", "1/3", "0.9"), strict=True))


def test_probabilities_are_declared_by_mappings_frames_and_columns_alike(tmp_path):
    domain = pl.DataFrame({"home": TOWNS, "weight": list(WEIGHTED.values())})
    listed = domain.with_columns(keep=pl.Series(list(KEPT.values())))
    listed.write_csv(tmp_path / "domain.csv")
    ways = [
        method(domain=WEIGHTED, keep=KEPT), method(domain=str(tmp_path / "domain.csv"), keep="by value"),
        method(domain=domain, keep=listed.select("home", "keep").reverse()),
    ]  # fmt: skip
    drawn = [rt.publish(table(), rt.ProbabilisticDP(5, "0.01"), each, insecure_seed=2) for each in ways]
    assert all(each.frame.equals(drawn[0].frame) for each in drawn)
    assert drawn[0].tables["domain"].rows() == [
        ("Aix", 1, "1/2"),
        ("Apt", 2, "1"),
        ("Arles", 2, "1/3"),
        ("Gap", 5, "9/10"),
    ]
    assert drawn[0].manifest.details["keep"] == "by value"
    assert any("must remain so" in risk for risk in drawn[0].certificate["residual_risks"])


def test_more_noise_is_needed_where_values_are_dropped_and_the_plan_says_what_it_spends():
    plan = rt.synthesize.plan([40, 60], WEIGHTED, 5, "0.01", keep=KEPT)
    steps = {each["step"]: each["epsilon"] for each in plan.describe()["charges"]}
    assert sum(steps.values()) == pytest.approx(5)
    assert steps["values that show"] == pytest.approx(np.log(3))
    assert 0 < steps["values that do not show"] < np.log(2)
    assert plan.describe()["public_inputs"][2:] == ["weights", "keep probabilities"]
    assert plan.noise(40) == plan.alpha[40] * (Fraction(1, 2) + 2 + Fraction(2, 3) + Fraction(9, 2))
    assert rt.ProbabilisticDP(5, "0.01").assess(plan).holds
    assert not rt.ProbabilisticDP("4.9", "0.01").assess(plan).holds


def test_screens_and_dropped_values_are_published_and_verified(tmp_path):
    for number, more in enumerate(({"screen": True}, {"keep": "0.5"}, {"domain": WEIGHTED, "keep": KEPT})):
        release = rt.publish(
            table(), rt.ProbabilisticDP(5, "0.01"), method(**more), ledger=tmp_path / f"{number}.sqlite"
        )
        folder = release.save(tmp_path / str(number))
        assert rt.verify(folder).holds
        assert 0 <= release.count("home = 'Gap'").bounds[1] <= 100


def test_parts_are_drawn_instead_of_values_and_refined_by_public_weights():
    parts = pl.DataFrame({"home": TOWNS, "part": ["east", "east", "west", "west"], "weight": [1, 3, 2, 2]})
    release = rt.publish(table(), rt.ProbabilisticDP(9), method(domain=None, parts=parts), insecure_seed=5)
    assert set(release.frame["home"]) <= {"east", "west"}
    true = jobs().filter(pl.col("home").is_in(["Aix", "Apt"])).height
    assert abs(release.count("home = 'east'").value - true) < 20
    fine = rt.synthesize.refine(pl.DataFrame({"home": ["east"] * 4000}), "home", parts, insecure_seed=6)
    assert abs(fine.filter(pl.col("home") == "Apt").height - 3000) < 5 * (4000 * 3 / 16) ** 0.5
    with pytest.raises(PolicyError, match="no part 'north'"):
        rt.synthesize.refine(pl.DataFrame({"home": ["north"]}), "home", parts)
    with pytest.raises(DataError, match="not in the declared domain, such as 'Gap'"):
        rt.publish(table(), PROMISE, method(domain=None, parts={"Aix": "Gap", "Apt": "e", "Arles": "w"}))


def test_counts_are_unbiased_and_their_errors_true():
    """Thirty draws: the mean of the estimates is the truth, and their spread is what each of them says."""
    asked = "work = 'port' and home in ('Aix', 'Gap')"
    truth = jobs().filter((pl.col("work") == "port") & pl.col("home").is_in(["Aix", "Gap"])).height
    found = [rt.publish(table(), PROMISE, method(), insecure_seed=seed).count(asked) for seed in range(30)]
    errors = np.array([each.value - truth for each in found])
    told = np.mean([each.standard_error for each in found])
    assert abs(errors.mean()) < 5 * told / len(errors) ** 0.5
    assert 0.5 < errors.std() / told < 1.7
    assert np.mean([low <= truth <= high for low, high in (each.bounds for each in found)]) > 0.8


@pytest.mark.parametrize("people", [["v0"] * 40, [f"v{i}" for i in range(40)]], ids=["alike", "all different"])
@pytest.mark.parametrize("apart", [False, True], ids=["one probability", "weights and probabilities"])
def test_counts_of_dropped_values_are_off_by_no_more_than_they_say(people, apart):
    """How many values people have is secret: the mean error over groups that are alike stays within the stated bias, for people who are alike and for people who all differ."""
    groups, domain = [f"g{i}" for i in range(25)], [f"v{i}" for i in range(60)]
    frame = pl.DataFrame({"work": np.repeat(groups, 40), "home": people * 25})
    weights = {each: 1 + 2 * (place % 3) for place, each in enumerate(domain)}
    keep = {each: ("1/2", "1", "0.3", "0.6")[place % 4] for place, each in enumerate(domain)} if apart else "1/2"
    dropping = rt.Synthetic(groups=dict.fromkeys(groups, 40), domain=weights if apart else domain, keep=keep)
    told_apart = rt.Table(frame, quasi=["work"], sensitive="home")
    release = rt.publish(told_apart, rt.ProbabilisticDP(5, "0.05"), dropping, insecure_seed=1)
    asked = ", ".join(f"'{each}'" for each in domain[:10])
    truth = sum(each in domain[:10] for each in people)
    counts = [release.count(f"work = '{group}' and home in ({asked})") for group in groups]
    errors = np.array([each.value - truth for each in counts])
    told = np.mean([each.standard_error for each in counts])
    assert all(each.bias > 0 for each in counts)
    assert abs(errors.mean()) < np.mean([each.bias for each in counts]) + 5 * told / 5
    assert np.mean([low <= truth <= high for low, high in (each.bounds for each in counts)]) > 0.8
    whole = release.count("true")
    assert (whole.value, whole.bias) == (pytest.approx(1000), 0)
    assert "is secret" in " ".join(counts[0].lines())


def test_conditions_on_groups_and_values_together_are_counted(saved):
    public = open_public(saved)
    whole = public.count("home = 'Aix' or work = 'mill'")
    parts = [public.count("work = 'mill'"), public.count("work = 'port' and home = 'Aix'")]
    assert whole.value == pytest.approx(sum(each.value for each in parts))
    assert public.count("work = 'mill'").value == pytest.approx(40)
    assert public.count("true").value == pytest.approx(100)
    with pytest.raises(PolicyError, match="a single estimator"):
        public.count("true", "other")


def damaged(saved: Path, place: Path, change) -> tuple[str, ...]:
    """What verify says of a copy whose files were changed, with fingerprints that fit: the forger knows how they are made."""
    from reticent.release.certificate import fingerprint

    shutil.copytree(saved, place)
    public = place / "public"
    change(public)
    certificate = json.loads((public / "certificate.json").read_text())
    for name in certificate["files"]:
        certificate["files"][name] = fingerprint((public / name).read_bytes())
    (public / "certificate.json").write_bytes(
        __import__("reticent.release.canonical_json", fromlist=["readable"]).readable(certificate)
    )
    found = rt.verify(place)
    assert not found.holds
    return tuple(check.detail for check in found.failures)


def details(change):
    def apply(public: Path) -> None:
        from reticent.release.canonical_json import readable

        manifest = json.loads((public / "manifest.json").read_text())
        change(manifest["details"])
        (public / "manifest.json").write_bytes(readable(manifest))

    return apply


def rows(name, change):
    def apply(public: Path) -> None:
        frame = pl.read_csv(public / f"{name}.csv")
        change(frame).write_csv(public / f"{name}.csv")

    return apply


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (details(lambda d: d["alpha"].update({"40": "1/100"})), "more than delta"),
        (details(lambda d: d["alpha"].update({"41": "1"})), "other group sizes"),
        (details(lambda d: d["alpha"].update({"40": "-1"})), "alpha of size 40"),
        (details(lambda d: d["alpha"].update({"40": "1e4999"})), "alpha of size 40"),
        (details(lambda d: d.pop("mode")), "cannot be parsed"),
        (details(lambda d: d.update(extra=1)), "unknown entries"),
        (details(lambda d: d.update(promise={"epsilon": "1", "delta": "0"})), "delta|ratio|times as likely|more than"),
        (rows("synthetic", lambda f: f.head(99)), "do not have the planned number"),
        (rows("synthetic", lambda f: f.reverse()), "not sorted"),
        (rows("synthetic", lambda f: f.with_columns(home=pl.lit("Rome"))), "not declared"),
        (rows("synthetic", lambda f: f.with_columns(work=pl.lit("farm"))), "not declared"),
        (rows("groups", lambda f: f.with_columns(group_size=pl.col("group_size") + 1)), "other group sizes|do not have the planned number"),
        (rows("groups", lambda f: f.reverse()), "not sorted"),
        (rows("domain", lambda f: f.head(1)), "a single value|not declared"),
        (rows("domain", lambda f: pl.concat([f, f.head(1)])), "twice"),
        (rows("domain", lambda f: f.with_columns(domain_keep=pl.lit("1/2"))), "Pass keep='by value'|columns"),
        (details(lambda d: d.update(keep="by value")), "no probabilities"),
        (details(lambda d: d.update(keep="by hand")), "keep must be a number"),
    ],
)  # fmt: skip
def test_verify_finds_damage_and_says_what_it_is(saved, tmp_path, change, word):
    import re

    told = damaged(saved, tmp_path / "copy", change)
    assert any(re.search(word, each) for each in told), told


@pytest.fixture(scope="module")
def dropped(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dropped") / "release"
    chosen = method(domain=WEIGHTED, keep=KEPT)
    return rt.publish(table(), rt.ProbabilisticDP(5, "0.01"), chosen, insecure_seed=1).save(folder)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (rows("domain", lambda f: f.with_columns(domain_keep=pl.Series(["1/2", "1", "1/30", "9/10"]))), "more than delta"),
        (rows("domain", lambda f: f.with_columns(domain_keep=pl.Series(["1/2", "1", "0.5", "9/10"]))), "not sorted"),
        (rows("domain", lambda f: f.with_columns(domain_keep=pl.Series(["1/2", "1", "2", "9/10"]))), "keep must be at most 1"),
        (rows("domain", lambda f: f.with_columns(domain_keep=pl.Series(["1/2", "1", None, "9/10"]))), "each of the 4 values|missing|null"),
        (rows("domain", lambda f: f.drop("domain_keep")), "no probabilities|columns"),
        (details(lambda d: d.update(keep=None)), "Pass keep='by value'"),
        (details(lambda d: d["alpha"].update({"40": "1/1000"})), "more than delta"),
    ],
)  # fmt: skip
def test_verify_finds_damage_to_probabilities(dropped, tmp_path, change, word):
    import re

    told = damaged(dropped, tmp_path / "copy", change)
    assert any(re.search(word, each) for each in told), told


def test_the_audit_of_dropped_values_is_that_of_every_group_by_itself(dropped):
    public, true, found = open_public(dropped), jobs(), []
    for epsilon in ("0.2", "1.2", "5"):
        found.append({group["work"] for group, _ in rt.synthesize.audit_release(public, table(), epsilon).disclosing})
        assert found[-1] == {
            work
            for work, size in SIZES.items()
            if rt.synthesize.disclosure(
                *(dict(each.filter(pl.col("work") == work)["home"].value_counts().rows()) for each in (true, public.frame)),
                public.manifest.details["alpha"][str(size)], epsilon, WEIGHTED, KEPT,
            )
        }  # fmt: skip
    assert found[0] == set(SIZES)
    assert found[-1] == set()


def test_a_release_by_parts_is_audited_with_its_partition():
    parts = {"Aix": "east", "Apt": "east", "Arles": "west", "Gap": "west"}
    release = rt.publish(table(), PROMISE, method(domain=None, parts=parts), insecure_seed=5)
    assert rt.synthesize.audit_release(release.public, table(), parts=parts).groups == 2
    with pytest.raises(DataError, match="not in the declared domain"):
        rt.synthesize.audit_release(release.public, table())


def test_verify_says_what_files_cannot_show(saved):
    found = rt.verify(saved)
    assert found.holds
    check = next(each for each in found.checks if each.name == "mechanism")
    assert check.status == "not re-checked"
    assert check.detail.startswith("Mechanism attested, not checkable from files")
    assert "register" in (saved / "public" / "STATEMENT.txt").read_text()


def test_nothing_confidential_is_in_the_public_folder(saved):
    text = "".join(path.read_text() for path in (saved / "public").iterdir() if path.suffix in (".json", ".txt"))
    for word in ('seed": 1', "retries", "rejected", "attempts", "utility", "disclosing"):
        assert word not in text


def test_the_audit_is_that_of_every_group_by_itself(saved):
    public, true = open_public(saved), jobs()
    for epsilon in ("0.1", "0.5", "2"):
        found = rt.synthesize.audit_release(public, table(), epsilon)
        expected = {
            work
            for work, size in SIZES.items()
            if rt.synthesize.disclosure(
                dict(true.filter(pl.col("work") == work)["home"].value_counts().rows()),
                dict(public.frame.filter(pl.col("work") == work)["home"].value_counts().rows()),
                public.manifest.details["alpha"][str(size)],
                epsilon,
                TOWNS,
            )
        }
        assert {group["work"] for group, _ in found.disclosing} == expected
    assert found.as_dict()["private"] is True
    with pytest.raises(PolicyError, match="release of format"):
        rt.synthesize.audit_release(rt.publish(table(), rt.KAnonymity(2)).public, table())


def test_a_streamed_table_and_many_rows_are_drawn_a_stretch_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("reticent.methods.synthesize.method._HELD", 10)
    monkeypatch.setattr("reticent.methods.synthesize.method._ROWS_AT_ONCE", 50)
    release = rt.publish(table(engine="streaming"), PROMISE, method(), insecure_seed=8)
    assert rt.verify(release.save(tmp_path / "release")).holds
    monkeypatch.undo()
    assert release.frame.height == 100


def test_numbers_are_values_too():
    frame = jobs().with_columns(
        home=pl.col("home").replace_strict({name: 10 * i for i, name in enumerate(TOWNS)}, return_dtype=pl.Int64)
    )
    release = rt.publish(table(frame), PROMISE, method(domain=[0, 10, 20, 30]), insecure_seed=9)
    assert release.frame["home"].dtype == pl.Int64
    assert release.count("home >= 20").value == pytest.approx(release.count("home in (20, 30)").value)
