"""The format ``generalize``: one table of labels and sensitive values; rows with the same labels are a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from reticent.data import Seen
from reticent.data.predicate import Condition
from reticent.release.format import Answer, Frames, GroupFormat, Words
from reticent.release.manifest import ManifestColumn
from reticent.release.stored import counted

if TYPE_CHECKING:
    from reticent.release.public import PublicSide


class Generalize(GroupFormat):
    """One table of labels and sensitive values."""

    name: ClassVar[str] = "generalize"
    tables: ClassVar[tuple[str, ...]] = ("data",)
    streams: ClassVar[bool] = True
    sensitive_table: ClassVar[str] = "data"

    def seen(self, tables: Frames, columns: Sequence[ManifestColumn]) -> Seen:
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        return Seen.in_rows(*counted(tables, "data", [*quasi, *sensitive]), quasi, sensitive)

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
