"""Noisy counts as a kind of release: definition, method, format, on real and on forged folders."""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.counts.details import CountsDetails, CountsPlan, JointRun
from reticent.methods.randomize import ViewDomain
from reticent.noise.laws import BinomialLaw, DiscreteLaplaceLaw
from reticent.release import adversary_view_of, open_public
from reticent.reports import write_stewards_report

DOMAIN = {"town": ["Aix", "Apt", "Arles"], "illness": ["flu", "cold", "gout"]}


def rows(many: int = 300) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(many)],
            "town": [DOMAIN["town"][i * i % 3] for i in range(many)],
            "illness": [DOMAIN["illness"][i // 7 % 3] for i in range(many)],
        }
    )


def table(frame: pl.DataFrame | None = None, **more: object) -> rt.Table:
    chosen = rows() if frame is None else frame
    return rt.Table(chosen, quasi=["town"], sensitive="illness", identifiers=["name"], **more)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


# The definition.


def test_the_definition_judges_the_law_of_the_noise():
    plan = CountsPlan(BinomialLaw(148))
    held = rt.NoisyCounts(1, "1e-6").assess(plan)
    assert (held.holds, held.witness) == (True, None)
    assert float(held.value) == pytest.approx(9.44e-7, rel=1e-3)
    broken = rt.NoisyCounts(1, "9e-7").assess(plan)
    assert not broken.holds
    assert broken.witness.text == "At epsilon = 1 the noise has delta = 9.44e-07, above 9e-07."


def test_a_plan_without_noise_on_counts_is_not_judged():
    assert "judges the distribution of noise on counts" in str(rt.NoisyCounts(1).fits(object()))


def test_the_definition_says_what_it_means_rounded_towards_caution():
    assert "2.72 times" in rt.NoisyCounts(1).meaning()
    assert "a chance of at most 1e-06" in rt.NoisyCounts(1, "1e-6").meaning()
    assert str(rt.NoisyCounts(0.5, 1e-6)) == "NoisyCounts(epsilon=1/2, delta=1/1000000)"


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 101}, {"epsilon": 1, "delta": 1}, {"epsilon": "x"}])
def test_parameters_that_promise_nothing_are_refused(wrong):
    with pytest.raises(PolicyError, match="NoisyCounts: "):
        rt.NoisyCounts(**wrong)


# By a trusted curator.


def test_counts_with_noise_go_the_whole_way(tmp_path):
    release = rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    assert release.frame.columns == ["town", "illness", "noisy_count"]
    assert release.frame.select("town", "illness").rows() == [(a, b) for a in DOMAIN["town"] for b in DOMAIN["illness"]]
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    answer = open_public(folder).count("town = 'Aix'")
    true = rows().filter(pl.col("town") == "Aix").height
    assert abs(answer.value - true) < 10 * answer.standard_error
    assert answer.interval[0] <= answer.value <= answer.interval[1]
    assert open_public(folder).count("town = 'Nowhere'").interval == (0, 0)


def test_the_interval_holds_the_true_count_as_often_as_it_says(tmp_path):
    truth = rows().filter(pl.col("illness") == "flu").height
    held, runs = 0, 150
    for seed in range(runs):
        draft = rt.CentralCounts(domain=DOMAIN).draft(table(), rt.NoisyCounts(1), Context(Randomness(seed)))
        frame, law = draft.tables["cells"].frame(), CountsDetails.from_json(draft.details).law
        value = int(frame.filter(pl.col("illness") == "flu")["noisy_count"].sum())
        held += abs(value - truth) <= law.reach(3, 0.95)
    # At least 95 %, and not much more: the law is discrete, so within five standard errors above.
    assert 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs) <= held / runs <= 1


def test_epsilon_and_delta_are_spent_from_budgets_of_the_data_set(ledger):
    method = rt.CentralCounts(domain=DOMAIN, budget={"epsilon": 2})
    rt.publish(table(dataset="wards"), rt.NoisyCounts("1.5"), method)
    with Ledger(ledger) as book:
        assert book.accounts.of("wards").left.epsilon == Fraction(1, 2)
    with pytest.raises(LedgerError, match="released already"):
        rt.publish(table(dataset="wards"), rt.NoisyCounts("0.5"), method)
    with pytest.raises(LedgerError, match=r"epsilon runs out\. It has epsilon 0.5 of 2 .* this costs epsilon 1 "):
        rt.publish(table(dataset="wards"), rt.NoisyCounts(1), method, again=True)
    rt.publish(table(dataset="wards"), rt.NoisyCounts("0.5"), method, again=True)
    with Ledger(ledger) as book:
        assert book.accounts.of("wards").left.epsilon == 0


def test_the_first_release_without_a_declared_total_spends_all_there_is():
    rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    with pytest.raises(LedgerError, match=r"epsilon runs out\. It has epsilon 0 of 1"):
        rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN), again=True)


