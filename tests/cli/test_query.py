"""``reticent query`` says what is certain first, what its estimate assumes, and claims no margin that it cannot keep."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command

STATES = ["Texas", "Iowa", "Utah", "Ohio", "Maine", "Idaho", "Alaska", "Hawaii", "Kansas", "Oregon"]
POLICY = """\
[data]
source = "people.csv"
[roles]
quasi = ["state", "age"]
sensitive = ["ill"]
[hierarchies.state]
kind = "taxonomy"
tree = { America = ["Texas", "Iowa", "Utah", "Ohio", "Maine", "Idaho", "Alaska", "Hawaii", "Kansas", "Oregon"] }
[hierarchies.age]
kind = "intervals"
widths = [10]
domain = [0, 99]
[[definition]]
name = "KAnonymity"
k = 5
[method]
name = "Lattice"
"""


@pytest.fixture
def texans(place: Path) -> Path:
    """Nine of ten people live in one of ten states."""
    states = ["Texas"] * 900 + [STATES[1 + i % 9] for i in range(100)]
    people = pl.DataFrame({"state": states, "age": [30 + i % 3 for i in range(1000)], "ill": ["yes", "no"] * 500})
    people.write_csv(place / "people.csv")
    (place / "policy.toml").write_text(POLICY.replace("k = 5", "k = 50"))
    return place


def test_an_estimate_far_from_the_truth_claims_no_margin(texans: Path, reticent: Command) -> None:
    made = reticent("publish", "policy.toml", "-o", "release")
    assert made.code == 0, made.err
    found = reticent("query", "release", "state = 'Texas'")
    assert found.code == 0, found.err
    first, second = found.out.splitlines()[0], " ".join(" ".join(found.out.split("\n")[1:]).split())
    assert first == "For certain between 0 and 1,000 of 1,000 published rows."
    assert "Estimate: 100, if people are spread evenly over the values that a label stands for" in second
    assert "only the bounds are sure" in second
    assert "standard error" not in found.out
    told = reticent("query", "release", "state = 'Texas'", "--json").json
    assert told["assumes"] == "people are spread evenly over the values that a label stands for"
    assert told["bounds"] == [0, 1000]
    assert "standard_error" not in told


def test_what_the_labels_decide_is_exact_and_assumes_nothing(texans: Path, reticent: Command) -> None:
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    found = reticent("query", "release", "ill = 'yes'")
    assert found.out.strip() == "Exactly 500 of 1,000 published rows."
    assert reticent("query", "release", "ill = 'yes'", "--json").json["assumes"] is None
    most = reticent("query", "release", "state = 'Texas'", "--estimator", "intersect")
    assert "At most 1,000 rows meet it." in most.out


def test_a_bucketized_release_says_what_it_assumes_between_its_tables(texans: Path, reticent: Command) -> None:
    made = reticent(
        "publish", "policy.toml", "-o", "release", "--format", "bucketize", "--definition", "DistinctLDiversity(2)"
    )
    assert made.code == 0, made.err
    found = reticent("query", "release", "state = 'Texas' and ill = 'yes'")
    assert found.code == 0
    if "Estimate" in found.out:
        assert "inside a bucket, sensitive values do not depend on the other columns" in " ".join(found.out.split())
