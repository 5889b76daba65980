"""Verify finds every inconsistency from the public side alone, and every change when it has the key."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from reticent.definitions import KAnonymity, TCloseness
from reticent.definitions.catalogue import definition_from
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.release import Verification, generate_keys, publish, verify
from reticent.release import statements as wording
from reticent.release.canonical_json import private_json, readable
from reticent.release.certificate import MANIFEST, fingerprint
from reticent.table import Hierarchy, Table
from tests.release.conftest import frame_of_patients, table_of_patients
from tests.sampling import examples

FEW = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
JUNK = [
    None,
    "",
    "x",
    "1/0",
    "9" * 40,
    0,
    -1,
    3.5,
    10**30,
    True,
    [],
    {},
    ["x"],
    [None],
    {"x": 1},
    {"all": True},
    {"value": None},
]
DEFINITIONS = [
    KAnonymity(4),
    definition_from("DistinctLDiversity", {"l": 3}),
    definition_from("ProbabilisticLDiversity", {"l": 2}),
    definition_from("EntropyLDiversity", {"l": "2.8"}),
    definition_from("RecursiveLDiversity", {"c": 3, "l": 3}),
    definition_from("RecursiveLDiversity", {"c": 3, "l": 2, "dont_care": ["viral"]}),
    definition_from("TCloseness", {"t": "0.3"}),
    definition_from("WorstCaseKnowledge", {"c": "0.9", "k": 1}),
    KAnonymity(2) & definition_from("TCloseness", {"t": "0.3"}) & definition_from("DistinctLDiversity", {"l": 2}),
]


@pytest.fixture(scope="module")
def originals(tmp_path_factory, keys) -> dict[str, Path]:
    """A signed release in each format, never touched; tests copy them."""
    home = tmp_path_factory.mktemp("originals")
    close = KAnonymity(2) & definition_from("TCloseness", {"t": "0.5"})
    distinct = definition_from("DistinctLDiversity", {"l": 3})
    table = table_of_patients(dataset=None, declared={"ward": "nobody knows it"})
    publish(table, close, Lattice(suppression="0.5"), signing_key=keys.private).save(home / "generalize")
    publish(table, distinct, Lattice(format="bucketize"), signing_key=keys.private).save(home / "bucketize")
    publish(table, distinct, Lattice(), signing_key=keys.private, files="parquet").save(home / "parquet")
    return {name: home / name for name in ("generalize", "bucketize", "parquet")}


def copy(original: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(original, target)
    return target


def forge(folder: Path, change: Callable[[dict[str, Any]], None], files: dict[str, bytes] | None = None) -> Path:
    """Change files and the certificate, and make all fingerprints fit again, as a forger without the key would."""
    public = folder / "public"
    for name, content in (files or {}).items():
        (public / name).write_bytes(content)
    certificate = json.loads((public / "certificate.json").read_text())
    certificate.pop("signature", None)
    change(certificate)
    for name in certificate["files"]:
        content = (public / name).read_bytes()
        certificate["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (public / "certificate.json").write_bytes(readable(certificate))
    return folder


def failed(folder: Path, **named) -> str:
    found = verify(folder, **named)
    assert not found.holds
    return "; ".join(f"{check.name}: {check.detail}" for check in found.failures)


@pytest.mark.parametrize(
    ("form", "definition"),
    [("generalize", each) for each in DEFINITIONS]
    + [("bucketize", each) for each in DEFINITIONS if not each.hides_identity],
    ids=str,
)
def test_what_was_published_verifies(form: str, definition, tmp_path: Path) -> None:
    release = publish(table_of_patients(), definition, Lattice(format=form, suppression="0.4"))
    found = verify(release.save(tmp_path / "release"))
    assert found.failures == ()
    assert found.holds
    assert not found.signed
    claims = [check for check in found.checks if check.claim]
    assert len(claims) == len(definition.parts())


@pytest.mark.parametrize("form", ["generalize", "bucketize", "parquet"])
def test_the_private_side_is_never_opened(form: str, originals, tmp_path: Path, keys) -> None:
    folder = copy(originals[form], tmp_path / "release")
    shutil.rmtree(folder / "private")
    assert verify(folder, key=keys.public).holds
    assert verify(folder / "public", key=keys.public).holds
    (folder / "private").write_text("not even a folder")
    assert verify(folder, key=keys.public).holds


def test_verify_opens_only_files_below_public(originals, tmp_path: Path) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    code = (
        "import sys\nfrom reticent.release import verify\nopened = []\n"
        "sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event in ('open', 'os.listdir') else None)\n"
        "assert verify(sys.argv[1]).holds\nprint([name for name in opened if 'private' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unsigned_it_says_that_origin_cannot_be_proven(tmp_path: Path) -> None:
    folder = publish(table_of_patients(), KAnonymity(4)).save(tmp_path / "release")
    origin = next(check for check in verify(folder).checks if check.name == "origin")
    assert origin.status == "not re-checked"
    assert "cannot be proven" in origin.detail


def test_a_key_asks_for_a_signature(tmp_path: Path, keys, originals) -> None:
    folder = publish(table_of_patients(), KAnonymity(4)).save(tmp_path / "release")
    assert "is not signed" in failed(folder, key=keys.public)
    other = generate_keys(tmp_path / "other keys")
    assert "another key" in failed(originals["generalize"], key=other.public)
    signed = verify(originals["generalize"], key=keys.public)
    assert signed.holds
    assert signed.signed
    assert next(check for check in signed.checks if check.name == "origin").status == "holds"
    without = verify(originals["generalize"])
    assert without.holds
    assert without.signed
    assert next(check for check in without.checks if check.name == "origin").status == "not re-checked"


@FEW
@given(data=st.data())
def test_any_changed_byte_is_found_with_the_key(data, originals, tmp_path: Path, keys) -> None:
    form = data.draw(st.sampled_from(sorted(originals)))
    folder = copy(originals[form], tmp_path / "release")
    file = folder / "public" / data.draw(st.sampled_from(sorted(path.name for path in (folder / "public").iterdir())))
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    assert not verify(folder, key=keys.public).holds
    assert not verify(folder).holds


@FEW
@given(data=st.data())
def test_every_byte_that_is_cut_added_or_removed_is_found(data, originals, tmp_path: Path, keys) -> None:
    folder = copy(originals[data.draw(st.sampled_from(sorted(originals)))], tmp_path / "release")
    file = folder / "public" / data.draw(st.sampled_from(sorted(path.name for path in (folder / "public").iterdir())))
    content = file.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    changed = data.draw(st.sampled_from(["cut", "add", "remove", "delete the file"]))
    if changed == "delete the file":
        file.unlink()
    elif changed == "cut":
        file.write_bytes(content[:place])
    elif changed == "add":
        file.write_bytes(content[:place] + data.draw(st.binary(min_size=1, max_size=3)) + content[place:])
    else:
        file.write_bytes(content[:place] + content[place + 1 :])
    assert not verify(folder, key=keys.public).holds
    assert not verify(folder).holds


@FEW
@given(data=st.data())
def test_any_edited_cell_is_found_although_the_forger_mends_the_fingerprints(
    data, originals, tmp_path: Path, keys
) -> None:
    """With the key always; without it, the copy is consistent only if it tells something that holds."""
    folder = copy(originals["generalize"], tmp_path / "release")
    frame = pl.read_csv(folder / "public" / "data.csv", infer_schema=False)
    row, column = data.draw(st.integers(0, frame.height - 1)), data.draw(st.sampled_from(frame.columns))
    others = [value for value in frame[column].unique().to_list() if value != frame[column][row]]
    value = data.draw(st.sampled_from([*others, "something new"]))
    edited = frame.with_columns(
        pl.when(pl.int_range(frame.height) == row).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    ).sort(pl.all())
    forge(folder, lambda certificate: None, {"data.csv": edited.write_csv().encode()})
    assert not verify(folder, key=keys.public).holds
    if value == "something new" and column != "ward":
        assert not verify(folder).holds


def paths_in(value: Any, above: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [path for key, item in value.items() for path in [(*above, key), *paths_in(item, (*above, key))]]
    if isinstance(value, list):
        return [path for key, item in enumerate(value) for path in [(*above, key), *paths_in(item, (*above, key))]]
    return []


@FEW
@given(data=st.data())
def test_any_changed_entry_of_the_manifest_is_found_with_the_key_and_never_a_traceback(
    data, originals, tmp_path: Path, keys
) -> None:
    folder = copy(originals[data.draw(st.sampled_from(sorted(originals)))], tmp_path / "release")
    file = folder / "public" / "manifest.json"
    manifest = json.loads(file.read_text())
    *above, last = data.draw(st.sampled_from(paths_in(manifest)))
    holder = manifest
    for step in above:
        holder = holder[step]
    new = data.draw(st.sampled_from(JUNK))
    if new == holder[last]:
        return
    if data.draw(st.booleans()):
        holder[last] = new
    else:
        del holder[last]
    forge(folder, lambda certificate: None, {"manifest.json": private_json(manifest)})
    verify(folder)
    assert not verify(folder, key=keys.public).holds


@FEW
@given(data=st.data())
def test_any_changed_entry_of_the_certificate_is_found_with_the_key_and_never_a_traceback(
    data, originals, tmp_path: Path, keys
) -> None:
    folder = copy(originals[data.draw(st.sampled_from(sorted(originals)))], tmp_path / "release")
    file = folder / "public" / "certificate.json"
    certificate = json.loads(file.read_text())
    mended = data.draw(st.booleans())
    *above, last = data.draw(
        st.sampled_from([path for path in paths_in(certificate) if path[0] != "signature" or not mended])
    )
    holder = certificate
    for step in above:
        holder = holder[step]
    new = data.draw(st.sampled_from(JUNK))
    if new == holder[last]:
        return
    holder[last] = new
    if mended:
        del certificate["signature"]
    file.write_bytes(private_json(certificate))
    verify(folder)
    assert not verify(folder, key=keys.public).holds


@pytest.mark.parametrize("name", ["certificate.json", "manifest.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"layout": 1}',
        b'{"layout": NaN}',
        b'{"layout": 1e999}',
    ],
    ids=["empty", "truncated", "list", "null", "not text", "deep", "bare", "nan", "infinite"],
)
def test_garbage_is_a_clear_failure_and_no_traceback(name: str, content: bytes, originals, tmp_path: Path) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    (folder / "public" / name).write_bytes(content)
    assert name in failed(folder)


def test_added_files_links_and_folders_are_found(originals, tmp_path: Path) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    (folder / "public" / "extra.txt").write_text("hello")
    assert "public/extra.txt is not part of the release" in failed(folder)
    (folder / "public" / "extra.txt").unlink()
    (folder / "public" / "data.csv").unlink()
    (folder / "public" / "data.csv").symlink_to("../private/utility.json")
    assert "public/data.csv is not an ordinary file" in failed(folder)
    (folder / "public" / "data.csv").unlink()
    (folder / "public" / "data.csv").mkdir()
    assert "public/data.csv is not an ordinary file" in failed(folder)


def test_a_folder_that_is_no_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no release at"):
        verify(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is not a release"):
        verify(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        verify(tmp_path, key=tmp_path / "nowhere.pub")
    (tmp_path / "bad.pub").write_text("not a key")
    with pytest.raises(PolicyError, match="does not hold a public key"):
        verify(tmp_path, key=tmp_path / "bad.pub")


def claim(name: str, **parameters: Any) -> dict[str, Any]:
    definition = definition_from(name, parameters)
    return {
        "definition": name,
        "parameters": parameters,
        "covers": definition.meaning(),
        "does_not_cover": definition.not_covered(),
    }


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (claim("KAnonymity", k=5), "fewer than 5 people"),
        (claim("DistinctLDiversity", l=4), "claim DistinctLDiversity"),
        (claim("TCloseness", t="0.01"), "claim TCloseness"),
        (
            claim("NegativePositiveDiversity", c1=9, c2=1, l=2, dont_care=[], must_keep=["plague"]),
            "claim NegativePositive",
        ),
    ],
    ids=lambda value: value["definition"] if isinstance(value, dict) else "",
)
def test_a_claim_that_does_not_hold_is_found_although_all_else_is_forged_to_fit(
    forged, message: str, originals, tmp_path: Path
) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate.update(claims=[forged]))
    assert message in failed(folder)


def test_a_claim_that_this_version_does_not_know_never_holds(originals, tmp_path: Path) -> None:
    unknown = {**claim("KAnonymity", k=2), "definition": "PerfectSecrecy"}
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate["claims"].append(unknown))
    found = verify(folder)
    assert not found.holds
    assert next(check for check in found.checks if "PerfectSecrecy" in check.name).status == "not re-checked"


def test_words_that_promise_more_than_the_definition_are_found(originals, tmp_path: Path) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate["claims"][0].update(covers="Nobody can learn anything."))
    assert "plain-language text" in failed(folder)
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate["residual_risks"].clear())
    assert "residual risks" in failed(folder)
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: None, {"STATEMENT.txt": b"Nobody can learn anything.\n"})
    assert "STATEMENT.txt does not say what the certificate says" in failed(folder)


def test_k_anonymity_cannot_be_claimed_where_quasi_values_are_exact(originals, tmp_path: Path) -> None:
    folder = copy(originals["bucketize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate.update(claims=[claim("KAnonymity", k=2)]))
    assert "publishes them exactly" in failed(folder)


def test_a_reference_that_cannot_contain_the_rows_is_found(originals, tmp_path: Path) -> None:
    def set_counts(*counts: int) -> Callable[[dict[str, Any]], None]:
        return lambda certificate: certificate["reference"]["condition"].update(counts=list(counts))

    for counts in ((5, 3, 3), (0, 3, 4)):
        folder = copy(originals["generalize"], tmp_path / "release")
        assert "published more often" in failed(forge(folder, set_counts(*counts)))
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(
        folder, lambda certificate: certificate["reference"]["condition"].update(values=["cancer", "heart", "plague"])
    )
    assert "is not in its histogram" in failed(folder)
    folder = copy(originals["generalize"], tmp_path / "release")
    forge(folder, lambda certificate: certificate.update(reference=None))
    assert "was not published" in failed(folder)


@pytest.mark.parametrize(
    ("column", "label", "meaning"),
    [
        ("zip", "1305*", {"prefix": "1306", "length": 5}),
        ("zip", "1305*", {"null": True}),
        ("age", "[20, 40)", {"value": 30}),
        ("age", "[20, 40)", {"interval": [40, 20], "closed": "left"}),
        ("age", "[20, 40)", {"interval": [40, 60], "closed": "left"}),
        ("age", "[20, 40)", {"interval": ["20", "x"], "closed": "left"}),
        ("age", "[60, 80)", {"interval": [60, 80], "closed": "left"}),
    ],
)
def test_labels_that_do_not_fit_their_meaning_or_do_not_occur_are_found(
    column: str, label: str, meaning, originals, tmp_path: Path
) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    manifest = json.loads((folder / "public" / "manifest.json").read_text())
    next(each for each in manifest["columns"] if each["name"] == column)["labels"][label] = meaning
    forge(folder, lambda certificate: None, {"manifest.json": readable(manifest)})
    assert f"column {column!r}" in failed(folder)


def test_a_broken_parquet_file_is_a_clear_failure(originals, tmp_path: Path) -> None:
    content = (originals["parquet"] / "public" / "data.parquet").read_bytes()
    for broken in (b"", b"PAR1", content[: len(content) // 2], content[:-8], b"PAR1" + bytes(200) + content[-8:]):
        folder = copy(originals["parquet"], tmp_path / "release")
        forge(folder, lambda certificate: None, {"data.parquet": broken})
        assert "data.parquet cannot be read" in failed(folder)


def test_tables_that_do_not_fit_together_are_found(originals, tmp_path: Path) -> None:
    folder = copy(originals["bucketize"], tmp_path / "release")
    rows = (folder / "public" / "sensitive.csv").read_text().splitlines(keepends=True)
    forge(folder, lambda certificate: None, {"sensitive.csv": "".join(rows[:-1]).encode()})
    assert "rows in the table 'quasi'" in failed(folder)


def test_rows_that_are_not_sorted_are_found(originals, tmp_path: Path) -> None:
    folder = copy(originals["generalize"], tmp_path / "release")
    header, *rows = (folder / "public" / "data.csv").read_text().splitlines(keepends=True)
    forge(folder, lambda certificate: None, {"data.csv": "".join([header, *reversed(rows)]).encode()})
    assert "not sorted" in failed(folder)


def test_values_that_only_the_definition_names_are_absent_and_not_unknown(tmp_path: Path) -> None:
    """A don't-care value may stand only in rows that were left out."""
    odd = frame_of_patients()[0].with_columns(
        zip=pl.lit(99999, pl.Int64), age=pl.lit(98, pl.Int64), condition=pl.lit("plague")
    )
    definition = definition_from("RecursiveLDiversity", {"c": 3, "l": 2, "dont_care": ["plague"]})
    table = table_of_patients(frame=pl.concat([frame_of_patients(), odd]))
    release = publish(table, KAnonymity(2) & definition, Lattice(suppression="0.1"))
    assert "plague" not in release.frame["condition"].to_list()
    assert verify(release.save(tmp_path / "release")).holds


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_closeness_of_every_distance_verifies_with_rows_left_out(form: str, tmp_path: Path) -> None:
    kinds = {
        "equal": None,
        "ordered": ["viral", "heart", "cancer", "plague"],
        "hierarchical": Hierarchy.taxonomy({"body": ["heart", "cancer"], "germ": ["viral", "plague"]}),
    }
    odd = frame_of_patients()[0].with_columns(
        name=pl.lit("somebody"), zip=pl.lit(99999, pl.Int64), age=pl.lit(98, pl.Int64)
    )
    for distance, kind in kinds.items():
        close = definition_from("TCloseness", {"t": "0.35", "distance": distance})
        definition = close & definition_from("DistinctLDiversity", {"l": 2})
        table = table_of_patients(
            frame=pl.concat([frame_of_patients(), odd]), sensitive={"condition": kind}, dataset=None
        )
        release = publish(table, definition, Lattice(suppression="0.1", format=form))
        assert release.private.suppressed == 1
        assert verify(release.save(tmp_path / distance)).holds


