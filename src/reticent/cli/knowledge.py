"""``reticent knowledge``: worst-case disclosure by background knowledge, the worst facts, and what-if."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, shown, tone_of
from reticent.cli.console import Json, answer, working
from reticent.cli.options import QuasiOption, SensitiveOption, add_group, table_or_release
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from fractions import Fraction

    from reticent.knowledge import Explanation, Subject
    from reticent.release import PublicSide
    from reticent.table import Table

ThresholdOption = Annotated[
    str | None, typer.Option("--c", help="The belief that must not be reached, such as 0.6 or 2/3.")
]
FactsOption = Annotated[str, typer.Option("--k", help="How many facts, such as 3; for a curve also 0..10.")]
_MOST_FACTS = 10_000

LIMITS = (
    "One sensitive column; certain facts only, no probabilities; each release is judged on its own; every assignment of a "
    "group's values to its people counts as equally likely."
)


@dataclass(frozen=True)
class SubjectOptions:
    """Options that name the table or the release to measure."""

    source: Annotated[
        str,
        typer.Argument(
            help="A policy (.toml), the folder of a release, or a data file together with --quasi and --sensitive."
        ),
    ]
    quasi: QuasiOption = None
    sensitive: SensitiveOption = None
    level: Annotated[
        list[str] | None, typer.Option("--level", help="Measure a quasi-identifier at a level of its hierarchy: age=3.")
    ] = None

    def open(self, key: str | None = None) -> Table | PublicSide:
        """Return the table, or the public side of the release."""
        return table_or_release(self.source, self.quasi, self.sensitive, key)

    def subject(self) -> tuple[Subject, Table | PublicSide]:
        """Return the subject of the measurement, and the table or release that it was made from."""
        from reticent.knowledge import Subject
        from reticent.table import Table

        table_or_release = self.open()
        if isinstance(table_or_release, Table):
            return Subject.of(table_or_release, self.levels(), self.sensitive), table_or_release
        if self.level or self.quasi:
            raise PolicyError("A release is measured as published: remove --level and --quasi.")
        return Subject.of(table_or_release, column=self.sensitive), table_or_release

    def levels(self) -> dict[str, int]:
        """Return the level of each column named by --level."""
        level_of_column = {}
        for option_value in self.level or []:
            name, _, number = option_value.rpartition("=")
            if not name or not number.isdecimal():
                raise PolicyError(f"--level must look like age=3, but it is {option_value!r}.")
            level_of_column[name] = int(number)
        return level_of_column

    def threshold(self, c: str | None) -> Fraction | None:
        """Return the belief limit given by --c, or else by the policy's definition."""
        from reticent.worst_case import as_probability

        if c is not None:
            return as_probability(c)
        if not self.source.endswith(".toml"):
            return None
        from reticent.definitions import WorstCaseKnowledge
        from reticent.policy import Policy

        promised = [
            definition
            for definition in Policy.read(self.source).definitions
            if isinstance(definition, WorstCaseKnowledge)
        ]
        return min((definition.threshold for definition in promised), default=None)

    def required_threshold(self, c: str | None) -> Fraction:
        """Return the belief limit; raise if neither --c nor the policy gives one."""
        threshold = self.threshold(c)
        if threshold is None:
            raise PolicyError("Pass the belief that must not be reached, such as --c 0.6.")
        return threshold


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "knowledge",
        "Worst-case background knowledge: the highest belief of an adversary who knows k facts about people.",
        {
            "curve": curve,
            "explain": explain,
            "whatif": whatif,
            "breaking-point": breaking_point,
            "monitor": monitor,
        },
    )


