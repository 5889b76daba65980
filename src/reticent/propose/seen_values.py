"""Values that are visible to others regardless of the column name: sex, origin, schooling, work, family, places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from reticent.propose.profile import ColumnProfile
from reticent.propose.vocabulary import Kind, kinds_of, words_of

_SEX = Kind("demographic", "sex", visible=True)
_SEXES = [
    frozenset(pair.split())
    for pair in (
        *(
            "female male",
            "woman man",
            "women men",
            "girl boy",
            "weiblich männlich",
            "frau mann",
            "femme homme",
            "féminin masculin",
            "mujer hombre",
            "femenino masculino",
        ),
        *(
            "femmina maschio",
            "feminino masculino",
            "mulher homem",
            "vrouw man",
            "kobieta mężczyzna",
            "kvinna man",
            "женский мужской",
            "女 男",
            "女性 男性",
            "انثى ذكر",
            "נקבה זכר",
        ),
    )
]
_FEW_LEVELS = 20
_ENOUGH, _MOST = 2, 2 / 3
_SAYING_NOTHING = frozenset(
    [
        *("other", "others", "none", "no", "yes", "unknown", "missing", "na", "nan"),
        *("not", "applicable", "refused", "know", "known", "dont", "don", "t"),
    ]
)


def kind_everybody_sees(column: ColumnProfile) -> Kind | None:
    """Return the kind of visible attribute that a category holds: two thirds of its levels, in at least two different words, belong to it."""
    if column.type != "text":
        return None
    levels = [str(value).strip().lower() for value in column.sample]
    if set(levels) in _SEXES:
        return _SEX
    words_of_levels = [words for level in levels if (words := [w for w in words_of(level) if w not in _SAYING_NOTHING])]
    if not _ENOUGH <= len(words_of_levels) <= _FEW_LEVELS:
        return None
    return next((kind for kind, share in _visible_kinds(words_of_levels) if share >= _MOST), None)


def _visible_kinds(levels: Sequence[Sequence[str]]) -> list[tuple[Kind, float]]:
    """Return the visible kinds that at least two different words of the levels belong to, with the share of these
    levels; ``grade 1`` and ``grade 2`` are one word.
    """
    words_of_kind: dict[Kind, set[str]] = defaultdict(set)
    levels_of_kind: dict[Kind, set[int]] = defaultdict(set)
    for level, words in enumerate(levels):
        for word in words:
            for kind in kinds_of(word):
                if kind.visible:
                    words_of_kind[kind].add(word)
                    levels_of_kind[kind].add(level)
    return [
        (kind, len(levels_of_kind[kind]) / len(levels)) for kind in words_of_kind if len(words_of_kind[kind]) >= _ENOUGH
    ]
