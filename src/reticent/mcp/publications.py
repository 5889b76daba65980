"""Publication requests made by an assistant and decided by a person on a terminal.

The server never publishes. It records the request, with the hashes of the policy and of its source file; ``reticent mcp
approve`` shows it to a person, checks that both are unchanged, and publishes in the person's own process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from reticent.base.documents import LARGEST_SETTINGS, parse_json, read_document
from reticent.base.files import read_blocks, write_whole
from reticent.errors import DataError, PolicyError
from reticent.ledger import ledger_path
from reticent.policy import Policy

RequestState = Literal["pending", "published", "declined"]
_NUMBER = re.compile(r"[0-9a-f]{8}")
_MOST = 1000


@dataclass(frozen=True)
class PublicationRequest:
    """A publication request: a policy and a source by their hashes, a folder, a key. ``number`` identifies the request."""

    number: str
    created: str
    policy: str
    policy_hash: str
    source: str
    source_hash: str | None
    output: str
    sign: str | None = None
    state: RequestState = "pending"
    certificate: str | None = None

    @classmethod
    def of(cls, policy: Path, output: Path, sign: Path | None) -> PublicationRequest:
        """Create a request; the policy must be readable and the folder new."""
        from reticent.policy import check_free

        check_free(output)
        read = Policy.read(policy)
        _ = read.definition
        source = read.sections.data.source or ""
        return cls(
            secrets.token_hex(4),
            datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            str(policy.absolute()),
            _hashed(policy),
            source,
            _source_hash(policy, source),
            str(output.absolute()),
            None if sign is None else str(sign.absolute()),
        )

    def check_unchanged(self) -> None:
        """Refuse a request whose policy or source changed since."""
        policy = Path(self.policy)
        for file_role, requested_hash, current_hash in (
            ("policy", self.policy_hash, _hashed(policy) if policy.is_file() else None),
            ("source", self.source_hash, _source_hash(policy, self.source)),
        ):
            if requested_hash != current_hash:
                raise DataError(
                    f"The {file_role} of request {self.number} changed since the request was made. Ask the assistant to make a new request."
                )

    def status(self) -> dict[str, Any]:
        """Return what an assistant may know about the request."""
        return {
            "request": self.number,
            "state": self.state,
            "output": self.output,
            "certificate_hash": self.certificate,
            "created": self.created,
        }


def _hashed(path: Path) -> str:
    """Return the SHA-256 digest of a file in hexadecimal."""
    digest = hashlib.sha256()
    for block in read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _source_hash(policy: Path, source: str) -> str | None:
    """Return the hash of a source file; None for a database, whose rows are those at the time of publishing."""
    path = policy.parent / source
    return _hashed(path) if "://" not in source and path.is_file() else None


class RequestFolder:
    """The requests of one user, one file each, next to the ledger. Mutable: requests are added and decided."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or ledger_path().with_name("requests")

    def add(self, request: PublicationRequest) -> None:
        """Write a request, readable by its owner only."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if len(list(self.folder.glob("*.json"))) >= _MOST:
            raise DataError(
                f"There are {_MOST} requests in {str(self.folder)!r}. Approve or decline them, or remove old ones."
            )
        self._write(request)

    def find(self, number: str) -> PublicationRequest:
        """Return a request by its number."""
        path = self.folder / f"{number}.json"
        if not _NUMBER.fullmatch(number) or not path.is_file():
            raise PolicyError("There is no request with this number. `reticent mcp requests` lists all requests.")
        return _read(path)

    def all(self) -> list[PublicationRequest]:
        """Return every request, oldest first."""
        requests = [_read(path) for path in self.folder.glob("*.json") if _NUMBER.fullmatch(path.stem)]
        return sorted(requests, key=lambda request: (request.created, request.number))

    def decide(self, request: PublicationRequest, state: RequestState, certificate: str | None = None) -> None:
        """Record the decision on a request."""
        self._write(replace(request, state=state, certificate=certificate))

    def _write(self, request: PublicationRequest) -> None:
        text = json.dumps(asdict(request), ensure_ascii=False, indent=2)
        write_whole(self.folder / f"{request.number}.json", text.encode(), mode=0o600)


def _read(path: Path) -> PublicationRequest:
    """Return a stored request. Raises if others could have written it, or if it cannot be read."""
    if os.name == "posix" and path.stat().st_mode & 0o022:
        raise DataError(
            f"The request {path.name} is writable by others, so it is not trusted. Ask the assistant to make a new request."
        )
    try:
        content = parse_json(read_document(path, LARGEST_SETTINGS).decode())
        if not isinstance(content, Mapping):
            raise TypeError
        return PublicationRequest(**content)
    except (ValueError, TypeError):
        raise DataError(
            f"The request {path.name} cannot be read. Remove it, and ask the assistant to make a new request."
        ) from None
