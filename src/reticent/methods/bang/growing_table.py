"""A growing table as a series of releases: the folder with its state, and the draft of the next release.

The first release fixes regions and dendrogram. A state is written before the ledger is updated, and the ledger
determines the valid one: a killed process leaves the series before or after a release. People who wait are not stored;
they are in the table and in no release.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.disclosures import (
    Judgement,
    PriorCheck,
    PriorDisclosure,
    SeriesState,
    allow,
    alone,
    described,
    refuse,
)
from reticent.base.documents import parse_json, read_document
from reticent.base.files import folder_aside, make_folder, write_new
from reticent.base.packing import sum_by
from reticent.core import Groups
from reticent.definitions import GroupDefinition
from reticent.engine import count_table
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.methods.bang.cell_space import GridSpace, Ids
from reticent.methods.bang.cut import BangCut
from reticent.methods.bang.digest import RowDigest
from reticent.methods.bang.newcomers import CohortGuard, clusters_of, matched_at_once
from reticent.methods.bang.region_index import BangIndex, IndexParts
from reticent.methods.bang.storage import open_index
from reticent.methods.grouping import Grouping, GroupRun
from reticent.table import Table, as_parquet, to_plain, unused

if TYPE_CHECKING:
    from reticent.methods.bang.method import Bang

SERIES = "grown table"
_LAYOUT = 1
_STATE, _PEOPLE, _CLUSTERS, _INDEX, _COHORT = "state.json", "people.parquet", "clusters.parquet", "index", "cohort"
_LARGEST_STATE = 1 << 24


@dataclass(frozen=True)
class GrowingState:
    """State after a release: everyone published so far (``people``: key, values, and the number of their first release),
    the ``clusters`` of the classes, and the claims.

    ``token`` names the series, ``first`` the version whose folder has the fixed index, ``follows`` the previous
    version. ``anonymity`` is the BCF-anonymity of all releases so far, ``ledger`` the fingerprint of the series'
    ledger.
    """

    token: str
    number: int
    first: str
    follows: str | None
    promises: list[Any]
    k: int
    guarded: bool
    raised: bool
    anonymity: int
    people: pl.DataFrame
    clusters: Ids
    ledger: str = ""

    def told(self) -> dict[str, Any]:
        """The scalar figures, as plain data."""
        return {
            "layout": _LAYOUT,
            **{name: value for name, value in self.__dict__.items() if name not in ("people", "clusters")},
        }


@dataclass(frozen=True)
class GrowingFolder:
    """The private folder of a series, with one folder per state; readable by its owner only."""

    path: Path

    def write(self, version: str, state: GrowingState, index: BangIndex | None) -> dict[str, str]:
        """Write a state under a name that is never reused, the first one with the index. Return the hashes of the files (the index has its own)."""
        files = {
            _STATE: json.dumps(state.told(), ensure_ascii=False).encode(),
            _PEOPLE: as_parquet(state.people),
            _CLUSTERS: as_parquet(pl.DataFrame({"cluster": state.clusters})),
        }
        try:
            make_folder(self.path, mode=0o700)
            with folder_aside(self.path / version, mode=0o700) as aside:
                for name, content in files.items():
                    write_new(aside / name, content, mode=0o600)
                if index is not None:
                    index.save(aside / _INDEX)
        except OSError as error:
            raise DataError(
                f"The state of the series could not be written to {str(self.path)!r}: {error.strerror or error}. Nothing was published."
            ) from error
        return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}

    def read(self, version: str, files: Mapping[str, str]) -> GrowingState:
        """Read the state of a version; a missing, damaged or unexpected file raises a :class:`DataError`."""
        folder = self.path / version
        try:
            for name, expected in files.items():
                if hashlib.sha256((folder / name).read_bytes()).hexdigest() != expected:
                    raise ValueError(f"{name} was changed")
            stored = _stored_state(folder)
            return GrowingState(
                people=pl.read_parquet(folder / _PEOPLE),
                clusters=pl.read_parquet(folder / _CLUSTERS)["cluster"].to_numpy().astype(np.int64),
                **{name: value for name, value in stored.items() if name != "layout"},
            )
        except (OSError, ValueError, TypeError, KeyError, pl.exceptions.PolarsError) as problem:
            raise DataError(
                f"The state {str(folder)!r} of a grown table is missing or damaged ({type(problem).__name__}). Restore the folder from a backup: the next release depends on it."
            ) from None

    def index(self, state: GrowingState) -> BangIndex:
        """Return the index of the first release."""
        return open_index(self.path / state.first / _INDEX)

    def newest(self) -> str | None:
        """Return the last complete version if no ledger decides; for previews."""
        return max((version.name for version in self._versions()), default=None)

    def check_ledger(self, ledger: str, last_state: SeriesState | None) -> None:
        """Refuse a ledger that is not the series' own, or an older copy of it, which would restart the series."""
        try:
            stored_states = [_stored_state(version) for version in self._versions()]
        except (OSError, ValueError):
            return
        number = 0 if last_state is None else int(last_state.details["number"])
        foreign = [stored for stored in stored_states if stored.get("ledger", ledger) not in ("", ledger)]
        if foreign or any(stored["number"] > number + 1 for stored in stored_states):
            latest = max(stored["number"] for stored in foreign or stored_states)
            raise LedgerError(
                f"The folder {str(self.path)!r} belongs to a series of at least {latest} releases, but the ledger has {number or 'none'} of them: it is another ledger, or an older copy. "
                "Nothing was published. Pass the ledger of the series (ledger=, --ledger), or restore it from a backup."
            )

    def sweep(self, version: str, state: GrowingState) -> None:
        """Remove obsolete states: those up to the valid one's number that are not its ancestors."""
        try:
            stored_states = {version.name: _stored_state(version) for version in self._versions()}
        except (OSError, ValueError):
            return
        chain, follows = {version}, state.follows
        while follows is not None and follows not in chain:
            chain.add(follows)
            follows = stored_states.get(follows, {}).get("follows")
        for name, stored in stored_states.items():
            if name not in chain and stored["token"] == state.token and stored["number"] <= state.number:
                shutil.rmtree(self.path / name, ignore_errors=True)

    def _versions(self) -> list[Path]:
        """Return the folders of all completely written states."""
        return [
            state_file.parent
            for state_file in self.path.glob(f"*/{_STATE}")
            if not state_file.parent.name.startswith(".")
        ]


