"""Output of all commands: one JSON object for programs, rich tables for people, and errors without tracebacks.

Command modules import nothing heavy at module level, so that ``reticent --help`` answers at once.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from reticent.base.cards import Card, Result, Tone, shown
from reticent.errors import ReticentError

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.base.context import Context, Event

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

Details = Annotated[bool, typer.Option("--details", help="Show all results, not only one screen.")]

HOLDS, DOES_NOT_HOLD, BAD_INPUT, INTERNAL_FAILURE = 0, 1, 2, 3
_SAFE_INTEGER = 2**53
_STYLES: Mapping[Tone, str] = {"good": "bold green", "doubtful": "bold yellow", "bad": "bold red", "plain": ""}
_MOMENT, _PATIENCE = 0.1, 1.0
_LOOK_FIRST = "If a release was being written, check for its folder before you try again: it is complete or absent; `reticent ledger list` shows what was recorded."


def console() -> Console:
    """Return the terminal for human-readable output."""
    from rich.console import Console

    return Console(highlight=False, markup=False, soft_wrap=False)


def answer(result: Result, as_json: bool, details: bool = False) -> None:
    """Print the result of a command: its plain data as one JSON object, or its card. The exit code is 0 if ``result.ok``, else 1."""
    if as_json:
        typer.echo(json.dumps(jsonable({"ok": result.ok, **result.as_dict()}), ensure_ascii=False, indent=2))
    else:
        show_card(result.card(), details)
    if not result.ok:
        raise typer.Exit(DOES_NOT_HOLD)


def show_card(card: Card, details: bool = False) -> None:
    """Print a card on the terminal; parts marked as details only if ``details`` is set."""
    screen, text = console(), card.title
    # Statements and tokens are copied from the terminal: they are not wrapped.
    screen.print(text, style=_STYLES[card.tone], soft_wrap="\n" in text or " " not in text)
    for sentence in card.sentences:
        screen.print(sentence)
    if card.facts:
        screen.print(table("", ("", ""), [(name.replace("_", " "), value) for name, value in card.facts.items()]))
    for card_table in card.tables:
        if card_table.rows and (details or not card_table.detail):
            screen.print(
                *([] if card_table.title else [""]),
                table(card_table.title, card_table.heads, card_table.rows),
                sep="\n",
            )
    notes = (*card.notes, *card.more) if details else card.notes
    if notes and (card.tables or card.facts):
        screen.print()
    for note in notes:
        screen.print(note)
    hidden = len(card.more)
    if hidden and not details:
        screen.print(f"{'1 more note' if hidden == 1 else f'{hidden} more notes'}: --details")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    """Return a rich table with a title; cells are not parsed as markup."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(header_style="dim", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=any(columns))
    for column in columns:
        rich_table.add_column(column, overflow="fold")
    for row in rows:
        rich_table.add_row(*(shown(cell) for cell in row))
    return Group("", Text(title, style="bold"), rich_table) if title else rich_table


