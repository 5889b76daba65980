"""``reticent certificate``: further signatures on a certificate, and its export for other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import ReleaseArgument, SignOption, add_group
from reticent.errors import DataError, PolicyError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app, "certificate", "Sign a certificate with further keys, or export it.", {"sign": sign, "export": export}
    )


def sign(release: ReleaseArgument, keys: SignOption = None, as_json: Json = False) -> None:
    """Add a signature to the certificate of a release, after every claim was verified again.

    Example: reticent certificate sign release --sign ben.key
    """
    from reticent.base.files import write_whole
    from reticent.release import countersigned, open_certificate, private_keys, readable, signatures_of, verify

    if not keys:
        raise PolicyError("Name the private key with --sign.")
    with working("Recomputing every claim ...", as_json) as context:
        verification = verify(release, context=context)
    if verification.failures:
        first = verification.failures[0]
        raise DataError(f"Nothing was signed, because the release failed verification ({first.name}: {first.detail}).")
    path, certificate = open_certificate(release)
    signed = countersigned(certificate, private_keys(keys))
    write_whole(path, readable(signed))
    holders = [signature["public_key"] for signature in signatures_of(signed)]
    sentence = (
        f"{path} has {len(holders)} signatures: {', '.join(f'{public_key_hex[:16]}...' for public_key_hex in holders)}"
    )
    answer(PlainResult.saying(sentence, {"certificate": path, "signatures": holders}), as_json)


def export(
    release: ReleaseArgument,
    keys: SignOption = None,
    dsse: Annotated[
        bool, typer.Option("--dsse", help="An in-toto statement about the files, in a DSSE envelope.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write (default: print it).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Export the certificate as an in-toto statement in a DSSE envelope, signed with your key, for supply-chain tools.

    Example: reticent certificate export release --dsse --sign office.key -o release.dsse.json
    """
    from reticent.base.files import write_whole
    from reticent.release import open_certificate, private_keys
    from reticent.release.trust import envelope_of

    if not dsse:
        raise PolicyError("Choose what to export: --dsse.")
    _, certificate = open_certificate(release)
    envelope = envelope_of(certificate, private_keys(keys))
    text = json.dumps(envelope, indent=2)
    if output is not None:
        write_whole(output, text.encode() + b"\n")
    if output is None and not as_json:
        typer.echo(text)
        return
    answer(PlainResult.saying(f"Wrote the envelope to {output}.", {"output": output, "envelope": envelope}), as_json)
