"""The format ``stripes``: as ``generalize``, and the details name the column that stripes lie along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from reticent.base.figures import Figure
from reticent.core import AdversaryView, Groups
from reticent.errors import DataError
from reticent.methods.grouping.format import Generalize
from reticent.release import PublicSide
from reticent.release.format import Words
from reticent.table import Anything


class StripesFormat(Generalize):
    name: ClassVar[str] = "stripes"

    def check(self, public: PublicSide) -> None:
        super().check(public)
        along = public.manifest.details.get("along")
        open_columns = [
            column.name
            for column in public.manifest.columns
            if column.role == "quasi" and not all(isinstance(each, Anything) for each in column.labels.values())
        ]
        if open_columns != [along]:
            raise DataError(f"manifest.json: stripes lie along {along!r}, and labels are shown of {open_columns}.")

    def words(self, public: PublicSide) -> Words:
        return Words(f"People are shown in stripes of {public.manifest.details['along']!r}.", ())

    def figures(self, view: AdversaryView, groups: Groups) -> Sequence[Figure]:
        from tests.seams.stripes.figure import stripes_drawn

        return (stripes_drawn(view, groups),)


STRIPES = StripesFormat()
