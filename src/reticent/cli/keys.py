"""``reticent keys``: the signing keys of certificates, and the trust file that lists them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer
from reticent.cli.options import add_group
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.release.trust import TrustFile

TrustArgument = Annotated[Path, typer.Argument(help="The trust file.")]
Roots = Annotated[
    list[Path] | None,
    typer.Option("--root", help="The private root key (.key) that signs the trust file; repeat for several."),
]
Expires = Annotated[
    str | None,
    typer.Option("--expires", help="The date from which recipients refuse the file, such as 2027-01-31."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The file to write (default: replace the trust file).")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "keys",
        "Signing keys of certificates, and the trust file that lists the accepted ones.",
        {
            "generate": generate,
            "init": init,
            "list": list_keys,
            "rotate": rotate,
            "revoke": revoke,
            "renew": renew,
            "sign": sign,
            "update": update,
        },
    )


def generate(
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the two files.")] = Path("."),
    name: Annotated[str, typer.Option(help="The name of the files.")] = "reticent",
    as_json: Json = False,
) -> None:
    """Generate a key pair: keep NAME.key private, distribute NAME.pub.

    Example: reticent keys generate -o keys --name statistics-office
    """
    from reticent.release import generate_keys

    key_pair = generate_keys(folder, name)
    instructions = (
        f"Keep {key_pair.private} to yourself: reticent publish policy.toml -o release --sign {key_pair.private}\n"
        f"Distribute {key_pair.public}: reticent verify release --key {key_pair.public}\n"
        f"Fingerprint: {key_pair.fingerprint}"
    )
    answer(PlainResult.saying(instructions, asdict(key_pair)), as_json)


def init(
    trust: Annotated[Path, typer.Argument(help="The trust file to write.")],
    publisher: Annotated[str, typer.Option("--publisher", help="The name of the publisher.")],
    keys: Annotated[
        list[str], typer.Option("--key", help="HOLDER=FILE.pub: a key that signs certificates; repeat for several.")
    ],
    root_keys: Annotated[
        list[str],
        typer.Option("--root-key", help="HOLDER=FILE.pub: a root key that signs this file; repeat for several."),
    ],
    expires: Annotated[str, typer.Option("--expires", help="The date from which recipients refuse the file.")],
    threshold: Annotated[int, typer.Option("--threshold", help="How many holders must sign a certificate.")] = 1,
    root_threshold: Annotated[
        int, typer.Option("--root-threshold", help="How many root keys must sign this file.")
    ] = 1,
    log_keys: Annotated[
        list[str] | None, typer.Option("--log-key", help="HOLDER=FILE.pub: a key that signs log heads.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="The date until which the keys are valid (default: --expires).")
    ] = None,
    roots: Roots = None,
    as_json: Json = False,
) -> None:
    """Create the first version of a trust file. Root holders sign it now (--root) or later (`reticent keys sign`).

    Example: reticent keys init trust.json --publisher office --root-key head=head.pub --key ann=ann.pub --key
    ben=ben.pub --threshold 2 --expires 2027-01-31 --root head.key
    """
    from reticent.release.trust import TrustFile, time_of

    if trust.exists():
        raise PolicyError(f"{str(trust)!r} exists already. Change it with `reticent keys rotate` or `revoke`.")
    ends = time_of(expires)
    trust_file = TrustFile.create(
        publisher,
        _public_keys(root_keys, "--root-key"),
        _public_keys(keys, "--key"),
        expires=ends,
        until=ends if until is None else time_of(until),
        log_keys=_public_keys(log_keys or [], "--log-key"),
        threshold=threshold,
        root_threshold=root_threshold,
    )
    _sign_and_save(trust_file, roots, trust, as_json)


def list_keys(trust: TrustArgument, as_json: Json = False) -> None:
    """List the keys of a trust file with their validity periods, and check its root signatures. Exits with 1 if too few
    are valid, or if the file has expired.

    Example: reticent keys list trust.json
    """
    from reticent.errors import DataError
    from reticent.release.trust import TrustFile

    trust_file = TrustFile.read(trust)
    problem = None
    try:
        trust_file.check()
    except DataError as error:
        problem = str(error)
    figures = {"problem": problem, **trust_file.body.model_dump(mode="json")}
    answer(PlainResult(figures, _card(trust_file, problem), problem is None), as_json)


def rotate(
    trust: TrustArgument,
    holder: Annotated[str, typer.Argument(help="The holder whose key is replaced.")],
    key: Annotated[str, typer.Argument(help="The new public key: a .pub file, or its 64 hexadecimal digits.")],
    until: Annotated[
        str | None,
        typer.Option("--until", help="The date until which the new key is valid (default: the file's expiry)."),
    ] = None,
    on: Annotated[str | None, typer.Option("--on", help="The date of the change (default: now).")] = None,
    expires: Expires = None,
    roots: Roots = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Replace the key of a holder. Earlier signatures of the old key stay valid. A root key is replaced at once; old
    and new root keys must sign.

    Example: reticent keys rotate trust.json ann ann-2027.pub --root head.key
    """
    from reticent.release.trust import TrustFile, time_of

    trust_file = TrustFile.read(trust)
    ends = until if until is not None else expires if expires is not None else trust_file.body.expires
    rotated = trust_file.rotated(holder, _hexadecimal(key), until=time_of(ends), on=_time(on), expires=_time(expires))
    _sign_and_save(rotated, roots, output or trust, as_json)


