"""Randomized releases as files: ``public/`` with the tuples, the manifest, a certificate and a statement, whole or not at all; and back.

Views and perturbed records share everything but their manifests. A view of any size is written chunk by chunk, so that memory is that of a chunk. A view without its manifest is rejected (R-AB-32).
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.files import folder_aside, write_new
from reticent.ledger import Ledger
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.keys import in_order, is_rising
from reticent.randomize.manifest import Manifest, ViewManifest
from reticent.randomize.plans import Plan
from reticent.randomize.published import Published, Signer
from reticent.randomize.publishing import draw, record
from reticent.randomize.records import FrappManifest, FrappView
from reticent.randomize.view import View

MANIFEST, CERTIFICATE, STATEMENT = "manifest.json", "certificate.json", "STATEMENT.txt"
FILES = ("csv", "parquet")
_ROWS_AT_ONCE = 1_000_000
_TRACKED = "The publisher's ledger knows this data set by its name, and refuses a view that was not planned."
_UNTRACKED = (
    "The data set has no name: nothing keeps a second independent view of it back, and two of them give records away."
)


def publish_to(
    frame: Any,
    plan: Plan,
    path: str | Path,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    *,
    duplicates: str = "refuse",
    source: Any = None,
    files: str = "csv",
    ledger: str | Path | Ledger | None = None,
    again: bool = False,
    overwrite: bool = False,
    insecure_seed: int | None = None,
    signer: Signer | None = None,
) -> int:
    """Draw a view and write it to a folder chunk by chunk; returns the number of its rows.

    The ledger is written when everything is on the disk but before the folder gets its name, so that nothing leaves unrecorded.
    """
    drawing = draw(frame, plan, domain, duplicates=duplicates, source=source, insecure_seed=insecure_seed)
    manifest = drawing.manifest
    with _written(manifest, drawing.chunks, Path(path), files, overwrite, dataset, signer) as (rows, digest):
        if dataset is not None:
            record(dataset, manifest, digest, ledger, again)
    return rows


def save_published(view: Published, path: str | Path, *, files: str = "csv", overwrite: bool = False) -> Path:
    """Write a view or perturbed records that are in memory; they were recorded when they were made."""
    chunks = (view.keys[start : start + _ROWS_AT_ONCE] for start in range(0, max(len(view), 1), _ROWS_AT_ONCE))
    dataset = view.certificate.get("dataset")
    with _written(view.manifest, chunks, Path(path), files, overwrite, dataset, view.signer):
        return Path(path)


def open_view(path: str | Path, earlier: Keys | None = None) -> View:
    """A view from its folder. What does not fit its manifest, or has none, is a :class:`DataError`."""
    folder = view_folder(path)
    manifest = ViewManifest.from_json(_json(folder / MANIFEST))
    return View(manifest, _keys(folder, manifest), earlier, _certificate(folder))


def open_published(path: str | Path) -> View | FrappView:
    """A view or perturbed records from their folder, whichever its manifest says."""
    folder = view_folder(path)
    stated = _json(folder / MANIFEST)
    if stated.get("format") != FrappManifest.format:
        return open_view(path)
    manifest = FrappManifest.from_json(stated)
    return FrappView(manifest, _keys(folder, manifest), _certificate(folder))


def view_folder(path: str | Path) -> Path:
    """The public folder of a view; without a manifest it is no view."""
    place = Path(path)
    for folder in (place / "public", place):
        if (folder / MANIFEST).is_file():
            return folder
    if not place.exists():
        raise DataError(f"There is no view at {str(place)!r}.")
    raise DataError(f"{str(place)!r} has no {MANIFEST}: a randomized view cannot be read without it, and is rejected.")


def is_view(path: str | Path) -> bool:
    """Whether a folder holds a randomized view or perturbed records, judged by its manifest."""
    try:
        return _json(view_folder(path) / MANIFEST).get("format") in (ViewManifest.format, FrappManifest.format)
    except DataError:
        return False


def certificate_of(
    manifest: Manifest, dataset: str | None, files: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """What is claimed about a randomized release, and the fingerprints of its files once they are written."""
    found = manifest.definition
    return {
        "layout": 1,
        "reticent": reticent.__version__,
        "format": manifest.format,
        "claims": [
            {
                "definition": found.name,
                "parameters": found.parameters(),
                "covers": found.meaning(),
                "does_not_cover": found.not_covered(),
            }
        ],
        "worst_posterior": str(manifest.assess().value),
        **manifest.facts(),
        "randomness": "operating system" if manifest.secure else "NOT RELEASABLE: drawn with an insecure seed",
        "files": dict(files or {}),
        "dataset": dataset,
        "other_views": _TRACKED if dataset is not None else _UNTRACKED,
    }


def verify_view(path: str | Path) -> dict[str, Any]:
    """Check a randomized release from its public folder alone.

    Its files are the certificate's and no others, its rows lie in the domain in their order, the plan keeps the promise, and the certificate
    and the statement say what follows from manifest and rows, word by word (where this version wrote them).
    """
    opened = open_published(path)
    problems = _problems(opened, view_folder(path))
    return {
        "ok": not problems,
        "holds": not problems,
        "problems": problems,
        "format": opened.manifest.format,
        "worst_posterior": opened.manifest.assess().value,
        "rows": len(opened),
        "secure": opened.manifest.secure,
    }


def _problems(opened: Published, folder: Path) -> list[str]:
    """What does not fit: first the files, and only if they are those of the certificate what it says about them."""
    manifest, said = opened.manifest, opened.certificate
    if not said:
        return ["There is no certificate."]
    prints = _prints(folder, _table_file(folder, manifest).name, len(opened))
    listed = said.get("files")
    listed = listed if isinstance(listed, dict) else {}
    found = {each.name for each in folder.iterdir()} - {CERTIFICATE}
    problems = [f"{name} is not part of the release." for name in sorted(found - set(prints))]
    problems += [
        f"The certificate speaks of a file {name!r} that is not there." for name in sorted(set(listed) - set(prints))
    ]
    problems += [
        f"{name} is not the file that the certificate was made for."
        for name in prints
        if listed.get(name) != prints[name]
    ]
    if _json(folder / MANIFEST) != json.loads(_readable(manifest.as_json())):
        problems.append(f"{MANIFEST} says more, or says it otherwise, than a view is read by.")
    if problems:
        return problems
    wanted = certificate_of(manifest, said.get("dataset"), prints)
    if said.get("reticent") != reticent.__version__:
        # Another version may word things differently; what is claimed must be the same.
        return [] if _promised(said) == _promised(wanted) else [f"{CERTIFICATE} claims something else than {MANIFEST}."]
    if (folder / STATEMENT).read_text(encoding="utf-8") != _statement(manifest, len(opened)):
        problems.append(f"{STATEMENT} does not say what {MANIFEST} says.")
    differing = [name for name in {*wanted, *said} - {"signature"} if wanted.get(name) != said.get(name)]
    return problems + [
        f"{CERTIFICATE}: the entry {name!r} does not follow from {MANIFEST}." for name in sorted(differing)
    ]


def _promised(certificate: Mapping[str, Any]) -> list[Any]:
    """The format and the claims of a certificate without their words."""
    claims = certificate.get("claims")
    exactly = [
        (each.get("definition"), each.get("parameters")) if isinstance(each, dict) else each
        for each in (claims if isinstance(claims, list) else [])
    ]
    return [certificate.get("layout"), certificate.get("format"), exactly]


@contextmanager
def _written(
    manifest: Manifest,
    chunks: Iterator[Keys],
    target: Path,
    files: str,
    overwrite: bool,
    dataset: str | None,
    signer: Signer | None,
) -> Iterator[tuple[int, str]]:
    """Everything on the disk, but not under its name before the block ends well; gives the number of rows and the fingerprint of the table."""
    if files not in FILES:
        raise PolicyError(f"files must be 'csv' or 'parquet', but it is {files!r}.{did_you_mean(files, FILES)}")
    name = f"{manifest.table}.{files}"
    with folder_aside(target, replace=overwrite) as aside:
        public = aside / "public"
        public.mkdir()
        public.chmod(0o755)
        frames = (manifest.domain.unpack(keys) for keys in chunks)
        rows = (_write_csv if files == "csv" else _write_parquet)(public / name, frames)
        write_new(public / MANIFEST, _readable(manifest.as_json()))
        write_new(public / STATEMENT, _statement(manifest, rows).encode())
        prints = _prints(public, name, rows)
        certificate = certificate_of(manifest, dataset, prints)
        if signer is not None:
            certificate["signature"] = dict(signer(certificate))
        write_new(public / CERTIFICATE, _readable(certificate))
        yield rows, prints[name]["sha256"]


def _prints(folder: Path, table: str, rows: int) -> dict[str, dict[str, Any]]:
    """The fingerprints of a folder's files, as a certificate states them."""
    prints: dict[str, dict[str, Any]] = {table: {"sha256": _digest(folder / table), "rows": rows}}
    for name in (MANIFEST, STATEMENT):
        if not (folder / name).is_file():
            raise DataError(f"{name} is missing.")
        prints[name] = {"sha256": _digest(folder / name)}
    return prints


