"""What publish writes down, what it refuses, and what never reaches the public side."""

import dataclasses
import datetime
import json
import random
import stat
from pathlib import Path

import polars as pl
import pytest

from reticent.definitions import DeltaPresence, KAnonymity
from reticent.definitions.catalogue import definition_from
from reticent.errors import DataError, Infeasible, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import method_from, open_public, publish, verify
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Value
from tests.release.conftest import frame_of_patients, table_of_patients

DISTINCT = definition_from("DistinctLDiversity", {"l": 3})
CLOSE = definition_from("TCloseness", {"t": "0.5"})


def public_text(path: Path) -> str:
    return "\n".join(file.read_text() for file in sorted((path / "public").iterdir()))


def test_a_release_has_the_files_that_the_design_names(tmp_path: Path) -> None:
    release = publish(table_of_patients(), KAnonymity(4))
    release.save(tmp_path / "release")
    public = {file.name for file in (tmp_path / "release" / "public").iterdir()}
    private = {file.name for file in (tmp_path / "release" / "private").iterdir()}
    assert public == {"data.csv", "manifest.json", "certificate.json", "STATEMENT.txt"}
    assert private == {"recoding.json", "recoding.parquet", "utility.json", "search.json", "people.parquet"}
    for file in (tmp_path / "release" / "private").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "release" / "private").stat().st_mode) == 0o700


def test_a_bucketized_release_has_two_tables(tmp_path: Path) -> None:
    release = publish(table_of_patients(), DISTINCT, Lattice(format="bucketize"))
    release.save(tmp_path / "release")
    assert {file.name for file in (tmp_path / "release" / "public").iterdir()} == {
        "quasi.csv",
        "sensitive.csv",
        "manifest.json",
        "certificate.json",
        "STATEMENT.txt",
    }
    assert release.frame.columns == ["zip", "age", "nationality", "bucket"]
    assert release.tables["sensitive"].columns == ["bucket", "condition"]
    assert release.tables["quasi"]["zip"].dtype == pl.Int64


def test_the_release_shows_what_the_contract_names() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice(objective="loss", suppression="0.05"))
    assert sorted(release.groups.sizes.tolist()) == [4, 4, 4]
    assert release.frame.height == 12
    assert set(release.tables) == {"data"}
    assert release.utility["average_group_size"] == 4
    assert release.certificate["claims"][0]["definition"] == "KAnonymity"
    assert release.count("condition = 'cancer'").value == 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.public = None


def test_columns_that_are_not_published_are_not_even_named(tmp_path: Path) -> None:
    publish(table_of_patients(), KAnonymity(4)).save(tmp_path / "release")
    text = public_text(tmp_path / "release")
    for hidden in ("shoe size", "person 1", "ward", '"name": "name"'):
        assert hidden not in text


def test_declared_columns_are_named_with_their_reasons(tmp_path: Path) -> None:
    release = publish(table_of_patients(declared={"ward": "nobody knows it"}), KAnonymity(4))
    assert release.certificate["declared"] == [
        {
            "column": "ward",
            "reason": "nobody knows it",
            "unique": 2,
            "few": 12,
            "computable_from": [],
            "may_link": False,
        }
    ]
    assert release.manifest.named("declared") == ("ward",)
    assert any("'ward'" in risk and "does not count as known" in risk for risk in release.certificate["residual_risks"])
    release.save(tmp_path / "release")
    assert "'ward'" in (tmp_path / "release" / "public" / "STATEMENT.txt").read_text()
    columns = json.loads((tmp_path / "release" / "public" / "manifest.json").read_text())["columns"]
    (ward,) = [column for column in columns if column["name"] == "ward"]
    assert (ward["role"], ward["reason"]) == ("declared", "nobody knows it")
    assert verify(tmp_path / "release").holds


def test_what_the_search_found_and_who_was_left_out_stays_private(tmp_path: Path) -> None:
    outlier = pl.DataFrame({**frame_of_patients()[0].to_dict(as_series=False), "zip": [99999], "age": [98]})
    frame = pl.concat([frame_of_patients(), outlier.cast(frame_of_patients().schema)])
    release = publish(table_of_patients(frame=frame), KAnonymity(4), Lattice(suppression="0.1"))
    assert release.private.suppressed == 1
    release.save(tmp_path / "release")
    text = public_text(tmp_path / "release")
    for secret in ("suppressed_rows", "lattice_nodes", "evaluated", "non_uniform", "99999", "9999", "proven", '"13"'):
        assert secret not in text
    assert json.loads((tmp_path / "release" / "private" / "search.json").read_text())["suppressed_rows"] == 1
    assert "loss" in json.loads((tmp_path / "release" / "private" / "utility.json").read_text())


