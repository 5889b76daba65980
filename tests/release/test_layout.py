"""Layout 4 of a release says what layout 1 said, and folders of layout 1 are refused in words.

The fixtures were written by version 0.3.0 (commit f1dc096).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, LedgerError
from reticent.ledger import Ledger
from reticent.release import open_public, verify
from reticent.release.canonical_json import former_json

EARLIER = Path(__file__).resolve().parents[1] / "fixtures" / "release" / "layout-1"
TABLE = rt.Table(
    pl.DataFrame({"age": [i % 8 for i in range(80)], "s": ["abcd"[i // 8 % 4] for i in range(80)]}),
    quasi={"age": rt.Hierarchy.intervals(widths=[2, 4], domain=(0, 7))},
    sensitive="s",
)


def published(form: str, **more: Any) -> rt.Release:
    if form == "generalize":
        return rt.publish(TABLE, rt.KAnonymity(2) & rt.DistinctLDiversity(2), **more)
    return rt.publish(TABLE, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"), insecure_seed=1, **more)


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / "public" / f"{name}.json").read_bytes())


def translated(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest of layout 1 as layout 4 writes it: the bucket and its count are columns, a table has several files."""
    own = {manifest.pop(role): role for role in ("bucket", "count") if manifest[role] is not None}
    manifest.pop("bucket", None)
    manifest.pop("count", None)
    assert manifest.pop("unprotected") == []
    tables = {
        name: {"files": [table["file"]], "columns": table["columns"]} for name, table in manifest["tables"].items()
    }
    described = {column["name"]: column for column in manifest["columns"]}
    described |= {name: {"name": name, "role": role, "type": "integer"} for name, role in own.items()}
    order = dict.fromkeys(name for table in tables.values() for name in table["columns"])
    return {
        **manifest,
        "layout": 4,
        "tables": tables,
        "details": {},
        "columns": [described[name] for name in order],
    }


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_a_manifest_says_what_it_said(form: str, tmp_path: Path) -> None:
    folder = published(form).save(tmp_path / "release")
    assert read(folder, "manifest") == translated(read(EARLIER / form, "manifest"))


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_a_certificate_says_what_it_said(form: str, tmp_path: Path) -> None:
    folder = published(form).save(tmp_path / "release")
    before, after = read(EARLIER / form, "certificate"), read(folder, "certificate")
    changed = {"layout", "reticent", "created", "files", "headline"}
    # Columns that nothing protects are declared now, each with its reason.
    before["declared"], before["declared_together"] = before.pop("unprotected"), None
    # The words are those of this version: they are computed from what was judged.
    changed |= {"residual_risks"}
    for certificate in (before, after):
        certificate["claims"] = [(claim["definition"], claim["parameters"]) for claim in certificate["claims"]]
        certificate["randomness"].pop("statement")
    assert {name: entry for name, entry in after.items() if name not in changed} == {
        name: entry for name, entry in before.items() if name not in changed
    }
    # The files are the same but for the manifest and the words.
    anew = {"manifest.json", "STATEMENT.txt"}
    assert {name: entry for name, entry in after["files"].items() if name not in anew} == {
        name: entry for name, entry in before["files"].items() if name not in anew
    }


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_a_folder_of_an_earlier_version_is_refused_in_words(form: str) -> None:
    with pytest.raises(DataError, match="has layout 1, which an earlier version of Reticent wrote"):
        open_public(EARLIER / form)
    (failure,) = verify(EARLIER / form).failures
    assert "has layout 1, which an earlier version of Reticent wrote" in failure.detail


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_the_kind_of_file_makes_no_other_release(form: str, ledger_file: Path) -> None:
    """A data set is released once; the same rows in another kind of file are the same release."""
    table = rt.Table(TABLE.frame, quasi=dict(TABLE.quasi), sensitive="s", dataset="people")
    method = rt.Lattice(format=form)
    first = rt.publish(table, rt.DistinctLDiversity(2), method, insecure_seed=1)
    second = rt.publish(table, rt.DistinctLDiversity(2), method, insecure_seed=1, files="parquet")
    assert first.entry.number == second.entry.number == 1
    assert second.frame.equals(first.frame)


def earlier_hash(form: str) -> str:
    """What version 0.3 wrote into the ledger for a release: the hash of what its certificate tells about the data."""
    said = read(EARLIER / form, "certificate")
    told = {
        "claims": [(claim["definition"], claim["parameters"]) for claim in said["claims"]],
        "reference": said["reference"],
        "files": {name: entry for name, entry in said["files"].items() if name != "STATEMENT.txt"},
    }
    return hashlib.sha256(former_json(told)).hexdigest()


@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_what_version_0_3_released_is_no_second_release(form: str, ledger_file: Path) -> None:
    with Ledger(ledger_file) as ledger:
        ledger.record("people", earlier_hash(form), lambda entry: "certificate")
    table = rt.Table(TABLE.frame, quasi=dict(TABLE.quasi), sensitive="s", dataset="people")
    if form == "generalize":
        again = rt.publish(table, rt.KAnonymity(2) & rt.DistinctLDiversity(2))
    else:
        again = rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"), insecure_seed=1)
    assert again.entry.number == 1
    with pytest.raises(LedgerError, match="released already"):
        rt.publish(table, rt.KAnonymity(4))
