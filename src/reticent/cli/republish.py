"""``reticent republish``: the next release of a table that changes, safe beside all earlier ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import LedgerOption, PolicyArgument, SeedOption, SignOption, add_commands

if TYPE_CHECKING:
    from reticent.io import Source
    from reticent.ledger import LedgerLocation
    from reticent.methods.series import History, Republish
    from reticent.policy import Policy

_EVENTS = {
    "inserted": "new",
    "unchanged": "unchanged",
    "quasi_updated": "quasi values changed",
    "sensitive_updated": "sensitive value changed",
    "returned": "came back",
    "deleted": "left",
}


HistoryOption = Annotated[
    Path, typer.Option("--history", help="The private folder of the series; made by the first release.")
]


class _PublishesByDefault(typer.core.TyperGroup):
    """A group whose first word may be left out: what is no command is the policy to publish."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if named else ["publish", *args])


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        cls=_PublishesByDefault,
        help="Publish a table that changes, release by release: `reticent republish policy.toml --history DIR`.",
        no_args_is_help=True,
    )
    add_commands(group, {"publish": publish, "plan": plan, "erase": erase})
    app.add_typer(group, name="republish")


def publish(
    policy: PolicyArgument,
    history: HistoryOption,
    data: Annotated[
        str | None, typer.Option("--data", help="The snapshot to publish, instead of the policy's own source.")
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(
            "--changes",
            help="A file of changes instead of a snapshot: a column 'change' says insert, update or delete.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what happened to whom and how many counterfeits it would take; write nothing."
        ),
    ] = False,
    retention: Annotated[
        int | None,
        typer.Option(
            "--retention",
            help="Forget people so many releases after they left (0: never). Whoever returns later stays out.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Publish a table that is exactly that of an earlier release; an old one is refused."
        ),
    ] = False,
    ledger: LedgerOption = None,
    sign: SignOption = None,
    seed: SeedOption = None,
    as_json: Json = False,
) -> None:
    """Publish the next release of a table that changes: compare it with the last one, person by person, and keep every signature that must be kept.

    The policy names TauSafety as its definition, with KAnonymity beside it if people are to look alike, and Republish as its method. The release appears below the history's folder; the folder itself is private. It is recorded in the
    ledger that everything else is recorded in, and the history keeps to that ledger.

    Example: reticent republish policy.toml --history /secure/wards --data march.csv
    """
    from reticent.io import Source
    from reticent.methods.series import forgetting
    from reticent.policy import Policy

    loaded = Policy.read(policy)
    source = None if data is None else Source.fitting(data, loaded.reading)
    given: dict[str, Any] = {}
    with working("Comparing with the release before ...", as_json) as context:
        if changes is None:
            series, rows = _opened(loaded, history, source, {"retention": retention, **_ledger(loaded, ledger)})
            given["frame"] = rows
        else:
            series = _open_history(history, {"retention": retention, **_ledger(loaded, ledger)})
            given["changes"] = Source.fitting(str(changes), loaded.reading).read()
        if dry_run:
            found = series.preview(**given, context=context)
            figures: dict[str, Any] = {"dry_run": True, **found}
        else:
            made = series.publish(insecure_seed=seed, again=again, signing_key=sign, context=context, **given)
            figures = {"number": made.number, "new": made.new, "folder": made.folder, **made.change}
        if series.settings.retention:
            figures["warning"] = forgetting(series.settings.retention)
    answer(PlainResult(figures, _card(figures, series)), as_json)


def plan(
    policy: PolicyArgument,
    data: Annotated[
        str | None, typer.Option("--data", help="The first snapshot, instead of the policy's own source.")
    ] = None,
    releases: Annotated[int, typer.Option("--releases", help="How many releases to plan.")] = 12,
    leave: Annotated[float, typer.Option("--leave", help="Share of people who leave with each release.")] = 0.05,
    arrive: Annotated[float, typer.Option("--arrive", help="Share of people who arrive, of those there are.")] = 0.05,
    change: Annotated[
        float, typer.Option("--change", help="Share of people whose sensitive value changes with each release.")
    ] = 0.05,
    back: Annotated[
        float, typer.Option("--back", help="Share of people who come back, as far as enough have left before.")
    ] = 0.0,
    rehearsals: Annotated[int, typer.Option("--rehearsals", help="How many times each way is rehearsed.")] = 3,
    as_json: Json = False,
) -> None:
    """Show what a series will cost before anything is published: counterfeits of the coming releases, as rehearsed and at most, for each protection.

    Nothing is written. The figures are counted in the true values: keep them to yourself.

    Example: reticent republish plan policy.toml --releases 12 --leave 0.05 --arrive 0.08 --change 0.07
    """
    from reticent.io import Source
    from reticent.methods.series import UpdateRates
    from reticent.methods.series import plan as planned
    from reticent.policy import Policy

    loaded = Policy.read(policy)
    rows = loaded.table(None if data is None else Source.fitting(data, loaded.reading))
    rates = UpdateRates(leave, arrive, change, back)
    with working("Rehearsing releases ...", as_json) as context:
        found = planned(rows, loaded.definition, _republish(loaded), rates, releases, rehearsals, context=context)
    answer(found, as_json)