def test_several_sensitive_columns_verify_with_a_reference(tmp_path: Path) -> None:
    close = definition_from("TCloseness", {"t": "0.9"})
    table = table_of_patients(sensitive=["condition", "ward"])
    release = publish(table, close & KAnonymity(2), Lattice(suppression="0.4"))
    assert verify(release.save(tmp_path / "release")).holds


def test_missing_sensitive_values_verify(tmp_path: Path) -> None:
    frame = frame_of_patients().with_columns(
        pl.when(pl.col("age") < 30).then(None).otherwise(pl.col("condition")).alias("condition")
    )
    close = definition_from("TCloseness", {"t": "0.9"})
    for number, definition in enumerate([KAnonymity(4), close, definition_from("DistinctLDiversity", {"l": 2})]):
        table = table_of_patients(frame=frame, nulls="category", dataset=None)
        assert verify(publish(table, definition).save(tmp_path / str(number))).holds


def test_a_release_without_sensitive_columns_verifies(tmp_path: Path) -> None:
    plain = publish(table_of_patients(sensitive=()), KAnonymity(4))
    assert verify(plain.save(tmp_path / "release")).holds


@pytest.mark.parametrize("distance", ["equal", "hierarchical"])
def test_a_tree_whose_branches_are_not_in_the_order_of_the_alphabet_verifies(distance: str, tmp_path: Path) -> None:
    """The certificate sorts names, and with them a tree's branches; the histogram keeps the order of the leaves."""
    tree = Hierarchy.taxonomy({"infection": ["viral", "plague"], "body": ["heart", "cancer"]})
    frame = pl.DataFrame({"town": ["Aix", "Brest"] * 4, "ill": ["viral", "heart", "cancer", "viral"] * 2})
    table = Table(frame, quasi=["town"], sensitive={"ill": tree})
    promise = definition_from("TCloseness", {"t": "0.8", "distance": distance})
    found = verify(publish(table, promise).save(tmp_path / "release"))
    assert found.holds, found