def _stored_state(folder: Path) -> dict[str, Any]:
    """Return the scalar figures of a stored state. Raises for another layout."""
    stored = parse_json(read_document(folder / _STATE, _LARGEST_STATE).decode())
    if not isinstance(stored, dict) or stored.get("layout") != _LAYOUT:
        raise ValueError("another layout")
    return stored


def refused_growth(method: Bang, table: Table, definition: GroupDefinition) -> str | None:
    """Return why a table cannot be published as a growing one, from declarations alone, without reading a row."""
    if table.dataset is None:
        return (
            "Bang: a growing table is a series in the ledger, but this table has no name. Pass dataset= to the table."
        )
    if table.key is None or table.several_rows:
        return "Bang: a growing table needs a key column and one row per person. Pass key=, and aggregate the rows of a person first."
    if table.streamed:
        return f"Bang: grow needs all rows in memory, and this table is {table.read_how}. Pass engine='local'."
    if table.declared or table.pseudonyms or table.quasi_sets or table.weight is not None:
        return "Bang: a growing table publishes only quasi and sensitive columns: declared columns and pseudonyms would link people across releases; quasi sets and weights are not supported."
    for part in definition.parts():
        if not part.local or part.needs_reference or part.needs_population:
            return (
                f"Bang: {part} compares classes with the whole table, which changes with every release, so published people may fail it later. A growing table needs definitions that judge every class "
                "separately, such as KAnonymity and l-diversity."
            )
        if not part.shown_by_files:
            return f"Bang: {part} depends on the people's own requests, which files do not show, so a series could not be verified. Publish it without grow."
    if method.compact:
        return "Bang: compact publishes the extents of the people in every region, which would change with every newcomer and reveal them. Remove compact or grow."
    return None


