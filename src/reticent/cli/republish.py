"""``reticent republish``: the next release of a changing table, protected jointly with all earlier ones."""

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
    "quasi_updated": "quasi-identifiers changed",
    "sensitive_updated": "sensitive value changed",
    "returned": "came back",
    "deleted": "left",
}


HistoryOption = Annotated[
    Path, typer.Option("--history", help="The private folder of the series; created by the first release.")
]


class _PublishesByDefault(typer.core.TyperGroup):
    """A command group with a default command: a first word that is not a command is the policy to publish."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names_command = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if names_command else ["publish", *args])


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
            help="A file of changes instead of a snapshot: its column 'change' is insert, update or delete.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show who was inserted, updated or deleted, and how many counterfeits are needed; write nothing.",
        ),
    ] = False,
    retention: Annotated[
        int | None,
        typer.Option(
            "--retention",
            help="Forget people this many releases after they left (0: never). People who return later are suppressed.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Publish a table that equals that of an earlier release, which is otherwise refused."
        ),
    ] = False,
    ledger: LedgerOption = None,
    sign: SignOption = None,
    seed: SeedOption = None,
    as_json: Json = False,
) -> None:
    """Publish the next release of a table that changes: compare it with the last one, person by person, and keep the
    signatures that must persist.

    The policy names TauSafety as its definition, optionally with KAnonymity, and Republish as its method. The release
    is written below the history's folder, which is private. It is recorded in the same ledger as other releases, and
    the history stays bound to that ledger.

    Example: reticent republish policy.toml --history /secure/wards --data march.csv
    """
    from reticent.io import Source
    from reticent.methods.series import forgetting
    from reticent.policy import Policy

    loaded = Policy.read(policy)
    source = None if data is None else Source.fitting(data, loaded.reading)
    snapshot_or_changes: dict[str, Any] = {}
    with working("Comparing with the previous release ...", as_json) as context:
        if changes is None:
            series, rows = _opened(loaded, history, source, {"retention": retention, **_ledger(loaded, ledger)})
            snapshot_or_changes["frame"] = rows
        else:
            series = _open_history(history, {"retention": retention, **_ledger(loaded, ledger)})
            snapshot_or_changes["changes"] = Source.fitting(str(changes), loaded.reading).read()
        if dry_run:
            planned_release = series.preview(**snapshot_or_changes, context=context)
            figures: dict[str, Any] = {"dry_run": True, **planned_release}
        else:
            published = series.publish(
                insecure_seed=seed, again=again, signing_key=sign, context=context, **snapshot_or_changes
            )
            figures = {"number": published.number, "new": published.new, "folder": published.folder, **published.change}
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
    arrive: Annotated[
        float, typer.Option("--arrive", help="Share of people who arrive with each release, relative to those present.")
    ] = 0.05,
    change: Annotated[
        float, typer.Option("--change", help="Share of people whose sensitive value changes with each release.")
    ] = 0.05,
    back: Annotated[
        float, typer.Option("--back", help="Share of people who return with each release, if enough have left before.")
    ] = 0.0,
    rehearsals: Annotated[int, typer.Option("--rehearsals", help="How many times each protection is simulated.")] = 3,
    as_json: Json = False,
) -> None:
    """Estimate the cost of a series before anything is published: counterfeits per release, simulated and at most, for
    each protection.

    Nothing is written. The figures are computed from the true values: do not publish them.

    Example: reticent republish plan policy.toml --releases 12 --leave 0.05 --arrive 0.08 --change 0.07
    """
    from reticent.io import Source
    from reticent.methods.series import UpdateRates
    from reticent.methods.series import plan as planned
    from reticent.policy import Policy

    loaded = Policy.read(policy)
    rows = loaded.table(None if data is None else Source.fitting(data, loaded.reading))
    rates = UpdateRates(leave, arrive, change, back)
    with working("Simulating releases ...", as_json) as context:
        estimate = planned(rows, loaded.definition, _republish(loaded), rates, releases, rehearsals, context=context)
    answer(estimate, as_json)


def erase(
    key: Annotated[str, typer.Argument(help="The person's key, exactly as in the key column.")],
    history: HistoryOption,
    reason: Annotated[str, typer.Option("--reason", help="The reason; it is recorded in the ledger, without the key.")],
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Erase a person from a history. Only a keyed hash remains in its files, so that the person is suppressed in later
    releases. What was published cannot be recalled.

    Example: reticent republish erase p17 --history /secure/wards --reason "asked for it on 3 May"
    """
    opened = _open_history(history, {} if ledger is None else {"ledger": ledger})
    opened.erase(key, reason)
    sentence = "Erased. This person is suppressed in the next and all later releases of the series."
    answer(PlainResult.saying(sentence, {"releases": len(opened)}), as_json)