def forged(folder: Path, name: str, change: Callable[[dict[str, Any]], None]) -> Verification:
    """A changed manifest or certificate, all fingerprints mended."""
    public = folder / "public"
    payload = json.loads((public / name).read_text())
    change(payload)
    (public / name).write_bytes(readable(payload))
    certificate = json.loads((public / "certificate.json").read_text())
    certificate["files"][MANIFEST] = fingerprint((public / MANIFEST).read_bytes())
    (public / "certificate.json").write_bytes(readable(certificate))
    return verify(folder)


def small_release(folder: Path) -> Path:
    table = Table(
        {"age": [20, 21, 31, 32], "ill": ["a", "b", "a", "b"]},
        quasi={"age": Hierarchy.intervals([10])},
        sensitive="ill",
    )
    return publish(table, KAnonymity(2), Lattice(node={"age": 1})).save(folder)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("reticent", "safe"),
        ("reticent", None),
        ("created", "yesterday"),
        ("created", 5),
        ("ledger", {"dataset": "x", "release": None, "statement": wording.UNNAMED}),
        ("ledger", {"dataset": "x", "release": 0, "statement": ""}),
        ("ledger", {"statement": wording.UNNAMED}),
    ],
)
def test_entries_that_no_file_can_confirm_must_make_sense(entry: str, value: object, tmp_path: Path) -> None:
    found = forged(small_release(tmp_path / "r"), "certificate.json", lambda payload: payload.update({entry: value}))
    assert not found.holds
    assert found.failures[0].name == "certificate"


