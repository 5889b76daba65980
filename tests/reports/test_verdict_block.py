"""The first block of a page: the verdict, and every reason, the gravest in sight."""

import pytest

from reticent.release import Headline
from reticent.reports.verdict_block import verdict_block


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_every_reason_is_there_and_eight_are_in_sight(count: int) -> None:
    reasons = tuple(f"Reason <{number}>." for number in range(count))
    block = verdict_block(Headline("holds, but", reasons))
    assert block.count("<li>") == count
    assert all(f"Reason &lt;{number}&gt;." in block for number in range(count))
    assert (f"<summary>{count - 8} more</summary>" in block) == (count > 8)
    assert block.split("<details>")[0].count("<li>") == min(count, 8)


def test_a_verdict_without_reasons_has_no_list() -> None:
    assert "<ul" not in verdict_block(Headline("holds"))
