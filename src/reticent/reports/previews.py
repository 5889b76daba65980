"""Previews of a release and comparisons of several, for the steward only. Nothing is recorded, saved or published.

A preview runs the same steps as a publication (draft by the method, checks of the tables, verification of the claims on the public tables) and
stops before the ledger (:func:`reticent.release.judged_draft`). A randomized method is not run: each sample from real rows consumes privacy budget, and the
average of many previews would reveal the true values. Its preview is the expected error (:class:`MechanismPreview`).
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
    """Preview of a release, confidential. ``table`` is the original table that the draft was made from."""

    definition: Definition
    table: Table = field(repr=False)
    _made: JudgedDraft = field(repr=False)
    models: tuple[str, ...] = ()

    def card(self) -> Card:
        """Return a card with the guarantee, the information loss and some rows of the draft."""
        facts: dict[str, object] = {
            "verdict": self.headline.title,
            "definition": self.definition,
            "rows": self.rows,
            "suppressed": self.suppressed,
        }
        if self.groups is not None:
            facts |= {"groups": len(self.groups), "smallest": int(self.groups.people.min())}
        if "loss" in self.utility:
            facts["loss"] = self.utility["loss"]
        sample = self.frame.head(5)
        return Card(
            f"Preview by {self.method.get('name')}, nothing recorded",
            facts,
            tables=[CardTable(sample.columns, sample.rows())],
        )

    @property
    def side(self) -> PublicSide:
        """Public files of the draft: tables, manifest and claims, without signature and ledger number."""
        return self._made.side

    @property
    def method(self) -> Mapping[str, Any]:
        """Name and parameters of the method."""
        return self._made.side.manifest.method

    @property
    def format(self) -> str:
        """Name of the release format."""
        return self._made.side.format

    @property
    def headline(self) -> Headline:
        """Verdict on the claims and their limits. Attacks are not included; see :attr:`attacks`."""
        return Headline.from_json(self._made.side.certificate["headline"])

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences that state the certified guarantee; claims that differ only in their column share a sentence."""
        side = self._made.side
        return tuple(covers(*claim) for claim in promised_by(side.certificate, side.manifest))

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Sentences that state what the claims together leave open; what one claim leaves open and another rules out is not among them."""
        side = self._made.side
        claims = promised_by(side.certificate, side.manifest)
        return tuple(dict.fromkeys(claim.definition.not_covered(claim.scope) for claim in claims))

    @property
    def rows(self) -> int:
        """Number of rows that would be published."""
        return self._made.side.height

    @property
    def suppressed(self) -> int:
        """Number of rows that would be suppressed."""
        return self._made.draft.suppressed

    @property
    def groups(self) -> Groups | None:
        """Equivalence classes that the claims were checked on; None for sampled rows, which have none."""
        evidence = self._made.draft.evidence
        return evidence.published if evidence.groups else None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A few rows of the main table of the draft."""
        return self._made.side.sample(_ROWS_SHOWN)

    @property
    def utility(self) -> Mapping[str, float]:
        """Information loss by measure; lower is better."""
        return self._made.private.utility

    @property
    def loss_by_column(self) -> Mapping[str, float]:
        """Information loss per quasi-identifier, from 0 (exact values) to 1 (fully suppressed). Empty for sampled rows."""
        return self._made.private.loss_by_column

    def query_error(self, queries: int = 200) -> WorkloadError | None:
        """Measure the error of random counting queries on two quasi-identifiers; None if the rows are not grouped."""
        return utility_of(self._made.draft).query_error(queries)

    @property
    def recoding(self) -> Recoding | None:
        """Recoding of the rows; None for sampled rows."""
        return self._made.draft.recoding

    @property
    def search(self) -> Mapping[str, Any]:
        """Statistics of the search, such as the chosen levels and whether optimality is proven."""
        return self._made.draft.search

    @property
    def cost(self) -> MethodCost:
        """Cost of the method, for comparison with other methods."""
        return cost_of(self._made.draft)

    @cached_property
    def attacks(self) -> tuple[Comparison, ...]:
        """Attack results on the original table and on the draft, computed on first access."""
        return tuple(attacks_compared(self.table, self._made.side))

    @cached_property
    def analysis(self) -> Analysis | None:
        """Means, correlations and regressions before and after, with the conclusions that change; None if rows are sampled or streamed."""
        if self.groups is None or self.table.streamed:
            return None
        return analyse(self.table, self._made.side, models=self.models)

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-compatible data, without rows and attacks."""
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
    """Preview of a randomized release: the expected ``error`` of its noise. Nothing is sampled, and it contains no row of the table."""

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
        """Return a card with the method, the definition and the expected error."""
        facts: dict[str, object] = {"definition": self.definition, "error": self.error.words}
        figures = [(name, f"{value:,.6g}") for name, value in self.error.figures.items()]
        return Card(
            f"Preview by {self.method.get('name')}, nothing drawn or recorded",
            facts,
            tables=[CardTable(("figure", "value"), figures)],
        )

    @property
    def headline(self) -> Headline:
        """A headline without a verdict: nothing was sampled, so there is nothing to check."""
        return Headline("not shown", ("Nothing was drawn: a preview of a random mechanism shows its error.",))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences that state the certified guarantee, one per claim."""
        return tuple(part.meaning() for part in self.definition.parts())

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Sentences that state what each claim leaves open."""
        return tuple(dict.fromkeys(part.not_covered() for part in self.definition.parts()))

    @property
    def frame(self) -> pl.DataFrame:
        """An empty frame: a sample from real rows must be recorded in the ledger before it is shown."""
        return pl.DataFrame()

    @property
    def rows(self) -> int:
        """Always 0: nothing is sampled."""
        return 0

    @property
    def utility(self) -> Mapping[str, float]:
        """Expected error by measure."""
        return self.error.figures

    @property
    def loss_by_column(self) -> Mapping[str, float]:
        """Always empty: no column is generalized."""
        return {}

    @property
    def search(self) -> Mapping[str, Any]:
        """Always empty: there is no search."""
        return {}

    def as_dict(self) -> dict[str, Any]:
        """Return the preview as JSON-compatible data."""
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
    """Comparison of previews: ``table`` has one row per combination; ``previews`` holds the feasible ones in the same order."""

    table: pl.DataFrame
    previews: tuple[Preview | MechanismPreview | None, ...] = field(repr=False)

    def card(self) -> Card:
        """Return a card with the risk and information loss of every combination."""
        heads = ("definition", "method", "smallest", "suppressed", "succeeding", "loss", "problem")
        rows = self.table.select(heads).rows()
        return Card("Methods compared", {"combinations": len(rows)}, tables=[CardTable(heads, rows)])

    def chart(self, path: str | Path, measure: str = "loss") -> Path:
        """Plot information loss against k, one line per method, and save it as SVG or PNG (needs the extra ``charts``). The definitions must differ in k.

        ``measure``: ``loss``, ``ncp``, ``kl``, ``discernibility``, ``average_group_size`` or ``groups``.
        """
        return save_utility_chart(path, self.table, [_k_of(previewed) for previewed in self.previews], measure)


def _k_of(previewed: Preview | MechanismPreview | None) -> int | None:
    """Return the parameter k of the previewed definition, or None if it has none."""
    if previewed is None:
        return None
    return max((part.k for part in previewed.definition.parts() if isinstance(part, KAnonymity)), default=None)


def preview(
    table: Table,
    definition: Definition,
    method: Method | str | None = None,
    *,
    models: Sequence[str] = (),
    insecure_seed: int | None = None,
    context: Context | None = None,
) -> Preview | MechanismPreview:
    """Preview what :func:`reticent.publish` would publish: rows, groups, utility, loss by column, attacks; for a randomized method its expected error.

    Nothing is recorded, certified or saved, and the ledger is not opened. A randomized method samples nothing here, so previews consume no privacy budget.

    Parameters:
        table, definition, method: as in :func:`reticent.publish`.
        models: regressions such as ``"wage ~ age + sex"`` whose conclusions :attr:`Preview.analysis` compares before and after; by default
            each sensitive column on the quasi columns.
        insecure_seed: for tests only.
        context: reports progress and can stop the run.

    Returns:
        A preview for the steward: ``frame``, ``groups``, ``utility``, ``loss_by_column``, attacks; for randomized methods the expected error.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58], "illness": ["flu", "cold"] * 2}, quasi=["age"], sensitive="illness")
        >>> rt.preview(table, rt.KAnonymity(2), method="Mondrian").groups.sizes.tolist()
        [2, 2]
    """
    request = Request.of(table, definition, method, wanted_by="preview")
    if is_random(request.method):
        return _mechanism(request)
    draft = judged_draft(request, context or Context(Randomness(insecure_seed)))
    return Preview(definition, table, draft, tuple(models))


def _mechanism(request: Request) -> MechanismPreview:
    """Return the expected error of a randomized method; raise an error if the method cannot compute it without sampling."""
    table, definition, method = request.table, request.definition, request.method
    if not isinstance(method, RandomMechanism):
        raise PolicyError(
            f"{type(method).__name__} is randomized and cannot compute its error without sampling (it has no expected_error), and a sample from real rows must be recorded before it is shown. "
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
    """Preview every combination of definitions and methods, and compare risk and information loss.

    An infeasible combination keeps its row, with the reason in ``problem``. Nothing is recorded. The table is grouped once for all combinations.

    Parameters:
        table: the table that would be published.
        definitions: one definition or several.
        methods: methods or their names; by default the one that :func:`reticent.publish` would choose.
        attacks: run the attacks that need no external list of people, and count those that succeed (``succeeding``).
        insecure_seed: for tests only.
        context: reports progress and can stop the run.

    Returns:
        A comparison whose ``table`` is a frame with one row per combination.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> compared = rt.compare(table, [rt.KAnonymity(2), rt.KAnonymity(4)], methods=["Lattice"], attacks=False)
        >>> compared.table["loss"].round(2).to_list()
        [0.05, 0.5]
    """
    definition_list = [definitions] if isinstance(definitions, Definition) else list(definitions)
    method_list: Sequence[Method | None] = [None] if methods is None else [named_method(chosen) for chosen in methods]
    if not definition_list or not method_list:
        raise PolicyError("compare needs at least one definition and one method.")
    context = context or Context(Randomness(insecure_seed))
    previews: list[Preview | MechanismPreview | None] = []
    rows: list[dict[str, Any]] = []
    for definition in definition_list:
        for position, method in enumerate(method_list, start=1):
            context.step("comparing", len(rows), len(definition_list) * len(method_list))
            problem = None
            try:
                previews.append(preview(table, definition, method, context=context))
            except (Infeasible, PolicyError) as error:
                previews.append(None)
                problem = str(error)
            rows.append(_row(definition, method, position, previews[-1], problem, attacks))
    return PreviewComparison(pl.DataFrame(rows, infer_schema_length=None), tuple(previews))


def _row(
    definition: Definition,
    method: Method | None,
    position: int,
    previewed: Preview | MechanismPreview | None,
    problem: str | None,
    attacks: bool,
) -> dict[str, Any]:
    """Return one combination as a row of the comparison; fields that do not apply are null. ``position`` names a method that has no name."""
    parameters = dict(previewed.method) if previewed is not None else {} if method is None else method.describe()
    groups = None if previewed is None else previewed.groups
    draft_preview = previewed if isinstance(previewed, Preview) else None
    findings: list[Findings] = (
        run_adversaries(draft_preview._made.side) if draft_preview is not None and attacks else []
    )
    smallest = None if groups is None else int(groups.people.min())
    measures = ("loss", "ncp", "discernibility", "average_group_size", "kl")
    return {
        "definition": str(definition),
        "method": parameters.get("name", f"method {position}"),
        "parameters": ", ".join(
            f"{name}={value}" for name, value in parameters.items() if name not in ("name", "seed")
        ),
        "possible": previewed is not None,
        "problem": problem,
        "rows": None if draft_preview is None else draft_preview.rows,
        "suppressed": None if draft_preview is None else draft_preview.suppressed,
        "groups": None if groups is None else len(groups),
        "smallest": smallest,
        "highest_risk": None if smallest is None else 1 / smallest,
        "succeeding": sum(attack.succeeds for attack in findings) if draft_preview is not None and attacks else None,
        "standard_error": previewed.utility.get("standard_error") if isinstance(previewed, MechanismPreview) else None,
        **{name: None if previewed is None else previewed.utility.get(name) for name in measures},
    }
