"""The format ``generalize``: one table of labels and sensitive values; rows with the same labels are a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from reticent.data import group_rows
from reticent.data.predicate import Condition
from reticent.release.cells import Cells
from reticent.release.format import Answer, GroupFormat, Words
from reticent.release.stored import counted

if TYPE_CHECKING:
    from reticent.release.public import PublicSide


class Generalize(GroupFormat):
    """One table of labels and sensitive values."""

    name: ClassVar[str] = "generalize"
    tables: ClassVar[tuple[str, ...]] = ("data",)
    streams: ClassVar[bool] = True
    sensitive_table: ClassVar[str] = "data"

    def cells(self, public: PublicSide, quasi: Sequence[str]) -> Cells:
        sensitive = public.manifest.named("sensitive")
        rows, times = counted(public.tables, "data", [*quasi, *sensitive])
        ids, groups = group_rows([rows[name] for name in quasi], rows.height)
        return Cells(ids, groups, rows.select(sensitive), times)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        from reticent.release.counting import count_labels

        return count_labels(public.tables, public.meanings, condition, estimator, **self.known(public))

    def words(self, public: PublicSide) -> Words:
        return Words(
            "Values that might point at a person were replaced by coarser ones, so that rows look alike in groups.",
            (
                "It is not hidden that somebody is in the table: whoever knows that a person is, finds the person's group.",
            ),
        )


GENERALIZE = Generalize()
