"""``reticent gate``: check a policy or a release against limits, for CI pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.cli.console import Json, answer, working


def gate(
    target: Annotated[
        Path, typer.Argument(help="A policy (.toml), to check what it would publish, or the folder of a release.")
    ],
    limits: Annotated[Path, typer.Option("--limits", help="The limits (.toml) that must be met.")],
    junit: Annotated[Path | None, typer.Option("--junit", help="Also write the result as JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Also write the result as SARIF 2.1.0.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Also write a summary in Markdown.")] = None,
    as_json: Json = False,
) -> None:
    """Check a policy or a release against limits. Exits with 1 if one is not met; prints no data values.

    Example: reticent gate policy.toml --limits limits.toml

    Example: reticent gate release --limits limits.toml --junit gate.xml --sarif gate.sarif --markdown gate.md
    """
    from reticent.gates import gate as check_limits

    # Progress events may contain values (in the parameters of a definition), so none are shown.
    with working("Checking limits ...", as_json=True) as context:
        verdict = check_limits(target, limits, context=context)
    verdict.write(junit=junit, sarif=sarif, markdown=markdown)
    answer(verdict, as_json)
