"""Results show themselves: a line at a prompt, a card in a notebook, the same facts in both, and no markup from data."""

from __future__ import annotations

import json
from fractions import Fraction
from html.parser import HTMLParser

import polars as pl
import pytest
import typer

import reticent as rt
from reticent.attacks import Homogeneity, attack
from reticent.base.cards import Card, CardTable, PlainResult
from reticent.base.cards import shown as shown_value
from reticent.cli.console import answer, show_card

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def table() -> rt.Table:
    rows = pl.DataFrame(
        {
            "age": list(range(20, 60)),
            "sex": ["f", EVIL] * 20,
            "illness": ["flu", "cold", "asthma", "ulcer"] * 10,
            "note": [EVIL] * 40,
        }
    )
    quasi = {"age": rt.Hierarchy.intervals([10, 20], domain=(0, 99)), "sex": None}
    return rt.Table(rows, quasi=quasi, sensitive="illness")


@pytest.fixture(scope="module")
def shown(table: rt.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("cards")
    definition = rt.KAnonymity(5) & rt.DistinctLDiversity(2)
    release = rt.publish(table, definition, ledger=folder / "ledger.sqlite")
    release.save(folder / "release")
    return {
        "Table": table,
        "Assessment": rt.assess(table, definition),
        "Search": rt.search(table, definition),
        "Preview": rt.preview(table, definition),
        "PreviewComparison": rt.compare(table, definition, [rt.Lattice(), rt.Mondrian(values="sets")]),
        "Release": release,
        "Verification": rt.verify(folder / "release"),
        "Findings": attack(release, Homogeneity())[0],
        "Inspection": rt.inspect(table.frame),
    }


KINDS = (
    "Table",
    "Assessment",
    "Search",
    "Preview",
    "PreviewComparison",
    "Release",
    "Verification",
    "Findings",
    "Inspection",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_one_short_line_at_a_prompt(shown: dict[str, object], kind: str) -> None:
    assert type(shown[kind]).__name__ == kind
    line = repr(shown[kind])
    assert line.startswith("<")
    assert line.endswith(">")
    assert "\n" not in line
    assert len(line) < 500
    assert " at 0x" not in line


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_card_in_a_notebook_and_data_are_not_markup(shown: dict[str, object], kind: str) -> None:
    html = shown[kind]._repr_html_()  # type: ignore[attr-defined]
    found = Tags(html)
    assert found.open == []
    assert "img" not in found.tags
    assert found.tags[0] == "div"


def test_the_card_and_the_line_say_the_same() -> None:
    card = Card(
        "Table",
        {"rows": 1234567, "loss": 0.123456, "safe": True, "name": "x" * 200},
        "bad",
        [CardTable(("a",), [(n,) for n in range(20)], "Numbers")],
        ["It is long."],
        ["Look at it."],
        ["A detail."],
    )
    assert card.line() == f"<Table: It is long; rows 1,234,567; loss 0.1235; safe yes; name {'x' * 89}…>"
    for text in (
        "1,234,567",
        "0.1235",
        "yes",
        "✗ Table",
        "and 8 more",
        "Numbers",
        "It is long.",
        "Look at it.",
        "A detail.",
    ):
        assert text in card.html()
    assert Card("Empty").line() == "<Empty>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "yes"),
        (1234, "1,234"),
        (Fraction(10, 19), "10/19 (0.5263)"),
        (Fraction(4), "4"),
        (0.000123456, "0.0001235"),
        (12345.6, "12,346"),
        (float("inf"), "inf"),
        ({"age": 0.25, "zip": 1}, "age: 0.25, zip: 1"),
        (("a", 2), "a, 2"),
    ],
)
def test_a_value_is_shown_for_people(value: object, text: str) -> None:
    assert shown_value(value) == text


def test_a_terminal_shows_details_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    card = Card(
        "Title",
        {"a_fact": 1234},
        tables=[CardTable(("head",), [(EVIL,)], "Shown"), CardTable(("head",), [(1,)], "Folded", detail=True)],
        sentences=["[bold]A sentence[/bold]"],
        notes=["A note"],
        more=["Another note"],
    )
    show_card(card)
    short = capsys.readouterr().out
    show_card(card, details=True)
    whole = capsys.readouterr().out
    for text in ("Title", "a fact", "1,234", "[bold]A sentence[/bold]", "Shown", EVIL, "A note"):
        assert text in short
        assert text in whole
    assert "1 more note: --details" in short
    for text in ("Folded", "Another note"):
        assert text not in short
        assert text in whole


def test_the_exit_code_is_whether_the_result_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    answer(PlainResult.saying("Fine.", {"figure": Fraction(1, 3)}), as_json=True)
    assert json.loads(capsys.readouterr().out) == {"ok": True, "figure": "1/3"}
    with pytest.raises(typer.Exit) as left:
        answer(PlainResult.saying("Not fine.", {}, ok=False), as_json=False)
    assert left.value.exit_code == 1
    assert capsys.readouterr().out == "Not fine.\n"


def test_good_and_bad_news_have_their_signs(shown: dict[str, object]) -> None:
    assert "✓" in shown["Verification"]._repr_html_()  # type: ignore[attr-defined]
    assert "✗" in shown["Assessment"]._repr_html_()  # type: ignore[attr-defined]