def grown(method: Bang, minimum: int, run: GroupRun) -> Grouping:
    """Return the next release of a growing table."""
    assert method.grow is not None
    context = run.context
    folder = GrowingFolder(Path(method.grow))
    files: Mapping[str, str] = {}
    if context.series is None:
        version = folder.newest()
    else:
        last_state = context.series(SERIES)
        folder.check_ledger(context.ledger, last_state)
        version = None if last_state is None else last_state.version
        files = {} if last_state is None else last_state.details["files"]
    if version is None:
        return _first(folder, method, minimum, run)
    state = folder.read(version, files)
    if context.series is not None:
        folder.sweep(version, state)
    return _Growth(folder, method, version, state, run).grouping()


def _promises(definition: GroupDefinition) -> list[Any]:
    plain: list[Any] = to_plain([[part.name, part.parameters()] for part in definition.parts()])
    return plain


def _first(folder: GrowingFolder, method: Bang, minimum: int, run: GroupRun) -> Grouping:
    """Publish the first release of a table that grows: build the index, and store the state that later releases continue."""
    table, definition = run.table, run.definition
    index = BangIndex.of(method, minimum, count_table(table, run.context), run.context)
    cut = index.passing(definition, run.context)
    people = _columns(table).with_columns(pl.lit(1).alias(_cohort(table)))
    state = GrowingState(
        token=secrets.token_hex(8),
        number=1,
        first="",
        follows=None,
        promises=_promises(definition),
        k=cut.k,
        guarded=cut.guarded,
        raised=cut.raised,
        anonymity=int(cut.groups.people.min()),
        people=people,
        clusters=clusters_of(index.dendrogram, cut.group),
    )
    release = GrownRelease.of(folder, state, run.context, index)
    return release.placed(cut.grouping(table, definition), {"new": table.rows, "waiting": 0})


@dataclass(frozen=True)
class GrownRelease:
    """A release of a series with its ``state`` in a folder named ``version``, and the ``index`` if it is the first.
    ``known`` returns the ledger's state.
    """

    folder: GrowingFolder
    version: str
    state: GrowingState
    index: BangIndex | None
    known: Callable[[str], SeriesState | None] | None

    @classmethod
    def of(
        cls, folder: GrowingFolder, state: GrowingState, context: Context, index: BangIndex | None = None
    ) -> GrownRelease:
        """Return the release that leads to ``state``, with a version name that is never reused; the first one brings the index."""
        version = f"{state.number:04d}-{secrets.token_hex(8)}"
        state = replace(state, first=state.first or version, ledger=context.ledger)
        return cls(folder, version, state, index, context.series)

    def placed(self, grouping: Grouping, facts: Mapping[str, int]) -> Grouping:
        """Return the classes with their position in the series."""
        ledger_details = {SERIES: self.state.token, "number": self.state.number}
        outcome = self if self.known is not None else None
        return replace(
            _placed(grouping, self.state, facts),
            completed=lambda draft: replace(
                grouping.completed(draft), beside=_beside(self.state), noted=ledger_details, outcome=outcome
            ),
        )

    def stored(self) -> SeriesState:
        """Write the state after this release, and return the ledger's record of it."""
        files = self.folder.write(self.version, self.state, self.index)
        details = {"number": self.state.number, "files": files}
        return SeriesState(SERIES, self.version, details, follows=self.state.follows)

    def discard(self) -> None:
        """Remove the state again, unless the ledger refers to it."""
        true = None if self.known is None else self.known(SERIES)
        if true is None or true.version != self.version:
            shutil.rmtree(self.folder.path / self.version, ignore_errors=True)


def _placed(grouping: Grouping, state: GrowingState, facts: Mapping[str, int]) -> Grouping:
    """Return a grouping with the number of its release in the series."""
    return replace(
        grouping,
        details={**grouping.details, "series": {"number": state.number}},
        search={**grouping.search, "release of the series": state.number, "BCF-anonymity": state.anonymity, **facts},
    )


def _beside(state: GrowingState) -> PriorCheck:
    """Return the check that a release follows only earlier ones of its own series."""

    def judge(prior: Sequence[PriorDisclosure]) -> Judgement:
        """Allow the release if the prior disclosures are exactly the earlier releases of its series."""
        own_entries = [entry for entry in prior if entry.details.get(SERIES) == state.token]
        if len(own_entries) < len(prior) or len(own_entries) != state.number - 1:
            return alone(prior)
        if not prior:
            return allow()
        return allow(
            f"Given out before: {described(prior)}, of the same table as it was then. They and this were judged together: the people who are new in a release satisfy in every class what is promised, "
            f"and classes are made of whole earlier ones. BCF-anonymity of all releases together: {state.anonymity}."
        )

    return judge