def curve(
    about: SubjectOptions,
    k: FactsOption = "0..12",
    c: ThresholdOption = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Draw both curves: .svg, .png, .json, or .html with a slider.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the highest belief of an adversary who knows 0, 1, 2 ... facts. With --c, exits with 1 if that belief is
    reached.

    Example: reticent knowledge curve release/ --k 0..10 --c 0.6 --chart curve.svg
    """
    from reticent.knowledge import save_chart
    from reticent.worst_case import certainty_point, negation_curve
    from reticent.worst_case import curve as measured

    with working("Computing worst-case beliefs ...", as_json):
        subject, table_or_release = about.subject()
        largest_k, threshold = most_facts(k), about.threshold(c)
        beliefs, negation_beliefs = measured(subject.buckets, largest_k), negation_curve(subject.buckets, largest_k)
        figures: dict[str, Any] = {
            "k": largest_k,
            "curve": beliefs,
            "negation_curve": negation_beliefs,
            "disclosure": beliefs[-1],
            "certainty_point": certainty_point(subject.buckets),
            **_threshold_figures(threshold, beliefs, subject),
            **_subject_figures(subject, table_or_release),
        }
        if chart is not None:
            figures["chart"] = save_chart(
                chart, beliefs, negation_beliefs, threshold, f"{subject.sensitive}: {Path(about.source).name}"
            )
    answer(PlainResult(figures, _curves(figures), threshold is None or beliefs[-1] < threshold), as_json)


def explain(
    about: SubjectOptions,
    k: FactsOption = "1",
    c: ThresholdOption = None,
    as_json: Json = False,
) -> None:
    """Show the worst k facts in words, the groups they concern, the resulting belief, and the same for negated facts
    (l-diversity).

    Example: reticent knowledge explain release/ --k 2
    """
    with working("Searching for the worst facts ...", as_json):
        subject, table_or_release = about.subject()
        threshold = about.threshold(c)
        explanation = subject.explain(most_facts(k))
        figures = {
            "k": explanation.k,
            "c": threshold,
            "disclosure": explanation.disclosure,
            "facts": explanation.facts(),
            "conclusion": explanation.conclusion(),
            "groups_attacked": [
                {"group": group, "description": text, "histogram": histogram}
                for group, text, histogram in explanation.attacked()
            ],
            "replayed": explanation.replayed(),
            "negations": {
                "disclosure": explanation.negations.disclosure,
                "facts": explanation.facts(negations=True),
                "conclusion": explanation.conclusion(negations=True),
            },
            **_subject_figures(subject, table_or_release),
        }
    ok = threshold is None or explanation.disclosure < threshold
    answer(PlainResult(figures, _explained(explanation), ok), as_json)


def whatif(
    about: SubjectOptions,
    know: Annotated[
        list[str] | None,
        typer.Option("--know", help="A fact: 'Ed=flu', '!Ed=flu', 'Hannah=flu -> Charlie=flu', 'Ed in {flu, gout}'."),
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask", help="The statement to evaluate: 'Charlie=flu' (default: the one with the highest belief)."
        ),
    ] = None,
    people: Annotated[
        str | None, typer.Option("--people", help="For a release: a file with names and the quasi-identifiers.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The column of names.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Work allowed for an exact answer.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The random seed of the estimate when --budget is exceeded.")] = 0,
    as_json: Json = False,
) -> None:
    """Compute the belief of an adversary who knows exactly these facts. Exits with 1 if they contradict the release.

    Example: reticent knowledge whatif policy.toml --know "Hannah=flu -> Charlie=flu" --ask Charlie=flu
    """
    from reticent.io import Source as DataSource
    from reticent.knowledge import what_if
    from reticent.worst_case import BUDGET

    with working("Counting possible worlds ...", as_json) as context:
        table_or_release = about.open(key)
        candidates = DataSource(people).read(None) if people is not None else None
        outcome = what_if(
            table_or_release,
            know or [],
            ask,
            candidates,
            key=key,
            column=about.sensitive,
            levels=about.levels(),
            private=private_lists(about.source),
            budget=budget if budget is not None else BUDGET,
            seed=seed,
            context=context,
        )
    figures = {
        "asked": outcome.asked,
        "posterior": outcome.posterior,
        "prior": outcome.prior,
        "cost": outcome.cost,
        "costs": [{"fact": fact, "cost": cost} for fact, cost in outcome.costs],
        "contradiction": outcome.contradiction,
        "exact": outcome.exact,
        "interval": outcome.interval,
        "confidence": outcome.confidence,
    }
    answer(PlainResult.saying(outcome.sentence(), figures, outcome.posterior is not None), as_json)


def breaking_point(
    about: SubjectOptions,
    c: ThresholdOption = None,
    as_json: Json = False,
) -> None:
    """Compute how many facts are needed to reach the belief --c, and how many for certainty.

    Example: reticent knowledge breaking-point release/ --c 0.6
    """
    from reticent.worst_case import breaking_point as broken_at
    from reticent.worst_case import certainty_point

    with working("Counting the facts needed ...", as_json):
        subject, table_or_release = about.subject()
        threshold = about.required_threshold(c)
        figures = {
            "c": threshold,
            "breaking_point": broken_at(subject.buckets, threshold),
            "certainty_point": certainty_point(subject.buckets),
            **_subject_figures(subject, table_or_release),
        }
    answer(PlainResult.saying(_breaking_points_text(figures), figures), as_json)


def monitor(
    about: SubjectOptions,
    add: Annotated[str | None, typer.Option("--add", help="A file with the new rows.")] = None,
    k: FactsOption = "1",
    c: ThresholdOption = None,
    as_json: Json = False,
) -> None:
    """Check whether the table stays safe as new rows arrive. Warns at the first row that makes it unsafe, and then
    exits with 1.

    Example: reticent knowledge monitor policy.toml --level age=3 --add new.csv --k 2 --c 0.6
    """
    from reticent.knowledge import watch

    with working("Adding rows ...", as_json):
        table_or_release = about.open()
        threshold = about.required_threshold(c)
        arriving, outside = arrivals(add, about.source)
        outcome = watch(table_or_release, arriving, threshold, most_facts(k), levels=about.levels())
    figures = {
        "k": len(outcome.after.curve) - 1,
        "c": threshold,
        "before": {"holds": outcome.before.holds, "disclosure": outcome.before.disclosure},
        "after": {"holds": outcome.after.holds, "disclosure": outcome.after.disclosure, "margin": outcome.after.margin},
        "rows_added": outcome.rows,
        "rows_outside": outside,
        "first_unsafe_row": outcome.first_unsafe_row,
    }
    answer(PlainResult.saying(outcome.sentence(), figures, outcome.after.holds), as_json)


def most_facts(k: str) -> int:
    """Return the largest number of facts in ``3`` or ``0..10``."""
    low, dots, high = k.partition("..")
    if not low.strip().isdecimal() or (dots and (not high.strip().isdecimal() or int(low) != 0)):
        raise PolicyError(f"--k must be a number of facts such as 3, or a range from 0 such as 0..10, but it is {k!r}.")
    most = int(high if dots else low)
    if most > _MOST_FACTS:
        raise PolicyError(f"--k must be at most {_MOST_FACTS:,}: more facts change nothing. It is {k}.")
    return most


def private_lists(source: str) -> dict[str, Any]:
    """Return the steward's lists of people, if the release folder still has its private files."""
    import polars as pl

    folder = Path(source) / "private"
    files = {name: folder / f"{name}.parquet" for name in ("people", "pseudonyms")}
    return {name: pl.read_parquet(file) for name, file in files.items() if file.is_file()}


def arrivals(add: str | None, source: str) -> tuple[Any, int]:
    """Return the new rows, recoded if they join a release, and how many match none of its groups."""
    from reticent.io import Source as DataSource

    if add is None:
        return None, 0
    rows = DataSource(add).read(None)
    if not Path(source).is_dir():
        return rows, 0
    from reticent.release import apply

    recoded = apply(source, rows, unseen="suppress")
    return recoded, rows.height - recoded.height


def _subject_figures(subject: Subject, table_or_release: Table | PublicSide) -> dict[str, Any]:
    """Return what a measurement is about: the sensitive column, groups, rows and limits."""
    from reticent.table import Table

    notes = [LIMITS]
    if isinstance(table_or_release, Table) and table_or_release.key is None:
        notes.append("No key was declared: each row counts as one person.")
    return {
        "sensitive": subject.sensitive,
        "groups": len(subject.groups),
        "rows": int(subject.groups.sizes.sum()),
        "notes": notes,
    }


def _threshold_figures(threshold: Fraction | None, beliefs: list[Fraction], subject: Subject) -> dict[str, Any]:
    """Return whether the beliefs stay below a threshold, by how much, and how many facts reach it."""
    from reticent.worst_case import breaking_point as broken_at

    if threshold is None:
        return {"c": None}
    return {
        "c": threshold,
        "holds": beliefs[-1] < threshold,
        "margin": threshold - beliefs[-1],
        "breaking_point": broken_at(subject.buckets, threshold),
    }


def _curves(figures: dict[str, Any]) -> Card:
    """Return the card of both curves: the highest belief by the number of facts known."""
    curves = zip(figures["curve"], figures["negation_curve"], strict=True)
    rows = [(str(facts), any_facts, negations) for facts, (any_facts, negations) in enumerate(curves)]
    if figures["c"] is not None:
        verdict = "holds" if figures["holds"] else "does NOT hold"
        verdict_sentence = (
            f"Below {shown(figures['c'])} with {figures['k']} facts: {verdict} (margin {shown(figures['margin'])}). "
        )
        verdict_sentence += _breaking_points_text(figures)
    else:
        verdict_sentence = f"{_facts(figures['certainty_point'], 'makes', 'make')} an adversary certain."
    return Card(
        f"Highest belief in a person's {figures['sensitive']} ({figures['groups']:,} groups, {figures['rows']:,} people)",
        tone=tone_of(figures.get("holds")),
        tables=[CardTable(("facts known", "any facts", "'does not have' facts only"), rows)],
        notes=[verdict_sentence, *figures["notes"]],
    )


def _explained(explanation: Explanation) -> Card:
    """Return the card of the worst facts: what they are, which groups they concern, and what follows."""
    facts = explanation.facts()
    rows = [
        (str(group), text, ", ".join(f"{value} {count}" for value, count in histogram.items()))
        for group, text, histogram in explanation.attacked()
    ]
    replayed = (
        f"Replayed in the exact solver: {explanation.replayed()}. An adversary who only rules out values reaches {explanation.negations.disclosure}: "
        f"{'; '.join(explanation.facts(negations=True)) or 'without any facts'}."
    )
    return Card(
        (f"The worst {explanation.k} facts:" if explanation.k > 1 else "The worst fact:")
        if facts
        else "Without any facts:",
        tables=[CardTable(("group", "who", "values"), rows, "The groups concerned (internal; do not publish)")],
        sentences=[*(f"  - {fact}" for fact in facts), f"Then {explanation.conclusion()}."],
        notes=[replayed],
    )


def _breaking_points_text(figures: dict[str, Any]) -> str:
    """Return in words how many facts reach the limit, and how many make certain."""
    broken = figures["breaking_point"]
    certain = figures["certainty_point"]
    reached = (
        "more facts than were computed are needed to reach" if broken is None else _facts(broken, "reaches", "reach")
    )
    return f"{reached} {shown(figures['c'])}; {_facts(certain, 'makes', 'make')} an adversary certain."


def _facts(number: int, one_verb: str, many_verb: str) -> str:
    """Return a number of facts with their verb, in the singular or the plural."""
    return f"1 fact {one_verb}" if number == 1 else f"{number} facts {many_verb}"
