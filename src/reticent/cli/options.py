"""Options and arguments shared by several commands: one name, one help text, one meaning.

Related options form a frozen dataclass: a command that has one as a parameter gets all of its options.
:func:`add_commands` expands them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from reticent.errors import PolicyError
from reticent.registry import METHODS

if TYPE_CHECKING:
    import polars as pl

    from reticent.release import PublicSide
    from reticent.table import Table

PolicyArgument = Annotated[Path, typer.Argument(help="The policy (.toml).")]
ReleaseArgument = Annotated[Path, typer.Argument(help="The folder of a release.")]
TargetArgument = Annotated[
    str, typer.Argument(help="The folder of a release, or a policy (.toml) for its table before publication.")
]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="The ledger file (default: RETICENT_LEDGER, or the user's own).")
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="The name of the data set in the ledger.")]
SignOption = Annotated[
    list[Path] | None,
    typer.Option("--sign", help="The private key (.key) to sign the certificate with; repeat for several."),
]
SeedOption = Annotated[
    int | None, typer.Option("--insecure-seed", help="For tests only: reproducible, hence insecure, random numbers.")
]
QuasiOption = Annotated[
    list[str] | None, typer.Option("--quasi", help="A quasi-identifier column; repeat for several.")
]
OriginalOption = Annotated[
    str | None,
    typer.Option(
        "--original",
        help="The table that the synthetic records were made from, by any tool: a data file, or its policy (.toml) for the roles of columns.",
    ),
]
ControlOption = Annotated[
    Path | None,
    typer.Option(
        "--control",
        help="A control group of people who are not in the data, with all columns: what is inferred about them as well is not counted as a leak.",
    ),
]
GuessedOption = Annotated[
    list[str] | None,
    typer.Option("--sensitive", help="With --original: a column to guess; repeat for several (default: all)."),
]
SensitiveOption = Annotated[
    str | None, typer.Option("--sensitive", help="Which sensitive column, if there are several.")
]


@dataclass(frozen=True)
class DraftOptions:
    """Options that override the settings of a policy when a release is drafted."""

    definition: Annotated[
        str | None, typer.Option("--definition", help="Such as 'KAnonymity(5) & EntropyLDiversity(l=3)'.")
    ] = None
    method: Annotated[
        str | None,
        typer.Option("--method", help="The method to use instead of the policy's, such as Mondrian or Anatomy."),
    ] = None
    suppression: Annotated[
        str | None, typer.Option("--suppression", help="The share of rows that may be suppressed, such as 0.05.")
    ] = None
    objective: Annotated[
        str | None, typer.Option("--objective", help="What to minimize: loss, discernibility, kl ...")
    ] = None
    release_format: Annotated[
        str | None, typer.Option("--format", help="generalize, or bucketize (exact values, linked by bucket only).")
    ] = None
    values: Annotated[
        str | None,
        typer.Option(
            "--values", help="How group values are published: sets, ranges, hierarchy, labels, or typical values."
        ),
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Stop searching after this many seconds and use the best result so far."),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", help="local (rows in memory), streaming (a table larger than memory) or spark (on a cluster)."
        ),
    ] = None

    def overrides(self) -> dict[str, Any]:
        """Return the keyword arguments for :func:`reticent.policy.publish_policy` and ``preview_policy``."""
        method = {
            "name": None if self.method is None else _method_name(self.method),
            "suppression": self.suppression,
            "objective": self.objective,
            "format": self.release_format,
            "values": self.values,
            "seconds": self.seconds,
        }
        return {"definition": self.definition, "engine": self.engine, "method": method}


def _method_name(written: str) -> str:
    """Return the canonical spelling of a method name, matched case-insensitively."""
    return next((name for name in METHODS if name.lower() == written.lower()), written)


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a file or a database, where automatic detection is impossible or wrong."""

    database_table: Annotated[str | None, typer.Option("--table", help="The table to read from a database.")] = None
    query: Annotated[str | None, typer.Option("--query", help="A query to a database instead of a table.")] = None
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="The delimiter of a CSV file, if detection fails.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="The encoding of a CSV file, if detection fails.")
    ] = None
    sheet: Annotated[str | None, typer.Option("--sheet", help="The sheet of a spreadsheet, if several have rows.")] = (
        None
    )
    labels: Annotated[
        str | None,
        typer.Option("--labels", help="How columns with value labels are read (SPSS, Stata, SAS): text or codes."),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether a text file or sheet has a header line, if detection fails.",
        ),
    ] = None
    skip_rows: Annotated[
        int | None, typer.Option("--skip-rows", help="The number of lines above the table, if detection fails.")
    ] = None
    number_names: Annotated[
        bool | None,
        typer.Option("--number-names", help="Number repeated column names: date, date_2.", show_default=False),
    ] = None

    def said(self) -> dict[str, Any]:
        """Return the options that were given, as keyword arguments of :class:`reticent.io.Source`, ``rt.read`` and ``rt.inspect``."""
        values = {option_field.name: getattr(self, option_field.name) for option_field in fields(self)}
        source_options = {"table": values.pop("database_table"), **values}
        return {name: value for name, value in source_options.items() if value is not None}


