"""Random buckets for property tests: small counts with many ties, and a few large ones."""

from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import HealthCheck
from hypothesis import strategies as st

from tests.sampling import examples

counts = st.one_of(st.integers(1, 4), st.sampled_from([1, 2, 5, 8, 13, 40]))
histogram = st.lists(counts, min_size=1, max_size=7).map(tuple)
bucket_lists = st.lists(histogram, min_size=1, max_size=6)
varied_lists = st.lists(st.lists(counts, min_size=4, max_size=8).map(tuple), min_size=1, max_size=6)


def given(*arguments: Any, count: int = 60, **named: Any) -> Callable[[Any], Any]:
    """``hypothesis.given`` without a deadline: a busy machine is no counterexample."""
    steady = examples(count, suppress_health_check=[HealthCheck.too_slow])
    return lambda test: steady(hypothesis.given(*arguments, **named)(test))
