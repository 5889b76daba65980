"""Error messages of the library in words of the pages: fields of a form instead of options, and no lines of a policy file that nobody wrote by hand."""

from __future__ import annotations

import re
from pathlib import Path

_FORM_WORDS = (
    (r"pass number_names=True \(--number-names\)", "have the repeated names numbered below"),
    (r"(?:pass|set) header ?= ?(?:False|false) \(--no-header\)", "choose “a row” as “First line” below"),
    (r"Set header = true \(--header\)", "Choose “names of columns” as “First line” below"),
    (r"(?:pass|set) skip_rows ?= ?(\d+) \(--skip-rows \d+\)", r"enter \1 as “Lines above the table” below"),
)
"""Options of the command line and of Python, and the fields of the form that set them."""
_IN_POLICY = re.compile(r"^the policy:\d+:\d+: |\n +\d+ \|.*\n +\|[ ^]*$", re.MULTILINE)
"""The line of the policy that a message points to, and its excerpt."""


def reading_words(problem: str, folder: Path) -> str:
    """Return why a file cannot be read, with options named as in the form below it instead of as in Python and on the command line."""
    message = problem.replace(f"{folder}/uploads/", "")
    for pattern, words in _FORM_WORDS:
        message = re.sub(pattern, words, message)
    return message


def names_repeat(problem: str) -> bool:
    """True if a file was refused only because column names occur several times in it."""
    return "--number-names" in problem


def policy_words(problem: str) -> str:
    """Return a message about a setting without its line, column and excerpt of the policy file."""
    return _IN_POLICY.sub("", problem)
