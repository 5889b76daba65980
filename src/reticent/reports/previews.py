"""What a release would be: previews and comparisons, for the steward's eyes. Nothing is recorded, saved or given out.

A preview goes the way of a publication (the method's draft, the check of its tables, the judgement of its evidence and of the public tables) and
stops before the ledger (:func:`reticent.release.judged_draft`). A method that publishes at random is not drafted: every draw of real rows spends what protects
them, and many previews average to the truth. Its preview is the error that it would make (:class:`MechanismPreview`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from reticent.attacks import Findings, run_adversaries
from reticent.attacks import compare as attacks_compared
from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.core import Groups, Recoding
from reticent.definitions import Definition, ExpectedError, KAnonymity, Method, RandomMechanism, is_random
from reticent.errors import Infeasible, PolicyError
from reticent.release import (
    Headline,
    JudgedDraft,
    MethodCost,
    PublicSide,
    Request,
    cost_of,
    covers,
    judged_draft,
    named_method,
    promised_by,
)
from reticent.reports.analysis import Analysis, analyse
from reticent.reports.facts import Comparison
from reticent.reports.utility_figure import save_utility_chart
from reticent.table import Table
from reticent.utility import WorkloadError, listed_utility, utility_of

_ROWS_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Preview(ShownAsCard):
    """What a release would be. ``table`` is the confidential table that it was drafted from; all of this stays with the steward."""

    definition: Definition
    table: Table = field(repr=False)
    _made: JudgedDraft = field(repr=False)
    models: tuple[str, ...] = ()

    def card(self) -> Card:
        """What would be published, and what it would cost; with some of its rows."""
        facts: dict[str, object] = {
            "verdict": self.headline.title,
            "definition": self.definition,
            "rows": self.rows,
            "left out": self.suppressed,
        }
        if self.groups is not None:
            facts |= {"groups": len(self.groups), "smallest": int(self.groups.people.min())}
        if "loss" in self.utility:
            facts["loss"] = self.utility["loss"]
        shown = self.frame.head(5)
        return Card(
            f"Preview by {self.method.get('name')}, nothing recorded",
            facts,
            tables=[CardTable(shown.columns, shown.rows())],
        )

    @property
    def side(self) -> PublicSide:
        """The public side as it would be: tables, manifest and claims, without a signature and a number in the ledger."""
        return self._made.side

    @property
    def method(self) -> Mapping[str, Any]:
        """The method with its parameters."""
        return self._made.side.manifest.method

    @property
    def format(self) -> str:
        """The format that it would be published in."""
        return self._made.side.format

    @property
    def headline(self) -> Headline:
        """The verdict on the claims, and what they do not cover; without attacks, which :attr:`attacks` runs."""
        return Headline.from_json(self._made.side.certificate["headline"])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the certificate would promise, a sentence for claims that differ in their column only."""
        side = self._made.side
        return tuple(covers(*each) for each in promised_by(side.certificate, side.manifest))

    @property
    def rows(self) -> int:
        """How many rows would be published."""
        return self._made.side.height

    @property
    def suppressed(self) -> int:
        """How many rows would be left out."""
        return self._made.draft.suppressed

    @property
    def groups(self) -> Groups | None:
        """The groups that were judged; None where rows are drawn at random and there are none."""
        evidence = self._made.draft.evidence
        return evidence.published if evidence.groups else None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Some rows of the main table as they would be published."""
        return self._made.side.sample(_ROWS_SHOWN)

    @property
    def utility(self) -> Mapping[str, float]:
        """What the release would cost, by measure; lower is better."""
        return self._made.private.utility

    @property
    def loss_by_column(self) -> Mapping[str, float]:
        """The loss of every quasi column: 0 is exact values, 1 nothing at all. Empty where rows are drawn at random."""
        return self._made.private.loss_by_column

    def query_error(self, queries: int = 200) -> WorkloadError | None:
        """What random counting queries on two quasi columns would be answered beside the truth; None where rows are not grouped."""
        return utility_of(self._made.draft).query_error(queries)

    @property
    def recoding(self) -> Recoding | None:
        """How rows would be recoded; None where they are drawn at random."""
        return self._made.draft.recoding

    @property
    def search(self) -> Mapping[str, Any]:
        """The figures of the search, such as the chosen levels and whether no better release exists."""
        return self._made.draft.search

    @property
    def cost(self) -> MethodCost:
        """What the method costs, to compare it with others."""
        return cost_of(self._made.draft)

    @cached_property
    def attacks(self) -> tuple[Comparison, ...]:
        """What adversaries achieve on the table and on the release, run when first asked for."""
        return tuple(attacks_compared(self.table, self._made.side))

    @cached_property
    def analysis(self) -> Analysis | None:
        """Means, correlations and regressions before and after, with the conclusions that change; None where rows are drawn at random or streamed."""
        if self.groups is None or self.table.streamed:
            return None
        return analyse(self.table, self._made.side, models=self.models)

    def as_dict(self) -> dict[str, Any]:
        """The preview as plain data, without its rows and attacks."""
        groups = self.groups
        return {
            "definition": str(self.definition),
            "headline": self.headline.as_json(),
            "sentences": list(self.sentences),
            "method": dict(self.method),
            "format": self.format,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "groups": None if groups is None else {"count": len(groups), "smallest": int(groups.people.min())},
            "utility": listed_utility(self.utility),
            "loss_by_column": dict(self.loss_by_column),
            "proven": self.search.get("proven"),
        }


@dataclass(frozen=True, repr=False)
class MechanismPreview(ShownAsCard):
    """What a release drawn at random would be: the ``error`` that its noise makes. No row of the table is in it, and there is no draw to look at."""

    definition: Definition
    table: Table = field(repr=False)
    method: Mapping[str, Any]
    format: str
    error: ExpectedError

    groups: ClassVar[None] = None
    recoding: ClassVar[None] = None
    analysis: ClassVar[None] = None
    suppressed: ClassVar[int] = 0
    attacks: ClassVar[tuple[Comparison, ...]] = ()

    def card(self) -> Card:
        """The method, the definition and the error."""
        facts: dict[str, object] = {"definition": self.definition, "error": self.error.words}
        listed = [(name, f"{value:,.6g}") for name, value in self.error.figures.items()]
        return Card(
            f"Preview by {self.method.get('name')}, nothing drawn or recorded",
            facts,
            tables=[CardTable(("figure", "value"), listed)],
        )

    @property
    def headline(self) -> Headline:
        """No verdict: a preview draws nothing, so nothing was judged."""
        return Headline("not shown", ("Nothing was drawn: a preview of a random mechanism shows its error.",))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the certificate would promise, claim by claim."""
        return tuple(part.meaning() for part in self.definition.parts())

    @property
    def frame(self) -> pl.DataFrame:
        """No rows: a draw of real rows is seen only once it is recorded."""
        return pl.DataFrame()

    @property
    def rows(self) -> int:
        """No rows were drawn."""
        return 0

    @property
    def utility(self) -> Mapping[str, float]:
        """The figures of the error."""
        return self.error.figures

    @property
    def loss_by_column(self) -> Mapping[str, float]:
        """Nothing: no column is generalized."""
        return {}

    @property
    def search(self) -> Mapping[str, Any]:
        """Nothing was searched."""
        return {}

    def as_dict(self) -> dict[str, Any]:
        """The preview as plain data."""
        return {
            "definition": str(self.definition),
            "headline": self.headline.as_json(),
            "sentences": list(self.sentences),
            "method": dict(self.method),
            "format": self.format,
            "rows": None,
            "suppressed": None,
            "groups": None,
            "utility": dict(self.utility.items()),
            "error": {"figures": dict(self.error.figures), "words": self.error.words},
            "loss_by_column": {},
            "proven": None,
        }


