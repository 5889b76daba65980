"""What the command line shows is what was written: no words are lost on the way to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.text import Text

from reticent.base.cards import Card
from reticent.cli.app import app
from reticent.cli.console import show_card
from reticent.release import methods_table


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def test_nothing_in_a_help_text_is_taken_for_markup() -> None:
    told = [
        (path, parameter.name, parameter.help)
        for path, command in commands(typer.main.get_command(app))
        for parameter in command.params
        if getattr(parameter, "help", None)
    ]
    assert len(told) > 300
    assert [each for each in told if Text.from_markup(each[2]).plain != each[2]] == []


def test_methods_that_are_compared_have_different_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def cost(loss: float, **more: str) -> dict[str, Any]:
        method = {"name": "Mondrian", "split": "loss", "values": "ranges", **more}
        return {
            "method": method,
            "loss": loss,
            "suppressed_columns": [],
            "left_out": 0,
            "uniform": False,
            "problem": None,
        }

    methods = [cost(0.094, effort="best"), cost(0.135)]
    compared = methods_table({"methods": methods, "chosen": 0, "rows": 10, "total": 10})
    show_card(Card("Compared", tables=[compared]))
    shown = capsys.readouterr().out
    assert "Mondrian ranges, loss, effort best (chosen)" in shown
    assert "Mondrian ranges, loss  " in shown


def options() -> list[tuple[tuple[str, ...], str, str]]:
    """Every option with its command and help text."""
    return [
        (path, name, parameter.help)
        for path, command in commands(typer.main.get_command(app))
        for parameter in command.params
        if getattr(parameter, "help", None)
        for name in parameter.opts
        if name.startswith("--")
    ]


def test_file_formats_layouts_and_group_sizes_have_one_spelling_each() -> None:
    assert {name for _, name, told in options() if "csv, parquet" in told} == {"--files"}
    assert {path for path, name, _ in options() if name == "--format"} == {("preview",), ("publish",)}
    assert {name for path, name, told in options() if path[:1] == ("index",) and "eople per" in told} == {"--k"}
    assert not {"--minimum", "--min-size", "--group-size", "--file-format", "--layout"} & {
        name for _, name, _ in options()
    }


def test_an_option_that_commands_share_means_the_same() -> None:
    """Budgets, ledgers, seeds, keys to sign with and engines are explained in the same words wherever they occur."""
    for name in ("--dataset", "--insecure-seed", "--engine", "--objective", "--suppression", "--format"):
        assert len({told for _, each, told in options() if each == name}) == 1, name