@dataclass(frozen=True)
class PeopleOptions:
    """Options that name a list of people to look up."""

    people: Annotated[
        Path | None, typer.Option("--people", help="A list of people to look up: CSV, Parquet, Arrow or DuckDB.")
    ] = None
    who: Annotated[str | None, typer.Option("--who", help="The column of --people that names people in examples.")] = (
        None
    )

    def __post_init__(self) -> None:
        if self.who is not None and self.people is None:
            raise PolicyError("--who names a column of --people: add --people.")

    def read(self) -> pl.DataFrame | None:
        """Return the list of people; None if there is none."""
        from reticent.io import Source

        return None if self.people is None else Source(str(self.people)).read()


def table_or_path(policy_or_path: str) -> Table | str:
    """Return the table of a policy, or the given path (the folder of a release, or a data file)."""
    from reticent.policy import Policy

    return Policy.read(policy_or_path).table() if policy_or_path.endswith(".toml") else policy_or_path


def table_or_release(
    source: str, quasi: list[str] | None = None, sensitive: str | None = None, key: str | None = None
) -> Table | PublicSide:
    """Return the table of a policy or a data file, or the public side of a release. The options override the policy."""
    from reticent.policy import Policy, read

    if Path(source).is_dir():
        from reticent.release import open_public

        return open_public(source)
    if source.endswith(".toml"):
        policy = Policy.read(source)
        overrides: dict[str, Any] = {}
        if quasi:
            overrides["quasi"] = {name: policy.hierarchies.get(name) for name in quasi}
        if sensitive:
            overrides["sensitive"] = {sensitive: policy.hierarchies.get(sensitive)}
        if key:
            overrides["key"] = key
        return read(policy=policy, **overrides)
    if not quasi or not sensitive:
        raise PolicyError(
            f"{source} is neither a policy nor a release. Name its columns with --quasi age --sensitive disease, or let "
            f"`reticent inspect {source}` propose a policy."
        )
    return read(source, quasi=quasi, sensitive=sensitive, key=key)


def add_group(app: typer.Typer, name: str, help: str, commands: Mapping[str, Callable[..., None]]) -> None:
    """Add a group of commands, such as ``reticent knowledge``."""
    group = typer.Typer(help=help, no_args_is_help=True)
    add_commands(group, commands)
    app.add_typer(group, name=name)


def add_commands(app: typer.Typer, commands: Mapping[str, Callable[..., None]]) -> None:
    """Add commands by name, expanding each parameter that is a dataclass of options."""
    for name, command in commands.items():
        app.command(name)(_spread(command))


def _spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its dataclass parameters as options of their own, as typer needs them."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    if not groups:
        return command
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            options.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        group_hints = get_type_hints(group, include_extras=True)
        options += [
            inspect.Parameter(
                option_field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if option_field.default is MISSING else option_field.default,
                annotation=group_hints[option_field.name],
            )
            for option_field in fields(group)
        ]

    def spread(**values: Any) -> None:
        """Collect the options into the dataclass parameters, and call the command."""
        group_values = {
            name: group(**{option_field.name: values.pop(option_field.name) for option_field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **group_values)

    spread.__doc__, spread.__name__ = command.__doc__, command.__name__
    spread.__annotations__ = {option.name: option.annotation for option in options}
    spread.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what typer reads
    return spread