@dataclass(frozen=True, repr=False)
class PreviewComparison(ShownAsCard):
    """Previews side by side: ``table`` has a row for each combination, ``previews`` those that are possible, in the same order."""

    table: pl.DataFrame
    previews: tuple[Preview | MechanismPreview | None, ...] = field(repr=False)

    def card(self) -> Card:
        """Risk and cost of every combination."""
        heads = ("definition", "method", "smallest", "suppressed", "succeeding", "loss", "problem")
        rows = self.table.select(heads).rows()
        return Card("Methods compared", {"combinations": len(rows)}, tables=[CardTable(heads, rows)])

    def chart(self, path: str | Path, measure: str = "loss") -> Path:
        """Draw what k costs, a line for each method, and write it as SVG or PNG (which needs the extra ``charts``). The definitions must ask for different k.

        ``measure``: ``loss``, ``ncp``, ``kl``, ``discernibility``, ``average_group_size`` or ``groups``.
        """
        return save_utility_chart(path, self.table, [_k_of(each) for each in self.previews], measure)


def _k_of(made: Preview | MechanismPreview | None) -> int | None:
    """The k that a preview was asked for; None where there is none."""
    if made is None:
        return None
    return max((part.k for part in made.definition.parts() if isinstance(part, KAnonymity)), default=None)


