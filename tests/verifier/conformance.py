"""The conformance suite: a few hundred small releases, good and forged, with the verdict of every check.

``python -m tests.verifier.conformance`` writes ``conformance/`` anew, on purpose: a change of the format, of a definition or of a sentence that is checked
changes it. The releases are random but fixed by their seeds, except for those made by hand below.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import reticent as rt
from reticent.release.canonical_json import readable
from reticent.release.certificate import fingerprint
from reticent.release.signature_keys import sign
from tests.verifier.agreement import OPTIONAL, python_verdicts, write
from tests.verifier.drawn_releases import CHANGES, SERIES_CHANGES, Change, drawn_releases, releases_of_a_series
from tests.verifier.random_releases import FORGERIES, FORMATS, OpenRelease, random_release

PLACE = Path(__file__).resolve().parents[2] / "conformance"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_RANDOM = 160
Files = dict[str, bytes]


def releases(folder: Path) -> Iterator[tuple[str, Files]]:
    """What each release is, in a few words, and its files."""
    for seed in range(_RANDOM):
        yield f"{FORMATS[seed % len(FORMATS)]}, random claims", random_release(seed, folder, forged=False)
    for number, (name, forge) in enumerate(FORGERIES.items()):
        for offset in range(4):
            seed, form = 10_000 + 10 * number + offset, FORMATS[(number + 3 * offset) % len(FORMATS)]
            original = random_release(seed, folder, forged=False, form=form)
            for signed in (False, True):
                made = OpenRelease(write(original, folder / f"{seed}-{signed}"))
                if signed and name != "other_signature":
                    made.certificate["signature"] = sign(made.certificate, KEY)
                forge(made, Random(seed))
                # What happens to change nothing is no forgery.
                if (
                    made.certify() != {**original, "certificate.json": made.files["certificate.json"]}
                    or signed is False
                ):
                    yield (
                        f"{form}, forged: {name.replace('_', ' ')}{', with the signature of the original' if signed else ''}",
                        made.files,
                    )
    yield from _by_hand(folder)


def _by_hand(folder: Path) -> Iterator[tuple[str, Files]]:
    frame = pl.DataFrame(
        {
            "key": ["\ufb33", "😀", "a", "=1+1", "(missing)", None] * 4,
            "big": [2**53 + 1, 2**53, 5, 5, 2**62, 5] * 4,
            "at": [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 1, 12, 0, 0, 5)] * 12,
            "s": ["x", "y", "", "-2+3", "é", "\U0001f600"] * 4,
        }
    )
    made = {
        "keys": rt.Table(frame.select("key", "s"), quasi=["key"], sensitive="s", nulls="category"),
        "large whole numbers": rt.Table(frame.select("big", "s"), quasi=["big"], sensitive="s"),
        "moments": rt.Table(frame.select("at", "s"), quasi=["at"], sensitive="s"),
    }
    definition = rt.KAnonymity(4) & rt.EntropyLDiversity(1)
    for name, table in made.items():
        for kind in ("csv", "parquet"):
            release = rt.publish(table, definition, rt.Lattice(suppression="0.3"), files=kind)
            yield f"generalize, {name}, {kind}", _files(release, folder)
        buckets = rt.publish(table, rt.DistinctLDiversity(1), rt.Lattice(format="bucketize"), insecure_seed=1)
        yield f"bucketize, {name}", _files(buckets, folder)
    table = made["keys"]
    yield "signed", _files(rt.publish(table, definition, signing_key=KEY), folder)
    both = [KEY, Ed25519PrivateKey.from_private_bytes(bytes(32))]
    twice = _files(rt.publish(table, definition, signing_key=both), folder)
    yield "signed twice", twice
    yield (
        "signed twice, in the wrong order",
        _changed(twice, folder, lambda made: made.certificate["signature"].reverse()),
    )
    good = _files(rt.publish(table, definition), folder)
    yield "without a claim", _changed(good, folder, lambda made: made.certificate.update(claims=[]))
    yield "of layout 3", _changed(good, folder, lambda made: made.certificate.update(layout=3))
    yield "of layout 5", _changed(good, folder, lambda made: made.manifest.update(layout=5))
    yield "with keys in the order of code points", _with_manifest(good, _in_code_point_order(good["manifest.json"]))
    yield "with a certificate on one line", {**good, "certificate.json": json.dumps(json.loads(good["certificate.json"])).encode()}  # fmt: skip
    yield "with a certificate that is no JSON", {**good, "certificate.json": b"{"}
    yield "without a certificate", {name: content for name, content in good.items() if name != "certificate.json"}
    yield "without a table", {name: content for name, content in good.items() if name != "data.csv"}
    yield "with one file more", {**good, "more.txt": b"x"}
    yield "with a statement of other letters", {**good, "STATEMENT.txt": good["STATEMENT.txt"].swapcase()}
    yield "with a changed table", {**good, "data.csv": good["data.csv"] + b"a,x\n"}
    people = pl.DataFrame(
        {"id": [1, 2, 3, 4] * 2, "year": [1] * 4 + [2] * 4, "sex": ["f", "f", "m", "m"] * 2, "s": [*"abcdabcd"]}
    )
    panel = rt.Table(people, quasi=["year", "sex"], sensitive="s", identifiers=["id"], pseudonyms=["id"])
    linked = _files(rt.publish(panel, rt.KAnonymity(2), rt.Panel(), insecure_seed=1), folder)
    yield "panel with pseudonyms", linked
    yield "panel with pseudonyms that counts rows as people", _changed(linked, folder, _as_rows)
    stays = pl.DataFrame({"begin": [1, 2, 3, 4] * 6, "end": [5, 6, 9, 11] * 6, "s": [*"abcdef"] * 4}).with_columns(
        (pl.col("end") - pl.col("begin")).alias("stay")
    )
    computed = rt.Table(stays, quasi=["begin", "end"], sensitive="s", declared={"stay": "nobody knows it"})
    computable = _files(rt.publish(computed, rt.KAnonymity(2)), folder)
    yield "with a column that can be computed", computable
    yield (
        "with a column that can be computed, and too few records for it",
        _changed(computable, folder, _with_more_asked),
    )
    for name, make in drawn_releases().items():
        # A verifier may leave plans with a source to Reticent.
        if "source" not in name:
            yield from _forged(name, make().save(Path(tempfile.mkdtemp(dir=folder)) / "release") / "public", CHANGES)
    for name, k in (("series", None), ("series in batches", 4)):
        first, *later = releases_of_a_series(Path(tempfile.mkdtemp(dir=folder)) / "history", k)
        yield from _forged(name, first, SERIES_CHANGES)
        for number, place in enumerate(later, start=2):
            yield f"{name}, release {number}", OpenRelease(place).files


def _forged(name: str, place: Path, changes: Mapping[str, Change]) -> Iterator[tuple[str, Files]]:
    """A release, and what a forger who keeps hashes right makes of it; changes of what it does not have are left out."""
    yield name, OpenRelease(place).files
    for number, (what, change) in enumerate(changes.items()):
        made = OpenRelease(place)
        try:
            change(made)
        except KeyError:
            continue
        signed = number % 2 == 1
        if signed:
            made.certificate["signature"] = sign(OpenRelease(place).certificate, KEY)
        words = ", with the signature of the original" if signed else ""
        yield f"{name}, forged: {what}{words}", made.certify()


def _files(release: rt.Release, folder: Path) -> Files:
    place = release.save(Path(tempfile.mkdtemp(dir=folder)) / "release") / "public"
    return {path.name: path.read_bytes() for path in sorted(place.iterdir())}


def _changed(files: Files, folder: Path, change: Any) -> Files:
    made = OpenRelease(write(files, Path(tempfile.mkdtemp(dir=folder)) / "public"))
    change(made)
    return made.certify()


def _as_rows(made: OpenRelease) -> None:
    made.manifest.pop("known_rows", None)
    made.manifest["unit"] = made.certificate["unit"] = "row"


def _with_more_asked(made: OpenRelease) -> None:
    made.certificate["claims"] = [
        {"definition": "DistinctLDiversity", "parameters": {"l": 9}, "covers": "", "does_not_cover": ""}
    ]


def _in_code_point_order(manifest: bytes) -> bytes:
    return json.dumps(json.loads(manifest), indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def _with_manifest(files: Files, manifest: bytes) -> Files:
    """The files with other bytes of the manifest, which the certificate names."""
    certificate = json.loads(files["certificate.json"])
    certificate["files"]["manifest.json"] = fingerprint(manifest)
    return {**files, "manifest.json": manifest, "certificate.json": readable(certificate)}


def packed(listed: dict[str, Files]) -> bytes:
    """An archive whose bytes depend on the files alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, files in listed.items():
            for file, content in sorted(files.items()):
                archive.writestr(
                    zipfile.ZipInfo(f"{name}/{file}", (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED
                )
    return buffer.getvalue()


def unpacked(folder: Path) -> list[Path]:
    """The public folders of the committed suite, in their order."""
    with zipfile.ZipFile(PLACE / "releases.zip") as archive:
        archive.extractall(folder)
    return [folder / name for name in verdicts()["releases"]]


def verdicts() -> dict[str, Any]:
    """What is expected of every release."""
    return json.loads((PLACE / "verdicts.json").read_text())


def main() -> None:
    """Write the suite anew."""
    listed: dict[str, Files] = {}
    expected: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        os.environ["RETICENT_LEDGER"] = f"{place}/ledger.sqlite"
        for number, (about, files) in enumerate(releases(Path(place))):
            name = f"{number:03d}"
            headline, checks = python_verdicts(write(files, Path(place) / "judged" / name))
            listed[name] = files
            expected[name] = {"about": about, "headline": headline, "checks": checks}
    PLACE.mkdir(exist_ok=True)
    (PLACE / "releases.zip").write_bytes(packed(listed))
    head = {"layout": 4, "reticent": rt.__version__, "public_key": KEY.public_key().public_bytes_raw().hex(), "optional": list(OPTIONAL)}  # fmt: skip
    entries = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in expected.items())
    start = json.dumps(head, indent=1)[:-2]
    (PLACE / "verdicts.json").write_text(f'{start},\n "releases": {{\n{entries}\n }}\n}}\n')


if __name__ == "__main__":
    main()
