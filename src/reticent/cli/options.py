"""Options and arguments that several commands share: one name, one help text, one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PolicyArgument = Annotated[Path, typer.Argument(help="The policy (.toml).")]
ReleaseArgument = Annotated[Path, typer.Argument(help="The folder of a release.")]
DefinitionOption = Annotated[
    str | None, typer.Option("--definition", help="Such as 'KAnonymity(5) & EntropyLDiversity(l=3)'.")
]
SuppressionOption = Annotated[
    str | None, typer.Option("--suppression", help="The share of rows that may be left out, such as 0.05.")
]
ObjectiveOption = Annotated[
    str | None, typer.Option("--objective", help="What to keep small: loss, discernibility, kl ...")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="generalize, or bucketize: exact values, joined by bucket.")
]
SecondsOption = Annotated[
    float | None, typer.Option("--seconds", help="Stop searching after this many seconds and take the best found.")
]
EngineOption = Annotated[
    str | None, typer.Option("--engine", help="local: rows in memory; streaming: a table larger than memory.")
]
LedgerOption = Annotated[Path | None, typer.Option("--ledger", help="The ledger that remembers what was given out.")]
SignOption = Annotated[Path | None, typer.Option("--sign", help="The private key (.key) to sign the certificate with.")]
PeopleWhoOption = Annotated[
    str | None, typer.Option("--who", help="The column of --people to call people by in examples.")
]
