"""Probabilities to stay that differ between groups, in one certified release: each group keeps the promise, by enumeration, and draws by its own."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.methods.synthesize.details import SynthesisDetails
from tests.methods.synthesize.test_promise import worst_chance
from tests.oracles.synthesize_enumeration import dropped_law, urn_law

GROUPS = pl.DataFrame({"work": ["A", "B", "C"], "size": [3, 3, 2], "keep": ["a", "b", "b"]})
DOMAIN = pl.DataFrame({"home": ["x", "y", "z"], "keep_a": ["1", "1/2", "1/3"], "keep_b": ["1/4", "9/10", "1"]})
ROWS = pl.DataFrame({"work": list("AAABBBCC"), "home": list("xxyyzzzx")})
PROMISE = rt.ProbabilisticDP(4, "0.2")


def release(
    rows: pl.DataFrame = ROWS, groups: pl.DataFrame = GROUPS, domain: pl.DataFrame = DOMAIN, **more
) -> rt.Release:
    table = rt.Table(rows, quasi=["work"], sensitive="home")
    return rt.publish(table, PROMISE, rt.Synthetic(groups, domain, keep="by group"), insecure_seed=more.get("seed", 1))


def noise(made: rt.Release) -> SynthesisDetails:
    return SynthesisDetails.from_json(made.manifest.details)


def test_no_group_discloses_more_often_than_was_promised() -> None:
    """All neighbouring tables of each group and all its outputs, by the law of the group's own probabilities."""
    made = noise(release())
    ratio = Fraction(math.exp(4))
    for name, size in (("a", 3), ("b", 3), ("b", 2)):
        alpha = made.by_group[name][size]
        keep = [Fraction(each) for each in DOMAIN[f"keep_{name}"]]
        assert 0 <= worst_chance(size, 3, size, dropped_law((alpha,) * 3, keep), ratio) <= Fraction(1, 5)
        # A release of this group alone has the same noise.
        alone = rt.synthesize.plan([size], list("xyz"), 4, "0.2", keep=[str(each) for each in keep])
        assert alone.alpha[size] == alpha


def test_every_group_draws_by_its_own_probabilities() -> None:
    """Many groups with the same people and the same size: the law of each kind is its own, by five standard deviations."""
    times = 1000
    names = [f"{place:04d}" for place in range(2 * times)]
    kinds = ["a", "b"] * times
    groups = pl.DataFrame({"work": names, "size": [1] * len(names), "keep": kinds})
    domain = pl.DataFrame({"home": ["x", "y", "z"], "keep_a": ["1", "1/100", "1"], "keep_b": ["1", "1", "1/100"]})
    table = rt.Table(pl.DataFrame({"work": names, "home": ["x"] * len(names)}), quasi=["work"], sensitive="home")
    method = rt.Synthetic(groups, domain, keep="by group")
    made = rt.publish(table, rt.ProbabilisticDP(8, "0.2"), method, insecure_seed=3)
    drawn = made.frame.sort("work").with_columns(pl.Series("kind", kinds))
    for name in "ab":
        alpha = noise(made).by_group[name][1]
        law = dropped_law((alpha,) * 3, [Fraction(each) for each in domain[f"keep_{name}"]])
        for code, value in enumerate("xyz"):
            chance = float(law((1, 0, 0), tuple(int(code == each) for each in range(3))))
            seen = drawn.filter(kind=name, home=value).height
            assert abs(seen - times * chance) <= 5 * math.sqrt(times * chance * (1 - chance)) + 1e-9, (name, value)


def test_the_release_is_verified_and_forged_probabilities_fail(tmp_path: Path) -> None:
    made = release()
    assert made.tables["groups"].columns == ["work", "group_size", "group_keep"]
    assert made.tables["domain"].columns == ["home", "domain_keep_a", "domain_keep_b"]
    saved = made.save(tmp_path / "release")
    assert rt.verify(saved).holds
    manifest = json.loads((saved / "public" / "manifest.json").read_text())
    manifest["details"]["alpha_by_group"]["b"]["3"] = "1/1000"
    (saved / "public" / "manifest.json").write_text(json.dumps(manifest))
    assert not rt.verify(saved).holds


