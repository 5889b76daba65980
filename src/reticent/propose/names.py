"""The meaning of a column's name, in several languages. Accents, case and word separators are ignored."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from reticent.propose.vocabulary import SENSITIVE as SENSITIVE
from reticent.propose.vocabulary import Kind, kinds_of, share_spoken
from reticent.propose.vocabulary import words_of as words_of

Meaning = str
"""One of ``identifier``, ``key``, ``age``, ``postcode``, ``birth``, ``demographic``, ``time``, ``place``, ``weight``, or of :data:`SENSITIVE`."""

_ORDER = (
    "place",
    "weight",
    "birth",
    "postcode",
    "age",
    *SENSITIVE,
    "identifier",
    "key",
    "demographic",
    "person",
    "time",
)


def _listed(words: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(words.split())


# Nouns that form keys with the suffix "id": a child, but not a kid; a case, but not covid.
_NUMBERED = frozenset(
    _listed(
        """
        child school case person patient subject hh house household family fam mother father student pupil teacher
        doctor respondent resp emp employee worker firm indiv individual cust customer user member client record row
        study participant survey interview voter woman man couple twin pers cow clust cluster ps pt pat subj sub
        """
    )
)
_AMBIGUOUS = frozenset(["weight", "weights", "wt", "wgt", "wght", "gewicht", "poids", "peso", "waga", "vikt"])
_BODIES = frozenset(
    _listed("body kg lb lbs birth kilo kilos gram grams mother baby mom dad mum change loss gain pre post")
)
_EVENTS = frozenset(_listed("first onset start began begin"))
_SEEN = frozenset(_listed("sex gender race ethnicity geschlecht sexe sexo sesso geslacht"))
_SEEN_KINDS = ("sex", "race and origin")
_RESULTS = frozenset(_listed("outcome outcomes result results complication complications"))
_CAME_OF = Kind("outcome", "an outcome", topic=True)
_MOSTLY = 0.5
_KEY = Kind("key", "it identifies people or households")
BODY_WEIGHT = Kind("health", "body weight", topic=True)


def kind_of(name: str) -> Kind | None:
    """Return the kind of column that the name indicates, if any. The more specific kind wins: a date of birth is more than a date."""
    return next(iter(ranked_kinds(name)), None)


def ranked_kinds(name: str) -> list[Kind]:
    """Return the kinds of column that the name may indicate, the most specific first."""
    words = words_of(name)
    kinds = [kind for kind in kinds_of(name) if kind.meaning != "nothing"]
    if any(stem in _NUMBERED for stem in _numbered(words)):
        kinds.append(_KEY)
    if any(kind.meaning == "weight" for kind in kinds) and _BODIES & set(words):
        kinds = [BODY_WEIGHT if kind.meaning == "weight" else kind for kind in kinds]
    if any(kind.sensitive for kind in kinds) and _EVENTS & set(words):
        # The age at first drug use discloses that a person used drugs.
        kinds = [kind for kind in kinds if kind.meaning != "age"]
    if (
        len(words) > 1
        and words[-1] in _SEEN
        and (visible_kinds := [kind for kind in kinds if kind.says in _SEEN_KINDS])
    ):
        # The sex of a donor is a sex.
        return visible_kinds
    if len(words) > 1 and words[-1] in _RESULTS and not says_nothing(name):
        # The outcome of a birth is not a birth.
        kinds = [kind for kind in kinds if kind.sensitive] or [_CAME_OF]
    if {kind.meaning for kind in kinds} == {"identifier", "demographic"} and words[-1] in ("name", "names"):
        kinds = [kind for kind in kinds if kind.meaning == "demographic"]
    return sorted(kinds, key=_rank)


def says_nothing(name: str) -> bool:
    """True if the whole name is a false friend: it only resembles a sensitive word."""
    kinds = kinds_of(name)
    return bool(kinds) and all(kind.meaning == "nothing" for kind in kinds) and share_spoken(name) > _MOSTLY


def _rank(kind: Kind) -> tuple[int, str]:
    return _ORDER.index("person" if kind.person else kind.meaning), kind.says


def _numbered(words: Sequence[str]) -> list[str]:
    """Return what is numbered by words such as ``patid``, ``ptnum`` and ``subj_no``."""
    joined = [*words, *(f"{first}{second}" for first, second in itertools.pairwise(words))]
    return [word.removesuffix(end) for word in joined for end in _NUMBERS if word.endswith(end)]


_NUMBERS = ("id", "no", "nr", "num", "number")
_PERSONS = frozenset(
    _listed("person patient subject participant respondent individual indiv member client pers pt pat subj sub resp")
)


def numbers_persons(name: str) -> bool:
    """True if the name indicates an identifier of people, not of households, schools or visits."""
    return any(stem in _PERSONS for stem in _numbered(words_of(name)))


def meaning_of(name: str) -> Meaning | None:
    """Return the meaning of the name; None if there is none."""
    kind = kind_of(name)
    return kind.meaning if kind is not None else None


def says_number_of_somebody(name: str) -> bool:
    """True if the name ends in "id" as a key does, unlike ``paid`` and ``covid``."""
    return any(word.endswith("id") and len(word) > 4 and not word.endswith(_NO_KEYS) for word in words_of(name))


_NO_KEYS = _listed(
    """
    paid covid void olid luid acid grid said igid alid roid ioid ipid kid aid tid bid hybrid humid rapid
    """
)

_NOMINAL = frozenset(
    _listed(
        """
        race racea raceth racef ethnicity ethnic hispanic region state statefip fips county province district country nation
        nationality birthplace origin marital marst mars marstat maritl maritalstatus religion relig party occ
        occupation ind industry sector branch relat relationship wrkstat workclass esr msa site center centre hospital
        clinic school group treatment arm plan language sex gender civil familienstand beruf city town code category
        type kind cause occup married inst instit cond condition stratum method pid action strata psu
        """
    )
)
_RECORDED = frozenset(
    _listed(
        """
        score scores scale test exam grade grades gpa iq sat act math verbal reading item question answer rating index
        visits days hours minutes time duration level dose lab count ratio rate amount number trust agree opinion
        attitude importance satisfaction happy happiness knowledge
        """
    )
)
_SURVEY_BEFORE = ("i", "r", "h", "n", "real", "final", "hh", "fam", "tot", "total", "respondent", "resp", "per", "num")
_SURVEY_AFTER = _listed("p f r a x cat rec recode code cd grp group num no yrs years gr lvl class")


def is_nominal(name: str) -> bool:
    """True if numbers under this name are category codes without an order."""
    return any(core in _NOMINAL for word in words_of(name) for core in (word, *_without_affixes(word)))


def _without_affixes(word: str) -> list[str]:
    """Return the word without the prefixes and suffixes that surveys add; at least three letters remain."""
    bare = word.rstrip("0123456789")
    cores = [bare, *(bare.removesuffix(end) for end in _SURVEY_AFTER if bare.endswith(end))]
    cores += [core.removeprefix(start) for core in cores for start in _SURVEY_BEFORE if core.startswith(start)]
    return [core for core in cores if len(core) > 3 or core in ("age", "sex", "occ", "ind", "rac")]


def says_record(name: str) -> bool:
    """True if the name indicates a value that exists in records only: scores, answers, measurements."""
    words = words_of(name)
    return any(word in _RECORDED for word in words) or any(re.fullmatch(r"q\d+\w*", word) for word in words)


def says_survey(name: str) -> bool:
    """True if a weight with this name can only be a survey weight, not a body weight or a parcel weight."""
    return "".join(words_of(name)).rstrip("0123456789") not in _AMBIGUOUS