def _write_csv(path: Path, frames: Iterator[pl.DataFrame]) -> int:
    rows = 0

    def parts() -> Iterator[bytes]:
        nonlocal rows
        for number, frame in enumerate(frames):
            rows += frame.height
            yield frame.write_csv(include_header=number == 0, quote_style="necessary").encode()

    write_new(path, parts())
    return rows


def _write_parquet(path: Path, frames: Iterator[pl.DataFrame]) -> int:
    import pyarrow.parquet as parquet

    rows, writer = 0, None
    try:
        for frame in frames:
            arrow = frame.to_arrow()
            if writer is None:
                writer = parquet.ParquetWriter(path, arrow.schema, compression="zstd")
            writer.write_table(arrow)
            rows += frame.height
    finally:
        if writer is not None:
            writer.close()
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    return rows


def _table_file(folder: Path, manifest: Manifest) -> Path:
    """The file with the rows; there must be one."""
    listed = [folder / f"{manifest.table}.{kind}" for kind in FILES if (folder / f"{manifest.table}.{kind}").exists()]
    if len(listed) != 1:
        names = " or ".join(f"{manifest.table}.{kind}" for kind in FILES)
        raise DataError(f"{str(folder)!r} must hold one file {names}, and holds {len(listed)}.")
    return listed[0]