@pytest.mark.parametrize(("form", "definition"), [("generalize", KAnonymity(4)), ("bucketize", DISTINCT)])
def test_the_public_side_depends_only_on_what_it_shows(form: str, definition, tmp_path: Path) -> None:
    """Rows in another order, and a row that is left out, whatever is in it, change no public byte."""
    chance = random.Random(5)
    outliers = [
        [],
        [{"name": "somebody", "zip": 99999, "age": 98, "nationality": "Martian", "condition": "plague"}],
        [{"name": "somebody", "zip": 10000, "age": 3, "nationality": "Indian", "condition": "cancer"}],
    ]
    contents = set()
    for number, outlier in enumerate(outliers):
        extra = [
            frame_of_patients()[0].with_columns(pl.lit(value).alias(name) for name, value in row.items())
            for row in outlier
        ]
        frame = pl.concat([frame_of_patients()[chance.sample(range(12), 12)], *extra], how="vertical_relaxed")
        release = publish(
            table_of_patients(frame=frame, dataset=None), definition, Lattice(format=form, suppression="0.1")
        )
        assert release.private.suppressed == len(outlier)
        public = release.save(tmp_path / str(number)) / "public"
        certificate = json.loads((public / "certificate.json").read_text())
        del certificate["created"]
        files = [file.read_bytes() for file in sorted(public.iterdir()) if file.name != "certificate.json"]
        contents.add((json.dumps(certificate), *files))
    assert len(contents) == 1


def test_columns_that_a_release_adds_do_not_replace_columns_of_the_table() -> None:
    frame = frame_of_patients().rename({"ward": "bucket", "shoe size": "pseudonym"})
    with pytest.raises(PolicyError, match=r"calls its bucket 'bucket'\. Rename the column"):
        publish(
            table_of_patients(frame=frame, declared={"bucket": "nobody knows it"}),
            DISTINCT,
            Lattice(format="bucketize"),
        )
    with pytest.raises(PolicyError, match=r"published in a column 'pseudonym'\. Rename the table's column"):
        publish(
            table_of_patients(frame=frame, declared={"pseudonym": "nobody knows it"}, pseudonyms=["name"]),
            KAnonymity(4),
        )


def test_bucket_numbers_follow_from_the_content() -> None:
    first = publish(table_of_patients(dataset=None), DISTINCT, Lattice(format="bucketize"))
    shuffled = frame_of_patients()[[5, 3, 11, 0, 7, 2, 9, 1, 10, 4, 8, 6]]
    second = publish(table_of_patients(frame=shuffled, dataset=None), DISTINCT, Lattice(format="bucketize"))
    for name in ("quasi", "sensitive"):
        assert first.tables[name].equals(second.tables[name])


def test_domains_are_published_only_where_they_were_declared() -> None:
    release = publish(table_of_patients(), KAnonymity(4))
    assert list(release.manifest.domains["age"]) == list(range(100))
    assert release.manifest.column("zip").domain is None
    assert release.manifest.column("nationality").domain is None


def test_that_somebody_has_no_value_is_not_shown_unless_the_release_shows_it(tmp_path: Path) -> None:
    frame = frame_of_patients().with_columns(
        pl.Series("age", [None, *[row[1] for row in [*frame_of_patients().select("zip", "age").iter_rows()]][1:]])
    )
    release = publish(table_of_patients(frame=frame, nulls="category"), KAnonymity(3), Lattice(suppression="0.5"))
    assert None not in list(release.manifest.domains["age"])
    assert ("(missing)" in json.dumps(release.manifest.as_json())) == ("(missing)" in release.frame["age"].to_list())


def test_the_reference_is_published_only_where_a_claim_needs_it() -> None:
    assert publish(table_of_patients(dataset=None), KAnonymity(4)).certificate["reference"] is None
    release = publish(table_of_patients(dataset="b"), KAnonymity(2) & CLOSE, Lattice(suppression="0.5"))
    assert release.certificate["reference"]["condition"]["values"] == ["cancer", "heart", "viral"]
    assert release.certificate["reference"]["condition"]["counts"] == [5, 3, 4]
    assert any("whole table" in risk and "suppressed" in risk for risk in release.certificate["residual_risks"])


def test_only_the_column_that_is_compared_has_a_reference() -> None:
    close = definition_from("TCloseness", {"t": 1, "column": "ward"})
    release = publish(table_of_patients(sensitive=["condition", "ward"]), close)
    assert list(release.certificate["reference"]) == ["ward"]


