"""The parts of a page: the verdict with every reason, the gravest in sight, and values that are shown as text."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from reticent.release import Headline
from reticent.reports.page_parts import block, page_text


def verdict_of(headline: Headline) -> str:
    return block("verdict", headline=headline, details=()).html


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_every_reason_is_there_and_eight_are_in_sight(count: int) -> None:
    reasons = tuple(f"Reason <{number}>." for number in range(count))
    told = verdict_of(Headline("holds, but", reasons))
    assert told.count("<li>") == count
    assert all(f"Reason &lt;{number}&gt;." in told for number in range(count))
    assert (f"<summary>{count - 8} more</summary>" in told) == (count > 8)
    assert told.split("<details>")[0].count("<li>") == min(count, 8)


def test_a_verdict_without_reasons_has_no_list() -> None:
    assert "<ul" not in verdict_of(Headline("holds"))


def test_no_style_but_its_own_applies_to_a_page() -> None:
    """The policy names the hash of the style sheet, as a browser computes it."""
    page = page_text("series.html", title="<a>", heading="b", headline=None, details=[], pictures=[], tables=[])
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    assert " style=" not in page
    assert "<title>&lt;a&gt;</title>" in page


@pytest.mark.parametrize(("share", "width"), [(-1, "0.00"), (0.25, "25.00"), (7, "100.00")])
def test_a_meter_stays_within_its_trough(share: float, width: str) -> None:
    assert f'class="fill " width="{width}"' in block("meter", share=share).html
