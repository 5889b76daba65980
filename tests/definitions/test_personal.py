"""Personalised privacy: everybody's own wish and threshold, against a row-by-row twin, and never published."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import KAnonymity, PersonalPrivacy
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.policy import Policy
from reticent.table import Hierarchy, Table
from tests.oracles import catalogue_models as oracle
from tests.sampling import seeds

TREE = {"stomach": ["ulcer", "gastritis"], "airways": ["flu", "cold"]}
BELOW = {
    **{leaf: {leaf} for leaves in TREE.values() for leaf in leaves},
    **{node: set(leaves) for node, leaves in TREE.items()},
}


def clinic(rng: random.Random, rows: int = 30) -> pl.DataFrame:
    nodes = [None, None, *BELOW]
    thresholds = [None, "1/3", "1/2", "0.5", "0.75", "3/4", "1"]
    return pl.DataFrame(
        [
            {
                "zip": rng.choice("abc"),
                "illness": rng.choice([leaf for leaves in TREE.values() for leaf in leaves]),
                "wish": rng.choice(nodes) if rng.random() < 0.4 else None,
                "limit": rng.choice(thresholds),
            }
            for _ in range(rows)
        ],
        schema={"zip": pl.String, "illness": pl.String, "wish": pl.String, "limit": pl.String},
    )


def table_of(frame: pl.DataFrame) -> Table:
    sensitive = {"illness": Hierarchy.taxonomy(TREE)}
    return Table(frame, quasi=["zip"], sensitive=sensitive, private=["wish", "limit"])


def judged(frame: pl.DataFrame, definition: PersonalPrivacy):
    groups = count_table(definition.prepare(table_of(frame))).groups()
    return definition, groups


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("thresholds", [None, "limit"])
def test_verdicts_are_those_of_asking_every_person(seed, thresholds):
    rng = random.Random(seed)
    verdicts = set()
    for _ in range(40):
        frame = clinic(rng, rng.randint(3, 40))
        default = Fraction(rng.randint(1, 4), 4)
        definition, groups = judged(frame, PersonalPrivacy(default, "wish", thresholds=thresholds))
        expected, largest = [], Fraction(0)
        for _, group in sorted(frame.group_by("zip")):
            people = list(group.select("illness", "wish", "limit").iter_rows())
            if thresholds is None:
                people = [(value, wish, None) for value, wish, _ in people]
            expected.append(not oracle.personal(default, BELOW)(people))
            largest = max([largest, *oracle.breach_chances(people, BELOW)])
        assert definition.failing(groups).tolist() == expected
        found = definition.assess(groups)
        assert found.holds is not any(expected)
        assert found.value == largest
        verdicts.add(found.holds)
    assert verdicts == {True, False}


def test_a_witness_names_the_node_and_what_was_allowed():
    frame = pl.DataFrame(
        {
            "zip": ["a"] * 4,
            "illness": ["ulcer", "ulcer", "ulcer", "flu"],
            "wish": ["stomach", "flu", None, None],
            "limit": ["0.5", None, None, "0.1"],
        }
    )
    definition, groups = judged(frame, PersonalPrivacy("1/4", "wish", thresholds="limit"))
    found = definition.assess(groups)
    assert not found.holds
    assert "below 'stomach', where 0.5 is allowed" in found.witness.text
    relaxed, groups = judged(frame.with_columns(limit=pl.lit("0.75")), PersonalPrivacy(0, "wish", thresholds="limit"))
    assert relaxed.holds(groups)


def test_two_definitions_look_at_their_own_columns():
    frame = clinic(random.Random(1)).with_columns(wish=pl.lit("flu"), mother=pl.lit("ulcer"), limit=pl.lit("1"))
    table = Table(
        frame, quasi=["zip"], sensitive={"illness": Hierarchy.taxonomy(TREE)}, private=["wish", "mother", "limit"]
    )
    strict, lax = PersonalPrivacy(0, "wish"), PersonalPrivacy(1, "mother")
    both = strict & lax
    groups = count_table(both.prepare(table)).groups()
    assert lax.holds(groups)
    assert not strict.holds(groups)


@pytest.mark.parametrize(
    "method",
    [
        rt.Lattice(suppression="0.9"),
        rt.Mondrian(suppression="0.9", values="sets"),
        rt.Mondrian(suppression="0.9", ties="divide", values="sets"),
    ],
)
def test_wishes_are_met_and_leave_no_trace(method, tmp_path):
    rng = random.Random(5)
    frame = clinic(rng, 300).with_columns(age=pl.Series([rng.randrange(20, 60) for _ in range(300)]))
    frame = frame.with_columns(limit=pl.lit("0.8125"), wish=pl.col("wish"))
    quasi = {"age": Hierarchy.intervals([10, 20], domain=(0, 99)), "zip": None}
    table = Table(frame, quasi=quasi, sensitive={"illness": Hierarchy.taxonomy(TREE)}, private=["wish", "limit"])
    definition = PersonalPrivacy("1/8", "wish", thresholds="limit") & KAnonymity(3)
    release = rt.publish(table, definition, method=method, insecure_seed=1)
    assert definition.holds(release.private.evidence.published)
    release.save(tmp_path / "release")
    for file in (tmp_path / "release" / "public").iterdir():
        content = file.read_bytes()
        assert b"stomach" not in content
        assert b"0.8125" not in content
    found = {check.name: check for check in rt.verify(tmp_path / "release").checks}
    claim = found[f"claim {definition.parts()[0]}"]
    assert (claim.status, claim.detail) == (
        "not re-checked",
        "It depends on the people's own requests, which are not published.",
    )
    assert found["claim KAnonymity(k=3)"].status == "holds"
    assert "publisher's word" in release.certificate["claims"][0]["does_not_cover"]


def test_a_policy_reads_private_columns(tmp_path):
    clinic(random.Random(3), 60).write_csv(tmp_path / "rows.csv")
    text = """
        [data]
        source = "rows.csv"
        types = {limit = "text"}
        [roles]
        quasi = ["zip"]
        sensitive = ["illness"]
        PRIVATE
        [hierarchies.illness]
        kind = "taxonomy"
        tree = {stomach = ["ulcer", "gastritis"], airways = ["flu", "cold"]}
        [[definition]]
        name = "PersonalPrivacy"
        h = "3/4"
        guards = "wish"
        thresholds = "limit"
    """
    policy = Policy.parse(text.replace("PRIVATE", 'private = ["wish", "limit"]'), folder=tmp_path)
    assert policy.definition.prepare(policy.table()).extra_counts
    assert policy.table().unpublished == ()
    forgotten = Policy.parse(text.replace("PRIVATE", ""), folder=tmp_path)
    with pytest.raises(DataError, match=r"no column 'wish'.* It was not read; declare it private: private=\['wish'\]"):
        rt.publish(forgotten.table(), forgotten.definition)


@pytest.mark.parametrize(
    ("change", "definition", "error", "message"),
    [
        ({"limit": pl.lit("1.5")}, PersonalPrivacy(1, "wish", thresholds="limit"), PolicyError, r"a threshold in column 'limit' must be at most 1, but it is 1.5"),
        ({"limit": pl.lit("often")}, PersonalPrivacy(1, "wish", thresholds="limit"), PolicyError, r"a threshold in column 'limit' must be a number .* but it is 'often'"),
        ({}, PersonalPrivacy(1, "zip"), PolicyError, "the column 'zip' contains people's guarding nodes, but it would be published"),
        ({}, PersonalPrivacy(1, "wish", thresholds="limits"), DataError, r"no column 'limits'.* Did you mean 'limit'"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_wish_is_refused(change, definition, error, message):
    frame = clinic(random.Random(2)).with_columns(wish=pl.lit("flu"), **change)
    with pytest.raises(error, match=message):
        definition.prepare(table_of(frame))
    with pytest.raises(PolicyError, match="PersonalPrivacy: thresholds must be the name of a column, but it is 3"):
        PersonalPrivacy(1, "wish", thresholds=3)


def test_a_name_that_a_value_and_a_category_share_guards_both():
    """'flu' is a value, and above it the category of all airways: whoever names it may mean either."""
    tree = Hierarchy.listed([["flu", "flu", "*"], ["cold", "flu", "*"], ["ulcer", "stomach", "*"]])
    frame = pl.DataFrame(
        {"zip": ["1"] * 4, "illness": ["flu", "cold", "cold", "ulcer"], "wish": ["flu", None, None, None]}
    )
    table = Table(frame, quasi=["zip"], sensitive={"illness": tree}, private=["wish"])
    assert rt.assess(table, PersonalPrivacy("1/2", "wish")).value == Fraction(3, 4)


def test_several_sensitive_columns_are_named_with_the_way_out():
    frame = pl.DataFrame({"zip": ["1"], "a": ["x"], "b": ["y"], "wish": ["x"]})
    table = Table(frame, quasi=["zip"], sensitive=["a", "b"], private=["wish"])
    with pytest.raises(
        PolicyError, match=r"one sensitive column, but the table has several: a, b. Declare only the one"
    ):
        rt.assess(table, PersonalPrivacy("1/2", "wish", column="a"))