def test_the_certificate_says_what_is_covered_and_what_is_not() -> None:
    release = publish(table_of_patients(), KAnonymity(4) & DISTINCT)
    claims = release.certificate["claims"]
    assert [(claim["definition"], claim["parameters"]) for claim in claims] == [
        ("KAnonymity", {"k": 4}),
        ("DistinctLDiversity", {"l": 3}),
    ]
    assert all(claim["covers"] and claim["does_not_cover"] for claim in claims)
    assert any("(minimality)" in risk for risk in release.certificate["residual_risks"])


def test_a_second_release_is_refused_unless_allowed_and_then_the_certificate_says_so() -> None:
    first = publish(table_of_patients(), KAnonymity(4))
    assert "release 1 of the data set 'patients'" in first.certificate["ledger"]["statement"]
    with pytest.raises(LedgerError, match="released already: release 1"):
        publish(table_of_patients(), KAnonymity(2))
    second = publish(table_of_patients(), KAnonymity(2), again=True)
    assert second.certificate["ledger"]["release"] == 2
    said = second.certificate["ledger"]["statement"]
    assert (
        "release 2 of the data set 'patients'. Given out before: release 1 of 'patients'. They and this were not judged"
        in said
    )


@pytest.mark.parametrize("method", [Lattice(), Lattice(format="bucketize")])
def test_the_same_content_again_is_the_same_release(method, ledger_file: Path, keys) -> None:
    first = publish(table_of_patients(), DISTINCT, method, signing_key=keys.private)
    again = publish(table_of_patients(), DISTINCT, method, signing_key=keys.private)
    assert again.certificate == first.certificate
    with Ledger(ledger_file) as ledger:
        assert len(ledger.entries("patients")) == 1


def test_the_same_rows_under_another_claim_are_another_release() -> None:
    publish(table_of_patients(), KAnonymity(4))
    with pytest.raises(LedgerError):
        publish(table_of_patients(), KAnonymity(3))


def test_a_data_set_without_a_name_is_not_recorded_and_the_certificate_says_so(ledger_file: Path) -> None:
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    assert "earlier releases of it could not be checked" in release.certificate["ledger"]["statement"]
    assert not ledger_file.exists()


def test_nothing_is_recorded_when_nothing_can_be_published(ledger_file: Path) -> None:
    with pytest.raises(Infeasible):
        publish(table_of_patients(), KAnonymity(13))
    with Ledger(ledger_file) as ledger:
        assert ledger.entries("patients") == []


def test_a_ledger_that_cannot_be_written_stops_publishing_before_the_search(tmp_path: Path) -> None:
    class Never:
        keeps, streams = frozenset({"groups"}), False

        def refusal(self, table, definition):
            return None

        def draft(self, *arguments, **named):
            raise AssertionError("searched although nothing can be recorded")

    with pytest.raises(LedgerError, match="cannot be opened"):
        publish(table_of_patients(), KAnonymity(4), Never(), ledger=tmp_path)


def test_an_open_ledger_is_used_and_left_open(tmp_path: Path) -> None:
    with Ledger(tmp_path / "own.sqlite") as ledger:
        publish(table_of_patients(), KAnonymity(4), ledger=ledger)
        assert len(ledger.entries("patients")) == 1


def test_an_insecure_seed_makes_a_release_not_releasable(tmp_path: Path) -> None:
    release = publish(table_of_patients(), DISTINCT, Lattice(format="bucketize"), insecure_seed=1)
    assert release.certificate["randomness"]["releasable"] is False
    assert "NOT RELEASABLE" in release.certificate["randomness"]["statement"]
    release.save(tmp_path / "release")
    assert "NOT RELEASABLE" in (tmp_path / "release" / "public" / "STATEMENT.txt").read_text()
    assert any("NOT RELEASABLE" in check.detail for check in verify(tmp_path / "release").checks)


class FaultyNetwork:
    """A method whose draft breaks its promise: the rows as they are."""

    keeps, streams = frozenset({"groups"}), False

    def __init__(self, honest_groups: bool) -> None:
        self.honest_groups = honest_groups

    def refusal(self, table: Table, definition) -> None:
        return None

    def draft(self, table: Table, definition, context=None):
        raw = Lattice().draft(table, KAnonymity(1))
        promised = Lattice().draft(table, definition)
        return dataclasses.replace(raw, evidence=raw.evidence if self.honest_groups else promised.evidence)

    def describe(self) -> dict:
        return {"name": "Liar"}


