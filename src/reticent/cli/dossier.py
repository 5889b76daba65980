"""``reticent dossier``: the evidence about a release, arranged under the headings of a regulation or review board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import ReleaseArgument


def dossier(
    release: ReleaseArgument,
    regime: Annotated[str, typer.Option("--for", help="The regime: hipaa-expert, gdpr, ema-prci, sp800-188 or satre.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .html, .pdf (printed by a browser) or .json (default: dossier-REGIME.html).",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            help="The policy of the original table: runs the attacks before and after publication, and uses its section dossier.",
        ),
    ] = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            "--statements",
            help="A TOML file with the steward's statements; overrides the section dossier of the policy.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Arrange certificate, risk figures, attacks, utility, data flow and residual risks under the headings of a regime.
    The result is evidence, not a legal determination.

    Example: reticent dossier release --for gdpr --policy policy.toml -o dossier.pdf
    """
    from reticent.policy import Policy, read_statements
    from reticent.reports import dossier as gathered

    original_policy = Policy.read(policy) if policy is not None else None
    all_statements = {
        **(original_policy.sections.dossier if original_policy is not None else {}),
        **(read_statements(statements) if statements is not None else {}),
    }
    target = output if output is not None else Path(f"dossier-{regime}.html")
    with working("Gathering evidence ...", as_json) as context:
        gathered_dossier = gathered(
            release,
            regime,
            raw=None if original_policy is None else original_policy.table(),
            statements=all_statements,
            context=context,
        )
        gathered_dossier.save(target)
    answer(PlainResult.beside(gathered_dossier, {"output": target}, [f"Wrote the dossier to {target}."]), as_json)
