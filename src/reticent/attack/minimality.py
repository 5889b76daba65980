"""Minimality: somebody who knows how the release was chosen rules out every world in which another would have been chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize import search
from reticent.attack.base import Findings, secrets
from reticent.attack.people import listing
from reticent.attack.published import Published
from reticent.attack.remaking import definition_of, method_of
from reticent.attack.worlds import Worlds
from reticent.data import Draft, Groups, Histograms, SensitiveDomain, Table
from reticent.data.keys import number, pack
from reticent.definitions import Definition, KAnonymity
from reticent.errors import Infeasible, PolicyError
from reticent.exact import Number, exact, whole
from reticent.release import PublicSide

_MOST_NODES = 300


@dataclass(frozen=True)
class Minimality:
    """Somebody who knows everybody's quasi values, the hierarchies, the definition and the method (R-PM-13 c, R-TS-24).

    The least distorted release that keeps a promise tells that less distorted ones would have broken it. Worlds are the assignments of
    each group's values to its people; those in which the method would have published something else are ruled out, and the others are equally
    likely (m-confidentiality asks what remains). A person is hit when a value becomes more likely than any is by the group alone, by
    more than ``gain``. All worlds are looked at, in exact arithmetic, so this is for small tables: at most ``worlds`` where the choice can be
    judged for all worlds at once (:class:`reticent.anonymize.Lattice` without suppression, by a measure that does not look at
    sensitive values), ``runs`` where the method has to be run in each.

    ``table`` has the quasi columns and the hierarchies; its sensitive values are not looked at. A method whose choice does not depend on
    sensitive values (``KAnonymity``) stops it: no world is ruled out then.
    """

    table: Table = field(repr=False)
    gain: Number = 0
    worlds: int = 20_000
    runs: int = 200

    name = "minimality"

    def __post_init__(self) -> None:
        if not isinstance(self.table, Table) or len(self.table.sensitive) != 1 or self.table.unit == "person":
            raise PolicyError("Minimality needs a table with one sensitive column, in which a row is a person.")
        exact(self.gain, "Minimality: gain", low=0, high=1)
        whole(self.worlds, "Minimality: worlds", low=1)
        whole(self.runs, "Minimality: runs", low=1)

    def attack(self, published: Published) -> Findings:
        """Rule out the worlds in which something else would have been published."""
        side = published.made
        if side is None:
            raise PolicyError(
                "Minimality looks at how a release was chosen, and a table as it stands was not chosen at all."
            )
        if side.manifest.quasi_sets is not None:
            raise PolicyError("Minimality does not know releases for several sets of quasi columns.")
        sensitive, groups = secrets(published, None, "Minimality")
        definition, method = definition_of(side), method_of(side)
        ranked = _is_ranked(side.manifest.method)
        found = Worlds.of(published, self.table.frame, sensitive, self.worlds if ranked else self.runs)
        choice = _Choice(self.table, definition, method, found, groups.domain.columns[0].labels)
        kept = choice.by_rank(str(side.manifest.method["objective"])) if ranked else choice.by_running(side)
        if not kept.any():
            raise PolicyError(
                "No world of the list leads to this release: it was made of other people, or in another way."
            )
        return self._findings(found, kept, groups, sensitive, side.manifest.method)

    def _findings(
        self, found: Worlds, kept: NDArray[np.bool_], groups: Groups, sensitive: str, method: Any
    ) -> Findings:
        chances = _chances(found, kept)
        limit = exact(self.gain, "gain")
        surest = [max(row) for row in chances]
        alone = [Fraction(int(groups.histograms.top[group]), int(groups.sizes[group])) for group in found.group_of]
        hit = np.array([after - before > limit for after, before in zip(surest, alone, strict=True)], dtype=bool)
        people = int(found.sizes.sum())
        gains = [after - before for after, before in zip(surest, alone, strict=True)]
        point = int(np.argmax([float(gain) for gain in gains]))
        return Findings(
            self.name,
            f"{listing(tuple(self.table.quasi))} of everybody, the hierarchies, the definition, and that {method['name']} chose the release",
            f"have a {sensitive} that the choice of the release makes likelier than their group does",
            int(found.sizes[hit].sum()),
            people,
            self._example(found, chances, alone, groups, sensitive, point, bool(hit.any())),
            details={
                "worlds": sum(found.ways),
                "possible": sum(way for way, keeps in zip(found.ways, kept.tolist(), strict=True) if keeps),
                "moved": self._moved(found, chances, groups),
                "surest": str(max(surest)),
                "surest_by_group": str(max(alone)),
            },
        )

    def _moved(self, found: Worlds, chances: Sequence[Sequence[Fraction]], groups: Groups) -> int:
        """How many people are believed to have some value with another chance than by their group alone."""
        texts = groups.domain.columns[0].texts
        moved = 0
        for point, group in enumerate(found.group_of.tolist()):
            shown = groups.histogram(group)
            alone = [Fraction(shown.get(text, 0), int(groups.sizes[group])) for text in texts]
            moved += int(found.sizes[point]) if list(chances[point]) != alone else 0
        return moved

    def _example(
        self,
        found: Worlds,
        chances: Sequence[Sequence[Fraction]],
        alone: Sequence[Fraction],
        groups: Groups,
        sensitive: str,
        point: int,
        hit: bool,
    ) -> str:
        if not hit:
            return f"Knowing how the release was chosen makes nobody's {sensitive} likelier than the groups do."
        value = int(np.argmax([float(each) for each in chances[point]]))
        text = groups.domain.columns[0].texts[value]
        values = ", ".join(str(each) for each in found.points.row(point))
        group = groups.histogram(int(found.group_of[point]))
        share = Fraction(group.get(text, 0), sum(group.values()))
        return (
            f"Somebody with {values} has {sensitive} {text!r} with a chance of {float(share):.0%} by the group alone, "
            f"and of {float(chances[point][value]):.0%} for somebody who knows how the release was chosen."
        )


def _chances(found: Worlds, kept: NDArray[np.bool_]) -> list[list[Fraction]]:
    """For every point the chance of each value among the worlds that are left."""
    ways = [way if keeps else 0 for way, keeps in zip(found.ways, kept.tolist(), strict=True)]
    total = sum(ways)
    # Python integers: the number of assignments soon exceeds 64 bits.
    sums = np.tensordot(np.array(ways, dtype=object), found.counts.astype(object), axes=1)
    return [
        [Fraction(int(amount), total * int(size)) for amount in row]
        for row, size in zip(sums, found.sizes, strict=True)
    ]


def _is_ranked(method: Any) -> bool:
    """Whether nodes have a rank that does not depend on sensitive values, so that the first that passes is chosen."""
    plain = method.get("objective") not in (None, "kl") and not str(method.get("objective")).startswith("callback")
    return method.get("name") == "Lattice" and Fraction(str(method.get("suppression", "0"))) == 0 and plain


@dataclass(frozen=True)
class _Choice:
    """In which worlds the method chooses what was published. ``values`` are the sensitive values, in the order of the worlds."""

    table: Table
    definition: Definition
    method: Any
    worlds: Worlds
    values: pl.Series

    def by_rank(self, objective: str) -> NDArray[np.bool_]:
        """Where nodes are taken in a fixed order: the worlds in which every node before the published one fails."""
        bound = self.table.hierarchies
        nodes = list(product(*(range(hierarchy.height + 1) for hierarchy in bound)))
        if len(nodes) > _MOST_NODES:
            raise PolicyError(f"The lattice has {len(nodes):,} nodes; Minimality looks at {_MOST_NODES} at most.")
        leaves = [hierarchy.codes(self.worlds.points[hierarchy.column]) for hierarchy in bound]
        places = {
            levels: number(
                *pack(
                    [each.levels[level].parts[codes] for each, level, codes in zip(bound, levels, leaves, strict=True)],
                    [each.levels[level].size for each, level in zip(bound, levels, strict=True)],
                    self.worlds.points.height,
                )
            )
            for levels in nodes
        }
        first = next(self.frames())
        ranks = {levels: (_objective(first, levels, objective), levels) for levels in nodes}
        # Nodes with the same groups pass together, so the first of them is the one that was chosen.
        alike = [levels for levels, (ids, _) in places.items() if _same_parts(ids, self.worlds.group_of)]
        if not alike:
            raise PolicyError(
                "The release is no generalization of the table by its hierarchies: its choice cannot be followed."
            )
        chosen = min(ranks[levels] for levels in alike)
        kept = np.ones(len(self.worlds), dtype=bool)
        for levels, rank in ranks.items():
            if rank < chosen:
                kept &= ~self._passes(*places[levels])
        return kept

    def by_running(self, side: PublicSide) -> NDArray[np.bool_]:
        """The worlds in which the method, run on them, makes the very tables that were published."""
        shown = _looks(side.tables, side.manifest.bucket)
        kept = []
        for world in self.frames():
            try:
                draft = self.method.draft(world, self.definition, insecure_seed=0)
            except Infeasible:
                kept.append(False)
                continue
            kept.append(_looks(draft.tables, _bucket(draft)) == shown)
        return np.array(kept, dtype=bool)

    def frames(self) -> Iterator[Table]:
        """Every world as a table."""
        (sensitive, kind), *_ = self.table.sensitive.items()
        values = self.values.cast(self.table.frame[sensitive].dtype)
        for frame in self.worlds.frames(self.table.frame, sensitive, values):
            yield Table(frame, quasi=self.table.quasi, sensitive={sensitive: kind}, nulls=self.table.nulls)

    def _passes(self, ids: NDArray[Any], groups: int) -> NDArray[np.bool_]:
        """In which worlds the points, put together by ``ids``, satisfy the definition."""
        column = self.table.sensitive_columns[0]
        codes = column.codes(self.values.cast(column.labels.dtype))
        together = np.zeros((groups, len(ids)), dtype=np.int64)
        together[ids, np.arange(len(ids))] = 1
        counts = np.einsum("gp,wpv->wgv", together, self.worlds.counts)
        sizes = counts[0].sum(axis=1)
        reference = np.zeros(column.size, dtype=np.int64)
        reference[codes] = counts[0].sum(axis=0)
        domain = SensitiveDomain.single(column)

        def judged(some: NDArray[np.int64]) -> Groups:
            owners, values = np.nonzero(some)
            cells = Histograms.from_cells(owners, codes[values], some[owners, values], len(some), column.size)
            return Groups(np.resize(sizes, len(some)), cells, reference, domain)

        if not all(part.local for part in self.definition.parts()):
            return np.array([self.definition.holds(judged(world)) for world in counts], dtype=bool)
        failing = self.definition.failing(judged(counts.reshape(-1, counts.shape[2])))
        passing: NDArray[np.bool_] = np.all(~failing.reshape(len(counts), groups), axis=1)
        return passing


def _objective(world: Table, levels: tuple[int, ...], objective: str) -> float:
    """What a node costs. It is the same in every world, since the measure does not look at sensitive values."""
    node = dict(zip(world.quasi, levels, strict=True))
    best = search(world, KAnonymity(1), objective=objective, node=node).best
    assert best is not None
    return float(best.objective)


def _same_parts(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two numberings put the same things together."""
    pairs = len(np.unique(np.stack([first, second]), axis=1).T)
    return bool(pairs == len(np.unique(first)) == len(np.unique(second)))


def _bucket(draft: Draft) -> str | None:
    if draft.format != "bucketize":
        return None
    return next(name for name in draft.tables["quasi"].columns if name in draft.tables["sensitive"].columns)


def _looks(tables: Mapping[str, pl.DataFrame], bucket: str | None) -> list[Any]:
    """What tables show, whatever the order of their rows and the numbers of their buckets."""
    texts = {name: frame.select(pl.all().cast(pl.String)) for name, frame in tables.items()}
    if bucket is None:
        return sorted(texts["data"].rows(), key=repr)
    found: dict[Any, list[Any]] = {}
    for name, frame in texts.items():
        for row in frame.select(bucket, pl.all().exclude(bucket)).iter_rows():
            found.setdefault(row[0], []).append((name, *row[1:]))
    return sorted((sorted(rows, key=repr) for rows in found.values()), key=repr)