def test_a_later_release_goes_on_with_the_total_that_was_declared(ledger):
    rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN, budget={"epsilon": 2}))
    rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN), again=True)
    with Ledger(ledger) as book:
        assert book.accounts.of("wards").left.epsilon == 0


def test_all_differentially_private_releases_share_one_budget(ledger):
    sizes = rows().group_by("town").len("size")
    synthetic = rt.Synthetic(groups=sizes, domain=DOMAIN["illness"])
    rt.publish(
        table(dataset="wards"),
        rt.NoisyCounts(1),
        rt.CentralCounts(domain=DOMAIN, budget={"epsilon": 3, "delta": "1e-3"}),
    )
    rt.publish(table(dataset="wards"), rt.ProbabilisticDP(2, "1e-3"), synthetic, again=True)
    with Ledger(ledger) as book:
        assert dict(book.accounts.of("wards").left) == {"epsilon": 0, "delta": 0}
    with pytest.raises(
        LedgerError, match="account of data set 'wards' cannot pay for a synthetic release: its epsilon runs out"
    ):
        rt.publish(table(dataset="wards"), rt.ProbabilisticDP(2, "1e-3"), synthetic, again=True)


def test_nobody_gets_around_a_budget_by_leaving_the_name_out(ledger):
    """A table without a name is paid from the account of its people, under whatever name they have one."""
    with pytest.raises(PolicyError, match="this table has no name"):
        rt.publish(table(), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN, budget={"epsilon": 2}))
    rt.publish(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    sizes = rows().group_by("town").len("size")
    synthetic = rt.Synthetic(groups=sizes, domain=DOMAIN["illness"])
    for promise, method in (
        (rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN)),
        (rt.ProbabilisticDP(2, "1e-3"), synthetic),
    ):
        with pytest.raises(LedgerError, match="account of data set 'wards' cannot pay"):
            rt.publish(table(), promise, method)
    # Groups of the same people are judged by other rules, and other people have no budget.
    rt.publish(table(), rt.KAnonymity(2))
    others = rows().with_columns(name=pl.lit("q") + pl.col("name"), town=pl.lit("Apt"))
    rt.publish(table(others), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))


def test_a_preview_spends_nothing(ledger):
    rt.preview(table(dataset="wards"), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    assert not ledger.exists()


def test_a_seed_repeats_the_noise_and_the_certificate_says_so():
    one, other = (
        rt.publish(table(), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN), insecure_seed=seed) for seed in (3, 3)
    )
    assert one.frame.equals(other.frame)
    assert one.certificate["randomness"]["releasable"] is False