def _ledger(policy: Policy, ledger_option: Path | None) -> dict[str, LedgerLocation]:
    """Return the ledger named by the command or by the policy, if any."""
    from reticent.ledger import LedgerLocation

    release_section = policy.sections.release
    ledger_path = ledger_option if ledger_option is not None else policy.path(release_section.ledger)
    return (
        {} if ledger_path is None else {"ledger": LedgerLocation.of(ledger_path, policy.path(release_section.newest))}
    )


def _open_history(folder: Path, settings: Mapping[str, Any]) -> History:
    """Open a history; the warning about forgetting people is part of the result."""
    import warnings

    from reticent.methods.series import History

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return History.open(folder, **settings)


def _opened(policy: Policy, folder: Path, source: Source | None, more: Mapping[str, Any]) -> tuple[History, Any]:
    """Return the history that a policy describes, and the rows of the snapshot."""
    from reticent.definitions import KAnonymity
    from reticent.errors import PolicyError
    from reticent.methods.series import MInvariance, TauSafety

    method = _republish(policy)
    series_definition = next(
        (part for part in policy.definition.parts() if isinstance(part, TauSafety | MInvariance)), None
    )
    if series_definition is None:
        raise PolicyError(
            f"{policy.file}: a series needs the definition TauSafety, but the policy has {policy.definition}. Write [[definition]] name = 'TauSafety', m = 4."
        )
    rows = policy.table(source)
    key = rows.key or (rows.identifiers[0] if len(rows.identifiers) == 1 else None)
    if key is None:
        raise PolicyError(f"{policy.file}: name the column that identifies a person: [roles] key = 'person'.")
    refused = method.refusal(rows, policy.definition)
    if refused is not None:
        raise PolicyError(f"{policy.file}: {refused}")
    method_settings: dict[str, Any] = {
        name: getattr(method, name) for name in ("domain", "ranges", "choice", "balance", "baseline")
    }
    columns = {"key": key, "sensitive": next(iter(rows.sensitive)), "quasi": dict(rows.quasi)}
    k = next((part.k for part in policy.definition.parts() if isinstance(part, KAnonymity)), None)
    history_settings = {"m": series_definition.m, "k": k, **columns, **method_settings, "dataset": rows.dataset, **more}
    return _open_history(folder, history_settings), rows.held.frame()


def _republish(policy: Policy) -> Republish:
    """Return the Republish method of a policy for a series."""
    from reticent.errors import PolicyError
    from reticent.methods.series import Republish

    method = policy.named_method()
    if not isinstance(method, Republish):
        raise PolicyError(
            f"{policy.file}: a series needs the method Republish. Write [method] name = 'Republish', domain = [...]."
        )
    return method


def _card(change: Mapping[str, Any], history: History) -> Card:
    """Return the card of a release of a series: its size, its counterfeits, and what happened to people since the previous one."""
    if change.get("imported"):
        return Card("The table equals that of an imported release; nothing was published.")
    summary = f"{change['people']:,} people in {change['groups']:,} groups, {change['counterfeits']:,} counterfeits"
    if change.get("buckets"):
        summary += f", {change['buckets']:,} groups with equal quasi-identifiers"
    if change["waiting"]:
        summary += f"; {change['waiting']:,} people wait for a later release (do not publish this number)"
    sentences = []
    if change.get("dry_run"):
        title = f"Release {change['number']} would have {summary}. Nothing was written."
    elif change["new"]:
        each_alone = f", and KAnonymity(k={history.settings.k}) for each" if history.settings.k else ""
        title = f"Release {change['number']}: {summary}."
        sentences = [
            f"It satisfies {history.settings.about_series} for all releases together{each_alone}: {change['folder']}"
        ]
    else:
        title = f"The table equals that of release {change['number']}, which was already published: {change['folder']}"
    events = [(_EVENTS[name], count) for name, count in change["events"].items()]
    warning = (
        [f"Warning: {change['warning']} Now: {change.get('forgotten', 0):,} people."] if "warning" in change else []
    )
    events_table = CardTable(("what happened", "people"), events, "Since the previous release")
    return Card(title, tables=[events_table], sentences=sentences, notes=warning)
