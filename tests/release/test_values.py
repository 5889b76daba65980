"""The one way JSON is written: that of Python's own writer with an indent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.release.values import readable
from tests.sampling import examples

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@examples(300)
@given(VALUES)
def test_json_is_laid_out_as_python_lays_it_out(value):
    expected = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    try:
        expected.encode()
    except UnicodeEncodeError:
        # Half a character is no text.
        with pytest.raises(UnicodeEncodeError):
            readable(value)
    else:
        assert readable(value) == expected.encode() + b"\n"


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}])
def test_what_json_cannot_hold_is_not_written(value):
    with pytest.raises(ValueError, match="Out of range"):
        readable(value)