def preview(
    table: Table,
    definition: Definition,
    method: Method | str | None = None,
    *,
    models: Sequence[str] = (),
    insecure_seed: int | None = None,
    context: Context | None = None,
) -> Preview | MechanismPreview:
    """Show what :func:`reticent.publish` would publish: rows, groups, utility, loss by column, attacks; of a random mechanism its expected error.

    Nothing is recorded, certified or saved, and the ledger is not opened. A method that publishes at random samples nothing here, however often it is called.

    Parameters:
        table, definition, method: as in :func:`reticent.publish`.
        models: regressions such as ``"wage ~ age + sex"`` whose conclusions :attr:`Preview.analysis` compares before and after; by default
            each sensitive column on the quasi columns.
        insecure_seed: for tests only.
        context: reports progress and can stop the run.

    Returns:
        A preview for the steward: ``frame``, ``groups``, ``utility``, ``loss_by_column``, attacks; for random mechanisms the expected error.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58], "illness": ["flu", "cold"] * 2}, quasi=["age"], sensitive="illness")
        >>> rt.preview(table, rt.KAnonymity(2), method="Mondrian").groups.sizes.tolist()
        [2, 2]
    """
    request = Request.of(table, definition, method, wanted_by="preview")
    if is_random(request.method):
        return _mechanism(request)
    made = judged_draft(request, context or Context(Randomness(insecure_seed)))
    return Preview(definition, table, made, tuple(models))


def _mechanism(request: Request) -> MechanismPreview:
    """The error that a random mechanism would make; one that cannot tell it is refused."""
    table, definition, method = request.table, request.definition, request.method
    if not isinstance(method, RandomMechanism):
        raise PolicyError(
            f"{type(method).__name__} publishes at random and cannot tell its error without a draw (it has no expected_error), and a draw of real rows must be recorded before it is seen. "
            "Preview a table of made-up rows.",
            setting=("method", "name"),
        )
    error = method.expected_error(table, definition)
    return MechanismPreview(definition, table, method.describe(), str(getattr(method, "format", "")), error)


def compare(
    table: Table,
    definitions: Definition | Iterable[Definition],
    methods: Iterable[Method | str] | None = None,
    *,
    attacks: bool = True,
    insecure_seed: int | None = None,
    context: Context | None = None,
) -> PreviewComparison:
    """Preview every combination of definitions and methods, and put risk and cost side by side.

    A combination that is not possible keeps its row, with the reason in ``problem``. Nothing is recorded. The rows are counted once for all combinations.

    Parameters:
        table: the table that would be published.
        definitions: one definition or several.
        methods: methods or their names; by default those that the default is chosen from.
        attacks: count the adversaries without a list of people who succeed (``succeeding``).
        insecure_seed: for tests only.
        context: reports progress and can stop the run.

    Returns:
        A comparison whose ``table`` is a frame with one row a combination.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> compared = rt.compare(table, [rt.KAnonymity(2), rt.KAnonymity(4)], methods=["Lattice"], attacks=False)
        >>> compared.table["loss"].round(2).to_list()
        [0.05, 0.5]
    """
    wanted = [definitions] if isinstance(definitions, Definition) else list(definitions)
    ways: Sequence[Method | None] = [None] if methods is None else [named_method(each) for each in methods]
    if not wanted or not ways:
        raise PolicyError("compare needs at least one definition and one method.")
    context = context or Context(Randomness(insecure_seed))
    made: list[Preview | MechanismPreview | None] = []
    rows: list[dict[str, Any]] = []
    for definition in wanted:
        for number, method in enumerate(ways, start=1):
            context.step("comparing", len(rows), len(wanted) * len(ways))
            problem = None
            try:
                made.append(preview(table, definition, method, context=context))
            except (Infeasible, PolicyError) as error:
                made.append(None)
                problem = str(error)
            rows.append(_row(definition, method, number, made[-1], problem, attacks))
    return PreviewComparison(pl.DataFrame(rows, infer_schema_length=None), tuple(made))


def _row(
    definition: Definition,
    method: Method | None,
    number: int,
    found: Preview | MechanismPreview | None,
    problem: str | None,
    attacks: bool,
) -> dict[str, Any]:
    """One combination as a row of the comparison; what does not apply is null."""
    how = dict(found.method) if found is not None else {} if method is None else method.describe()
    groups = None if found is None else found.groups
    drafted = found if isinstance(found, Preview) else None
    hits: list[Findings] = run_adversaries(drafted._made.side) if drafted is not None and attacks else []
    smallest = None if groups is None else int(groups.people.min())
    measures = ("loss", "ncp", "discernibility", "average_group_size", "kl")
    return {
        "definition": str(definition),
        "method": how.get("name", f"method {number}"),
        "parameters": ", ".join(f"{name}={value}" for name, value in how.items() if name not in ("name", "seed")),
        "possible": found is not None,
        "problem": problem,
        "rows": None if drafted is None else drafted.rows,
        "suppressed": None if drafted is None else drafted.suppressed,
        "groups": None if groups is None else len(groups),
        "smallest": smallest,
        "highest_risk": None if smallest is None else 1 / smallest,
        "succeeding": sum(each.succeeds for each in hits) if drafted is not None and attacks else None,
        "standard_error": found.utility.get("standard_error") if isinstance(found, MechanismPreview) else None,
        **{name: None if found is None else found.utility.get(name) for name in measures},
    }
