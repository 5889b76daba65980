"""The method ``Angelization``: labels that hide identity, and batches of distinct sensitive values, formed independently. Source: [Tao2009]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from reticent.base.exact import one_of, whole
from reticent.core import BATCH
from reticent.definitions import Definition, GroupDefinition, all_of
from reticent.errors import PolicyError
from reticent.methods.anatomy.bucket_size import RowsDealt, not_dealt
from reticent.methods.anatomy.recoding import DRAWN, Coupled
from reticent.methods.grouping import Grouping, GroupMethod, GroupRun
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.table import Table

FORMAT = "angelize"
LabelMethod = Literal["Mondrian", "Lattice"]
Labels = Literal["sets", "ranges", "hierarchy"]


@dataclass(frozen=True)
class Angelization(GroupMethod):
    """Publish generalized rows with the number of a batch, and the counts of sensitive values in each batch.

    Identity parts of the definition (k-anonymity) are satisfied by the labels, which are made without using sensitive
    values. Convex parts on sensitive values are satisfied by the batches, formed as in :class:`Anatomy`. So labels are
    as fine as identity alone allows, however demanding the diversity.

    Guarantee: people with equal labels are a group that satisfies the identity parts; the posterior of anyone's value
    is a mixture of batches, each of which satisfies the other parts. Adversary: knows everybody's quasi values, who is
    in the table, and the method; see :class:`Anatomy`. Not covered: who is in the table. Cost: that of the grouping,
    and O(n log n). Source: [Tao2009], for convex definitions.

    Parameters:
        buckets: the method that makes the labels.
        values: how ``Mondrian`` writes its labels.
        l: the number of distinct values in a batch; by default the smallest that suffices.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> release = rt.publish(table, rt.KAnonymity(2) & rt.DistinctLDiversity(2), method=rt.Angelization())
        >>> sorted(release.tables)
        ['generalized', 'sensitive']
    """

    buckets: LabelMethod = "Mondrian"
    values: Labels = "sets"
    l: int | None = None  # noqa: E741 - as definitions call it

    format: ClassVar[str] = FORMAT

    def __post_init__(self) -> None:
        for name, options in (("buckets", get_args(LabelMethod)), ("values", get_args(Labels))):
            one_of(getattr(self, name), f"Angelization: {name}", options)
        if self.buckets == "Lattice" and self.values != "sets":
            raise PolicyError(
                "Angelization: values needs buckets='Mondrian'; Lattice uses the labels of hierarchies.",
                setting=("values",),
            )
        if self.l is not None:
            whole(self.l, "Angelization: l", low=1)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        if not table.sensitive:
            return "Angelization separates sensitive values from people, but the table has no sensitive column. Use Mondrian."
        if BATCH in table.schema:
            return f"Angelization numbers batches in a column {BATCH!r}. Rename the table's column of that name."
        if not any(part.hides_identity for part in definition.parts()):
            return f"{definition} does not hide identity, so labels would be the values themselves. Add KAnonymity(k), or use Anatomy."
        if all(part.hides_identity for part in definition.parts()):
            return f"{definition} does not protect sensitive values, so batches would have nothing to satisfy. Add a definition such as DistinctLDiversity(l), or use Mondrian."
        values = all_of(tuple(part for part in definition.parts() if not part.hides_identity))
        return not_dealt("Angelization", table, values)

    def grouped(self, run: GroupRun) -> Grouping:
        """Return labels for the identity parts of the definition, and batches for the others."""
        identity, values = _sides(run.definition)
        labels = self._labels
        labelled = labels.grouped(GroupRun.of(labels, run.table.without_sensitive(), identity, run.context))
        dealing = RowsDealt.of(run.table, values, self.l, run.context)
        buckets = len(labelled.evidence.published)
        how = (
            f"{self.buckets} made {buckets:,} groups of people with equal labels. Independently, rows were assigned to {len(dealing.groups):,} batches of different "
            "sensitive values at random."
        )
        return replace(
            labelled,
            recoding=Coupled(labelled.recoding, dealing.recoding(run.table), run.table.carried),
            evidence=replace(dealing.evidence(run.table, values), alike=labelled.evidence),
            search={**dealing.figures(run.table), "buckets": buckets, "how": how},
            format=FORMAT,
            details=DRAWN,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        label_parameter = {"values": self.values} if self.buckets == "Mondrian" else {}
        l_parameter = {} if self.l is None else {"l": self.l}
        return {"name": "Angelization", "buckets": self.buckets, **label_parameter, **l_parameter}

    @property
    def _labels(self) -> Mondrian | Lattice:
        return Mondrian(values=self.values) if self.buckets == "Mondrian" else Lattice()


def _sides(definition: GroupDefinition) -> tuple[GroupDefinition, GroupDefinition]:
    """Split a definition into the parts about identity and those about sensitive values."""
    parts = definition.parts()
    identity, values = (tuple(part for part in parts if part.hides_identity is hides) for hides in (True, False))
    return all_of(identity), all_of(values)