@pytest.mark.parametrize("honest_groups", [True, False])
def test_a_draft_that_breaks_its_promise_never_leaves(honest_groups: bool, ledger_file: Path) -> None:
    with pytest.raises(PolicyError, match=r"does not satisfy the definition.*Nothing was published"):
        publish(table_of_patients(), KAnonymity(4), FaultyNetwork(honest_groups))
    with Ledger(ledger_file) as ledger:
        assert ledger.entries("patients") == []


def test_a_damaged_ledger_stops_everything(ledger_file: Path) -> None:
    ledger_file.parent.mkdir(parents=True)
    ledger_file.write_bytes(b"not a ledger at all, but long enough to look like something" * 30)
    ledger_file.chmod(0o600)
    with pytest.raises(LedgerError, match=r"is not a ledger.*Nothing was published"):
        publish(table_of_patients(), KAnonymity(4))


def test_the_steward_gets_a_report(tmp_path: Path) -> None:
    table = table_of_patients()
    release = publish(table, KAnonymity(4))
    assert "KAnonymity" in release.report(tmp_path / "report.html", table=table).read_text()


def test_wrong_arguments_are_refused_by_name() -> None:
    table = table_of_patients()
    with pytest.raises(PolicyError, match="needs a Table"):
        publish(table.frame, KAnonymity(4))
    with pytest.raises(PolicyError, match="needs a definition such as KAnonymity"):
        publish(table, 4)
    with pytest.raises(PolicyError, match="needs a method such as Lattice"):
        publish(table, KAnonymity(4), Lattice)
    with pytest.raises(PolicyError, match="Did you mean 'Lattice'"):
        publish(table, KAnonymity(4), "lattice")
    with pytest.raises(PolicyError, match="files must be one of csv, parquet"):
        publish(table, KAnonymity(4), files="xml")
    with pytest.raises(DataError, match=r"signing key .* cannot be read"):
        publish(table, KAnonymity(4), signing_key="nowhere.key")


def test_a_column_that_cannot_be_published_is_refused() -> None:
    frame = frame_of_patients().with_columns(pl.Series("ward", [[1, 2]] * 12))
    with pytest.raises(DataError, match=r"Column 'ward' of type .*cannot be published"):
        publish(table_of_patients(frame=frame, declared={"ward": "nobody knows it"}), KAnonymity(4))


def test_pseudonyms_replace_identifiers_and_their_list_stays_private(tmp_path: Path) -> None:
    release = publish(table_of_patients(pseudonyms=["name"]), KAnonymity(4))
    assert release.manifest.named("pseudonym") == ("pseudonym",)
    folder = release.save(tmp_path / "release")
    assert verify(folder).holds
    assert "person 3" not in public_text(folder)
    translation = pl.read_parquet(folder / "private" / "pseudonyms.parquet")
    assert set(translation["pseudonym"]) == set(release.frame["pseudonym"])
    assert set(translation["name"]) == {f"person {number}" for number in range(12)}


def test_every_type_comes_back_from_both_kinds_of_file(tmp_path: Path) -> None:
    count = 12
    frame = frame_of_patients().with_columns(
        pl.Series("text", ["", None, "a,b", 'q"', "x\ny", "x\r\ny", " lead", "é漢", "\r", "null", "#c", "[1, 2)"]),
        pl.Series("huge", [2**64 - 1, None, *range(10)], dtype=pl.UInt64),
        pl.Series("integer", [-(2**63), 2**63 - 1, None, *range(9)], dtype=pl.Int64),
        pl.Series(
            "real", [0.1, None, 1e300, -0.0, float("inf"), float("-inf"), 5e-324, 1 / 3, 1.0, 2.0, 1e22, float("nan")]
        ),
        pl.Series("single", [0.1] * count, dtype=pl.Float32),
        pl.Series("truth", [True, None, *[False] * 10]),
        pl.Series("day", [datetime.date(1, 1, 1), None, *[datetime.date(2024, 2, 29)] * 10]),
        pl.Series(
            "moment", [datetime.datetime(2024, 1, 1, 1, 2, 3, 456789), None, *[datetime.datetime(1900, 1, 1)] * 10]
        ),
        pl.Series("category", ["b", None, *["a"] * 10], dtype=pl.Categorical),
        pl.Series("decimal", ["1.10", None, *["2.00"] * 10]).cast(pl.Decimal(10, 2)),
    )
    declared = dict.fromkeys(frame.columns[7:], "internal")
    for kind in ("csv", "parquet"):
        table = table_of_patients(frame=frame, declared=declared, dataset=None)
        release = publish(table, KAnonymity(4), files=kind)
        folder = release.save(tmp_path / kind)
        side = open_public(folder)
        assert side.frame.equals(release.frame, null_equal=True)
        assert side.frame["single"][0] == 0.1
        assert verify(folder).holds


