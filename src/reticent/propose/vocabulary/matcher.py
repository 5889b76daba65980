"""Match the lexicon against column names. The longer match wins: a birth weight is not a survey weight, the size of a
party is not a political party.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from reticent.propose.vocabulary.kinds import Kind, Lexicon, folded, lexicon

Span = tuple[int, int]


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# Letters of an abbreviation with separators: B.a is not a bachelor's degree.
_SHORTEST_PHRASE, _LONGEST_PHRASE = 4, 5
_LONGEST_WORD = 30
# Prefixes and suffixes that surveys add to words: iinjury, realrinc, lfaminc; agep, racef, educcat, incomesq.
_BEFORE = ("real", "final", "hh", "fam", "tot", "total", "respondent", "resp", "per", "num", "ln", "log", "avg", "mean")
_LETTERS_BEFORE = ("i", "r", "h", "n", "l")
_RARE_LETTERS_BEFORE = ("c", "d", "g", "s", "w", "m", "f", "p", "b", "u", "y", "x", "q", "v", "t", "z")
_AFTER = _listed(
    "p f r a x w h s es sq cat rec recode code cd grp group num no yrs years gr lvl class level amt amount pct ind flag dum dummy bin binary yn"
)
_ITEM = re.compile(r"[a-z]\d{1,3}([a-z]{3,})")
_SHORT = frozenset(["age", "sex", "occ", "ind", "inc", "wgt", "rac", "icd", "bmi", "edu", "gpa", "fam", "sat", "vis"])
_ARTICLES = ("ال", "ה")


def words_of(name: str) -> list[str]:
    """Return the words of a name: ``PatientID_2`` is ``patient``, ``id``, ``2``."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return [word for word in re.split(r"[\W_]+", folded(separated)) if word]


def _readings(name: str) -> list[list[str]]:
    """Return the word splits of a name with and without splitting at case changes: ``testResult``, but also
    ``HIVresult`` and ``PaCO2``; and without a question number: ``e16sex``.
    """
    split_at_case, unsplit = words_of(name), words_of(name.lower())
    question = _ITEM.fullmatch(unsplit[0]) if unsplit else None
    readings = [split_at_case] if split_at_case == unsplit else [split_at_case, unsplit]
    return [*readings, [question[1], *unsplit[1:]]] if question is not None else readings


@lru_cache(maxsize=20_000)
def kinds_of(name: str) -> tuple[Kind, ...]:
    """Return the kinds that the name mentions, each once; of nested matches only the longest counts."""
    return tuple(dict.fromkeys(kind for _, kind in _longest_matches(name)))


@lru_cache(maxsize=20_000)
def share_spoken(name: str) -> float:
    """Return the share of the letters of a name that are covered by words of the lexicon."""
    letters = len("".join(words_of(name)).rstrip("0123456789"))
    spoken = {letter for (begin, end), _ in _longest_matches(name) for letter in range(begin, end)}
    return len(spoken) / letters if letters else 0.0


def _longest_matches(name: str) -> list[tuple[Span, Kind]]:
    """Return the matches of the lexicon in a name, in order; of nested matches only the longest."""
    lists = lexicon()
    matches = {match for words in _readings(name) for match in _matches(words, lists)}
    longest = [
        (span, kind)
        for span, kind in matches
        if not any(span != other and other[0] <= span[0] and span[1] <= other[1] for other, _ in matches)
    ]
    return sorted(longest, key=lambda match: (match[0], match[1].meaning, match[1].says))


def _matches(words: list[str], lists: Lexicon) -> Iterator[tuple[Span, Kind]]:
    """Yield the matches of the lexicon in the ``words`` of a name, each with its span of letters: phrases, their beginnings and ends, and single words."""
    starts = [sum(map(len, words[:index])) for index in range(len(words) + 1)]
    joined = "".join(words)
    bare = joined.rstrip("0123456789")
    # y is an outcome, y94 a year.
    for word in {joined, bare if len(bare) > 2 else joined}:
        for kind in lists.whole.get(word, ()):
            yield (0, len(joined)), kind
    for first in range(len(words)):
        for last in range(first + 1, min(first + _LONGEST_PHRASE, len(words)) + 1):
            phrase = "".join(words[first:last])
            if last > first + 1 and len(phrase) < _SHORTEST_PHRASE:
                continue
            kinds = _listed_as(phrase, lists) or _listed_as(phrase.rstrip("0123456789"), lists)
            for kind in kinds:
                yield (starts[first], starts[last]), kind
            for length in range(len(words[first]) + 1, len(phrase) + 1):
                for kind in lists.starts.get(phrase[:length], ()):
                    yield (starts[first], starts[first] + length), kind
            for length in range(len(words[last - 1]) + 1, len(phrase) + 1):
                for kind in lists.ends.get(phrase[-length:], ()):
                    yield (starts[last] - length, starts[last]), kind
        word = words[first]
        if first + 1 < len(words):
            for kind in lists.followed.get(word, ()):
                yield (starts[first], starts[first + 1]), kind
        if first:
            for kind in lists.following.get(word, ()):
                yield (starts[first], starts[first + 1]), kind
        for (begin, end), kind in _parts(word[:_LONGEST_WORD], lists):
            yield (starts[first] + begin, starts[first] + end), kind


def _listed_as(word: str, lists: Lexicon) -> list[Kind]:
    return [*lists.plain.get(word, ()), *lists.exact.get(word, ())]


def _parts(word: str, lists: Lexicon) -> Iterator[tuple[Span, Kind]]:
    """Yield matches within one word: stems between affixes, prefixes, suffixes, and words of scripts without spaces."""
    bare = word.rstrip("0123456789")
    for begin, end in _cores(bare):
        for kind in lists.plain.get(bare[begin:end], ()):
            yield (begin, end), kind
    for length in range(2, len(word) + 1):
        for kind in lists.starts.get(word[:length], ()):
            yield (0, length), kind
        if length <= len(bare):
            for kind in lists.ends.get(bare[-length:], ()):
                yield (len(bare) - length, len(bare)), kind
    if lists.inside:
        for begin in range(len(word)):
            for end in range(begin + 1, len(word) + 1):
                for kind in lists.inside.get(word[begin:end], ()):
                    yield (begin, end), kind


def _cores(bare: str) -> Iterator[Span]:
    """Yield the possible positions of the stem once survey affixes are removed; at least three letters remain,
    otherwise "page" would contain "age".
    """
    ends = [len(bare), *(len(bare) - len(suffix) for suffix in _AFTER if bare.endswith(suffix))]
    for end in ends:
        for prefix in ("", *_BEFORE, *_LETTERS_BEFORE, *_RARE_LETTERS_BEFORE, *_ARTICLES):
            if not bare.startswith(prefix) or (not prefix and end == len(bare)):
                continue
            core = bare[len(prefix) : end]
            minimum = 5 if prefix in _RARE_LETTERS_BEFORE else 4
            if len(core) >= minimum or (core in _SHORT and prefix not in _RARE_LETTERS_BEFORE):
                yield (len(prefix), end)
