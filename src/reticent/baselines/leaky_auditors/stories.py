"""The three examples of leaking refusals: each attack against the leaky auditor, and against ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reticent.base.exact import whole
from reticent.baselines.leaky_auditors.attacks import Claims, drop_attack, equality_attack, parity_attack
from reticent.baselines.leaky_auditors.auditors import ChinGate, MixedGate, OppositeGate
from reticent.baselines.leaky_auditors.gates import AuditedGate, Gate


@dataclass(frozen=True)
class GateOutcome:
    """Outcome of an attack on one gate: queries, refusals, people exposed, and whether the attacker was right about them."""

    auditor: str
    asked: int
    refused: int
    exposed: int
    right: int

    @classmethod
    def of(cls, auditor: str, claims: Claims, values: Sequence[int]) -> GateOutcome:
        right = sum(values[person] == value for person, value in claims.values.items())
        return cls(auditor, claims.asked, claims.refused, len(claims.values), right)


@dataclass(frozen=True)
class Story:
    """One attack: its description, the number of people, and the outcome against either auditor."""

    name: str
    title: str
    text: str
    people: int
    leaky: GateOutcome
    ours: GateOutcome


def stories(people: int = 400, seed: int = 0) -> tuple[Story, ...]:
    """Run the three attacks on synthetic data about ``people`` people (at least 12), each against both auditors."""
    count = 4 * (whole(people, "people", low=12) // 4)
    generator = np.random.default_rng(seed)
    return (
        _maxima(count, generator, seed),
        _booleans(count, generator),
        _salaries(3 * (count // 3), generator),
    )


def _maxima(people: int, generator: np.random.Generator, seed: int) -> Story:
    """Tell the attack on denied maxima: a refusal shows who has the maximum."""
    values = generator.permutation(people).tolist()
    tuples = [range(start, start + 4) for start in range(0, people, 4)]
    return _told(
        "maxima",
        "The one who was left out",
        "Values are distinct. The attacker asks for the maximum of four people, then of three of them. An auditor that looks at the "
        "true answer refuses the three exactly when the fourth has the maximum. Ours refuses them whoever has it.",
        values,
        ChinGate(values),
        AuditedGate(values, duplicates=False),
        lambda gate: drop_attack(gate, tuples, seed),
    )


def _booleans(people: int, generator: np.random.Generator) -> Story:
    """Tell the attack on denied sums of 0 and 1: a refused pair has equal values."""
    values = generator.permutation(np.arange(people) % 2).tolist()
    return _told(
        "booleans",
        "Equal or not",
        "Values are 0 or 1. The auditor refuses whenever somebody would be without a person of opposite value in the same answered "
        "queries, so a refused pair is an equal pair; a chain of pairs and one last sum give the values away. Ours knows the bounds "
        "0 and 1 and refuses every exact sum.",
        values,
        OppositeGate(values),
        AuditedGate(values, lower=0, upper=1),
        lambda gate: parity_attack(gate, people),
    )


def _salaries(people: int, generator: np.random.Generator) -> Story:
    """Tell the attack on SUM, COUNT and MAX under one condition: a refusal shows that all values are equal."""
    values = (1000 * generator.integers(3, 6, people)).tolist()
    groups = [range(start, start + 3) for start in range(0, people, 3)]
    return _told(
        "salaries",
        "Sum, count, maximum",
        "The attacker asks for SUM, COUNT and MAX of a salary under one condition. An auditor that looks at the true answer refuses "
        "MAX exactly when all salaries are equal, namely SUM/COUNT. Ours locks the column to sums and refuses every MAX.",
        values,
        MixedGate(values),
        AuditedGate(values),
        lambda gate: equality_attack(gate, groups),
    )


def _told(
    name: str, title: str, text: str, values: list[int], leaky: Gate, ours: Gate, attack: Callable[[Gate], Claims]
) -> Story:
    """Run an attack against a leaky gate and against the audited one, and return both outcomes as a story."""
    outcomes = (
        GateOutcome.of(type(leaky).__name__, attack(leaky), values),
        GateOutcome.of(type(ours).__name__, attack(ours), values),
    )
    return Story(name, title, text, len(values), *outcomes)