def test_huge_integers_are_text_in_the_manifest_and_numbers_again_when_read(tmp_path: Path) -> None:
    numbers = [2**53 + 1, 2**53 + 3] * 6
    frame = frame_of_patients().with_columns(pl.Series("zip", numbers))
    table = table_of_patients(frame=frame, quasi={"zip": None})
    folder = publish(table, KAnonymity(6)).save(tmp_path / "release")
    labels = json.loads((folder / "public" / "manifest.json").read_text())["columns"][0]["labels"]
    assert labels[str(2**53 + 1)] == {"value": str(2**53 + 1)}
    assert open_public(folder).meanings["zip"][str(2**53 + 3)] == Value(2**53 + 3)


def test_dates_and_hierarchies_of_every_kind_have_meanings_that_come_back(tmp_path: Path) -> None:
    days = [datetime.date(2024, 1 + number % 3, 1 + number) for number in range(12)]
    frame = frame_of_patients().with_columns(
        pl.Series("day", days), pl.Series("cost", [number / 4 for number in range(12)])
    )
    quasi = {
        "day": Hierarchy.dates(["quarter", "year"]),
        "cost": Hierarchy.cuts([["0.5", 2], [2]]),
        "nationality": Hierarchy.taxonomy({"asia": ["Japanese", "Indian"], "rest": ["Russian", "American"]}),
    }
    release = publish(table_of_patients(frame=frame, quasi=quasi), KAnonymity(2))
    folder = release.save(tmp_path / "release")
    assert open_public(folder).meanings == release.meanings
    assert verify(folder).holds


def test_several_sets_of_quasi_columns_are_each_judged(tmp_path: Path) -> None:
    table = table_of_patients(quasi_sets=[["zip", "age"], ["nationality"]])
    folder = publish(table, KAnonymity(2)).save(tmp_path / "release")
    found = verify(folder)
    assert found.holds
    assert "one of these sets: zip and age; nationality" in " ".join(open_public(folder).certificate["residual_risks"])
    assert open_public(folder).manifest.adversary_sets == (("zip", "age"), ("nationality",))


def test_people_with_several_rows_are_the_publishers_word(tmp_path: Path) -> None:
    frame = pl.concat([frame_of_patients(), frame_of_patients()[:1]])
    folder = publish(table_of_patients(frame=frame, key="name", unit="person"), KAnonymity(4)).save(
        tmp_path / "release"
    )
    found = verify(folder)
    assert found.holds
    assert any(check.name == "people" and check.status == "not re-checked" for check in found.checks)
    assert any(check.name == "claim KAnonymity(k=4), counting rows" for check in found.checks)
    assert "publisher's word" in open_public(folder).certificate["claims"][0]["covers"]


@pytest.mark.parametrize("method", [Lattice(), Mondrian(values="sets")])
def test_a_share_of_people_is_not_told_from_rows(method, tmp_path: Path) -> None:
    """Two of four people are in the table, with two rows each: by rows all four would be, and an honest release was refused."""
    frame = pl.DataFrame({"town": ["Aix"] * 4 + ["Brest"] * 4, "person": [1, 1, 2, 2, 3, 3, 4, 4]})
    people = pl.DataFrame({"town": ["Aix"] * 4 + ["Brest"] * 4})
    table = Table(frame, quasi=["town"], key="person", unit="person")
    release = publish(table, DeltaPresence(0, "0.5", people), method)
    assert len(release.groups) == 2
    assert "the publisher's word" in release.certificate["claims"][0]["covers"]
    found = verify(release.save(tmp_path / "release"), population=people)
    assert not found.holds
    assert not found.failures
    with pytest.raises(Infeasible):
        publish(table, DeltaPresence(0, "0.4", people), method)


@pytest.mark.parametrize(
    ("definition", "method"),
    [
        (KAnonymity(2), Lattice()),
        (KAnonymity(2), Mondrian()),
        (KAnonymity(2), method_from("Suppress", {"k": 2})),
        (KAnonymity(2), method_from("Gather", {"r": 2})),
        (definition_from("DistinctLDiversity", {"l": 2}), method_from("Anatomy", {})),
    ],
)
def test_every_certificate_of_groups_says_that_no_figure_of_minimality_was_computed(definition, method) -> None:
    risks = publish(table_of_patients(), definition, method).certificate["residual_risks"]
    assert sum("(minimality). No figure is stated here" in risk for risk in risks) == 1
