"""The order of categories with an evident order: by leading numbers, or by the words of well-known scales."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_BELOW = re.compile(r"^\s*(?:<|under|below|less|up to|fewer|unter|bis|moins|menos)", re.IGNORECASE)
_ABOVE = re.compile(r"^\s*(?:>|over|above|more)", re.IGNORECASE)
_FIRST_CHARACTERS = 16
# Each scale from lowest to highest; words separated by "/" are synonyms.
_SCALES = (
    "strongly disagree|disagree/somewhat disagree/disagree somewhat|neutral/neither/neither agree nor disagree/undecided|agree/somewhat agree/agree somewhat|strongly agree",
    "strongly oppose|oppose/somewhat oppose|neutral/neither/undecided|favor/favour/support/somewhat favor|strongly favor/strongly favour/strongly support",
    "never|rarely/seldom/hardly ever|occasionally/occas/sometimes/some|regularly/regul/often/frequently/freq|heavy/very often/always/usually",
    "very poor/very bad/very dissatisfied/very unhappy|poor/bad/dissatisfied/unhappy/not too happy|fair/average/neutral|good/satisfied/happy/pretty happy|very good/very satisfied/very happy|excellent/extremely satisfied",
    "none/no|very low|low/small/mild/light|medium/med/moderate/middle/mid|high/large/severe/heavy|very high/extreme",
    "not at all|a little/slightly|somewhat|very/quite a bit/a lot|extremely",
    "none/no schooling/illiterate|preschool|primary/elementary/elementary school/primary school|middle school/lower secondary|some high school/less than high school"
    "|ged|high school/highschool/hs/secondary/high school graduate/upper secondary|some college|associate/associates/associate degree|college/bachelor/bachelors/bachelor's degree/undergraduate"
    "|postgraduate/graduate/master/masters/master's degree|professional|phd/doctorate/ph.d.",
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
    "january/jan|february/feb|march/mar|april/apr|may|june/jun|july/jul|august/aug|september/sep|october/oct|november/nov|december/dec",
)


def order_of_texts(values: Sequence[str]) -> list[str] | None:
    """Return the values from lowest to highest if their order is evident, else None."""
    return _by_numbers(values) or _by_words(values)


def _by_numbers(values: Sequence[str]) -> list[str] | None:
    """Return texts in the order of the numbers that they begin with ("under 18", "18 to 30", "over 65"); None if some text has
    none, or two have the same.
    """
    text_of_rank: dict[float, str] = {}
    for value in values:
        match = _NUMBER.search(value[:_FIRST_CHARACTERS])
        # Letters before the number would make it a code: A1, ward 7.
        prefix = "" if match is None else _BELOW.sub("", _ABOVE.sub("", value[: match.start()]))
        if match is None or re.search(r"[^\W\d_]{2}", prefix.replace("than", "")) or value.strip().isdigit():
            return None
        number = float(match.group().replace(",", "."))
        offset = -0.5 if _BELOW.search(value) else 0.5 if _ABOVE.search(value) else 0.0
        if text_of_rank.setdefault(number + offset, value) != value:
            return None
    return [text_of_rank[rank] for rank in sorted(text_of_rank)]


def _by_words(values: Sequence[str]) -> list[str] | None:
    """Return texts in the order of a known scale of words, such as low, medium, high; None if no scale has them all."""
    for scale in _SCALES:
        rank_of = {word: rank for rank, words in enumerate(scale.split("|")) for word in words.split("/")}
        ranks = [rank_of.get(value.strip().lower()) for value in values]
        if None not in ranks and len(set(ranks)) == len(ranks):
            return [value for _, value in sorted(zip(ranks, values, strict=True), key=lambda pair: pair[0] or 0)]
    return None
