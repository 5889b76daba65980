"""A run that is stopped, at whichever step, leaves nothing behind: no folder, no spooled rows, no entry."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from reticent.attacks import attack
from reticent.base.context import Context
from reticent.baselines.datafly import Datafly
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.errors import Cancelled
from reticent.ledger import Ledger
from reticent.methods.lattice import Lattice, search
from reticent.methods.mondrian import Mondrian
from reticent.release import publish
from tests.release.conftest import table_of_patients
from tests.sampling import campaign


class Stopping:
    """Asks to stop the ``number``-th time that it is asked, and ever after."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked >= self.number


METHODS = [Lattice(), Lattice(suppression="0.2"), Lattice(strategy="exhaustive"), Mondrian(values="sets"), Datafly()]


@pytest.mark.parametrize("engine", ["local", "streaming"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{type(method).__name__}")
def test_stopping_at_any_step_leaves_nothing_behind(method, engine, ledger_file: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    definition = KAnonymity(2) & DistinctLDiversity(2)
    for number in count(1, 1 if campaign() else 3):
        stop = Stopping(number)
        table, context = table_of_patients(dataset="patients", engine=engine), Context(stop=stop, scratch=scratch)
        stopped = None
        try:
            made = publish(table, definition, method, context=context)
        except Cancelled as error:
            stopped = error
        if stopped is None:
            assert stop.asked < number
            assert number > 4
            assert made.certificate["ledger"]["release"] == 1
            return
        assert str(stopped).startswith("Stopped on request while ")
        assert str(stopped).endswith("Nothing was recorded and nothing was written.")
        assert stopped.exit_code == 130
        with Ledger(ledger_file) as ledger:
            assert not ledger.entries("patients")
        stopped = None
        assert list(scratch.iterdir()) == []


def test_a_search_says_how_far_it_is(ledger_file: Path) -> None:
    heard = []
    search(table_of_patients(), KAnonymity(2), context=Context(listen=heard.append))
    shares = [event.share for event in heard if event.stage == "searching"]
    assert shares == sorted(shares)
    assert all(0 <= share < 1 for share in shares)
    assert "generalizations looked at" in heard[-1].note


def test_every_stage_of_a_publication_is_told(ledger_file: Path) -> None:
    heard = []
    publish(
        table_of_patients(engine="streaming"),
        KAnonymity(2),
        Mondrian(values="sets"),
        context=Context(listen=heard.append),
    )
    stages = list(dict.fromkeys(event.stage for event in heard))
    assert stages == [
        "counting rows",
        "cutting groups",
        "sorting and writing rows",
        "recoding and sorting rows",
        "checking what the files show",
        "judging claims",
        "measuring",
        "recording",
    ]
    assert {event.total for event in heard if event.stage == "recoding and sorting rows"} == {12}


def test_a_search_that_is_stopped_says_what_it_was_doing() -> None:
    with pytest.raises(Cancelled, match="Stopped on request while searching"):
        search(table_of_patients(), KAnonymity(2), context=Context(stop=Stopping(4)))


def test_attacks_say_who_is_at_it_and_stop_when_asked() -> None:
    heard = []
    found = attack(table_of_patients(), context=Context(listen=heard.append))
    told = [event for event in heard if event.stage == "attacking"]
    assert [event.done for event in told] == list(range(len(found)))
    assert {event.total for event in told} == {len(found)}
    assert {event.note for event in told} == {each.adversary for each in found}
    with pytest.raises(Cancelled, match="Stopped on request while attacking"):
        attack(table_of_patients(), context=Context(stop=Stopping(3)))