def jsonable(value: Any) -> Any:
    """Return ``value`` with fractions as ``"10/19"``, integers beyond 2^53 as text, and numpy scalars as plain numbers."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if isinstance(value, Fraction | Path):
        return str(value)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    return str(value)


@contextmanager
def working(message: str, as_json: bool) -> Iterator[Context]:
    """Show progress of the block on a terminal, and let Ctrl-C stop it between two steps.

    Long computations receive the context; their events are shown as a percentage and an estimate of the remaining time
    where these are known. A first Ctrl-C ends the block with :class:`reticent.errors.Cancelled` at its next step; a
    second one, or one that no step follows within a second, interrupts it at once.
    """
    from reticent.base.context import Context

    with _Interrupts() as interrupts:
        if as_json or not sys.stderr.isatty():
            yield Context(stop=interrupts.asked)
            return
        with _Progress(message) as progress:
            yield Context(stop=interrupts.asked, listen=progress.show)


class _Interrupts:
    """Record whether Ctrl-C was pressed. Mutable: the signal handler sets it."""

    def __init__(self) -> None:
        self._pressed = False
        self._looked = float("-inf")
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def asked(self) -> bool:
        """Return whether to stop."""
        self._looked = time.monotonic()
        return self._pressed

    def _press(self, *_: object) -> None:
        if self._pressed or time.monotonic() - self._looked > _PATIENCE:
            raise KeyboardInterrupt
        self._pressed = True


class _Progress:
    """One progress line on the terminal: stage, percentage and remaining time. Mutable: it is redrawn with each event."""

    def __init__(self, message: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), text, BarColumn(), TextColumn("{task.fields[told]}", markup=False))
        self._drawn = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._task = self._drawn.add_task(message, total=None, told="")
        self._stage = message
        self._last = 0.0

    def __enter__(self) -> Self:
        self._drawn.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._drawn.stop()

    def show(self, event: Event) -> None:
        """Show an event; of several in quick succession, only the first."""
        now, same_stage = time.monotonic(), event.stage == self._stage
        if same_stage and now - self._last < _MOMENT:
            return
        self._last = now
        if not same_stage:
            self._stage = event.stage
            self._drawn.reset(self._task, description=f"{event.stage.capitalize()} ...", total=None, told="")
        share = event.share
        percentage = "" if share is None else f"{share:.0%}"
        note = f"{percentage} ({event.note})" if event.note else percentage
        self._drawn.update(self._task, total=None if share is None else 1.0, completed=share or 0.0, told=note)


@cache
def _command_of(app: typer.Typer) -> Any:
    """Return the click command of an app. Building it takes a tenth of a second."""
    return typer.main.get_command(app)


def run(app: typer.Typer) -> int:
    """Run the command line and turn every outcome into an exit code: 0, 1, 2, or 3 for an internal error."""
    as_json = "--json" in sys.argv
    for position, word in enumerate(sys.argv[1:], start=1):
        if not word.isascii() and any(0xD800 <= ord(character) < 0xE000 for character in word):
            readable = word.encode("utf-8", "replace").decode()
            _complain(
                "UsageError",
                f"Argument {position} ({readable!r}) is not valid UTF-8. Rename the file, or check the terminal's encoding.",
                as_json,
            )
            return BAD_INPUT
    try:
        code = _command_of(app)(standalone_mode=False)
        return code if isinstance(code, int) else HOLDS
    except ReticentError as error:
        _complain(type(error).__name__, str(error), as_json)
        return error.exit_code
    except typer.Abort:
        _complain("Aborted", f"Stopped before the end. {_LOOK_FIRST}", as_json)
        return BAD_INPUT
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    except KeyboardInterrupt:
        _complain("Interrupted", f"Stopped before the end. {_LOOK_FIRST}", as_json)
        return 130
    except Exception as error:
        if hasattr(error, "format_message"):
            _complain("UsageError", error.format_message(), as_json)
            return BAD_INPUT
        if isinstance(error, OSError):
            _complain(type(error).__name__, _os_message(error), as_json)
            return BAD_INPUT
        _complain(
            "InternalError",
            f"Internal error in Reticent: {type(error).__name__}: {error}. {_LOOK_FIRST} "
            "Please report this with the command that you ran; RETICENT_TRACEBACK=1 shows where it happened.",
            as_json,
        )
        return INTERNAL_FAILURE


def _os_message(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}. {_LOOK_FIRST}"


def _complain(kind: str, message: str, as_json: bool) -> None:
    """Print an error, with its traceback if RETICENT_TRACEBACK is set."""
    import os

    if os.environ.get("RETICENT_TRACEBACK") and sys.exc_info()[0] is not None:
        import traceback

        traceback.print_exc()
    if as_json:
        typer.echo(json.dumps({"ok": False, "error": {"kind": kind, "message": message}}, ensure_ascii=False, indent=2))
    else:
        typer.echo(f"{message}", err=True)
