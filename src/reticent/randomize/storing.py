"""Views as files: ``public/`` with the tuples, the manifest, a certificate and a statement, whole or not at all; and back.

A view of any size is written chunk by chunk, so that memory is that of a chunk. A view without its manifest is rejected (R-AB-32).
"""

from __future__ import annotations

import hashlib
import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.files import folder_aside, write_new
from reticent.ledger import Ledger
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.manifest import ViewManifest
from reticent.randomize.planning import Plan
from reticent.randomize.publishing import Drawing, draw, record
from reticent.randomize.view import Signer, View

MANIFEST, CERTIFICATE, STATEMENT = "manifest.json", "certificate.json", "STATEMENT.txt"
FILES = ("csv", "parquet")
_ROWS_AT_ONCE = 1_000_000


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
) -> int:
    """Draw a view and write it to a folder chunk by chunk; returns the number of its rows.

    The ledger is written when everything is on the disk but before the folder gets its name, so that nothing leaves unrecorded.
    """
    drawing = draw(frame, plan, domain, duplicates=duplicates, source=source, insecure_seed=insecure_seed)
    return _write(drawing, Path(path), files, overwrite, dataset, ledger, again)


def save_view(view: View, path: str | Path, *, files: str = "csv", overwrite: bool = False) -> Path:
    """Write a view that is in memory; it was recorded when it was made."""
    chunks = (view.keys[start : start + _ROWS_AT_ONCE] for start in range(0, max(len(view), 1), _ROWS_AT_ONCE))
    dataset = view.certificate.get("dataset")
    _write(Drawing(view.manifest, chunks), Path(path), files, overwrite, None, None, False, dataset, view.signer)
    return Path(path)


def open_view(path: str | Path, earlier: Keys | None = None) -> View:
    """A view from its folder. What does not fit its manifest, or has none, is a :class:`DataError`."""
    folder = view_folder(path)
    manifest = ViewManifest.from_json(_json(folder / MANIFEST))
    certificate = _json(folder / CERTIFICATE) if (folder / CERTIFICATE).exists() else {}
    listed = [folder / f"view.{kind}" for kind in FILES if (folder / f"view.{kind}").exists()]
    if len(listed) != 1:
        raise DataError(f"{str(folder)!r} must hold one file view.csv or view.parquet, and holds {len(listed)}.")
    chunks = [
        manifest.plan.domain.pack(manifest.plan.domain.frame_columns(part)) for part in _read(listed[0], manifest)
    ]
    keys = np.concatenate(chunks) if chunks else np.empty(0, manifest.plan.domain.key_type)
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        raise DataError(
            f"{listed[0].name} is not a set in the order of its domain; it was changed after it was published."
        )
    return View(manifest, keys, earlier, certificate)


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
    """Whether a folder holds a randomized view, judged by its manifest."""
    try:
        return _json(view_folder(path) / MANIFEST).get("format") == "alpha-beta"
    except DataError:
        return False


def certificate_of(
    manifest: ViewManifest, dataset: str | None, files: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """What is claimed about a view, and the fingerprints of its files once they are written."""
    plan = manifest.plan
    found, worst = manifest.definition, manifest.assess().value
    return {
        "layout": 1,
        "reticent": reticent.__version__,
        "format": "alpha-beta",
        "claims": [
            {
                "definition": found.name,
                "parameters": found.parameters(),
                "covers": found.meaning(),
                "does_not_cover": found.not_covered(),
            }
        ],
        "worst_posterior": str(worst),
        "dp_epsilon": plan.dp_epsilon if plan.s < 1 else None,
        "rho": plan.rho,
        "randomness": "operating system" if manifest.secure else "NOT RELEASABLE: drawn with an insecure seed",
        "files": dict(files or {}),
        "dataset": dataset,
    }


def verify_view(path: str | Path) -> dict[str, Any]:
    """Check a view from its public folder alone: its file is the certificate's, it is a set inside the domain, and its plan keeps the promise."""
    view = open_view(path)
    folder = view_folder(path)
    problems = []
    for name, said in view.certificate.get("files", {}).items():
        if name not in (*(f"view.{kind}" for kind in FILES), MANIFEST, STATEMENT):
            problems.append(f"The certificate speaks of a file {name!r} that a view does not have.")
        elif not (folder / name).is_file() or _digest(folder / name) != said["sha256"]:
            problems.append(f"{name} is not the file that the certificate was made for.")
    if not view.certificate:
        problems.append("There is no certificate.")
    found = view.manifest.assess()
    claims = view.certificate.get("claims", [{}])
    if view.certificate and claims[0].get("parameters") != view.manifest.definition.parameters():
        problems.append("The certificate claims something else than the plan in the manifest.")
    return {
        "ok": not problems,
        "holds": not problems,
        "problems": problems,
        "worst_posterior": found.value,
        "rows": len(view),
        "secure": view.manifest.secure,
    }


def _write(
    drawing: Drawing,
    target: Path,
    files: str,
    overwrite: bool,
    dataset: str | None,
    ledger: str | Path | Ledger | None,
    again: bool,
    named: str | None = None,
    signer: Signer | None = None,
) -> int:
    if files not in FILES:
        raise PolicyError(f"files must be 'csv' or 'parquet', but it is {files!r}.{did_you_mean(files, FILES)}")
    manifest = drawing.manifest
    name = f"view.{files}"
    with folder_aside(target, replace=overwrite) as aside:
        public = aside / "public"
        public.mkdir(mode=0o755)
        frames = (manifest.plan.domain.unpack(keys) for keys in drawing.chunks)
        rows = (_write_csv if files == "csv" else _write_parquet)(public / name, frames)
        digest = _digest(public / name)
        write_new(public / MANIFEST, _readable(manifest.as_json()))
        write_new(public / STATEMENT, _statement(manifest, rows).encode())
        prints = {each: {"sha256": _digest(public / each)} for each in (MANIFEST, STATEMENT)}
        certificate = certificate_of(manifest, dataset or named, {name: {"sha256": digest, "rows": rows}, **prints})
        if signer is not None:
            certificate["signature"] = dict(signer(certificate))
        write_new(public / CERTIFICATE, _readable(certificate))
        if dataset is not None:
            record(dataset, manifest, digest, ledger, again)
    return rows


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


def _read(path: Path, manifest: ViewManifest) -> Iterator[pl.DataFrame]:
    """The rows of a file, a part at a time, with the types of the domain."""
    domain = manifest.plan.domain
    schema = {each.name: each.listed.dtype for each in domain.attributes}
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as parquet

            for batch in parquet.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
                yield pl.DataFrame(pl.from_arrow(batch))
            return
        yield from pl.scan_csv(path, schema=schema).collect_batches(chunk_size=_ROWS_AT_ONCE)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"{path.name} cannot be read as its manifest describes it: {str(error).splitlines()[0]}"
        ) from None


def _statement(manifest: ViewManifest, rows: int) -> str:
    parts = [
        "WHAT THIS IS",
        f"A randomized view: {rows:,} records of which most are not in the original table. No single record proves anything; counts over many "
        "can be estimated with stated errors.",
        "WHAT IS PROMISED",
        f"- {manifest.definition.meaning()}",
        "WHAT IS NOT PROMISED",
        f"- {manifest.definition.not_covered()}",
        *([] if manifest.secure else ["NOT RELEASABLE: it was drawn with an insecure seed, which is for tests only."]),
        "HOW TO USE IT",
        "reticent randomize estimate FOLDER CONDITION; manifest.json holds everything that an estimate needs.",
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