@pytest.mark.parametrize(
    ("definition", "method", "given", "message"),
    [
        (rt.KAnonymity(3), {}, {}, "cannot satisfy"),
        (rt.NoisyCounts(1), {"domain": {"town": ["Aix"], "illness": DOMAIN["illness"]}}, {}, "not in the declared domain"),
        (rt.NoisyCounts(1), {"domain": {"name": ["p1"]}}, {}, "does not publish"),
        (rt.NoisyCounts(1), {"domain": None}, {}, "Declare its domain|Declare the values"),
        (rt.NoisyCounts(1), {"domain": {"town": list(range(1001)), "illness": list(range(1000))}}, {}, "1,001,000 cells"),
        (rt.NoisyCounts(1), {}, {"unit": "person", "key": "town"}, "protects one row"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused_with_the_way_out(definition, method, given, message):
    with pytest.raises((PolicyError, DataError), match=message):
        rt.publish(table(**given), definition, rt.CentralCounts(**{"domain": DOMAIN, **method}))


def test_an_empty_table_has_noisy_counts_too():
    release = rt.publish(table(rows().head(1)), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    assert release.frame.height == 9


def test_a_column_of_the_same_name_is_refused():
    frame = rows().with_columns(noisy_count=pl.lit("a"))
    other = rt.Table(
        frame,
        quasi=["noisy_count"],
        declared={"town": "nobody knows it", "illness": "nobody knows it", "name": "nobody knows it"},
    )
    with pytest.raises(PolicyError, match="Rename the table's column"):
        rt.publish(other, rt.NoisyCounts(1), rt.CentralCounts(domain={"noisy_count": ["a", "b"]}))


# What an adversary sees.


def test_looking_a_record_up_believes_nobody_beyond_what_the_noise_allows(tmp_path):
    release = rt.publish(table(), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN))
    channel = adversary_view_of(release).channel
    share = math.exp(-1 / 2)
    assert float(channel.true) == pytest.approx(1 / (1 + share), rel=1e-9)
    assert float(channel.other) == pytest.approx(share / (1 + share), rel=1e-9)
    assert math.log(channel.true / channel.other) <= 1
    people = rows().head(50)
    shown = channel.shows(people)
    counts = {row[:2]: row[2] for row in release.frame.rows()}
    assert shown.tolist() == [counts[(town, illness)] >= 1 for _, town, illness in people.rows()]


def test_counts_of_a_secret_alone_are_attacked_and_previewed_as_well(tmp_path):
    """There is no column that a model could conclude from, so only records are looked up."""
    method = rt.CentralCounts(domain={"illness": DOMAIN["illness"]})
    folder = rt.publish(table(), rt.NoisyCounts(1), method).save(tmp_path / "release")
    ((before, after),) = rt.attacks.compare(table(), folder)
    assert (before.adversary, before.hits, after.hits) == ("sighting", 300, 0)
    assert rt.preview(table(), rt.NoisyCounts(1), method).utility["cells"] == 3
    page = write_stewards_report(folder, tmp_path / "report.html", table())
    assert "NoisyCounts(epsilon=1, delta=0)" in page.read_text("utf-8")
    compared = rt.compare(table(), [rt.NoisyCounts(1), rt.NoisyCounts("1/10")], methods=[method])
    assert compared.table.height == 2


# Forged folders.


def forged(folder: Path, change: object) -> Path:
    path = folder / "public" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest["details"])  # type: ignore[operator]
    written = (json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
    path.write_bytes(written)
    certificate = json.loads((folder / "public" / "certificate.json").read_text("utf-8"))
    certificate["files"][path.name] = {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()}
    (folder / "public" / "certificate.json").write_text(json.dumps(certificate, indent=2, sort_keys=True) + "\n")
    return folder


@pytest.mark.parametrize(
    "change",
    [
        lambda details: details.update(law={"name": "binomial", "coins": 10**12}),
        lambda details: details.update(hidden={"name": "discrete Laplace", "scale": "1"}),
        lambda details: details.update(run={"parties": 4, "faults": 1, "level": "byzantine", "rounds": 9, "excluded": 0}),
        lambda details: details.update(run={"parties": 4}),
        lambda details: details.update(domain={"town": 10**9, "illness": 10**9}),
        lambda details: details.update(more=1),
        lambda details: details.pop("law"),
    ],
)  # fmt: skip
def test_forged_details_are_a_failure_in_words(change, tmp_path):
    folder = rt.publish(table(), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN)).save(tmp_path / "release")
    found = rt.verify(forged(folder, change))
    assert not found.holds
    assert all(check.detail for check in found.checks)


def test_a_weaker_law_does_not_keep_the_claim(tmp_path):
    folder = rt.publish(table(), rt.NoisyCounts(1), rt.CentralCounts(domain=DOMAIN)).save(tmp_path / "release")

    def weaken(details: dict) -> None:
        details["law"]["scale"] = details["hidden"]["scale"] = "1"

    found = rt.verify(forged(folder, weaken))
    assert any("At epsilon = 1 the noise has delta" in check.detail for check in found.failures)


# What several parties made.


def joint(coins: int = 200, hidden: int = 150, **more: object) -> CountsDetails:
    run = JointRun(**{"parties": 4, "faults": 1, "level": "byzantine", "rounds": 20, **more})  # type: ignore[arg-type]
    return CountsDetails(ViewDomain.of(DOMAIN), BinomialLaw(coins), BinomialLaw(hidden), run)


def test_the_hidden_part_of_joint_noise_is_at_most_that_of_honest_parties():
    assert joint().plan.law == BinomialLaw(150)
    # Three of four parties gave 50 coins each after one was excluded.
    assert joint(150, 150, excluded=1).run.excluded == 1
    for coins, hidden, more in ((200, 152, {}), (200, 200, {"excluded": 1}), (150, 100, {"excluded": 2})):
        with pytest.raises((DataError, PolicyError)):
            joint(coins, hidden, **more)


def test_details_of_joint_noise_survive_the_manifest():
    made = joint(excluded=0)
    read = CountsDetails.from_json(json.loads(json.dumps(made.as_json())))
    assert (read.as_json(), read.run, read.law) == (made.as_json(), made.run, made.law)
    assert "4 parties added it together" in made.words()
    assert "1 of them were caught" in joint(150, 150, excluded=1).words()


def test_two_laws_of_a_curator_are_a_contradiction():
    with pytest.raises(DataError, match="one law"):
        CountsDetails(ViewDomain.of(DOMAIN), DiscreteLaplaceLaw(Fraction(2)), DiscreteLaplaceLaw(Fraction(3)))


def test_counting_many_cells_is_quick_and_its_interval_is_that_of_the_law(tmp_path):
    many = {"town": list(range(300)), "illness": list(range(100))}
    frame = pl.DataFrame({"town": np.arange(5000) % 300, "illness": np.arange(5000) % 100})
    release = rt.publish(
        rt.Table(frame, quasi=["town"], sensitive="illness"), rt.NoisyCounts(1), rt.CentralCounts(domain=many)
    )
    answer = release.count("illness < 50")
    assert answer.cells == 15_000
    # The sum of so many independent draws is nearly normal: 1.96 standard errors.
    assert answer.interval[1] - answer.value == pytest.approx(1.96 * answer.standard_error, rel=0.01)
