"""Transport inside a bucket, beside every way of giving out the values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reticent.methods.anatomy.bucket_pairs import fewest_pairs, most_pairs
from tests.oracles.utility_buckets import outcomes
from tests.sampling import examples


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[int], list[int], np.ndarray]:
    people = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    total = sum(people)
    cuts = sorted(draw(st.sets(st.integers(1, max(total - 1, 1)), max_size=2)) - {total})
    times = [high - low for low, high in zip([0, *cuts], [*cuts, total], strict=True)]
    meets = draw(
        st.lists(
            st.lists(st.booleans(), min_size=len(times), max_size=len(times)),
            min_size=len(people),
            max_size=len(people),
        )
    )
    return people, times, np.array(meets)


@examples(60)
@given(buckets())
def test_most_and_fewest_are_those_of_all_ways(bucket: tuple[list[int], list[int], np.ndarray]) -> None:
    people, times, meets = bucket
    if sum(people) > 6:
        people, times = people[:1], [people[0]]
        meets = meets[:1, :1]
    each = [kind for kind, size in enumerate(people) for _ in range(size)]
    values = [kind for kind, size in enumerate(times) for _ in range(size)]
    ways = outcomes(each, values, lambda person, value: bool(meets[person, value]))
    assert most_pairs(np.array(people), np.array(times), meets) == max(ways)
    assert fewest_pairs(np.array(people), np.array(times), meets) == min(ways)
