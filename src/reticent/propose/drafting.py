"""From a data source to the text of a policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from reticent.data import Source
from reticent.propose.document import policy_text
from reticent.propose.proposal import Proposal, missing_words, propose


def propose_policy(location: Any, policy: Path, options: Mapping[str, Any]) -> tuple[Proposal, str]:
    """Profile the rows of ``location`` (an address or a frame) and write the text of a policy that is going to lie at ``policy``.

    ``options`` are settings of ``[data]``: table, query, delimiter, encoding. A password in an address is not written down; a frame has
    no address, so its policy names no source.
    """
    source = Source(location, **options)
    frame = source.read()
    words = missing_words(frame)
    if words:
        source = replace(source, null_values=words)
        frame = source.read()
    folder = Path(os.path.abspath(policy)).parent
    if not isinstance(location, str | Path):
        found = propose(frame)
        return found, policy_text(found, {"null_values": words}, "data", folder)
    place = str(location)
    is_file = "://" not in place and not place.startswith("env:")
    found = propose(frame, Path(place) if is_file else None)
    address = os.path.relpath(place, folder) if is_file else _without_password(place)
    if address != place and not is_file:
        note = "The password of the database is not written down here. Give it as PGPASSWORD, or in ~/.pgpass."
        found = replace(found, notes=(*found.notes, note))
    settings = {"source": address, **options, "null_values": words}
    return found, policy_text(found, settings, _dataset(place, options, is_file), folder)


def _dataset(location: str, options: Mapping[str, Any], is_file: bool) -> str:
    """A name for the data set: that of the database table, or of the file with its folder, since many files are called data.csv."""
    if options.get("table"):
        return str(options["table"])
    if not is_file:
        return "database"
    place = Path(os.path.abspath(location))
    return f"{place.parent.name}/{place.name.split('.')[0] or 'data'}".lstrip("/")


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    if parts.password is None:
        return address
    person, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{person.split(':', 1)[0]}@{place}"))
