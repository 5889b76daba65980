"""``reticent synthesize``: plans from public facts, and the private audit of a release, from the command line."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

TOWNS = ["Aix", "Apt", "Arles", "Gap"]
POLICY = """
dataset = "jobs"
[data]
source = "jobs.csv"
[roles]
quasi = ["work"]
sensitive = "home"
[[definition]]
name = "ProbabilisticDP"
epsilon = 6
delta = "0.001"
[method]
name = "Synthetic"
groups = "groups.csv"
domain = "domain.csv"
keep = "by value"
"""


@pytest.fixture
def files(place: Path) -> Path:
    """A table, its public groups, and a domain with weights and keep probabilities."""
    pl.DataFrame({"work": ["mill"] * 40 + ["port"] * 60, "home": [TOWNS[i * i % 4] for i in range(100)]}).write_csv(
        "jobs.csv"
    )
    pl.DataFrame({"work": ["mill", "port"], "size": [40, 60]}).write_csv("groups.csv")
    listed = pl.DataFrame({"home": TOWNS, "weight": [1, 2, 2, 5], "keep": ["1/2", "1", "0.4", "0.9"]})
    listed.write_csv("domain.csv")
    listed.drop("keep").write_csv("weights.csv")
    Path("policy.toml").write_text(POLICY)
    return place


def test_promises_are_compared_from_public_facts(reticent, place):
    done = reticent(
        "synthesize", "plan", "--groups", "12,40,40,300", "--domain", "25181", "--epsilon", "1", "--epsilon", "4.6"
    )
    assert done.code == 0
    assert "4 groups, 392 rows, 25,181 values" in done.out
    assert "99.01 %" in done.out
    found = reticent("synthesize", "plan", "--groups", "12,40", "--domain", "100", "--epsilon", "2", "--json").json
    (plan,) = found["plans"]
    assert (plan["groups"], plan["rows"], plan["domain"], plan["keep"]) == (2, 52, 100, None)
    assert [each["size"] for each in plan["sizes"]] == [12, 40]


def test_dropped_values_are_planned_with_one_probability_or_with_those_of_the_domain(reticent, files):
    asked = ["synthesize", "plan", "--groups", "groups.csv", "--epsilon", "6", "--delta", "0.001", "--json"]
    listed = reticent(*asked, "--domain", "domain.csv", "--keep", "by value").json["plans"][0]
    assert listed["keep"] == "by value"
    assert listed["public_inputs"] == ["groups and their sizes", "domain", "weights", "keep probabilities"]
    steps = {each["step"]: each["epsilon"] for each in listed["charges"]}
    assert steps["values that show"] == pytest.approx(math.log(2.5))
    one = reticent(*asked, "--domain", "weights.csv", "--keep", "0.4").json["plans"][0]
    assert (one["keep"], one["sizes"][0]["alpha"]) != (listed["keep"], listed["sizes"][0]["alpha"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--domain", "weights.csv", "--keep", "by value"], "the domain has no probabilities"), (["--domain", "domain.csv"], "Pass keep='by value'"),
        (["--domain", "weights.csv", "--keep", "2"], "at most 1"), 
        (["--domain", "weights.csv", "--keep", "0.5", "--screen"], "no proof"), (["--domain", "nowhere.csv"], "nowhere.csv"), (["--domain", "1"], "a single value"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_named(reticent, files, words, said):
    done = reticent("synthesize", "plan", "--groups", "groups.csv", "--epsilon", "6", "--delta", "0.001", *words)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_promise_that_leaves_nothing_for_the_noise_is_not_possible(reticent, files):
    done = reticent("synthesize", "plan", "--groups", "9,9", "--domain", "9", "--epsilon", "6", "--keep", "0.001")
    assert done.code == 1
    assert "Keep more values" in done.err


def test_a_policy_with_probabilities_is_published_verified_counted_and_audited(reticent, files):
    assert reticent("publish", "policy.toml", "-o", "out").code == 0
    checked = reticent("verify", "out")
    assert checked.code == 0
    assert "not checkable from files" in " ".join(checked.out.split())
    assert pl.read_csv("out/public/domain.csv").columns == ["home", "domain_weight", "domain_keep"]
    counted = reticent("query", "out", "home = 'Gap'", "--json").json
    assert counted["bias"] > 0
    found = reticent("synthesize", "audit", "out", "--policy", "policy.toml", "--epsilon", "0.01", "--json").json
    assert (found["private"], found["groups"], found["in_disclosure_set"]) == (True, 2, 2)
    assert "For the steward only" in reticent("synthesize", "audit", "out", "--policy", "policy.toml").out


MARGINALS = """
dataset = "jobs"
[data]
source = "jobs.csv"
[roles]
quasi = ["work"]
sensitive = "home"
[[definition]]
name = "UnboundedDP"
epsilon = 1
delta = "1e-6"
[method]
name = "Marginals"
select = [["work", "home"]]
domain = { work = ["mill", "port"], home = ["Aix", "Apt", "Arles", "Gap"] }
"""


def test_selections_of_marginals_are_compared_before_anything_is_spent(reticent, files):
    pytest.importorskip("opendp")
    Path("policy.toml").write_text(MARGINALS)
    asked = ["synthesize", "choose", "policy.toml", "--epsilon", "0.5", "--epsilon", "2", "--select", "mst"]
    expected = reticent(*asked, "--json").json["draws"]
    assert [(each["method"], each["epsilon"]) for each in expected] == [
        (method, epsilon) for epsilon in ("0.5", "2") for method in ("the policy", "mst")
    ]
    assert all(each["measured"] is None for each in expected)
    assert expected[0]["expected"]["error of home"] > 2 * expected[2]["expected"]["error of home"]
    shown = reticent(*asked, "--measure")
    assert "for the steward alone" in " ".join(shown.out.split())
    assert not Path("release").exists()


def test_a_method_without_marginals_cannot_be_given_another_selection(reticent, files):
    refused = reticent("synthesize", "choose", "policy.toml", "--epsilon", "1", "--select", "mst")
    assert refused.code == 2
    assert "select" in refused.err + refused.out