def _keys(folder: Path, manifest: Manifest) -> Keys:
    """The rows as keys; they must lie in the domain, in its order, and be different where the release is a set."""
    file, domain = _table_file(folder, manifest), manifest.domain
    chunks = [domain.pack(domain.frame_columns(part)) for part in _read(file, domain)]
    keys = np.concatenate(chunks) if chunks else np.empty(0, domain.key_type)
    ordered = is_rising(keys) if manifest.is_set else np.array_equal(keys, in_order(keys))
    if not ordered:
        what = "a set in the order of its domain" if manifest.is_set else "in the order of its domain"
        raise DataError(f"{file.name} is not {what}; it was changed after it was published.")
    return keys


def _read(path: Path, domain: ViewDomain) -> Iterator[pl.DataFrame]:
    """The rows of a file, a part at a time, with the types of the domain."""
    schema = {each.name: each.listed.dtype for each in domain.attributes}
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as parquet

            for batch in parquet.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
                yield pl.DataFrame(pl.from_arrow(batch))
            return
        _check_header(path, domain)
        rows = pl.scan_csv(path, schema=schema, has_header=False, skip_rows=1)
        yield from rows.collect_batches(chunk_size=_ROWS_AT_ONCE)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{path.name} cannot be read as its manifest describes it: {str(error).splitlines()[0]}"
        ) from None


def _check_header(path: Path, domain: ViewDomain) -> None:
    """The first line must name the columns in their order. Read here, because polars leaves doubled quotes in names as they are."""
    with path.open(encoding="utf-8", newline="") as file:
        names = tuple(next(csv.reader(file), ()))
    if names != domain.names:
        raise DataError(
            f"{path.name} has the columns {', '.join(names) or 'none'}, but its manifest describes {', '.join(domain.names)}."
        )


def _certificate(folder: Path) -> dict[str, Any]:
    return _json(folder / CERTIFICATE) if (folder / CERTIFICATE).exists() else {}


def _statement(manifest: Manifest, rows: int) -> str:
    parts = [
        "WHAT THIS IS",
        manifest.words(rows),
        "WHAT IS PROMISED",
        f"- {manifest.definition.meaning()}",
        "WHAT IS NOT PROMISED",
        f"- {manifest.definition.not_covered()}",
        *([] if manifest.secure else ["NOT RELEASABLE: it was drawn with an insecure seed, which is for tests only."]),
        "HOW TO USE IT",
        "reticent query FOLDER CONDITION; manifest.json holds everything that an estimate needs.",
    ]
    return "\n\n".join(textwrap.fill(part, 100) for part in parts) + "\n"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _readable(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=False, indent=2, allow_nan=False).encode() + b"\n"


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from None
    if not isinstance(found, dict):
        raise DataError(f"{path.name} must hold one JSON object.")
    return found
