"""Relations between texts and codes: a prefix or suffix of one, or a concatenation of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from reticent.table.relations.column_agreement import FEWEST_ROWS, is_shown
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.relation import ColumnRelation

_SEPARATORS = (" ", "-", "_", "/", ".", ",", ":", "|")
_JOINED = ("", *_SEPARATORS, ", ", " - ")
_OFTEN, _FIRST, _MEET = 0.9, 16, 0.75
_FEW_DIGITS = 0.05

Texts = dict[str, list[str | None]]
"""Sampled texts of each column."""


def text_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes
) -> Iterator[ColumnRelation]:
    """Yield the relations of targets that are a prefix or suffix of a text or code, or a concatenation of two;
    candidates come from some ``rows``.
    """
    texts_of = {each.owner: _written(each) for each in (*sources, *targets) if _is_written(each)}
    sample_of: Texts = {name: texts.gather(rows).to_list() for name, texts in texts_of.items()}
    for target in targets:
        if target.owner not in texts_of:
            continue
        target_sample = sample_of[target.owner]
        first = [(row, text) for row, text in enumerate(sample_of[target.owner]) if text is not None][:_FIRST]
        for source in sources:
            if source.owner == target.owner or source.owner not in texts_of:
                continue
            source_sample = sample_of[source.owner]
            if not _meet_often([(text, other) for row, text in first if (other := source_sample[row]) is not None]):
                continue
            if (
                max(
                    _share(str.startswith, source_sample, target_sample),
                    _share(str.endswith, source_sample, target_sample),
                )
                >= _OFTEN
            ):
                separators = [
                    each for each in _SEPARATORS if any(each in text for text in source_sample if text is not None)
                ]
                words = _part_of(texts_of[source.owner], texts_of[target.owner], source.text, separators)
                if words is not None:
                    yield ColumnRelation(target.owner, (source.owner,), words)
            if (
                _share(str.startswith, target_sample, source_sample)
                >= _OFTEN
                > _share(str.__eq__, target_sample, source_sample)
            ):
                yield from _joined(source, sources, target, texts_of, sample_of)


def _meet_often(pairs: Sequence[tuple[str, str]]) -> bool:
    """True if in most pairs of texts the second begins or ends with the first, or the first begins with the second."""
    meet = sum(
        second.startswith(first) or second.endswith(first) or first.startswith(second) for first, second in pairs
    )
    return bool(pairs) and meet >= _MEET * len(pairs)


def _end_often(whole: Sequence[str | None], part: Sequence[str | None]) -> bool:
    """True if in most of the first rows a text ends with another."""
    pairs = [
        (text, ending) for text, ending in zip(whole, part, strict=True) if text is not None and ending is not None
    ]
    first = pairs[:_FIRST]
    return bool(first) and sum(text.endswith(ending) for text, ending in first) >= _MEET * len(first)


def _joined(
    first: ColumnForm,
    sources: Sequence[ColumnForm],
    target: ColumnForm,
    texts_of: dict[str, pl.Series],
    sample_of: Texts,
) -> Iterator[ColumnRelation]:
    """Yield the relations in which a target is two other texts written together, with or without a separator."""
    for second in sources:
        if second.owner in (first.owner, target.owner) or second.owner not in texts_of:
            continue
        if not _end_often(sample_of[target.owner], sample_of[second.owner]):
            continue
        for separator in _JOINED:
            concatenated = [
                None if first_text is None or second_text is None else first_text + separator + second_text
                for first_text, second_text in zip(sample_of[first.owner], sample_of[second.owner], strict=True)
            ]
            if _share(str.__eq__, concatenated, sample_of[target.owner]) < _OFTEN:
                continue
            if _is_so(texts_of[first.owner] + separator + texts_of[second.owner], texts_of[target.owner]):
                words = f"is {first.text} and {second.text} written together"
                yield ColumnRelation(target.owner, (first.owner, second.owner), words)
                break


def _part_of(whole: pl.Series, part: pl.Series, text: str, separators: Sequence[str]) -> str | None:
    """Which part of a text another column is, if any: a number of characters, or the text before or after a separator."""
    lengths = part.drop_nulls().str.len_chars()
    length = int(lengths.mode()[0]) if len(lengths) else 0
    if length and _is_so(whole.str.head(length), part):
        return f"is the first {length} characters of {text}"
    if length and _is_so(whole.str.tail(length), part):
        return f"is the last {length} characters of {text}"
    for separator in separators:
        pieces = whole.str.split(separator)
        if _is_so(pieces.list.first(), part):
            return f"is the text before {separator!r} in {text}"
        if _is_so(pieces.list.last(), part):
            return f"is the text after {separator!r} in {text}"
    return None


def _is_so(computed: pl.Series, target: pl.Series) -> bool:
    """Return whether a computed text equals the target nearly always, and clearly more often than its most frequent value."""
    is_known = (computed.is_not_null() & target.is_not_null()).to_numpy()
    if int(is_known.sum()) < FEWEST_ROWS:
        return False
    wrong = 1 - float((computed == target).to_numpy()[is_known].mean())
    most_frequent = int(target.filter(pl.Series(is_known)).value_counts()["count"].max() or 0)  # type: ignore[arg-type]  # counts are integers
    return is_shown(wrong, 1 - most_frequent / int(is_known.sum()))


def _is_written(form: ColumnForm) -> bool:
    """True if it is a text, or a code of several digits."""
    if form.is_text:
        return True
    return form.values.dtype.is_integer() and bool((form.values.drop_nulls().abs() >= 10).mean() > 1 - _FEW_DIGITS)  # type: ignore[operator]  # the mean of truth values is a float


def _written(form: ColumnForm) -> pl.Series:
    return form.values.cast(pl.String).str.strip_chars()


def _share(holds: Callable[[str, str], bool], first: Sequence[str | None], second: Sequence[str | None]) -> float:
    """The share of the pairs of known texts for which a predicate holds."""
    outcomes = [
        holds(first_text, second_text)
        for first_text, second_text in zip(first, second, strict=True)
        if first_text is not None and second_text is not None
    ]
    return sum(outcomes) / len(outcomes) if outcomes else 0.0
