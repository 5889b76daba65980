"""``reticent demo``: the whole workflow on built-in data."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, PlainResult
from reticent.cli.console import Json, answer, console

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.demo import Step

_PAUSE = 0.9


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the files of the tour.")] = Path(
        "reticent-demo"
    ),
    patients: Annotated[int, typer.Option(help="How many patients the register has.", min=200)] = 4000,
    fast: Annotated[bool, typer.Option("--fast", help="Do not pause between the steps.")] = False,
    as_json: Json = False,
) -> None:
    """Run a guided tour: a hospital register is attacked, published, attacked again and verified.

    Example: reticent demo -o tour
    """
    from reticent.demo import Tour

    started = time.perf_counter()
    screen = None if as_json else console()
    steps: list[Step] = []
    tour = Tour(output, patients)
    if screen is not None:
        _greet(screen)
    for number, step in enumerate(tour.walk(), start=1):
        steps.append(step)
        if screen is not None:
            _show(screen, number, step)
            if not fast and sys.stdout.isatty():
                time.sleep(_PAUSE)
    figures = _figures(steps, output, time.perf_counter() - started)
    ok = figures.pop("ok")
    answer(PlainResult(figures, _farewell(output, figures["seconds"]), ok), as_json)


def _figures(steps: list[Step], output: Path, seconds: float) -> dict[str, Any]:
    """Return the steps of the tour as plain data, with whether it went as it should."""
    facts = {name: value for step in steps for name, value in step.facts.items()}
    return {
        "ok": facts["holds"] and not facts["tampered_holds"] and facts["refused"],
        "folder": output,
        "seconds": round(seconds, 2),
        "steps": [{"title": step.title, "found": step.found, **step.facts} for step in steps],
        "files": facts["files"],
    }


def _greet(screen: Console) -> None:
    """Print the title of the tour."""
    from rich.panel import Panel
    from rich.text import Text

    words = Text.assemble(
        ("Share data about people without giving anybody away.\n", "bold"),
        "A register is attacked, published, attacked again, and checked as any recipient can.",
    )
    screen.print(Panel(words, title="Reticent", title_align="left", border_style="cyan", padding=(1, 2)))


def _show(screen: Console, number: int, step: Step) -> None:
    """Print one step of the demonstration."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    heading = Text.assemble((f" {number} ", "bold reverse cyan"), "  ", (step.title, "bold"))
    screen.print()
    screen.rule(heading, align="left", style="cyan")
    screen.print(Padding(Text(step.why, style="dim"), (0, 2)))
    if step.rows:
        screen.print(Padding(_rows(step), (1, 2, 0, 2)))
    style = {"plain": "bold", "good": "bold green", "bad": "bold red"}[step.mood]
    screen.print(Padding(Text(step.found, style=style), (1, 2, 0, 2)))
    if step.notes:
        notes = Table.grid(padding=(0, 1))
        for note in step.notes:
            notes.add_row(Text("-", style="dim"), Text(note))
        screen.print(Padding(notes, (0, 2)))


def _rows(step: Step) -> Any:
    """Return the rows of a step as a rich table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    for column in step.columns:
        rich_table.add_column(column)
    for row in step.rows:
        rich_table.add_row(*(Text(cell) for cell in row))
    return rich_table


def _farewell(folder: Path, seconds: float) -> Card:
    """Return a card of commands to try on the files of the tour."""
    return Card(
        "\nTry next",
        sentences=[
            f"  reticent verify {folder}/release",
            f"  reticent query {folder}/release \"age >= 60 and diagnosis = 'stroke'\"",
            f"  reticent publish {folder}/policy.toml -o stricter --definition 'KAnonymity(20)' --ledger stricter.sqlite",
            "  reticent inspect YOUR-OWN-FILE.csv",
            f"  reticent workbench {folder}/policy.toml    (the same in your browser)",
        ],
        notes=[f"\n{seconds:.1f} seconds, all on this machine."],
    )
