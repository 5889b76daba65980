"""How people and survey programs write that a value is not there, beyond the spellings that readers of files know.

Only wordings that say that no value was recorded are listed. "None", "no", "other", "refused", "does not know", "not
applicable" and "missing" are answers or states in many tables, and stay values.
"""

from __future__ import annotations

import polars as pl

_WORDINGS = (
    "no answer", "no response", "not stated", "not specified", "unspecified", "not reported", "not recorded", "not provided", "not given", "not available", "unknown", "not known", "unk", "no data", "<na>", "(blank)",
    "keine angabe", "keine angaben", "ohne angabe", "ohne angaben", "nicht angegeben", "nicht bekannt", "unbekannt", "#nv",
    "non renseigné", "non renseignée", "non renseigne", "non renseignee", "non précisé", "non précisée", "sans réponse", "inconnu", "inconnue", "non disponible",
    "sin respuesta", "no responde", "no contesta", "no consta", "sin dato", "sin datos", "sin información", "desconocido", "desconocida", "no disponible",
    "sconosciuto", "sconosciuta", "non indicato", "non disponibile", "senza risposta",
    "desconhecido", "desconhecida", "ignorado", "não informado", "nao informado", "sem resposta", "sem informação",
    "onbekend", "geen antwoord", "niet opgegeven", "brak danych", "brak odpowiedzi", "nieznany", "nieznana", "okänd", "okänt", "uppgift saknas", "ej angivet", "ukendt", "ukjent", "ei tietoa", "tuntematon",
    "неизвестно", "нет данных", "нет ответа", "не указано", "不明", "未知", "未填", "無回答", "回答なし", "غير معروف", "לא ידוע",
)  # fmt: skip
_ABBREVIATION = r"^(?:k\.\s?a\.?|n\.\s?a\.?|n\.\s?d\.?|o\.\s?a\.?|n/a|k/a|n/d|s/d|ns/nc|н/д)$"
"""Of two letters with a stop or a stroke between them; without one they are codes of countries and states."""
_INITIALS = r"^\p{L}[./]\s?\p{L}\.?$"
_LONGEST = 24


def missing_answers(values: pl.Series) -> list[str]:
    """Return the spellings among distinct ``values`` that say that none was recorded.

    Abbreviations such as ``n.a.`` count only where no other value has their form, as initials have, and nothing counts where no other value is left.
    """
    # Of many values, most are too long to be compared.
    short = values.filter(values.str.len_chars() <= _LONGEST)
    lowered = short.str.strip_chars().str.to_lowercase()
    worded = lowered.str.strip_chars(".").is_in(list(_WORDINGS))
    abbreviated = lowered.str.contains(_ABBREVIATION)
    if (lowered.str.contains(_INITIALS) & ~abbreviated).any():
        abbreviated = pl.repeat(False, len(short), eager=True)
    answers: list[str] = short.filter(worded | abbreviated).to_list()
    return answers if len(answers) < len(values) else []