def test_an_interval_that_means_something_else_than_it_says_is_found(tmp_path: Path) -> None:
    def wider(payload: dict[str, Any]) -> None:
        payload["columns"][0]["labels"]["[20, 30)"]["interval"] = [10, 30]

    found = forged(small_release(tmp_path / "r"), MANIFEST, wider)
    assert [each.detail for each in found.failures] == [
        "The label '[20, 30)' of column 'age' does not match its meaning in the manifest."
    ]


def test_a_method_that_makes_another_format_is_found(tmp_path: Path) -> None:
    found = forged(
        small_release(tmp_path / "r"), MANIFEST, lambda payload: payload["method"].update(format="bucketize")
    )
    assert "format is not that of the release" in found.failures[0].detail


def test_a_manifest_that_says_a_thing_twice_is_found(tmp_path: Path) -> None:
    folder = small_release(tmp_path / "r")
    file = folder / "public" / MANIFEST
    file.write_text(file.read_text().replace('"unit": "row"', '"unit": "person",\n  "unit": "row"'))
    certificate = json.loads((folder / "public" / "certificate.json").read_text())
    certificate["files"][MANIFEST] = fingerprint(file.read_bytes())
    (folder / "public" / "certificate.json").write_bytes(readable(certificate))
    assert "not in the form that Reticent writes" in verify(folder).failures[0].detail


