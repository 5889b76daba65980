"""The noise that parties really add against the law that is stated, and against a trusted curator's."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from reticent.noise.cost_plan import plan
from reticent.noise.laws import BinomialLaw, ExponentialLaw
from reticent.noise.protocol import PartyResult
from reticent.noise.tasks import JointTask
from tests.noise.rushing import Adversary, play
from tests.noise.test_central import chi_square

CELLS = 1500


def drawn(task: JointTask, adversary: Adversary) -> list[int]:
    """The noise of many cells without rows: everything that comes out."""
    ended = play(task, [[] for _ in range(task.parties)], adversary)
    found = next(iter(ended.values()))
    assert isinstance(found, PartyResult), found
    return list(found.numbers)


def fits(draws: list[int], law) -> bool:
    found, freedom = chi_square(draws, law)
    return abs(found - freedom) < 5 * math.sqrt(2 * freedom)


def task_of(law: str, **planned) -> JointTask:
    made = plan(1, "0.05", 4, 1, "histogram", law, **planned)
    return JointTask.of(made, "laws", CELLS)


class Constant(Adversary):
    """Deals coins that are all heads, hoping to push the noise up: public coins turn them."""

    def choose(self, me, item, outgoing, seen):
        return dict(outgoing)


@pytest.mark.parametrize("corrupt", [[], [2]])
def test_joint_binomial_noise_has_the_stated_law(corrupt, monkeypatch):
    task = replace(task_of("binomial"), quota=2)
    if corrupt:
        from reticent.noise import field as gf
        from reticent.noise import protocol

        true, calls = protocol._dealing, []

        def heads(task, rows, layout):
            calls.append(1)
            if len(calls) != 3:
                return true(task, rows, layout)
            with monkeypatch.context() as patched:
                patched.setattr(gf, "drawn_bits", lambda count: gf.drawn(count) * 0 + 1)
                return true(task, rows, layout)

        monkeypatch.setattr(protocol, "_dealing", heads)
    draws = drawn(task, Constant([], 0))
    assert fits(draws, BinomialLaw(8))
    assert not fits(draws, BinomialLaw(12))
    if corrupt:
        assert len(calls) == 4


def test_joint_exponential_noise_has_the_stated_law():
    planned = plan(1, "0.05", 4, 1, "histogram", "exponential")
    task = JointTask.of(planned, "laws", 600)
    draws = drawn(task, Constant([], 0))
    law = planned.published_law
    assert isinstance(law, ExponentialLaw)
    assert law.scale == Fraction(2)
    assert fits(draws, law)
    assert not fits(draws, ExponentialLaw(Fraction(4), law.width, law.precision))
