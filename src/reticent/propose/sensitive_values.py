"""Values that are sensitive regardless of the column name: test results, codes of diagnoses and drugs, amounts of money, grades, opinions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from reticent.propose.vocabulary import Kind, kinds_of
from reticent.propose.vocabulary.kinds import folded

_RESULT = Kind("health", "a test result", topic=True)
_DIAGNOSIS = Kind("health", "codes of diagnoses", topic=True)
_DRUG = Kind("health", "codes of drugs", topic=True)
_MEASURED = Kind("health", "codes of clinical findings", topic=True)
_FATE = Kind("health", "a patient's condition", topic=True)
_FINDING = Kind("health", "a finding", topic=True)
_ARM = Kind("health", "a treatment", topic=True)
_AMOUNT = Kind("money", "an amount of money")
_GRADE = Kind("achievement", "a score or grade")
_OPINION = Kind("opinion", "an opinion or feeling", topic=True)
_LEFT_WORK = Kind("achievement", "performance at work")


def _words(text: str) -> frozenset[str]:
    return frozenset(folded(word).replace("_", " ") for word in text.split())


_POLAR = (
    _words("positive pos positiv positif positivo positiva positief pozytywny dodatni положительный 阳性 陽性 ايجابي חיובי reactive detected"),
    _words("negative neg negativ negatif negativo negativa negatief negatywny ujemny отрицательный 阴性 陰性 سلبي שלילי nonreactive non-reactive not_detected undetected"),
)  # fmt: skip
_BETWEEN = _words("indeterminate inconclusive equivocal invalid borderline pending unknown uncertain na n/a - ? unklar weak_positive trace not_tested untested not_done missing")  # fmt: skip
_FATES: Sequence[frozenset[str]] = (
    _words("alive dead"),
    _words("alive died"),
    _words("alive deceased"),
    _words("survived died"),
    _words("benign malignant"),
    _words("patient control"),
    _words("case control"),
    _words("lebend verstorben"),
    _words("lebt verstorben"),
    _words("vivant decede"),
    _words("vivo muerto"),
    _words("vivo fallecido"),
    _words("vivo deceduto"),
    _words("levend overleden"),
    _words("zyje zmarl"),
    _words("levande avliden"),
    _words("жив умер"),
    _words("生存 死亡"),
)
_DEAD = _words(
    "dead died deceased verstorben gestorben decede muerto fallecido deceduto obito overleden zmarl avliden умер 死亡"
)
_NORMAL = _words(
    "normal norm abnormal pathologisch auffallig anormal normale anormale normaal abnormaal prawidlowy nieprawidlowy normalt onormalt норма 正常 异常 異常 طبيعي תקין"
)
_UNTREATED = _words(
    "control controls placebo kontrolle kontrollgruppe temoin controle controllo kontrola kontroll контроль 对照 対照"
)
_MOST_ARMS, _MOST_FINDINGS = 6, 12
_OPINIONS = re.compile(
    r"\b(?:agree|disagree|satisfied|dissatisfied|unsatisfied|approve|disapprove|(?:un)?important|(?:un)?happy|too (?:little|much)|about right|trust|favou?r|oppose"
    r"|likely|unlikely|stimme|zufrieden|unzufrieden|d'accord|satisfait|de acuerdo|satisfecho|d'accordo|soddisfatto|concordo|satisfeito|eens|oneens|tevreden|zgadzam|zadowolon\w+|nojd)\b"
)
_DISMISSED = _words(
    "fired dismissed terminated laid_off sacked redundant promoted demoted resigned entlassen gekundigt befordert licencie promu despedido ascendido licenziato promosso demitido "
    "promovido ontslagen bevorderd zwolniony awansowany uppsagd befordrad"
)
_LETTER_GRADE = r"^[A-F][+-]?$"
_MOSTLY_MARKS = 0.75
"""Besides marks there are letters for students who withdrew or did not finish."""

_MONEY = r"^\s*(?:-?\(?(?:US|CA|AU|R)?[$€£¥₹₽₪]|(?:USD|EUR|GBP|CHF|PLN|SEK|BRL|JPY|CNY)\b)\s?-?\d|^-?\d[\d.,' ]*\s?(?:[$€£¥₹₽₪]|USD|EUR|GBP|CHF|PLN|zł|kr|руб\.?|元|円)\s*$"
_ICD_10 = r"^[A-TV-Z]\d[0-9AB]\.[0-9A-Z]{1,4}[+*!]?$"
_ICD_9 = r"^(?:\d{3}|[VE]\d{2,3})(?:\.\d{1,2})?$"
_ATC = r"^[A-DGHJ-NPRSV]\d{2}[A-Z]{2}\d{2}$"
_LOINC = r"^\d{1,5}-\d$"
_TOLD_BY_LEVELS = {
    "health": "a patient's condition",
    "crime": "an offence",
    "religion": "a religion",
    "politics": "a party or a vote",
    "sexuality": "sexual life",
}
_SHARE, _ENOUGH, _TRIED = 0.8, 3, 200
_FEW_LEVELS = 40
_SNOMED = range(6, 19)


def kind_of_values(sample: pl.Series, labels: Sequence[str] = ()) -> Kind | None:
    """Return the kind of sensitive value that most values, or the ``labels`` of codes, belong to."""
    if sample.dtype.is_integer():
        return _labelled(labels) or (_MEASURED if _are_snomed(sample) else None)
    if sample.dtype != pl.String or not len(sample):
        return _labelled(labels)
    text = sample.str.strip_chars()
    if len(text) <= _FEW_LEVELS and (kind := _labelled(text.to_list())) is not None:
        return kind
    if _mostly(text, _MONEY):
        return _AMOUNT
    if len(text) < _ENOUGH:
        return None
    for pattern, kind in _CODES.items():
        if _mostly(text, pattern):
            return kind
    if _mostly(text, _ICD_9) and text.str.contains(r"^[VE]\d{2}").any() and text.str.contains(r"\.").any():
        return _DIAGNOSIS
    if _mostly(text, _LOINC) and _share(text, _right_loinc) >= _SHARE:
        return _MEASURED
    return None


_CODES: Mapping[str, Kind] = {_ICD_10: _DIAGNOSIS, _ATC: _DRUG}


def _labelled(values: Sequence[str]) -> Kind | None:
    """Return the kind indicated by the few levels of a category."""
    levels = {folded(value).strip() for value in values} - {""}
    if not 2 <= len(levels) <= _FEW_LEVELS:
        return None
    positive, negative = ({level for level in levels if level in pole} for pole in _POLAR)
    if positive and negative and levels - positive - negative <= _BETWEEN:
        return _RESULT
    if any(levels == fate or levels == fate | {"unknown"} for fate in _FATES):
        return _FATE
    if levels & _DEAD and len(levels) <= _MOST_ARMS:
        return _FATE
    if levels & _NORMAL and len(levels) <= _MOST_FINDINGS:
        return _FINDING
    if levels & _UNTREATED and len(levels) <= _MOST_ARMS:
        return _ARM
    marks = [value for value in values if re.fullmatch(_LETTER_GRADE, value.strip())]
    if len(marks) >= _MOSTLY_MARKS * len(values) and any("+" in v or "-" in v for v in marks):
        return _GRADE
    if levels & _DISMISSED:
        return _LEFT_WORK
    if (language_kind := _spoken_of(values)) is not None:
        return language_kind
    opinions = sum(bool(_OPINIONS.search(level)) for level in levels)
    return _OPINION if opinions >= 2 else None


def _spoken_of(values: Sequence[str]) -> Kind | None:
    """Return the kind that several levels, and at least a third of them, mention: illnesses, crimes, religions, parties."""
    meanings_of_values = [{kind.meaning for kind in kinds_of(value)} & _TOLD_BY_LEVELS.keys() for value in values]
    value_counts = Counter(meaning for meanings in meanings_of_values for meaning in meanings)
    meaning, most = max(value_counts.items(), key=lambda item: item[1], default=("", 0))
    return Kind(meaning, _TOLD_BY_LEVELS[meaning], topic=True) if most >= 2 and 3 * most >= len(values) else None


def _mostly(text: pl.Series, pattern: str) -> bool:
    return bool(text.str.contains(pattern).mean() >= _SHARE)  # type: ignore[operator]  # the mean of truth values is a float


def _share(text: pl.Series, right: Callable[[str], bool]) -> float:
    tried = text.head(_TRIED).to_list()
    return sum(map(right, tried)) / len(tried)


def _right_loinc(code: str) -> bool:
    """True if the check digit (Luhn) is valid."""
    digits = [int(c) for c in reversed(code) if c.isdigit()]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


def _are_snomed(sample: pl.Series) -> bool:
    """True if integers are SNOMED CT concept ids: long, of different lengths, with a valid check digit (Verhoeff),
    which one number in ten has by chance.
    """
    tested = [str(value) for value in sample.head(_TRIED).to_list() if value is not None]
    if len(tested) < 2 * _ENOUGH or not all(len(value) in _SNOMED and value.isdigit() for value in tested):
        return False
    concepts = all(value[-3:-1] in ("00", "10") for value in tested)
    return concepts and sum(map(_right_verhoeff, tested)) >= _SHARE * len(tested)


def _right_verhoeff(number: str) -> bool:
    """True if the last digit of a number is its check digit by Verhoeff's method."""
    check = 0
    for index, digit in enumerate(reversed(number)):
        check = _dihedral(check, _permuted(index % 8, int(digit)))
    return check == 0


def _dihedral(a: int, b: int) -> int:
    """Return the product of two elements (0 to 9) of the dihedral group of the pentagon, as Verhoeff's check digit
    needs it.
    """
    if a < 5:
        return (a + b) % 5 if b < 5 else (a + b) % 5 + 5
    return (a - b) % 5 + 5 if b < 5 else (a - b) % 5


def _permuted(times: int, digit: int) -> int:
    for _ in range(times):
        digit = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit]
    return digit