def test_a_forged_remainder_fails_every_claim_that_it_breaks(tmp_path: Path) -> None:
    """A reference of the whole table that gives somebody away who was left out, and one of the published rows that is not theirs."""
    rows = {"zip": ["1"] * 6 + ["2"] * 6, "ill": ["flu", "cold", "HIV"] * 4}
    release = publish(Table(rows, quasi=["zip"], sensitive="ill"), KAnonymity(3) & TCloseness("0.3"))
    original = release.save(tmp_path / "original")
    assert verify(original).holds

    def with_counts(*counts: int, of: str = "whole table") -> Path:
        folder = copy(original, tmp_path / "release")
        return forge(folder, lambda certificate: certificate["reference"]["ill"].update(counts=list(counts), of=of))

    # The order is HIV, cold, flu; four of each are published.
    told = failed(with_counts(5, 4, 4))
    assert "About the suppressed records" in told
    assert "KAnonymity" in told
    assert "TCloseness" in told
    assert "About the suppressed records" in failed(with_counts(7, 4, 4))
    assert verify(with_counts(5, 5, 5)).holds
    assert "is not that of the published rows" in failed(with_counts(5, 4, 4, of="published rows"))
    assert "should be 'whole table' or 'published rows'" in failed(with_counts(4, 4, 4, of="nobody"))
