"""The format ``angelize``: generalized rows with the number of a batch, and the sensitive values of each batch in another table.

People with equal labels are in many batches, and a batch has people with different labels. Identity is judged by
labels, inferences about sensitive values by batches: a person's row is one of those with the person's labels, so the
inference is a mixture of what their batches show.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from reticent.conditions import Condition
from reticent.core import AdversaryView, Evidence
from reticent.definitions import Definition, GroupDefinition, own_sets
from reticent.methods.anatomy.format import Bucketize, bucket_of
from reticent.release import PublishedAs
from reticent.release.format import CHOSEN, Answer, EvidenceRequest, Words

if TYPE_CHECKING:
    from reticent.release import PublicSide

_ATTESTED = (
    "Mechanism attested, not checkable from files: that batches were made by how often values occur alone, that who went to which batch was drawn at random among the people "
    "who share a value, and that labels were chosen without a look at sensitive values."
)
_DRAWN_RISK = (
    "The claims about values also hold for an attacker who knows how batches are made, since people were assigned to them at random; they hold for one who considers all assignments of "
    "a batch's values to its people equally likely, and knows no one's value."
)


class Angelize(Bucketize):
    """A table of labels with a batch, and a table that counts the sensitive values of each batch."""

    name: ClassVar[str] = "angelize"
    alike: ClassVar[str] = "the records of a batch"
    tables: ClassVar[tuple[str, ...]] = ("generalized", "sensitive")
    hides_identity: ClassVar[bool] = True
    shows: ClassVar[PublishedAs] = "labels"

    def refusal(self, definition: Definition) -> str | None:
        """Return why a definition cannot be published in batches, or None. Parts about sensitive values must be convex in their shares; others must judge the labels alone."""
        refused = super().refusal(definition)
        wrong = next((part for part in definition.parts() if not _judged_apart(part)), None)
        if refused is not None or wrong is None:
            return refused
        return (
            f"{wrong} may hold for each batch but not for a mixture of them, or depends on labels and values together. Batches support definitions on the shares of sensitive "
            "values that are convex, and definitions that hide identity."
        )

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return batches as evidence about sensitive values, and rows with equal labels as evidence about identity."""
        batches = super().evidence(public, replace(about, people=None))
        columns = {column.name: column.labels for column in public.manifest.columns if column.role == "quasi"}
        labelled = AdversaryView.in_rows(*public.rows[self.tables[0]].counted(list(columns)), columns, ())
        own_column_sets = own_sets(about.definition)
        views = {quasi: labelled.known(quasi) for quasi in (*public.seen.sets, *own_column_sets)}
        if about.definition.needs_population and about.people is not None:
            views = {quasi: view.with_population(about.people) for quasi, view in views.items()}
        groups = {quasi: view.true_groups for quasi, view in views.items()}
        identity_evidence = Evidence(
            {quasi: groups[quasi] for quasi in public.seen.sets}, {quasi: groups[quasi] for quasi in own_column_sets}
        )
        return replace(batches, alike=identity_evidence)

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Count the rows that meet a condition on labels and on the values of batches."""
        from reticent.methods.anatomy.counts import count_batches

        labelled, values = (public.rows[name] for name in self.tables)
        batch_columns: dict[str, Any] = {
            "batch": bucket_of(public.manifest),
            "counts": public.manifest.named("count")[0],
        }
        return count_batches(
            labelled, values, public.meanings, condition, estimator, **batch_columns, **self.known(public)
        )

    def attested(self, public: PublicSide) -> str:
        return _ATTESTED if self.drawn(public) else ""

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        return Words(
            "Values that could identify a person were generalized, so that rows look alike in groups. Sensitive values are in another table; only batches, to which people were "
            "assigned regardless of their other values, connect the two." + self.coarsened(public),
            (
                *self.own_numbers(public),
                *self.missing_values(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's group, and the batches of its rows.",
                _DRAWN_RISK if self.drawn(public) else CHOSEN,
            ),
            group="An attacker who knows a person's batch finds this many people, each of whom may have any of its values.",
            attacked="People who look alike are in different batches, so that few people are found in one; what is concluded about the others is a mixture of several batches.",
        )


def _judged_apart(part: Definition) -> bool:
    """True if a definition is about labels alone, or about shares of sensitive values and convex."""
    if not isinstance(part, GroupDefinition):
        return False
    return not part.needs_sensitive if part.hides_identity else part.needs_sensitive and part.convex


ANGELIZE = Angelize()
