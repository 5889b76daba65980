"""The result of a gate as files for build servers: JUnit XML, SARIF 2.1.0 and Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reticent import __version__
from reticent.base.cards import Tone

if TYPE_CHECKING:
    from reticent.gates.gate import GateCheck, GateResult

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MARKS = {"passed": "✅", "failed": "❌", "skipped": "⚪"}
_VERDICTS: Mapping[Tone, tuple[str, str]] = {
    "good": ("✅", "passes the gate"),
    "doubtful": ("⚠️", "passes the gate, with reservations"),
    "bad": ("❌", "does not pass the gate"),
}


def junit(result: GateResult) -> str:
    """Return JUnit XML: one suite, one test case per check."""
    figures = {
        "tests": str(len(result.checks)),
        "failures": str(result.number("failed")),
        "errors": "0",
        "skipped": str(result.number("skipped")),
        "time": "0",
    }
    suites = Element("testsuites", {"name": "reticent gate", **figures})
    suite = SubElement(suites, "testsuite", {"name": _legal(f"reticent gate {result.target}"), **figures})
    for check in result.checks:
        attributes = {"classname": "reticent.gate", "name": _legal(f"{check.limit}: {check.title}"), "time": "0"}
        case = SubElement(
            suite, "testcase", {**attributes, "file": _legal(result.limits), "line": str(max(1, check.line))}
        )
        if check.status == "failed":
            failure = SubElement(case, "failure", {"type": "limit", "message": _legal(check.detail)})
            failure.text = _legal(f"{result.limits}:{max(1, check.line)}: {check.detail}")
        elif check.status == "skipped":
            SubElement(case, "skipped", {"message": _legal(check.detail)})
    if result.reservations:
        SubElement(suite, "system-out").text = _legal("\n".join((result.verdict, *result.reservations)))
    indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _legal(text: str) -> str:
    """Return text without characters that are invalid in XML, which column names may contain."""
    return "".join(
        character
        if character in "\t\n"
        or " " <= character <= "\ud7ff"
        or "\ue000" <= character <= "\ufffd"
        or character > "\uffff"
        else "\ufffd"
        for character in text
    )


def sarif(result: GateResult) -> str:
    """Return SARIF 2.1.0: one rule per limit, one result per failed check, at its line of the limits file."""
    rules = list(dict.fromkeys(check.limit for check in result.checks))
    driver = {
        "name": "reticent gate",
        "semanticVersion": __version__,
        "informationUri": "https://reticent.example/docs",
        "rules": [{"id": rule, "shortDescription": {"text": f"The limit {rule} is met."}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(result, check, rules) for check in result.failures],
    }
    return (
        json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2) + "\n"
    )


def _sarif_result(result: GateResult, check: GateCheck, rules: list[str]) -> dict[str, Any]:
    """Return a failed check as a result of SARIF, at its line of the limits file; ``rules`` lists the identifiers of rules."""
    from urllib.parse import quote

    location = {
        "artifactLocation": {"uri": quote(result.limits.replace("\\", "/"))},
        "region": {"startLine": max(1, check.line)},
    }
    return {
        "ruleId": check.limit,
        "ruleIndex": rules.index(check.limit),
        "level": "error",
        "message": {"text": f"{result.target}: {check.title}: {check.detail}"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"reticentGate/v1": f"{check.limit}/{check.title}"},
    }


def markdown(result: GateResult) -> str:
    """Return a Markdown summary: the verdict, and a table of every check."""
    mark, verdict = _VERDICTS[result.tone]
    lines = [
        f"## {mark} `{_cell(str(result.target))}` {verdict}",
        "",
        *(f"- {_cell(reservation)}" for reservation in result.reservations),
        *([""] if result.reservations else []),
        f"{result.number('passed')} passed, {result.number('failed')} failed, {result.number('skipped')} skipped; limits: `{_cell(result.limits)}`",
        "",
        "| | limit | what | result |",
        "|---|---|---|---|",
        *(
            f"| {_MARKS[check.status]} | `{_cell(check.limit)}` | {_cell(check.title)} | {_cell(check.detail)} |"
            for check in result.checks
        ),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return text escaped for a table cell."""
    escaped = "".join(
        f"\\{character}" if character in "\\|<>[]*_" else character for character in " ".join(text.split())
    )
    return escaped.replace("`", "'")
