"""``reticent attack --history``: what an adversary learns by tracking people through the releases of a series."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, tone_of
from reticent.cli.console import answer, working
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.attacks import Learned
    from reticent.base.context import Context
    from reticent.methods.series import SeriesVerdict

_EXAMPLES, _MANY = 3, 2_000


@dataclass(frozen=True)
class TrackingOptions:
    """A history of releases to attack."""

    history: Annotated[
        Path | None, typer.Option("--history", help="The folder of a history: track its people through all releases.")
    ] = None
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger", help="With --history: the ledger of the history (default: the one that it belongs to)."
        ),
    ] = None
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            help="With --history: exact (counts possible worlds), fixpoint (rules out values; any size), join (groups unknown). Default: exact for up to 2,000 people if the worlds can be counted, else fixpoint.",
        ),
    ] = None
    knows_change: Annotated[
        bool,
        typer.Option(
            "--knows-change/--no-knows-change", help="Whether the adversary sees that a sensitive value was updated."
        ),
    ] = True
    returns: Annotated[
        str,
        typer.Option(
            "--returns",
            help="Sensitive values of people who return: unknown, or unchanged if your series declares that.",
        ),
    ] = "unknown"
    person: Annotated[
        list[str] | None, typer.Option("--person", help="The key of a person to explain; repeat for several.")
    ] = None
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside",
            help="Also attack the same tables published with weaker protection: separate (each release on its own), m-invariance, tau.",
        ),
    ] = None
    page: Annotated[
        Path | None,
        typer.Option("--page", help="Write figures over time as an HTML page. Internal; do not publish it."),
    ] = None
    relative: Annotated[
        bool,
        typer.Option("--relative", help="With --page and --beside: draw ln(figure / figure of the weaker protection)."),
    ] = False

    def check(self, target: str | None, others: dict[str, Any]) -> None:
        """Refuse options that do not apply to the kind of target."""
        extra_options = [name for name, value in others.items() if value]
        if self.history is not None and (target is not None or extra_options):
            extra = "a release" if target is not None else extra_options[0]
            raise PolicyError(f"--history cannot be combined with {extra}. Remove it.")
        series_options = {
            "--mode": self.mode,
            "--ledger": self.ledger,
            "--person": self.person,
            "--beside": self.beside,
            "--page": self.page,
            "--returns": self.returns != "unknown",
            "--relative": self.relative,
        }
        series_given = [name for name, value in series_options.items() if value]
        if self.history is None and series_given:
            raise PolicyError(f"{series_given[0]} applies to a series of releases: add --history.")
        if self.relative and (self.page is None or self.beside is None):
            raise PolicyError("--relative compares two series on a page: add --page and --beside.")
        if self.history is None and target is None:
            raise PolicyError("Name what to attack: the folder of a release, a policy, or --history with a folder.")


def attack_history(options: TrackingOptions, as_json: bool) -> None:
    """Attack the history and print who is exposed."""
    from reticent.attacks import waiting
    from reticent.methods.series import History

    assert options.history is not None
    if not (options.history / "history.json").exists():
        raise PolicyError(f"{options.history} is not the folder of a history: it has no history.json.")
    with working("Tracking people ...", as_json) as context:
        history = History.open(options.history, ledger=options.ledger)
        series = history.series
        learned = {"this series": _learned(series, options, context)}
        if options.beside is not None:
            from reticent.attacks.tracking import republished

            weaker = republished(history, options.beside, context)
            learned[options.beside] = _learned(weaker, options, context)
        explained = _explanations(learned, options, series.m, context)
        if options.page is not None:
            drawn_series = {"this series": series} | ({options.beside: weaker} if options.beside else {})
            seconds = {"this series": [facts.get("seconds") for facts in history.facts()]}
            _write_page(learned, drawn_series, seconds, history.check(), options, context)
        waiting_people = waiting(history, context=context)
    limit = Fraction(1, series.m)
    own_learned = learned["this series"]
    figures: dict[str, Any] = {
        "m": series.m,
        "mode": own_learned.mode,
        "worlds": own_learned.worlds,
        "series": {name: _summary(learned_series, limit) for name, learned_series in learned.items()},
        "waiting": waiting_people.as_dict(),
        "people": explained,
        "page": options.page,
    }
    ok = own_learned.highest <= limit
    answer(PlainResult(figures, _card(figures, ok), ok), as_json)


def _learned(series: Any, options: TrackingOptions, context: Context) -> Learned:
    """Attack one series in the requested mode; by default exactly, or by the fixpoint if that is too much."""
    from reticent.attacks import series as attack_series

    def attacked(mode: Any) -> Learned:
        """Attack the series in one mode."""
        returns: Any = options.returns
        return attack_series(series, mode, options.knows_change, returns=returns, context=context)

    if options.mode is not None:
        return attacked(options.mode)
    if max((len(view.people) for view in series), default=0) > _MANY:
        return attacked("fixpoint")
    try:
        return attacked("exact")
    except PolicyError as refused:
        if refused.setting != ("mode",):
            raise
        return attacked("fixpoint")


def _summary(learned: Learned, limit: Fraction) -> dict[str, Any]:
    """Return what an adversary learned from a series in figures; ``above`` counts people with a chance above ``limit``."""
    return {
        "people": len(learned),
        "releases": len(learned.tracks.numbers),
        "disclosed": len(learned.disclosed),
        "narrowed": len(learned.narrowed),
        "above": len(learned.above(limit)),
        "highest": learned.highest,
    }


def _explanations(
    learned: dict[str, Learned], options: TrackingOptions, m: int, context: Context
) -> list[dict[str, Any]]:
    """Return, for each series, what is learned about the requested people, or about some of the most exposed."""
    from reticent.attacks.tracking import explain

    explained = []
    for name, one_learned in learned.items():
        chosen_people = (
            [_key(one_learned, text) for text in options.person] if options.person else _worst(one_learned, m)
        )
        for person in chosen_people:
            context.step("explaining")
            clues = explain(one_learned, person)
            explained.append(
                {
                    "series": name,
                    "person": person,
                    "releases": {number: dict(values) for number, values in one_learned[person].items()},
                    "reasons": [clue.as_dict() for clue in clues],
                }
            )
    return explained


def _worst(learned: Learned, m: int) -> list[Any]:
    """Return a few people to explain: disclosed ones first, then those above the limit."""
    above = learned.above(Fraction(1, m))
    return list(dict.fromkeys([*learned.disclosed[:_EXAMPLES], *above[:_EXAMPLES]]))[:_EXAMPLES]


def _key(learned: Learned, text: str) -> Any:
    """Return the key whose text is ``text``."""
    people = learned.tracks.people
    matching = people.filter(people.cast(str) == text)
    if not len(matching):
        raise PolicyError(
            f"No release contains the person {text!r}. Write the key exactly as in the key column.", value=text
        )
    return matching[0]


def _write_page(
    learned: dict[str, Learned],
    series: dict[str, Any],
    seconds_by_series: dict[str, list[float | None]],
    verdict: SeriesVerdict,
    options: TrackingOptions,
    context: Context,
) -> None:
    """Measure every series and write the page of figures over time."""
    from reticent.reports import measure_series, write_series_page

    measured = {
        name: measure_series(series[name], learned_series, seconds=seconds_by_series.get(name), context=context)
        for name, learned_series in learned.items()
    }
    assert options.page is not None
    assert options.history is not None
    title = options.history.resolve().name
    write_series_page(measured, options.page, title, verdict=verdict, relative=options.relative)


def _card(figures: dict[str, Any], ok: bool) -> Card:
    """Return the card: who is exposed in each series, and what is learned about some people."""
    from reticent.attacks.tracking import WORDS

    rows = [
        (
            WORDS.get(name, name),
            exposure["people"],
            exposure["releases"],
            exposure["disclosed"],
            exposure["narrowed"],
            exposure["above"],
            f"{float(exposure['highest']):.3g} ({exposure['highest']})",
        )
        for name, exposure in figures["series"].items()
    ]
    heads = ("series", "people", "releases", "disclosed", "narrowed", f"above 1/{figures['m']}", "greatest chance")
    notes = ["Disclosed: the value is certain. Narrowed: at least one value of the published group is ruled out."]
    for person in figures["people"]:
        lines = [f"{person['person']} in {WORDS.get(person['series'], person['series'])}:"]
        lines += [f"  - {clue['text']}" for clue in person["reasons"]] or ["  - No value can be ruled out."]
        for number, values in person["releases"].items():
            chances = ", ".join(f"{value} {float(chance):.0%}" for value, chance in values.items())
            lines.append(f"  Release {number}: {chances}")
        notes.append("\n".join(lines))
    if figures["page"] is not None:
        notes.append(f"The figures over time are in {figures['page']} (internal; do not publish).")
    waiting_figures = figures["waiting"]
    if waiting_figures["waited"]:
        notes.append(
            f"Not covered by the claim: an adversary who also knows who waited in releases {', '.join(map(str, waiting_figures['waited']))} is certain of {waiting_figures['disclosed']:,} values; the greatest chance is "
            f"{float(waiting_figures['highest']):.3g}. With balance = 'blocks' nobody waits."
        )
    title = "No sensitive value has" if ok else "Some sensitive values have"
    exposed = CardTable(heads, rows, "Exposure to an adversary who tracks people (internal; do not publish)")
    return Card(f"{title} a chance above 1/{figures['m']}.", tone=tone_of(ok), tables=[exposed], notes=notes)
