"""What-if on tables and releases, explanations with names, growth, charts."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.core import AdversaryView
from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.background_knowledge import WorstCaseKnowledge
from reticent.errors import DataError, PolicyError
from reticent.knowledge import Subject, watch, what_if
from reticent.knowledge.disclosure_curves import save_chart
from reticent.methods.lattice import Lattice
from reticent.table.meaning import Interval, Value
from reticent.worst_case import curve, negation_curve
from tests.knowledge.conftest import FIXTURES, golden
from tests.knowledge.test_definition import flu_table

LEVELS = {"zip": 1, "age": 2}
FRAME = pl.read_csv(FIXTURES / "flu.csv")
COUPLE = ["Hannah=Flu -> Charlie=Flu"]


def generalized() -> rt.Table:
    frame = FRAME.with_columns(zip=pl.lit("1485*"), age=pl.lit("2*"))
    return rt.Table(frame, quasi=["zip", "age", "sex"], sensitive="disease", identifiers=["name"])


@pytest.mark.parametrize("case", golden("whatif"), ids=lambda case: f"{case['know']} ? {case['ask']}")
def test_golden_beliefs_on_a_table(case):
    for found in (
        rt.knowledge.what_if(generalized(), know=case["know"], ask=case["ask"]),
        what_if(flu_table(), case["know"], case["ask"], levels=LEVELS),
    ):
        assert found.contradiction == (case["answer"] is None)
        assert found.posterior == (None if case["answer"] is None else Fraction(case["answer"]))
        assert found.cost == case["cost"]


def test_people_are_called_by_the_key_or_by_the_first_identifier():
    keyed = rt.Table(FRAME.with_row_index("id"), quasi=["sex"], sensitive="disease", key="id")
    assert what_if(keyed, ["6=Flu -> 1=Flu"], "1=Flu").posterior == Fraction(10, 19)
    assert what_if(flu_table(key="name", identifiers=[]), COUPLE, "Charlie=Flu", levels=LEVELS).posterior == Fraction(
        10, 19
    )
    nameless = rt.Table(FRAME, quasi=["sex"], sensitive="disease")
    with pytest.raises(PolicyError, match="Statements about people need names"):
        what_if(nameless, [], "Ed=Flu")
    assert what_if(nameless, COUPLE, "Charlie=Flu", key="name").posterior == Fraction(10, 19)
    with pytest.raises(PolicyError, match="no column 'nme'"):
        what_if(nameless, [], "Ed=Flu", key="nme")


def test_levels_that_are_not_there_are_refused():
    with pytest.raises(PolicyError, match="no quasi column 'ago'"):
        what_if(flu_table(), [], "Ed=Flu", levels={"ago": 1})
    with pytest.raises(PolicyError, match="no level 9"):
        what_if(flu_table(), [], "Ed=Flu", levels={"age": 9})


def test_missing_values_are_values_of_their_own():
    frame = FRAME.with_columns(pl.when(pl.col("name") == "Frank").then(None).otherwise("disease").alias("disease"))
    table = rt.Table(frame, quasi=["sex"], sensitive="disease", identifiers=["name"], nulls="category")
    assert what_if(table, [], "Ed='(missing)'").posterior == Fraction(1, 5)


def test_several_sensitive_columns_need_a_choice():
    frame = FRAME.with_columns(ward=pl.Series(list("aabbaabbab")))
    table = rt.Table(frame, quasi=["sex"], sensitive=["disease", "ward"], identifiers=["name"])
    with pytest.raises(PolicyError, match="several sensitive columns"):
        what_if(table, [], "Ed=Flu")
    assert what_if(table, COUPLE, "Charlie=Flu", column="disease").posterior == Fraction(10, 19)
    with pytest.raises(PolicyError, match="There is no sensitive column"):
        what_if(rt.Table(FRAME, quasi=["sex"], identifiers=["name"]), [], "Ed=Flu")


def test_people_with_several_rows_are_refused():
    frame = pl.concat([FRAME, FRAME[:1].with_columns(disease=pl.lit("Mumps"))])
    table = rt.Table(frame, quasi=["sex"], sensitive="disease", key="name", unit="person")
    with pytest.raises(DataError, match="several rows"):
        what_if(table, [], "Ed=Flu")


@pytest.mark.parametrize("format", ["generalize", "bucketize"])
def test_golden_beliefs_on_a_release_with_a_list_of_people(format):
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1), method=Lattice(format=format))
    people = FRAME.select("name", "zip", "age", "sex")
    for case in golden("whatif"):
        found = what_if(release, case["know"], case["ask"], people=people)
        assert found.posterior == (None if case["answer"] is None else Fraction(case["answer"]))
    assert what_if(release.public, COUPLE, "Charlie=Flu", people=people.to_pandas()).posterior == Fraction(10, 19)


@pytest.mark.parametrize("format", ["generalize", "bucketize"])
def test_a_release_with_pseudonyms_knows_its_people_on_the_private_side(format):
    release = rt.publish(
        flu_table(pseudonyms=["name"], identifiers=["name"]),
        WorstCaseKnowledge("0.7", 1),
        method=Lattice(format=format),
    )
    assert what_if(release, COUPLE, "Charlie=Flu").posterior == Fraction(10, 19)
    with pytest.raises(PolicyError, match="does not name its people"):
        what_if(release.public, COUPLE, "Charlie=Flu")


def test_a_list_of_people_must_fit_the_release():
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1))
    with pytest.raises(DataError, match="people has no column 'sex'"):
        what_if(release, [], "Ed=Flu", people=FRAME.select("name", "zip", "age"))
    with pytest.raises(PolicyError, match="one column of names"):
        what_if(release, [], "Ed=Flu", people=FRAME.with_columns(other=1).drop("disease"))
    with pytest.raises(PolicyError, match="none"):
        what_if(release, [], "Ed=Flu", people=FRAME.drop("name"))
    with pytest.raises(DataError, match="no column 'nam'"):
        what_if(release, [], "Ed=Flu", people=FRAME, key="nam")
    stranger = FRAME.with_columns(zip=pl.lit(99999))
    with pytest.raises(PolicyError, match="'Ed' fits no group of the release"):
        what_if(release, [], "Ed=Flu", people=stranger)
    with pytest.raises(PolicyError, match="There is no person called 'Eddy'"):
        what_if(release, [], "Eddy=Flu", people=FRAME)
    with pytest.raises(PolicyError, match="Expected a table, a draft, a release or the folder of one"):
        what_if([1, 2], [], "Ed=Flu")


def test_people_are_placed_where_labels_overlap_unless_several_groups_fit():
    places = pl.DataFrame({"age": ["[20, 26)", "[24, 30)"], "sex": ["M", "F"]})
    meanings = {
        "age": {"[20, 26)": Interval(20, 26), "[24, 30)": Interval(24, 30)},
        "sex": {"M": Value("M"), "F": Value("F")},
    }
    people = pl.DataFrame({"age": [25, 25, 21, 21], "sex": ["M", "F", "F", "M"]})
    assert AdversaryView.in_rows(places, None, meanings, []).place(people).tolist() == [0, 1, -1, 0]
    either = places.with_columns(sex=pl.lit("M"))
    assert AdversaryView.in_rows(either, None, meanings, []).place(people).tolist() == [-2, -1, -1, 0]


def test_a_locally_recoded_release_can_be_asked_about():
    release = rt.publish(flu_table(), KAnonymity(3) & WorstCaseKnowledge("0.9", 0), method=rt.Mondrian(values="sets"))
    found = what_if(release, [], "Ed=LungCancer", people=FRAME)
    assert 0 < found.posterior < 1
    assert Subject.of(release).explain(0).disclosure < Fraction(9, 10)


def test_a_longer_list_than_the_release_may_be_asked_about_until_a_group_overflows():
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1))
    more = pl.concat([FRAME, FRAME[:5].with_columns(name=pl.col("name") + "2")])
    assert what_if(release, COUPLE, "Charlie=Flu", people=more).posterior == Fraction(10, 19)
    crowd = [f"{name}{extra} != Mumps" for name in ("Bob", "Charlie", "Dave", "Ed") for extra in ("", "2")]
    with pytest.raises(DataError, match="holds only 5"):
        what_if(release, crowd, "Ed=Flu", people=more)


def test_an_explanation_names_people_groups_and_values():
    found = Subject.of(flu_table(), LEVELS).explain(1)
    assert found.facts() == ["Bob does not have LungCancer"]
    assert found.conclusion() == "Bob has Flu with probability 2/3 = 0.6667"
    assert found.attacked() == [(1, "zip 1485*, age [20, 30), sex M", {"Flu": 2, "LungCancer": 2, "Mumps": 1})]
    assert found.replayed() == found.disclosure == Fraction(2, 3)
    assert found.facts(negations=True) == ["Bob does not have LungCancer"]


@pytest.mark.parametrize("format", ["generalize", "bucketize"])
def test_an_explanation_of_a_release_speaks_of_its_labels(format):
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1), method=Lattice(format=format))
    found = Subject.of(release).explain(1)
    assert found.disclosure == Fraction(2, 3)
    (fact,) = found.facts()
    assert fact.startswith("person 1 of (")
    assert ("sex M" if format == "generalize" else "bucket") in fact


def test_a_growing_table_is_watched_row_by_row():
    new = pl.DataFrame({"zip": [14850, 14850], "age": [21, 22], "sex": ["M", "M"], "disease": ["Gout", "Flu"]})
    found = watch(flu_table(), new, "0.7", 1, levels=LEVELS)
    assert found.before.disclosure == Fraction(2, 3)
    assert found.after.disclosure == curve([(3, 2, 1, 1), (2, 1, 1, 1)], 1)[1]
    assert found.first_unsafe_row is None
    assert "still safe" in found.sentence()
    worse = watch(flu_table(), new[1:], "0.7", 1, levels=LEVELS)
    assert (worse.after.holds, worse.first_unsafe_row) == (False, 1)
    assert "first row that makes it unsafe is row 1" in worse.sentence()
    assert watch(flu_table(), None, "0.7", 1, levels=LEVELS).rows == 0
    assert "before either" in watch(flu_table(), None, "0.6", 1, levels=LEVELS).sentence()


def test_a_growing_release_is_watched_with_recoded_rows():
    release = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1))
    new = rt.apply(release, FRAME.with_columns(disease=pl.lit("Gout")))
    found = watch(release, new, "0.7", 1)
    assert found.after.disclosure == curve([(5, 2, 2, 1), (5, 2, 1, 1, 1)], 1)[1]
    bucketized = rt.publish(flu_table(), WorstCaseKnowledge("0.7", 1), method=Lattice(format="bucketize"))
    with pytest.raises(PolicyError, match="bucketized"):
        watch(bucketized, None, "0.7", 1)


def test_new_rows_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="no column 'sex'"):
        watch(flu_table(), FRAME.drop("sex"), "0.7", 1)
    with pytest.raises(DataError, match="types of the table"):
        watch(flu_table(), FRAME.with_columns(age=pl.lit("old")), "0.7", 1)
    with pytest.raises(PolicyError, match="no quasi column"):
        watch(flu_table(), None, "0.7", 1, levels={"ago": 1})
    with pytest.raises(PolicyError, match="one sensitive column"):
        watch(rt.Table(FRAME, quasi=["sex"], sensitive=["disease", "zip"]), None, "0.7", 1)


def test_a_chart_shows_both_curves_and_the_threshold(tmp_path):
    known, negated = curve([(4, 2, 1, 1, 1, 1)], 5), negation_curve([(4, 2, 1, 1, 1, 1)], 5)
    text = save_chart(tmp_path / "both.json", known, negated, Fraction(3, 5), "Ten people").read_text()
    assert '"84/89"' in text
    assert '"4/5"' in text
    assert "Ten people" in text
    svg = save_chart(tmp_path / "both.svg", known, negated).read_text()
    assert svg.startswith("<svg")
    assert "any facts" in svg
    with pytest.raises(PolicyError, match="has another suffix"):
        save_chart(tmp_path / "both.gif", known, negated)


def test_the_chart_as_a_page_has_a_slider_that_stops_at_certainty(tmp_path):
    known, negated = curve([(4, 2, 1, 1, 1, 1)], 8), negation_curve([(4, 2, 1, 1, 1, 1)], 8)
    page = save_chart(tmp_path / "both.html", known, negated).read_text()
    assert "How many facts?" in page
    assert 'max="5"' in page
    pytest.importorskip("vl_convert")
    assert save_chart(tmp_path / "both.png", known, negated).stat().st_size > 1000
