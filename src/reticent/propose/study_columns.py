"""Columns that a study is about: treatments and outcomes. Other columns are dropped before these."""

from __future__ import annotations

from reticent.propose.names import words_of


def words_in(text: str) -> tuple[str, ...]:
    """Return the words of a list written as text."""
    return tuple(text.split())


_TREATMENTS = frozenset(
    words_in(
        """
    treat treatment treated treat1 trt rx arm arms intervention assigned assignment random randomized randomised randomization placebo control controls
    condition cond exposed exposure experimental trial therapy regimen program programme reform policy training train
    behandlung gruppe arm studienarm traitement bras groupe tratamiento brazo grupo trattamento braccio gruppo tratamento behandling
        """
    )
)
_OUTCOMES = frozenset(
    words_in(
        """
    outcome outcomes result results response responder status stat fustat fstat event events endpoint died dead death survived survival alive relapse relapsed recurrence
    recurred recur progression improved cured success failure target class y deny denied approve approved reject rejected default defaulted churn
    attrition arrest arrested convicted passed admitted hired takeup
    ergebnis ausgang ereignis status tod resultat issue resultado evento muerte esito decesso
        """
    )
)


def is_treatment(name: str) -> bool:
    """True if the name indicates a treatment: the arm of a trial, a programme, an exposure."""
    return _says(name, _TREATMENTS) or _says(name, frozenset({"group", "grp"}), is_whole_name=True)


def is_outcome(name: str) -> bool:
    """True if the name indicates an outcome."""
    return _says(name, _OUTCOMES)


def is_studied(name: str) -> bool:
    """True if a study is likely to be about the column."""
    return is_treatment(name) or is_outcome(name)


def _says(name: str, words: frozenset[str], *, is_whole_name: bool = False) -> bool:
    """Return whether the name, or one of its words, is among ``words``"""
    name_words = words_of(name)
    return (
        len(name_words) == 1 and name_words[0] in words
        if is_whole_name
        else any(word.rstrip("0123456789") in words for word in name_words)
    )