def revoke(
    trust: TrustArgument,
    holder: Annotated[str, typer.Argument(help="The holder whose key is revoked.")],
    reason: Annotated[
        str,
        typer.Option(
            "--reason",
            help="retired: the key did not leak, so its earlier signatures stay valid. compromised: the key may have leaked, so only what was in a log before stays valid.",
        ),
    ],
    on: Annotated[
        str | None, typer.Option("--on", help="The date from which the key is refused (default: now).")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", help="Which key of the holder (default: the newest): a .pub file, or its 64 hexadecimal digits."
        ),
    ] = None,
    expires: Expires = None,
    roots: Roots = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Revoke a key. Certificates that it signs from that date on are refused.

    Example: reticent keys revoke trust.json ben --reason compromised --on 2026-11-03 --root head.key
    """
    from reticent.release.trust import TrustFile

    if reason not in ("retired", "compromised"):
        raise PolicyError(f"--reason must be retired or compromised, but it is {reason!r}.")
    revoked = TrustFile.read(trust).revoked(
        holder,
        reason,  # type: ignore[arg-type]  # one of the two
        key=None if key is None else _hexadecimal(key),
        on=_time(on),
        expires=_time(expires),
    )
    _sign_and_save(revoked, roots, output or trust, as_json)


def renew(
    trust: TrustArgument,
    expires: Annotated[str, typer.Option("--expires", help="The new date from which recipients refuse the file.")],
    roots: Roots = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Issue the file again with a later expiry date, so that recipients know that no newer version was withheld.

    Example: reticent keys renew trust.json --expires 2028-01-31 --root head.key
    """
    from reticent.release.trust import TrustFile, time_of

    renewed = TrustFile.read(trust).next_version(expires=time_of(expires))
    _sign_and_save(renewed, roots, output or trust, as_json)


def sign(trust: TrustArgument, roots: Roots = None, as_json: Json = False) -> None:
    """Add the signature of a root key to a trust file that needs more signatures.

    Example: reticent keys sign trust.json --root deputy.key
    """
    from reticent.release.trust import TrustFile

    if not roots:
        raise PolicyError("Name the private root key with --root.")
    _sign_and_save(TrustFile.read(trust), roots, trust, as_json)


def update(
    trust: Annotated[Path, typer.Argument(help="The trust file that you have.")],
    newer: Annotated[list[Path], typer.Argument(help="The newer version, or several in order.")],
    as_json: Json = False,
) -> None:
    """Replace your trust file with a newer one from the publisher, if the root keys of yours signed it. An older one is
    refused.

    Example: reticent keys update trust.json downloads/trust.json
    """
    from reticent.release.trust import TrustFile

    newest = current = TrustFile.read(trust)
    for path in newer:
        newest = newest.updated(TrustFile.read(path))
    if newest != current:
        newest.save(trust)
    versions = (current.body.version, newest.body.version)
    figures = {"trust": trust, "from_version": versions[0], "version": versions[1]}
    text = "is already the newest" if versions[0] == versions[1] else f"replaces version {versions[0]}"
    sentence = f"{trust}: version {versions[1]} {text}; it expires at {newest.body.expires}."
    answer(PlainResult.saying(sentence, figures), as_json)


def _sign_and_save(unsigned: TrustFile, roots: list[Path] | None, path: Path, as_json: bool) -> None:
    """Sign a version with the given root keys, write it, and report missing signatures."""
    from reticent.release import private_keys

    signed = unsigned.signed_by(private_keys(roots))
    signed.save(path)
    missing = signed.missing()
    figures = {"trust": path, "version": signed.body.version, "missing_signatures": missing}
    text = f"{path}: version {signed.body.version}, expires at {signed.body.expires}."
    if missing:
        text += f"\n{missing} more root signatures are needed: reticent keys sign {path} --root ROOT.key"
    else:
        text += "\nEnough root keys signed it. Recipients install it with: reticent keys update THEIRS THIS"
    answer(PlainResult.saying(text, figures), as_json)


def _card(trust: TrustFile, problem: str | None) -> Card:
    """Return the card of a trust file: its keys with their validity, and how many must sign."""
    body = trust.body
    rows: list[tuple[str, ...]] = [("root", key.holder, key.key, "", "", "") for key in body.root.keys]
    rows += [
        (
            name,
            key.holder,
            key.key,
            key.valid_from,
            key.valid_until,
            f"{key.revoked.on} ({key.revoked.reason})" if key.revoked else "",
        )
        for name, role in (("certificates", body.certificates), ("log", body.log))
        for key in role.keys
    ]
    needs = (
        f"A certificate needs {body.certificates.threshold} of {len(body.certificates.holders)} holders, "
        f"this file {body.root.threshold} of {len(body.root.keys)} root keys."
    )
    return Card(
        f"{body.publisher}: trust file version {body.version}, issued {body.issued}, expires {body.expires}",
        tables=[CardTable(("for", "holder", "public key", "valid from", "until", "revoked"), rows, "Keys")],
        notes=(needs, problem or "Enough root keys signed it."),
    )


def _public_keys(option_values: list[str], option: str) -> dict[str, str]:
    """Return the public keys by holder, parsed from ``HOLDER=FILE``."""
    keys: dict[str, str] = {}
    for option_value in option_values:
        holder, equals, key_or_file = option_value.partition("=")
        if not equals or not holder or not key_or_file:
            raise PolicyError(f"{option} must be HOLDER=FILE.pub, but it is {option_value!r}.")
        if holder in keys:
            raise PolicyError(
                f"{option} names {holder!r} twice. Each holder has one key; `reticent keys rotate` replaces it."
            )
        keys[holder] = _hexadecimal(key_or_file)
    return keys


def _hexadecimal(key_or_file: str) -> str:
    """Return a public key in hexadecimal."""
    from reticent.release import public_key

    return public_key(key_or_file).public_bytes_raw().hex()


def _time(date: str | None) -> str | None:
    from reticent.release.trust import time_of

    return None if date is None else time_of(date)