def erase(
    key: Annotated[str, typer.Argument(help="The person, by the key as it is in the key column.")],
    history: HistoryOption,
    reason: Annotated[str, typer.Option("--reason", help="Why; it stays on record in the ledger, without the key.")],
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Erase a person from a history: of all its files a keyed hash remains, so that the person stays out of later releases. What was published cannot be taken back.

    Example: reticent republish erase p17 --history /secure/wards --reason "asked for it on 3 May"
    """
    opened = _open_history(history, {} if ledger is None else {"ledger": ledger})
    opened.erase(key, reason)
    said = "Erased. The next release is published without this person, who stays out of the series."
    answer(PlainResult.saying(said, {"releases": len(opened)}), as_json)


def _ledger(policy: Policy, given: Path | None) -> dict[str, LedgerLocation]:
    """The ledger that the command or the policy names, if one of them does."""
    from reticent.ledger import LedgerLocation

    said = policy.sections.release
    named = given if given is not None else policy.path(said.ledger)
    return {} if named is None else {"ledger": LedgerLocation.of(named, policy.path(said.newest))}


def _open_history(folder: Path, settings: Mapping[str, Any]) -> History:
    """Open a history; what forgetting people means is said with the result."""
    import warnings

    from reticent.methods.series import History

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return History.open(folder, **settings)


def _opened(policy: Policy, folder: Path, source: Source | None, more: Mapping[str, Any]) -> tuple[History, Any]:
    """The history that a policy describes, and the rows of the snapshot."""
    from reticent.definitions import KAnonymity
    from reticent.errors import PolicyError
    from reticent.methods.series import MInvariance, TauSafety

    method = _republish(policy)
    asked = next((part for part in policy.definition.parts() if isinstance(part, TauSafety | MInvariance)), None)
    if asked is None:
        raise PolicyError(
            f"{policy.file}: a series promises TauSafety, and the policy asks for {policy.definition}. Write [[definition]] name = 'TauSafety', m = 4."
        )
    rows = policy.table(source)
    key = rows.key or (rows.identifiers[0] if len(rows.identifiers) == 1 else None)
    if key is None:
        raise PolicyError(f"{policy.file}: name the column that tells people apart: [roles] key = 'person'.")
    refused = method.refusal(rows, policy.definition)
    if refused is not None:
        raise PolicyError(f"{policy.file}: {refused}")
    how: dict[str, Any] = {
        name: getattr(method, name) for name in ("domain", "ranges", "choice", "balance", "baseline")
    }
    columns = {"key": key, "sensitive": next(iter(rows.sensitive)), "quasi": dict(rows.quasi)}
    k = next((part.k for part in policy.definition.parts() if isinstance(part, KAnonymity)), None)
    told = {"m": asked.m, "k": k, **columns, **how, "dataset": rows.dataset, **more}
    return _open_history(folder, told), rows.held.frame()


def _republish(policy: Policy) -> Republish:
    """The method of a policy about a series."""
    from reticent.errors import PolicyError
    from reticent.methods.series import Republish

    method = policy.named_method()
    if not isinstance(method, Republish):
        raise PolicyError(
            f"{policy.file}: a series is published by Republish. Write [method] name = 'Republish', domain = [...]."
        )
    return method


def _card(found: Mapping[str, Any], history: History) -> Card:
    if found.get("imported"):
        return Card("The table is that of an imported release; nothing was published.")
    made = f"{found['people']:,} people in {found['groups']:,} groups, {found['counterfeits']:,} counterfeits"
    if found.get("buckets"):
        made += f", {found['buckets']:,} boxes of people who look alike"
    if found["waiting"]:
        made += f"; {found['waiting']:,} people wait for a later release (never tell how many)"
    sentences = []
    if found.get("dry_run"):
        title = f"Release {found['number']} would have {made}. Nothing was written."
    elif found["new"]:
        alike = f", and KAnonymity(k={history.settings.k}) for each" if history.settings.k else ""
        title = f"Release {found['number']}: {made}."
        sentences = [f"It promises {history.settings.about_series} for all releases together{alike}: {found['folder']}"]
    else:
        title = f"The table is that of release {found['number']}, which was published already: {found['folder']}"
    events = [(_EVENTS[name], many) for name, many in found["events"].items()]
    warning = [f"Warning: {found['warning']} Now: {found.get('forgotten', 0):,} people."] if "warning" in found else []
    since = CardTable(("what happened", "people"), events, "Since the release before")
    return Card(title, tables=[since], sentences=sentences, notes=warning)