def _nothing_new(prior: Sequence[PriorDisclosure]) -> Judgement:
    """Refuse a release if there is an earlier one and nothing was added."""
    if not prior:
        return alone(prior)
    return refuse(
        "No new people can enter: all are published already, or must wait for others. The last release can be saved again only unchanged (the same file type). Publish when there are more people."
    )


class _Growth:
    """A later release: people already published, new people, and which of these enter."""

    def __init__(
        self,
        folder: GrowingFolder,
        method: Bang,
        version: str,
        state: GrowingState,
        run: GroupRun,
    ) -> None:
        """Prepare the release that follows ``state``, the state of ``version`` in the series' folder."""
        self.folder, self.method, self.version, self.state = folder, method, version, state
        self.table, self.definition, self.context = run.table, run.definition, run.context

    def grouping(self) -> Grouping:
        """Return the classes of published people and of the new people who enter."""
        if _promises(self.definition) != self.state.promises:
            raise PolicyError(
                "Bang: all releases of a growing table have the same definition. Use the definition of the first release, or start another series: another folder and another data set of different people."
            )
        self.context.step("comparing with the release before")
        cohort = self._cohorts()
        frozen = self.folder.index(self.state)
        tree = frozen.dendrogram
        space = _space_on(frozen.space, self.table)
        codes = [hierarchy.codes(self.table.values(hierarchy.column)) for hierarchy in self.table.hierarchies]
        region = replace(frozen.directory, space=space).holding(space.keys(codes))
        is_new = cohort == 0
        values = [column.codes(self.table.values(column.name)) for column in self.table.sensitive_columns]
        guard = CohortGuard(
            self.definition,
            max(self.definition.least_rows(), 1),
            self.method.guard == "sensitive",
            self.method.few,
        )
        newcomers = Groups.of_rows(
            region[is_new],
            len(tree),
            self.table.sensitive_columns,
            [codes_of_column[is_new] for codes_of_column in values],
        )
        self.context.step("letting new people in")
        admission = guard.admit(tree, self.state.clusters, newcomers)
        enters = is_new & admission.enters[tree.classes(admission.clusters)[region]]
        facts = {"new": int(enters.sum()), "waiting": int((is_new & ~enters).sum())}
        if not enters.any():
            # The last release again: its people keep their cohort numbers.
            unchanged = self._cut(frozen, self.table.only(pl.Series(~is_new)), self.state)
            placed = _placed(unchanged, self.state, facts)
            return replace(placed, completed=lambda draft: replace(unchanged.completed(draft), beside=_nothing_new))
        anonymity = self._anonymity(frozen, region, is_new, enters, values, admission.clusters)
        published_table = self.table.only(pl.Series(~is_new | enters))
        number = self.state.number + 1
        cohorts = np.where(is_new, number, cohort)[~is_new | enters]
        state = replace(
            self.state,
            number=number,
            follows=self.version,
            guarded=self.state.guarded or guard.by_class,
            raised=self.state.raised or admission.raised,
            anonymity=anonymity,
            people=_columns(published_table).with_columns(pl.Series(_cohort(published_table), cohorts)),
            clusters=admission.clusters,
        )
        return GrownRelease.of(self.folder, state, self.context).placed(
            self._cut(frozen, published_table, state), facts
        )

    def _cohorts(self) -> Ids:
        """Return the number of everyone's first release, 0 for new people; published people must be unchanged."""
        published, key = self.state.people, self.table.key
        current = _columns(self.table)
        name = _cohort(self.table)
        assert key is not None
        if set(published.columns) != {*current.columns, name} or any(
            published.schema[column] != current.schema[column] for column in current.columns
        ):
            raise DataError(
                f"The columns or their types differ from the releases of the series: {', '.join(f'{column} ({column_type})' for column, column_type in published.drop(name).schema.items())}."
            )
        removed = published.join(current, on=key, how="anti")
        if removed.height:
            raise _not_growth(
                f"{removed.height} people who are already published are not in the table, such as {removed[key][0]!r}"
            )
        cohort_of = (
            current.select(key)
            .join(published.select(key, name), on=key, how="left", maintain_order="left")[name]
            .fill_null(0)
        )
        still_there = current.filter(cohort_of > 0)
        earlier = (
            still_there.select(key).join(published, on=key, how="left", maintain_order="left").select(current.columns)
        )
        is_unchanged = (
            pl.DataFrame([still_there[column].eq_missing(earlier[column]) for column in current.columns])
            .select(pl.all_horizontal("*"))
            .to_series()
        )
        if not is_unchanged.all():
            raise _not_growth(
                f"{int((~is_unchanged).sum())} people who are already published have different values now, such as {still_there[key].filter(~is_unchanged)[0]!r}"
            )
        return cohort_of.to_numpy().astype(np.int64)

    def _cut(self, frozen: BangIndex, table: Table, state: GrowingState) -> Grouping:
        """Return a table in the classes of a state."""
        units = count_table(table, self.context)
        space = _space_on(frozen.space, table)
        directory = replace(frozen.directory, space=space)
        region_of = directory.holding(space.keys(units.codes))
        directory = replace(directory, rows=sum_by(region_of, units.sizes, len(directory)))
        blocks = units.merged(region_of.astype(np.int32), len(directory))
        parts = IndexParts(blocks, RowDigest.of(units), frozen.dendrogram)
        index = BangIndex(self.method, frozen.minimum, space, directory, units, region_of, knows=parts)
        cut = BangCut.of(index, state.clusters, state.k, guarded=state.guarded, raised=state.raised)
        return cut.grouping(table, self.definition)

    def _anonymity(
        self,
        frozen: BangIndex,
        region: Ids,
        fresh: NDArray[np.bool_],
        enters: NDArray[np.bool_],
        values: Sequence[NDArray[Any]],
        clusters: Ids,
    ) -> int:
        """Return the BCF-anonymity of all releases with this one, which must not be below the claim; new people are judged
        again as an adversary finds them by subtraction.
        """
        tree = frozen.dendrogram
        earlier_class, current_class = tree.classes(self.state.clusters), tree.classes(clusters)
        is_published = ~fresh | enters
        earlier_count, current_count = len(self.state.clusters), len(clusters)
        ids = np.where(fresh, earlier_count + current_class[region], earlier_class[region])[is_published]
        groups = Groups.of_rows(
            ids, earlier_count + current_count, self.table.sensitive_columns, [codes[is_published] for codes in values]
        )
        class_after = np.empty(earlier_count, dtype=np.int64)
        class_after[earlier_class] = current_class
        all_people = groups.merged(
            np.concatenate([class_after, np.arange(current_count)]).astype(np.int32), current_count
        )
        old, new = (
            groups.select(np.arange(earlier_count + current_count) < earlier_count),
            groups.select(np.arange(earlier_count + current_count) >= earlier_count),
        )
        matched, fewest_new = matched_at_once(old, all_people, class_after)
        anonymity = min(self.state.anonymity, matched, matched if fewest_new is None else fewest_new)
        failing = self.definition.failing(new.select(new.sizes > 0))
        if failing.any() or anonymity < self.definition.least_rows():
            raise AssertionError("the new people do not satisfy the definition on their own")
        return anonymity


def _not_growth(what_happened: str) -> DataError:
    """Return the error for a table that did not only grow."""
    return DataError(
        f"Bang: {what_happened}. Only new people may be added to a growing table: removing people or changing their values discloses them by comparison. "
        "Use `reticent republish` (rt.republish.History) for a table that changes."
    )


def _columns(table: Table) -> pl.DataFrame:
    """Return the stored columns: the key, and the values published in some form."""
    assert table.key is not None
    return table.frame.select(list(dict.fromkeys([table.key, *table.quasi, *table.sensitive])))


def _cohort(table: Table) -> str:
    return unused(_COHORT, table.schema)


def _space_on(space: GridSpace, table: Table) -> GridSpace:
    """Return the fixed cells for the values of a table."""
    return GridSpace(tuple(axis.on(hierarchy) for axis, hierarchy in zip(space.axes, table.hierarchies, strict=True)))
