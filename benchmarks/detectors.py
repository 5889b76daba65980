"""What identifies people, under names that say nothing: how much of it is kept back, and how much else (`python -m benchmarks detectors`).

Columns are generated (`pip install faker 'reticent[detect]'`) in twenty languages, each called `c`. Found: the column is not proposed for publication. Given names were collected from
other countries than those marked "new". The columns of ../shared/data name nobody, so whatever is found there is a false alarm.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import polars as pl
from faker import Faker

from benchmarks.adult import SHARED
from benchmarks.first_hour import FILES
from reticent.io import Source
from reticent.propose import propose
from reticent.propose.identifier_patterns import full_names, hidden_identifier, identifying_pattern

LANGUAGES = [
    "en_US",
    "en_GB",
    "de_DE",
    "fr_FR",
    "es_ES",
    "it_IT",
    "nl_NL",
    "pl_PL",
    "pt_BR",
    "sv_SE",
    "cs_CZ",
    "fi_FI",
    "tr_TR",
]
NEW = ["de_AT", "fr_CA", "es_MX", "en_AU", "pt_PT", "nl_BE", "sk_SK", "es_CO", "en_NZ", "sl_SI"]
ROWS = 200
IDENTIFYING: dict[str, Callable[[Faker], str]] = {
    "e-mail": lambda fake: fake.email(),
    "telephone": lambda fake: fake.phone_number(),
    "name": lambda fake: fake.name(),
    "given name": lambda fake: fake.first_name(),
    "street": lambda fake: fake.street_address(),
    "address": lambda fake: fake.address().replace("\n", ", "),
    "identity number": lambda fake: fake.ssn(),
    "iban": lambda fake: fake.iban(),
    "url": lambda fake: fake.url(),
    "coordinates": lambda fake: f"{fake.latitude()}, {fake.longitude()}",
}
INSIDE = ("e-mail", "telephone", "name", "street", "iban", "url")
HARMLESS: dict[str, Callable[[Faker], str]] = {
    "colour": lambda fake: fake.color_name(),
    "month": lambda fake: fake.month_name(),
    "country": lambda fake: random.Random(fake.random_int()).choice(
        ["Germany", "France", "New Zealand", "South Africa", "United States", "San Marino"]
    ),
    "answer": lambda fake: fake.random_element(
        ["Strongly agree", "Agree", "Neutral", "Disagree", "Never married", "Some college"]
    ),
    "code": lambda fake: f"{fake.random_uppercase_letter()}{fake.random_int(10, 99)}",
    "age": lambda fake: str(fake.random_int(18, 90)),
    "job": lambda fake: fake.random_element(
        ["Sales Manager", "Nurse", "Civil Engineer", "Teacher", "Grant Writer", "Bill Collector"]
    ),
}
_SENTENCES = (
    "was seen again on Monday, please ask {} about the results",
    "left the ward early; contact is {} as before",
    "see {} for what was said in May",
)


def columns(languages: list[str], makers: dict[str, Callable[[Faker], str]]) -> Iterator[tuple[str, str, list[str]]]:
    for language in languages:
        fake = Faker(language)
        fake.seed_instance(7)
        for kind, make in makers.items():
            yield language, kind, [make(fake) for _ in range(ROWS)]


def kept_back(values: list[str]) -> bool:
    """Whether a column under a name that says nothing is not published."""
    frame = pl.DataFrame({"c": values, "age": [20 + i % 40 for i in range(len(values))]})
    return propose(frame).columns[0].role in (None, "identifier")


def detected(values: pl.Series) -> bool:
    """Whether the detectors alone see something."""
    counts = values.drop_nulls().alias("value").value_counts(sort=True, name="times")
    sample = counts["value"]
    return (
        identifying_pattern(sample.head(2000)) is not None
        or hidden_identifier(sample, counts["times"]) is not None
        or full_names(sample.head(2000), len(values) - values.null_count())
    )


def main() -> None:
    """Print the shares."""
    for label, languages in (("languages of the list", LANGUAGES), ("new", NEW)):
        found: dict[str, list[bool]] = {}
        for _, kind, values in columns(languages, IDENTIFYING):
            found.setdefault(kind, []).append(kept_back(values))
            if kind in INSIDE:
                texts = [_SENTENCES[place % 3].format(value) for place, value in enumerate(values)]
                found.setdefault(f"{kind} inside a text", []).append(detected(pl.Series(texts)))
        for kind, hits in found.items():
            print(f"{label} | {kind} | {sum(hits)} of {len(hits)}", flush=True)
    alarms = [
        (language, kind) for language, kind, values in columns(LANGUAGES, HARMLESS) if detected(pl.Series(values))
    ]
    print(f"false alarms in generated columns: {len(alarms)} of {len(LANGUAGES) * len(HARMLESS)} {alarms}")
    tried, wrong = 0, []
    for name in FILES:
        frame = Source(str(SHARED / name)).read()
        for column in frame.columns:
            tried += 1
            if (frame[column].dtype == pl.String or frame[column].dtype.is_integer()) and detected(frame[column]):
                wrong.append((name, column))
    print(f"false alarms in shared data: {len(wrong)} of {tried} {wrong}")


if __name__ == "__main__":
    main()