def test_counts_take_the_noise_of_every_group_out() -> None:
    rng = np.random.default_rng(5)
    values = [f"o{place:02d}" for place in range(40)]
    domain = pl.DataFrame(
        {"home": values, "keep_west": ["9/10"] * 20 + ["1/4"] * 20, "keep_east": ["1/4"] * 20 + ["9/10"] * 20}
    )
    groups = pl.DataFrame({"work": ["w", "e"], "size": [300, 300], "keep": ["west", "east"]})
    homes = [*rng.choice(values[:20], 300), *rng.choice(values[20:], 300)]
    table = rt.Table(pl.DataFrame({"work": ["w"] * 300 + ["e"] * 300, "home": homes}), quasi=["work"], sensitive="home")
    made = rt.publish(
        table, rt.ProbabilisticDP(6, "1e-4"), rt.Synthetic(groups, domain, keep="by group"), insecure_seed=2
    )
    found = made.count("home < 'o20'")
    low, high = found.bounds
    assert low <= 300 <= high
    assert found.most == 600
    apart = [made.count(f"home < 'o20' and work = '{name}'") for name in "we"]
    assert found.value == pytest.approx(sum(each.value for each in apart))
    assert found.standard_error == pytest.approx(math.hypot(*(each.standard_error for each in apart)))


def test_a_whole_release_divides_delta_among_all_groups() -> None:
    groups = GROUPS.with_columns(pl.Series("size", [6, 6, 6]))
    rows = pl.DataFrame({"work": ["A"] * 6 + ["B"] * 6 + ["C"] * 6, "home": list("xyzxyz") * 3})
    table = rt.Table(rows, quasi=["work"], sensitive="home")
    made = {
        scope: noise(
            rt.publish(
                table,
                PROMISE,
                rt.Synthetic(groups, DOMAIN, keep="by group", delta_scope=scope),
                insecure_seed=1,
            )
        )
        for scope in ("per_person", "whole_release")
    }
    alone = rt.synthesize.plan(
        [6, 6, 6], list("xyz"), 4, "0.2", keep=DOMAIN["keep_a"].to_list(), delta_scope="whole_release"
    )
    assert made["whole_release"].by_group["a"][6] == alone.alpha[6]
    assert made["whole_release"].by_group["a"][6] > made["per_person"].by_group["a"][6]


@pytest.mark.parametrize(
    ("groups", "domain", "keep", "words"),
    [
        (GROUPS.drop("keep"), DOMAIN, "by group", "groups has no column 'keep'"),
        (GROUPS.with_columns(keep=pl.lit("c")), DOMAIN, "by group", "has no column 'keep_c'"),
        (GROUPS.with_columns(keep=pl.lit("a")), DOMAIN, "by group", "No group names the column keep_b"),
        (GROUPS, DOMAIN, None, "Probabilities by group need keep='by group'"),
        (GROUPS, DOMAIN.with_columns(keep_a=pl.lit("0")), "by group", "keep"),
        (
            GROUPS,
            DOMAIN.with_columns(keep_a=pl.Series(["1", None, "1"])),
            "by group",
            "a probability for each of the 3",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(
    groups: pl.DataFrame, domain: pl.DataFrame, keep: str | None, words: str
) -> None:
    table = rt.Table(ROWS, quasi=["work"], sensitive="home")
    with pytest.raises((PolicyError, DataError), match=words):
        rt.publish(table, PROMISE, rt.Synthetic(groups, domain, keep=keep), insecure_seed=1)


def test_values_of_people_always_stay() -> None:
    """The law by which a group is drawn is that of an urn without the values that were dropped."""
    alpha = Fraction(1, 2)
    mixed = dropped_law((alpha,) * 2, [Fraction(1), Fraction(1, 2)])((2, 0), (1, 0))
    every, without = urn_law((2, 0), 1, (alpha, alpha)), urn_law((2, 0), 1, (alpha, Fraction(0)))
    assert mixed == (every[1, 0] + without[1, 0]) / 2
