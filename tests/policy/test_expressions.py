"""Definitions as people write them on a command line."""

from __future__ import annotations

import pytest

from reticent.definitions import (
    EntropyLDiversity,
    KAnonymity,
    NegativePositiveDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from reticent.errors import PolicyError
from reticent.policy import definition_from_text


def test_what_is_written_is_what_is_meant() -> None:
    assert definition_from_text("KAnonymity(5)") == KAnonymity(5)
    both = definition_from_text(" KAnonymity(k=5) & RecursiveLDiversity(3/2, l=3, dont_care=['healthy']) ")
    assert both == KAnonymity(5) & RecursiveLDiversity("3/2", 3, dont_care=["healthy"])
    assert definition_from_text("TCloseness(0.2, distance='ordered')") == TCloseness("0.2", distance="ordered")


@pytest.mark.parametrize(
    "definition",
    [
        KAnonymity(5) & EntropyLDiversity("5/2"),
        RecursiveLDiversity("0.1", 4, column="disease"),
        NegativePositiveDiversity(3, 5, 2, dont_care=["a"], must_keep=["b"]),
    ],
    ids=str,
)
def test_what_a_definition_prints_can_be_read_again(definition: KAnonymity) -> None:
    text = " & ".join(
        f"{part.name}({', '.join(f'{name}={value!r}' for name, value in part.parameters().items())})"
        for part in definition.parts()
    )
    assert definition_from_text(text) == definition


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KAnonymity(5", "cannot be read: '(' was never closed"),
        ("KAnonimity(5)", "There is no definition 'KAnonimity'. Did you mean 'KAnonymity'?"),
        ("KAnonymity(5, 6)", "KAnonymity: quasi must be a list of quasi columns, but it is 6."),
        ("EntropyLDiversity(3, [], None, 4)", "EntropyLDiversity takes at most"),
        ("KAnonymity(5, k=5)", "KAnonymity: k is passed twice."),
        ("KAnonymity(open('x'))", "There is no definition 'open'"),
        ("KAnonymity(**{})", "'**' cannot be used here"),
        ("5", "'5' is not a definition"),
        ("KAnonymity(5) | KAnonymity(6)", "is not a definition"),
        ("__import__('os').system('true')", "is not a definition"),
        ("KAnonymity(0)", "KAnonymity: k must be at least 1, but it is 0."),
    ],
)
def test_nothing_else_is_read(text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        definition_from_text(text)
    assert message in str(caught.value)
