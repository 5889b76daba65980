"""docs/how-to/audit-offline.md: its examples run, and its log file is read."""

from __future__ import annotations

import re
from pathlib import Path

from reticent.audit.offline import check_log, parse_log

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "audit-offline.md").read_text(encoding="utf-8")


def test_the_log_file_of_the_page_is_read():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    log = parse_log(text.splitlines())
    assert (log.n, len(log.entries), log.upper) == (6, 2, 100)
    assert check_log(log).consistent
