"""``reticent log``: an append-only log of releases, with signed heads and proofs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer
from reticent.cli.options import ReleaseArgument, add_group
from reticent.errors import DataError, PolicyError

if TYPE_CHECKING:
    from reticent.release.trust import LogHead, LogProof

LogArgument = Annotated[Path, typer.Argument(help="The log's file.")]
LogSign = Annotated[
    Path, typer.Option("--sign", help="The private key (.key) of the log; not one that signs certificates.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Also write it to this file.")]
HeadOption = Annotated[Path | None, typer.Option("--head", help="An earlier head of the log.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "log",
        "An append-only log of releases: was another release of these people hidden?",
        {"init": init, "add": add, "head": head, "prove": prove, "check": check},
    )


def init(
    log: Annotated[Path, typer.Argument(help="The new log's file.")],
    sign: LogSign,
    name: Annotated[str, typer.Option("--name", help="What the log is called.")],
    as_json: Json = False,
) -> None:
    """Create an empty log.

    Example: reticent log init releases.log.json --name "Statistics office" --sign notary.key
    """
    from reticent.release import private_key
    from reticent.release.trust import create_log

    created = create_log(log, name, private_key(sign))
    figures = {"log": log, "identity": created.identity, "head": created.head.model_dump(mode="json")}
    sentence = f"{log} is an empty log. Add releases: reticent log add {log} RELEASE --sign {sign}"
    answer(PlainResult.saying(sentence, figures), as_json)


def add(
    log: LogArgument,
    release: ReleaseArgument,
    sign: LogSign,
    new_key: Annotated[bool, typer.Option("--new-key", help="Switch the log to this new signing key.")] = False,
    as_json: Json = False,
) -> None:
    """Append the certificate of a release, and sign the new head. A certificate that is already in the log is not added
    again.

    Example: reticent log add releases.log.json release --sign notary.key
    """
    from reticent.release import open_certificate, private_key
    from reticent.release.trust import append

    proof = append(log, open_certificate(release)[1], private_key(sign), new_key=new_key)
    figures = {"log": log, "index": proof.index, "head": proof.head.model_dump(mode="json")}
    answer(PlainResult.saying(f"Entry {proof.index + 1} of {log}: {proof.head.words}", figures), as_json)


def head(log: LogArgument, output: Output = None, as_json: Json = False) -> None:
    """Show the signed head of a log. Recipients keep it to check later that the log was only appended to.

    Example: reticent log head releases.log.json -o head.json
    """
    from reticent.release.trust import ReleaseLog

    release_log = ReleaseLog.read(log)
    if output is not None:
        release_log.head.save(output)
    figures = {"identity": release_log.identity, "head": release_log.head.model_dump(mode="json"), "output": output}
    sentence = f"{release_log.header.name}: {release_log.head.words}, signed with {release_log.head.signers[0][:16]}..."
    answer(PlainResult.saying(sentence, figures), as_json)


def prove(
    log: LogArgument,
    release: Annotated[Path | None, typer.Argument(help="The release to prove membership of.")] = None,
    older: Annotated[
        Path | None, typer.Option("--head", help="Instead: the older head to prove consistency with.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the proof.")] = Path("proof.json"),
    as_json: Json = False,
) -> None:
    """Write a proof that a release is in the log, or that the log continues an older head. The proof can be checked
    without the log.

    Example: reticent log prove releases.log.json release -o proof.json
    """
    from reticent.base.files import write_whole
    from reticent.release import open_certificate, readable
    from reticent.release.trust import LogHead, ReleaseLog

    if (release is None) == (older is None):
        raise PolicyError("Pass either a release (to prove membership) or --head (to prove consistency).")
    release_log = ReleaseLog.read(log)
    proof: LogProof
    if release is not None:
        proof = release_log.inclusion(open_certificate(release)[1])
        text = f"{output} shows that the release is entry {proof.index + 1} of {proof.head.signed.size}."
    else:
        proof = release_log.consistency(LogHead.read(older or ""))
        text = f"{output} shows that {proof.older.signed.size} entries became {proof.head.signed.size}."
    proof_json = proof.model_dump(mode="json")
    write_whole(output, readable(proof_json))
    answer(PlainResult.saying(text, {"output": output, "proof": proof_json}), as_json)


def check(
    file: Annotated[Path, typer.Argument(help="A log, or a proof.")],
    release: Annotated[
        Path | None,
        typer.Option("--release", help="The release that must be in the log, or that the proof must be about."),
    ] = None,
    older: HeadOption = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The log's public key: a .pub file, or its 64 hexadecimal digits.")
    ] = None,
    trust: Annotated[Path | None, typer.Option("--trust", help="The trust file that names the log's keys.")] = None,
    as_json: Json = False,
) -> None:
    """Check a log or a proof: every hash, the signature of the head, and consistency with an older head. Exits with 1
    if a check fails.

    Example: reticent log check releases.log.json --key notary.pub --head head.json
    """
    from reticent.release.trust import LogHead, ReleaseLog, is_log, read_proof

    try:
        if is_log(file):
            log = ReleaseLog.read(file)
            if older is not None:
                log.check_beside(LogHead.read(older))
            if release is not None:
                log.inclusion(_certificate(release))
            newest, entries = log.head, [entry.model_dump(mode="json") for entry in log.entries]
        else:
            proof = read_proof(file)
            proof.check()
            _check_proof_of(proof, release, older)
            newest, entries = proof.head, []
        whose = _signer(newest, key, trust)
    except DataError as error:
        answer(PlainResult.saying(str(error), {"problem": str(error)}, ok=False), as_json)
        return
    figures = {"head": newest.model_dump(mode="json"), "signed": whose, "entries": entries}
    rows = [
        (number, entry["added"], entry["dataset"] or "", entry["release"] or "", entry["certificate"][:16])
        for number, entry in enumerate(entries, start=1)
    ]
    listed = CardTable(("entry", "added", "data set", "release", "certificate"), rows, "Entries")
    answer(PlainResult(figures, Card(f"{file} is valid: {newest.words}. {whose}", tables=[listed])), as_json)


def _certificate(release: Path) -> Any:
    from reticent.release import open_certificate

    return open_certificate(release)[1]


def _check_proof_of(proof: LogProof, release: Path | None, older: Path | None) -> None:
    """Refuse a proof about another release or head than the requested one."""
    from reticent.release.trust import LogHead

    entry = getattr(proof, "entry", None)
    if release is not None and (entry is None or not entry.is_of(_certificate(release))):
        raise DataError("The proof is not about this release.")
    if older is not None and getattr(proof, "older", None) != LogHead.read(older):
        raise DataError("The proof is not about this head.")


def _signer(newest: LogHead, key: str | None, trust: Path | None) -> str:
    """Return who signed the head. Raise :class:`DataError` if the signature is not by an accepted key."""
    from reticent.release import public_key
    from reticent.release.trust import TrustFile, head_signers

    if key is not None and trust is not None:
        raise PolicyError("Use --key or --trust, not both: the trust file names the keys.")
    accepted_key = None if key is None else public_key(key)
    return head_signers(newest, accepted_key, None if trust is None else TrustFile.read(trust))[0]
