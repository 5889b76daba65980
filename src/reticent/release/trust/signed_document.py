"""Signed documents: a JSON object with signatures over its canonical form. Trust files and log heads are such documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from reticent.base.documents import read_document
from reticent.errors import DataError, PolicyError
from reticent.ledger import TIME_FORMAT, is_time
from reticent.release.canonical_json import parsed, readable
from reticent.release.signature_keys import is_signed_by, sign, stated_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_LARGEST = 1 << 26


def _is_time(text: str) -> str:
    """Return the text if it is a time in the format of certificates, which sorts chronologically."""
    if not is_time(text):
        raise ValueError("it must look like 2026-01-31T00:00:00Z")
    return text


Time = Annotated[str, AfterValidator(_is_time)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class VouchedFor(BaseModel):
    """Part of a document: exactly the declared entries with exactly their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KeySignature(VouchedFor):
    """An Ed25519 signature with its public key."""

    algorithm: str
    public_key: str
    value: str


Part = TypeVar("Part", bound=VouchedFor)


def read_vouched(kind: type[Part], content: bytes, name: str, what: str) -> Part:
    """Parse a document (called ``what`` in errors) in canonical form; anything else raises a :class:`DataError` with its path."""
    value = parsed(content, name)
    try:
        # JSON lists become tuples, whose element types are checked one by one.
        document = kind.model_validate_json(content)
    except ValidationError as error:
        raise DataError(f"{name} is not a {what} that this version reads: {told(error)}.") from None
    if readable(value) != content or document.model_dump(mode="json") != value:
        raise DataError(f"{name} is not in the form that Reticent writes: it was changed.")
    return document


def told(error: ValidationError) -> str:
    """Return the first validation error of a document, with its path."""
    first_error = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first_error["loc"]))
    message = first_error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def read_file(path: str | Path, what: str) -> bytes:
    """Read a document of at most 64 MiB."""
    try:
        return read_document(path, _LARGEST)
    except OSError as error:
        raise DataError(f"The {what} {str(path)!r} cannot be read: {error.strerror}.") from None


def signatures_by(body: Mapping[str, Any], keys: Iterable[Ed25519PrivateKey]) -> tuple[KeySignature, ...]:
    """Sign the body with each key."""
    return tuple(KeySignature(**sign(body, key)) for key in keys)


def merged_signatures(*groups: Iterable[KeySignature]) -> tuple[KeySignature, ...]:
    """Merge signatures, sorted by key, one for each key."""
    by_key = {signature.public_key: signature for group in groups for signature in group}
    return tuple(by_key[key] for key in sorted(by_key))


def signers_of(body: Mapping[str, Any], signatures: Sequence[KeySignature]) -> tuple[str, ...] | None:
    """Return the keys that signed the body, in hexadecimal; None if a signature is not over this body, or a key is repeated or out of order."""
    signers = []
    for signature in signatures:
        stated = stated_key(signature.model_dump())
        if stated is None or not is_signed_by(body, signature.model_dump(), stated):
            return None
        signers.append(signature.public_key)
    return tuple(signers) if signers == sorted(set(signers)) else None


def time_of(moment: str | date) -> str:
    """Return a date or time (UTC) in the format of documents; a date means its first second."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise PolicyError(
                f"{moment!r} is not a date. Write it as 2027-01-31 or 2027-01-31T12:00:00Z (UTC)."
            ) from None
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.replace(tzinfo=None).strftime(TIME_FORMAT)
