"""Errors carry what they concern, through copies and between processes."""

from __future__ import annotations

import pickle

import pytest

from reticent import errors
from reticent.base.exact import exact, whole
from reticent.conditions import ConditionError
from reticent.errors import Cancelled, DataError, PolicyError, ReticentError

TREE = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ReticentError)]


@pytest.mark.parametrize("kind", TREE)
def test_fields_survive_pickling(kind):
    error = kind("no.") if kind is Cancelled else kind("no.", setting=("quasi_sets", 1), column="age", value=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "no."
    assert vars(again) == vars(error)


def test_an_error_with_arguments_of_its_own_survives_pickling():
    error = ConditionError("there is no column 'aeg'.", "aeg > 3", (0, 3))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.span, again.line, again.character) == (str(error), (0, 3), 1, 1)
    stopped = pickle.loads(pickle.dumps(Cancelled("Stopped.", "search")))
    assert stopped.stage == "search"


def test_a_place_is_added_once_and_everything_else_is_kept():
    error = DataError("no.", setting=("key",), column="id", value=7)
    placed = error.at("policy.toml:3:1", "  3 | key = 'id'")
    assert type(placed) is DataError
    assert str(placed) == "policy.toml:3:1: no.\n  3 | key = 'id'"
    assert (placed.setting, placed.column, placed.value) == (("key",), "id", 7)
    assert placed.placed
    assert not error.placed
    assert str(error) == "no."


def test_a_parameter_that_is_wrong_is_named_by_the_error():
    with pytest.raises(PolicyError) as caught:
        whole(0, "KAnonymity: k", low=1)
    assert (caught.value.setting, caught.value.value) == (("KAnonymity", "k"), 0)
    with pytest.raises(PolicyError) as caught:
        exact("3/0", "noise: epsilon")
    assert caught.value.setting == ("noise", "epsilon")
