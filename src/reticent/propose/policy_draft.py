"""From a data source to the text of a policy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from reticent.base.context import Context
from reticent.base.exact import one_of
from reticent.errors import DataError
from reticent.io import MISSING_WORDS, Source
from reticent.propose.document import policy_text
from reticent.propose.proposal import Proposal, missing_codes, missing_words, propose
from reticent.propose.proposed_types import number_notes, proposed_types
from reticent.propose.templates import TEMPLATES, templated
from reticent.propose.tradeoff import Tradeoff, afford, unpriced


def propose_policy(
    location: Any,
    policy: Path,
    options: Mapping[str, Any],
    context: Context | None = None,
    template: str | None = None,
    *,
    prices: bool = True,
) -> tuple[Tradeoff, str]:
    """Profile the rows of ``location`` (an address or a frame) and return the text of a policy to be written to
    ``policy``.

    ``options`` are settings of ``[data]``: table, query, delimiter, encoding, sheet, labels, header, skip_rows,
    number_names. Detected values of header and skip_rows are written to the policy, so that every later run reads the same rows. Passwords in
    an address are not written; a frame has no address, so its policy names no source. ``template`` is one of
    :data:`reticent.propose.TEMPLATES`. Without ``prices`` no release is drafted: no column is dropped for its cost,
    guarantees are the minimum ones, and publishing chooses the method.
    """
    if template is not None:
        one_of(template, "template", TEMPLATES)
    context = context or Context()
    context.step("reading")
    source = Source(location, **options)
    frame = source.read()
    _check_profiled(frame, source.name)
    codes, unsure = missing_codes(frame)
    # Only text files have spellings of numbers; elsewhere null_values apply to text columns.
    is_csv = source.is_text
    words = [*missing_words(frame), *(codes if is_csv else ())]
    if words:
        source = replace(source, null_values=words)
        frame = source.read()
    types, spellings = proposed_types(frame), [*_answer_notes(words, codes), *number_notes(frame)]
    if types:
        source = replace(source, types=types)
        frame = source.read()
    folder = Path(os.path.abspath(policy)).parent
    if not isinstance(location, str | Path):
        proposed = templated(propose(frame, None, context, source.codebook()), template)
        noted = _noting(proposed, codes, unsure, is_csv, spellings)
        priced = _afforded(noted, frame, template, context) if prices else unpriced(noted, frame)
        return priced, policy_text(priced, {"null_values": words, "types": types}, "data", folder)
    address_given = str(location)
    is_file = "://" not in address_given and not address_given.startswith("env:")
    codebook = source.codebook()
    proposed = templated(propose(frame, Path(address_given) if is_file else None, context, codebook), template)
    noted = _noting(proposed, codes, unsure, is_csv, spellings)
    noted = replace(noted, notes=(*noted.notes, *codebook.notes()))
    address = os.path.relpath(address_given, folder) if is_file else _without_password(address_given)
    if address != address_given and not is_file:
        note = "The database password is not stored here. Pass it as PGPASSWORD or in ~/.pgpass, or put the whole address into an environment variable and write source = 'env:NAME'."
        noted = replace(noted, notes=(*noted.notes, note))
    settings = {"source": address, **options, **source.found(), "null_values": words, "types": types}
    priced = _afforded(noted, frame, template, context) if prices else unpriced(noted, frame)
    return priced, policy_text(priced, settings, _dataset(address_given, options, is_file), folder)


def _check_profiled(frame: pl.DataFrame, name: str) -> None:
    """Refuse tables that cannot be profiled: without columns, or with columns of Python objects."""
    if not frame.width:
        raise DataError(f"{name} has no columns. There is nothing to publish; check the source.")
    for column, dtype in frame.schema.items():
        if dtype == pl.Object:
            raise DataError(
                f"Column {column!r} holds Python objects, which cannot be compared. Convert them to numbers or text, or drop the column.",
                column=column,
            )


def _afforded(proposal: Proposal, frame: pl.DataFrame, template: str | None, context: Context) -> Tradeoff:
    """Return the affordable proposal; the template is applied again to columns that are too expensive to protect."""
    priced = afford(proposal, frame, context, None if template is None else TEMPLATES[template].shown)
    return replace(priced, proposal=templated(priced.proposal, template))


def _answer_notes(words: Sequence[str], codes: Sequence[str]) -> list[str]:
    """Return a note on the wordings of people, such as "no answer", that are read as missing values; none if there are none."""
    answers = [repr(word) for word in words if word not in (*MISSING_WORDS, *codes)]
    if not answers:
        return []
    return [
        f"{', '.join(answers)} {'is' if len(answers) == 1 else 'are'} read as missing (null_values). Take out there what is a value of its own."
    ]


def _noting(
    proposal: Proposal,
    codes: list[str],
    uncertain_codes: Mapping[str, list[str]],
    is_csv: bool,
    spelling_notes: Sequence[str],
) -> Proposal:
    """Return the proposal with notes on numbers that may mean "missing", and the ``spelling_notes`` on texts that mean "missing" or a number."""
    if proposal.refusal is not None:
        return proposal
    notes = [*proposal.notes, *spelling_notes]
    if codes and is_csv:
        notes.append(f"{', '.join(codes)} are read as missing values (null_values): no other value is negative.")
    elif codes:
        notes.append(
            f"{', '.join(codes)} look like codes for missing values; if they are, make them null in the source."
        )
    if uncertain_codes:
        listed = "; ".join(f"{name!r}: {', '.join(values)}" for name, values in uncertain_codes.items())
        advice = "add them to null_values" if is_csv else "make them null in the source"
        notes.append(
            f"Possible codes for missing values ({listed}): if they are, and no other column has them as values, {advice}."
        )
    return replace(proposal, notes=tuple(notes))


def _dataset(location: str, options: Mapping[str, Any], is_file: bool) -> str:
    """Return a name for the data set: that of the database table, or of the file with its folder, because many files are called data.csv."""
    if options.get("table"):
        return str(options["table"])
    if not is_file:
        return "database"
    file_path = Path(os.path.abspath(location))
    return f"{file_path.parent.name}/{file_path.name.split('.')[0] or 'data'}".lstrip("/")


def _without_password(address: str) -> str:
    """Return a database address without its password."""
    parts = urlsplit(address)
    if parts.password is None:
        return address
    credentials, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{credentials.split(':', 1)[0]}@{host}"))
