"""``make docs-output``: run pages from top to bottom and write what their commands print into their console blocks.

python -m docs.tools.console [PAGE...]      rewrites the pages named, or all; ``tests/test_pages.py`` holds them against the same run

A page runs in an empty folder: blocks of ``python`` are executed (those with ``>>>`` as doctests), blocks whose first line is ``# file: NAME`` or
``-- file: NAME`` are written, and each ``$ command`` of a ``console`` block is followed by what it prints at 80 columns. Two rules apply when a block is
compared with the output:

- What varies by run is equal to anything of its kind: durations, dates and times, hashes, keys and tokens (:data:`VARYING`). In a block
  right below a comment ``<!-- output varies -->`` all numbers are: that of a random method.
- A line ``...`` stands for any number of lines.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from unittest import mock

from reticent.cli.app import app
from reticent.cli.console import run

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 80
MOST_LINES = 24
"""Longer output is cut when a block is first written: between its first paragraphs and its last, if that is short."""
CUT = "..."
VARIES = "<!-- output varies -->"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:#|--) file: (\S+)\n(.*)", re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
VARYING: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("TIME", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")),
    ("DURATION", re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds|minutes)\b")),
    ("HASH", re.compile(r"\b[0-9a-f]{8,}\b")),
    ("TOKEN", re.compile(r"\brt_[\w-]+")),
)
_NUMBER = re.compile(r"\d[\d,.]*")


def pages() -> list[Path]:
    """The pages of the documentation, and the README."""
    docs = ROOT / "docs"
    return sorted([*docs.glob("*.md"), *docs.glob("[a-z]*/**/*.md"), ROOT / "README.md"])


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page, each with its language."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_python(text: str, page: Path, names: dict[str, object]) -> None:
    """Run a block of Python; a doctest that fails is an AssertionError."""
    if not text.startswith(">>>"):
        exec(compile(text, str(page), "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    complaints: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=complaints.append, clear_globs=False)
    assert result.attempted
    assert not result.failed, "".join(complaints)
    names.update(example.globs)


def printed(command: str) -> list[str]:
    """The lines that a user sees of a command, on 80 columns."""
    seen = io.StringIO()
    words = shlex.split(command, comments=True)
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.dict(os.environ, {"COLUMNS": str(COLUMNS)}),
        contextlib.redirect_stdout(seen),
        contextlib.redirect_stderr(seen),
    ):
        code = run(app)
    assert code in (0, 1), f"{command}\n{seen.getvalue()}"
    lines = [line.rstrip() for line in seen.getvalue().splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@dataclass
class PageRun:
    """One run of a page in the current folder. Mutable: collects the page's new text while it runs.

    ``stale`` lists the commands below which the page shows something else than they print.
    """

    page: Path
    stale: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Run the page; its text with the output of every command."""
        source = self.page.read_text(encoding="utf-8")
        names: dict[str, object] = {}
        pieces, end = [], 0
        for block in BLOCK.finditer(source):
            kind, body = block[1], block[2]
            if kind == "python":
                run_python(body, self.page, names)
            elif kind == "console":
                varies = source[: block.start()].rstrip().endswith(VARIES)
                pieces += [source[end : block.start()], "```console\n", *self._console(body, varies), "```"]
                end = block.end()
            elif file := FILE.fullmatch(body):
                Path(file[1]).write_text(file[2], encoding="utf-8")
        return "".join([*pieces, source[end:]])

    def _console(self, body: str, varies: bool) -> Iterator[str]:
        for command, shown in commands_of(body):
            lines = printed(command)
            if not equal(shown, lines, varies):
                self.stale.append("\n".join([f"$ {command}", *lines]))
                shown = shortened(lines, shown)
            yield from (f"{line}\n" for line in (f"$ {command}", *shown))


def commands_of(body: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines below it."""
    lines = body.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("$ ")]
    assert not starts or starts[0] == 0, "a console block starts with a command"
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start][2:], lines[start + 1 : stop]


def equal(shown: Sequence[str], lines: Sequence[str], varies: bool = False) -> bool:
    """Whether a block shows these lines, apart from what varies and what is cut."""
    wanted = [list(part) for is_cut, part in groupby(shown, lambda line: line.strip() == CUT) if not is_cut]
    ours = [normalized(line, varies) for line in lines]
    if CUT not in (line.strip() for line in shown):
        return ours == [normalized(line, varies) for line in shown]
    position = 0
    for index, part in enumerate(wanted):
        pattern = [normalized(line, varies) for line in part]
        first = index == 0 and shown[0].strip() != CUT
        last = index == len(wanted) - 1 and shown[-1].strip() != CUT
        starts = [position] if first else [len(ours) - len(pattern)] if last else range(position, len(ours))
        match = next((at for at in starts if at >= position and ours[at : at + len(pattern)] == pattern), None)
        if match is None:
            return False
        position = match + len(pattern)
    return True


def normalized(line: str, varies: bool = False) -> str:
    """A line in which what varies by run is replaced by its kind."""
    for kind, pattern in VARYING:
        line = pattern.sub(kind, line)
    return re.sub(" +", " ", _NUMBER.sub("NUMBER", line)) if varies else line


def shortened(lines: list[str], shown: Sequence[str]) -> list[str]:
    """New output of a command: cut where the page cut it before, or where it is very long."""
    head = next((index for index, line in enumerate(shown) if line.strip() == CUT), None)
    if head is not None:
        tail = next(index for index, line in enumerate(reversed(shown)) if line.strip() == CUT)
        if head + tail < len(lines):
            return [*lines[:head], CUT, *lines[len(lines) - tail :]]
        return lines
    if len(lines) <= MOST_LINES:
        return lines
    ends = [index for index, line in enumerate(lines) if not line]
    top = max((index for index in ends if MOST_LINES // 3 <= index < MOST_LINES), default=MOST_LINES - 4)
    bottom = max((index for index in ends if len(lines) - 5 <= index), default=len(lines) - 1) + 1
    return [*lines[:top], CUT, *lines[bottom:]]


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Run in an empty folder with a ledger of its own."""
    with (
        tempfile.TemporaryDirectory() as parent,
        contextlib.chdir(_made(Path(parent) / "work")),
        mock.patch.dict(os.environ, {"RETICENT_LEDGER": "ledger.sqlite"}),
    ):
        yield


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main(names: Sequence[str]) -> None:
    """Rewrite the pages named, or all that have a console block."""
    chosen = [Path(name).resolve() for name in names] or [
        page for page in pages() if "```console" in page.read_text("utf-8")
    ]
    for page in chosen:
        with empty_folder(), contextlib.redirect_stdout(io.StringIO()):
            result = PageRun(page)
            text = result.text()
        page.write_text(text, encoding="utf-8")
        print(
            f"{page.relative_to(ROOT)}: {len(result.stale)} rewritten"
            if result.stale
            else f"{page.relative_to(ROOT)}: equal"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
