"""``reticent keys``: the keys that certificates are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import Json, answer
from reticent.cli.options import add_group


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(app, "keys", "Keys to sign certificates with.", {"generate": generate})


def generate(
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="The folder that the two files are written to.")
    ] = Path("."),
    name: Annotated[str, typer.Option(help="The name of the files.")] = "reticent",
    as_json: Json = False,
) -> None:
    """Make a pair of keys: NAME.key stays with you, NAME.pub goes to everybody.

    Example: reticent keys generate -o keys --name statistics-office
    """
    from reticent.release import generate_keys

    made = generate_keys(folder, name)
    payload = {"ok": True, "private": made.private, "public": made.public, "fingerprint": made.fingerprint}
    answer(
        payload,
        as_json,
        f"Keep {made.private} to yourself: reticent publish policy.toml -o release --sign {made.private}\n"
        f"Give {made.public} to everybody: reticent verify release --key {made.public}\n"
        f"Fingerprint: {made.fingerprint}",
    )
