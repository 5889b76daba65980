"""Named queries from files: ``CREATE VIEW`` scripts, plain SELECTs, Datalog, directories, dbt-style models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from reticent.errors import PolicyError
from reticent.views.texts import read_text

_REFERENCE = re.compile(
    r"\{\{\s*(?:ref|source)\s*\(\s*(?:['\"][^'\"]*['\"]\s*,\s*)?['\"](?P<name>[^'\"]+)['\"]\s*\)\s*\}\}"
)
_OTHER_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_NAME = re.compile(r"--\s*name\s*:\s*(?P<name>[\w.-]+)")
SUFFIXES = (".sql", ".dl", ".datalog")


def read_queries(path: Path, dialect: str) -> dict[str, str]:
    """Return the queries in a file or in all files of a directory, by name.

    A CREATE VIEW has its own name; another query has the name of a preceding comment ``-- name: x``, else the file's,
    with a number if the file holds several.
    """
    if not path.exists():
        raise PolicyError(f"There is no file or directory {path}; pass the path of the queries.")
    files = sorted(item for item in path.rglob("*") if item.suffix in SUFFIXES) if path.is_dir() else [path]
    if not files:
        raise PolicyError(f"{path} holds no query files; they end in {', '.join(SUFFIXES)}.")
    queries: dict[str, str] = {}
    for file in files:
        for name, text in _read(file, dialect).items():
            if name in queries:
                raise PolicyError(f"{file}: the query {name!r} was defined before; give it another name.")
            queries[name] = text
    return queries


def _read(file: Path, dialect: str) -> Mapping[str, str]:
    """Return the queries of one file by name."""
    from reticent.views.datalog import looks_like_datalog

    text = without_templates(read_text(file), str(file))
    if file.suffix != ".sql" or looks_like_datalog(text):
        return {file.stem: text}
    from sqlglot import exp

    from reticent.views.sql.dialect import parse_statements, split_statements

    query_texts: dict[str, str] = {}
    queries = []
    for part in split_statements(text, dialect, str(file)):
        (statement,) = parse_statements(part, dialect, str(file))
        if isinstance(statement, exp.Query) or _is_view(statement):
            queries.append((part, statement))
    if not queries:
        raise PolicyError(f"{file} holds no SELECT and no CREATE VIEW.")
    for number, (part, statement) in enumerate(queries, start=1):
        name_comment = _NAME.search(part)
        if _is_view(statement):
            name = statement.this.find(exp.Table).name
        elif name_comment:
            name = name_comment["name"]
        else:
            name = file.stem if len(queries) == 1 else f"{file.stem}-{number}"
        if name in query_texts:
            raise PolicyError(f"{file}: the query {name!r} is defined twice; give one another name.")
        query_texts[name] = part
    return query_texts


def _is_view(statement: object) -> bool:
    from sqlglot import exp

    return isinstance(statement, exp.Create) and str(statement.args.get("kind")).upper() == "VIEW"


def without_templates(text: str, where: str) -> str:
    """Return dbt-style text with ``{{ ref('x') }}`` and ``{{ source('a', 'x') }}`` replaced by names, positions kept.

    ``{{ config(...) }}`` and comments are blanked; any other template makes the SQL unknown.
    """
    text = _REFERENCE.sub(lambda match: match["name"].ljust(len(match[0])), text)

    def blank(match: re.Match[str]) -> str:
        """Return blanks for a template without effect on the query. Raises for any other template."""
        inside = match[0]
        if inside.startswith("{#") or re.match(r"\{\{-?\s*config\b", inside):
            return re.sub(r"[^\n]", " ", inside)
        line = text[: match.start()].count("\n") + 1
        raise PolicyError(
            f"{where}, line {line}: the template {inside[:40]!r} is not supported; pass the compiled SQL."
        )

    return _OTHER_JINJA.sub(blank, text)
