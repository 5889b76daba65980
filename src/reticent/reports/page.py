"""Content of the report page, section by section. The data come from ``facts``; the Jinja templates do the layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, inf, isfinite
from typing import Any

from reticent.base import figures
from reticent.methods.lattice.figure import LatticeFacts, ladder, lattice
from reticent.propose import POOR, ExposedGroup, Risk
from reticent.release import Headline
from reticent.reports.analysis import figure_text
from reticent.reports.attack_figures import attack_figures, attack_quote
from reticent.reports.facts import Comparison, PrivateFacts, ReportFacts, value_counts
from reticent.reports.knowledge_figure import knowledge_curves
from reticent.reports.page_parts import (
    PageBlock,
    PageSection,
    TableCell,
    block,
    figure_block,
    listing,
    page_text,
    plain_table,
)
from reticent.utility import bound_sentence

_MOST_LISTED = 6
_MOST_PRECISIONS = 40


def render(facts: ReportFacts) -> str:
    """Render the complete report as HTML."""
    sections = [
        present_section
        for section in (
            _promises(facts),
            _sample(facts),
            _attacks(facts),
            _risk(facts),
            _crowds(facts),
            *_shapes(facts),
            *_sensitive(facts),
            _method(facts),
            _utility(facts),
            _precision(facts),
            _analysis(facts),
            _flows(facts),
            _residual(facts),
            _certificate(facts),
        )
        if (present_section := section)
    ]
    headline, details = _verdict(facts)
    return page_text(
        "report.html",
        title=f"{facts.title}: release report",
        kind="release report",
        tag="Public report" if facts.private is None else "For the steward: do not publish this page",
        public=facts.private is None,
        heading=facts.title,
        release="",
        headline=headline,
        details=details,
        tiles=_tiles(facts),
        sections=sections,
        foot=_foot(facts),
    )


def _verdict(facts: ReportFacts) -> tuple[Headline, list[str]]:
    """Return the headline and the sentences below it."""
    headline = facts.headline.beside([_LITTLE_USE] if _of_little_use(facts) else [])
    detail = " ".join(filter(None, (facts.judged, _price(facts))))
    # A column declared as unknown that singles out no record does not weaken the verdict, but is still mentioned.
    return headline, [detail, *(sentence for sentence in facts.declared if sentence not in headline.reasons)]


def _of_little_use(facts: ReportFacts) -> bool:
    """True if most of the detail is lost, or all detail of at least one column."""
    if facts.private is None:
        return False
    return facts.private.utility.get("loss", 0.0) > POOR or any(
        column_loss >= 1 for column_loss in facts.private.losses.values()
    )


def _price(facts: ReportFacts) -> str:
    """Return a sentence on the information loss caused by the guarantee (steward's report only)."""
    loss = None if facts.private is None else facts.private.utility.get("loss")
    if loss is None:
        return ""
    lost_columns = (
        [name for name, column_loss in facts.private.losses.items() if column_loss >= 1]
        if facts.private is not None
        else []
    )
    nothing_left = f" Nothing is left of {', '.join(lost_columns)}." if lost_columns else ""
    proven_bound = None
    if facts.private is not None:
        proven_bound = bound_sentence(facts.private.utility, final=facts.private.final_bound)
    bound_text = "" if proven_bound is None else f" {proven_bound}"
    return f"It costs {loss:.0%} of the detail of the columns that others may know.{nothing_left}{bound_text}"


def _sample(facts: ReportFacts) -> PageSection | None:
    """Return the section with some rows of the release."""
    if not facts.sample.width:
        return None
    rows = [tuple("" if cell is None else str(cell) for cell in row) for row in facts.sample.iter_rows()]
    return PageSection(
        "What is published",
        f"{len(rows)} of {facts.rows:,} {facts.row_noun}.",
        [plain_table(facts.sample.columns, rows)],
    )


def _tiles(facts: ReportFacts) -> list[tuple[str, str]]:
    """Return the key figures as pairs of value and caption."""
    tiles = [(f"{facts.rows:,}", f"{facts.row_noun} published")]
    if facts.groups is not None:
        tiles.append((f"{len(facts.groups):,}", "groups of records that look alike"))
        tiles.append((f"{int(facts.groups.people.min()):,}", "records in the smallest group"))
    if facts.private is not None:
        suppressed = facts.private.suppressed
        if facts.row_noun == "rows":
            tiles.append(
                (f"{suppressed:,}", f"records suppressed ({suppressed / max(facts.rows + suppressed, 1):.1%})")
            )
        if "loss" in facts.private.utility:
            tiles.append((f"{facts.private.utility['loss']:.0%}", "of the detail lost"))
    return tiles


def _promises(facts: ReportFacts) -> PageSection:
    """Return the section with the guaranteed definitions and what they do not cover."""
    promises = [
        block("promise", head=promise.name, text=promise.meaning, small=promise.outcome, code=True)
        for promise in facts.promises
    ]
    uncovered = [
        block("promise", head="", text=words, small="", open=True)
        for words in dict.fromkeys(promise.not_covered for promise in facts.promises)
    ]
    return PageSection(
        "What is guaranteed, and against whom",
        f"Each line is a definition that the release was checked against, in exact arithmetic. {_left_out(facts)}",
        [*promises, block("title", text="Not covered"), *uncovered],
    )


def _left_out(facts: ReportFacts) -> str:
    """Return a sentence on suppressed records: their number for the steward, only that records may be missing for the public."""
    if facts.row_noun != "rows":
        return ""
    if facts.private is None or facts.groups is None:
        return "Records may be missing." if facts.groups is not None else ""
    suppressed = facts.private.suppressed
    return f"{suppressed:,} of {facts.rows + suppressed:,} records are not in the release."


def _crowds(facts: ReportFacts) -> PageSection | None:
    """Return the section with the sizes of the equivalence classes, before (if known) and after publication."""
    if facts.groups is None:
        return None
    figure = figures.crowd_sizes(facts.groups.people, facts.before, facts.least)
    return PageSection(
        figure.title, facts.words.group, [*_key(facts.before is not None, round_after=False), figure_block(figure)]
    )


def _shapes(facts: ReportFacts) -> list[PageSection]:
    """Return the sections with figures of the equivalence classes that this format of release provides."""
    return [
        PageSection("Where the groups lie", figure.title + ".", [figure_block(figure)]) for figure in facts.drawings
    ]


def _sensitive(facts: ReportFacts) -> list[PageSection]:
    """Return three sections per sensitive column: value frequencies, the best guess in each group, and the certainty of an adversary with background knowledge."""
    if facts.groups is None:
        return []
    sections = []
    for column in facts.groups.domain.columns:
        groups = facts.groups.marginal(column.name)
        before = facts.private.whole.get(column.name) if facts.private is not None else None
        frequency_figure = figures.sensitive_values(column.name, before, value_counts(groups, whole=False))
        guess_figure = figures.best_guesses(column.name, groups.histograms.top, groups.sizes)
        sections.append(
            PageSection(
                frequency_figure.title,
                "Publishing should not distort what the data are for.",
                [*_key(before is not None, round_after=True), figure_block(frequency_figure)],
            )
        )
        sections.append(
            PageSection(
                guess_figure.title,
                f"An attacker who knows a person's group guesses the most frequent {column.name} in it.",
                [figure_block(guess_figure)],
            )
        )
        certainty_figure = knowledge_curves(column.name, groups)
        sections.append(
            PageSection(
                certainty_figure.title,
                "The worst case over all facts that an attacker could know, and over those that only rule values out.",
                [block("key", marks=_KNOWLEDGE_KEY), figure_block(certainty_figure)],
            )
        )
    return sections


def _method(facts: ReportFacts) -> PageSection | None:
    """Return the section on how the release was made: the lattice of a full-domain search, the labels of a local recoding, or the method's own text (``how``)."""
    if facts.private is None or facts.groups is None:
        return None
    if facts.lattice is not None:
        return _searched(facts.lattice, facts.labels, facts.private)
    charts = _counted(facts.private.search)
    if not facts.private.losses and not charts:
        return None
    rows = [
        (name, f"{loss:.1%}", ", ".join(map(str, facts.labels.get(name, ()))))
        for name, loss in facts.private.losses.items()
    ]
    default_text = f"Rows were gathered in {len(facts.groups):,} groups, and recoded group by group: a label covers all values in its group."
    return PageSection(
        "How it was made",
        str(facts.private.search.get("how", default_text)),
        [*([plain_table(("column", "detail lost", "labels, for example"), rows)] if rows else []), *charts],
    )


def _counted(search: Mapping[str, Any]) -> list[PageBlock]:
    """Return bar charts of the counts that a method recorded for the report, each with a title and a text."""
    charts = [
        figures.numbers(chart["title"], chart["words"], chart["numbers"]) for chart in search.get("figures") or ()
    ]
    return [page_block for chart in charts for page_block in (block("title", text=chart.title), figure_block(chart))]


def _searched(lattice_facts: LatticeFacts, labels: Mapping[str, Sequence[str]], private: PrivateFacts) -> PageSection:
    """Return the section on a full-domain search: for each column the chosen level with its loss and example labels, and a figure of the lattice."""
    rows = [
        {
            "name": name,
            "level": level,
            "height": height,
            "lost": f"{private.losses[name]:.1%}" if name in private.losses else "",
            "examples": examples,
        }
        for name, level, height, examples in ladder(lattice_facts, labels)
    ]
    return PageSection(
        "How it was made",
        "Every dot is one way to generalize the columns, with the exact values at the bottom. The search takes the one that satisfies the guarantee "
        f"and loses least.{_proof(private.search)}",
        [block("ladder", rows=rows), figure_block(lattice(lattice_facts))],
    )


def _proof(search: Mapping[str, Any]) -> str:
    """Return a sentence that says whether the search proved its result optimal; empty if it optimized no measure."""
    if not search.get("objective"):
        return ""
    measure = str(search["objective"]).replace("_", " ")
    if search.get("proven"):
        return f" It is proven that no other does better by the measure “{measure}”."
    bound = search.get("bound")
    limit = f"; nothing can go below {bound:.4g}" if isinstance(bound, int | float) else ""
    return f" Time ran out before that was proven for the measure “{measure}”{limit}."


def measured(name: str, value: float) -> tuple[str, str, str]:
    """Return a utility measure in readable form: its title, its formatted value and an explanation."""
    title, explanation, is_share = _MEASURES.get(name, (name.replace("_", " "), "", False))
    return title, f"{value:.1%}" if is_share else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}", explanation


def _utility(facts: ReportFacts) -> PageSection | None:
    """Return the section with the utility measures."""
    if facts.private is None:
        return None
    rows = []
    for name, value in facts.private.utility.items():
        title, number, explanation = measured(name, value)
        is_share = name in _MEASURES and _MEASURES[name][2]
        rows.append({"title": title, "number": number, "words": explanation, "share": value if is_share else None})
    if not rows:
        return None
    return PageSection(
        "What it cost",
        "How much of the table's detail was lost for the guarantee, by the usual measures.",
        [block("measures", rows=rows)],
    )


def _precision(facts: ReportFacts) -> PageSection | None:
    """Return the section on the widths of intervals; it follows from public files, and so is on both pages."""
    if not facts.widths:
        return None
    rows = [
        (
            widths.name,
            f"{widths.figures:,}",
            figure_text(widths.magnitude),
            f"± {figure_text(widths.half_width)}",
            "" if widths.relative is None else f"{widths.relative:.0%}",
            f"{widths.distinct:.0%}",
        )
        for widths in facts.widths[:_MOST_PRECISIONS]
    ]
    beyond = len(facts.widths) - len(rows)
    return PageSection(
        "How precise the noisy figures are",
        "Noise hides single records, and so it blurs figures. Half of a 95 % interval beside the figures themselves (medians), and the share of figures that noise alone does not explain: their interval does not contain 0.",
        [
            plain_table(
                ("noisy figures", "number", "typical value", "95 % interval", "of the value", "clear of 0"), rows
            ),
            *([block("paragraph", text=f"And {beyond:,} more.")] if beyond else []),
        ],
    )


def _analysis(facts: ReportFacts) -> PageSection | None:
    """Return the section that compares the same statistical analysis on the table and on the release."""
    analysis = facts.analysis
    if analysis is None or not analysis.summaries:
        return None
    means = [(summary.column, *summary.texts) for summary in analysis.summaries[: _MOST_LISTED * 2]]
    largest_changes = sorted(analysis.correlations, key=lambda correlation: -_distance(correlation.values))[
        :_MOST_LISTED
    ]
    correlations = [
        (" and ".join(correlation.columns), *map(figure_text, correlation.values)) for correlation in largest_changes
    ]
    terms = [
        (
            coefficient.term,
            *(
                f"{figure_text(value)} ± {figure_text(error)}"
                for value, error in zip(coefficient.values, coefficient.errors, strict=True)
            ),
        )
        for coefficient in analysis.coefficients
    ]
    conclusions = [(conclusion.words,) for conclusion in analysis.conclusions]
    return PageSection(
        "What an analyst finds",
        "The same figures from the table and from the release. A range counts as its midpoint, a set as its mean, a typical value as it is; suppressed cells are not used.",
        [
            block("paragraph", text=analysis.verdict),
            *listing("These conclusions change", ("coefficient, 95 % interval",), conclusions),
            plain_table(("column", "mean before", "mean after", "spread before", "spread after"), means),
            *listing("Correlations that moved most", ("columns", "before", "after"), correlations),
            *listing(f"Regression {analysis.formula}", ("term", "before", "after"), terms),
        ],
    )


def _flows(facts: ReportFacts) -> PageSection | None:
    """Return the section that compares synthetic with original rows: shares, counts, distances and a map."""
    comparison = facts.flows
    if comparison is None:
        return None
    levels = [
        (level.level, f"{level.pairs:,}", f"{level.together:.1%}", f"{level.values:.1%}") for level in comparison.levels
    ]
    queries = [
        (f"{query.width:.0%}", f"{query.true_rows:,.0f}", f"{query.mean_error:,.1f}", f"{query.relative_error:.1%}")
        for query in comparison.queries
    ]
    heads = ("rows in the group", "groups", "true average, km", "synthetic average, km", "mean error, km", "bias, km")
    distances = [
        (
            size_bin.name,
            f"{size_bin.groups:,}",
            *(f"{number:.1f}" for number in (size_bin.true_mean, size_bin.drawn_mean, size_bin.mean_error)),
            f"{size_bin.bias:+.1f}",
        )
        for size_bin in (*comparison.distances, *comparison.short)
    ]
    distance_count = len(comparison.distances)
    return PageSection(
        "How well synthetic rows match true ones",
        f"Shares of {comparison.value} by {comparison.group}: half the sum of all differences between true and synthetic shares (total variation), so 0% is a perfect match.",
        [
            plain_table(("level", "pairs with rows", "together", f"{comparison.value} alone"), levels),
            *listing(
                "Counts over ranges of groups and values",
                ("share of each", "true rows on average", "mean error", "relative error"),
                queries,
            ),
            *listing("Average distance, group by group", heads, distances[:distance_count]),
            *listing(f"The same for distances below {comparison.below:.1f} km", heads, distances[distance_count:]),
            *(
                [block("title", text=comparison.map.title), figure_block(comparison.map)]
                if comparison.map is not None
                else []
            ),
        ],
    )


def _distance(pair: tuple[float, float]) -> float:
    """Return the absolute difference of a pair as a sort key; infinite if a value can no longer be computed from the release."""
    return abs(pair[1] - pair[0]) if all(map(isfinite, pair)) else inf


def _residual(facts: ReportFacts) -> PageSection | None:
    """Return the section with the risks that the guarantee does not remove."""
    if not facts.residual:
        return None
    return PageSection(
        "What remains", "Risks that the guarantee does not remove.", [block("items", texts=facts.residual)]
    )


def _certificate(facts: ReportFacts) -> PageSection | None:
    """Return the section with the entries of the certificate."""
    if not facts.certificate:
        return None
    return PageSection(
        "Certificate",
        "Anyone can check these claims again from the published files: reticent verify.",
        [block("table", heads=(), rows=[[TableCell(text, "free") for text in row] for row in facts.certificate])],
    )


def _foot(facts: ReportFacts) -> str:
    """Return the last line of the page: whether it may be published."""
    return (
        "This page shows only what follows from the published files."
        if facts.private is None
        else "This page holds facts about the confidential table. Keep it with the private side of the release."
    )


def _attacks(facts: ReportFacts) -> PageSection | None:
    """Return the section on attack results before and after publication with one example each, or None if no attack was run."""
    if not facts.attacks:
        return None
    outcome = " ".join(filter(None, [_outcome(facts.attacks), facts.words.attacked]))
    return PageSection(
        "What adversaries achieve",
        "Attacks that were run, on the table as it stood (identifiers dropped) and on the published files. Thin lines: 95\u00a0% intervals. "
        "Notches: what is reached without the release, or about people who are not in it.",
        [
            block("paragraph", text=outcome),
            *attack_figures(facts.attacks),
            block("title", text="One example each"),
            block("quotes", pairs=[attack_quote(before, after) for before, after in facts.attacks]),
        ],
    )


def _outcome(attacks: Sequence[Comparison]) -> str:
    """Return a sentence on how many attacks succeed before and after publication."""
    before = [findings_before for findings_before, _ in attacks if findings_before is not None]
    succeeding = [after.adversary for _, after in attacks if after.succeeds]
    before_text = (
        f"On the table as it stood {_how_many(sum(findings.succeeds for findings in before), len(before))} succeed. "
        if before
        else ""
    )
    if not succeeding:
        return f"{before_text}On the published files none does."
    return f"{before_text}On the published files {_how_many(len(succeeding), len(attacks))} still do: {', '.join(succeeding)}."


def _how_many(some: int, everything: int) -> str:
    """Format a count out of a total."""
    return f"all {everything}" if some == everything else f"{some} of {everything}"


def _risk(facts: ReportFacts) -> PageSection | None:
    """Return the section on the causes of risk in the original table, per set of columns that an adversary may know; None if it was not measured."""
    if not facts.risks:
        return None
    is_plural = len(facts.risks) > 1
    blocks: list[PageBlock] = []
    for index, risk in enumerate(facts.risks):
        if is_plural:
            blocks.append(block("title", text=f"An attacker who knows {', '.join(risk.together.columns)}"))
        blocks += _risk_of_set(risk, facts.exposed[index] if index < len(facts.exposed) else ())
    blocks.append(
        block("remark", text="Distinction: different combinations per row. Separation: pairs of rows that differ.")
    )
    return PageSection("What drove the risk", "Why people were unique in the table before it was published.", blocks)


def _risk_of_set(risk: Risk, exposed: Sequence[ExposedGroup]) -> list[PageBlock]:
    """Return a chart and tables for one set of columns: what makes people unique, and the most exposed people."""
    chart = figures.risk_columns(
        risk.rows, risk.together.alone, {column.column: round(column.adds) for column in risk.columns}
    )
    values = [
        (f"{value.column} {value.value}", f"{value.rows:,}", f"{value.alone:,}", f"{value.drives:,}")
        for value in risk.values[:_MOST_LISTED]
    ]
    unique_values = [(value.column, value.value) for value in risk.lone[:_MOST_LISTED]]
    sets = [
        (
            ", ".join(column_set.columns),
            f"{float(column_set.distinction):.2%}",
            _nearly(column_set.separation),
            f"{column_set.alone:,}",
        )
        for column_set in risk.sets[:_MOST_LISTED]
    ]
    groups = [
        (
            ", ".join(f"{name} {label}" for name, label in group.quasi.items()),
            f"{group.people:,}",
            ", ".join(f"{value} {count}" for value, count in group.histogram.items()),
        )
        for group in exposed
    ]
    return [
        figure_block(chart),
        *listing("Values that make people unique", ("value", "rows", "unique", "unique by it"), values),
        *listing("Values that one person alone has", ("column", "value"), unique_values),
        *listing("Columns that together identify people", ("columns", "distinction", "separation", "unique"), sets),
        *listing("The most exposed, before publication", ("who", "people", "sensitive values"), groups),
    ]


def _nearly(share: Fraction) -> str:
    """Format a share as a percentage, rounded down so that 100 % appears only if it is exact."""
    return f"{floor(share * 100_000) / 1000:.3f}%" if share < 1 else "100%"


def _key(both: bool, *, round_after: bool) -> list[PageBlock]:
    """Return the colour legend for before and after, or nothing if there is no "before"."""
    marks = (("before", "as it stood"), ("after round" if round_after else "after", "published"))
    return [block("key", marks=marks)] if both else []


_KNOWLEDGE_KEY = (("after round", "any facts"), ("before round", 'only facts such as "she has no flu"'))

_MEASURES: Mapping[str, tuple[str, str, bool]] = {
    "loss": ("Loss", "How much detail a cell lost on average: 0% is the exact value, 100% nothing at all.", True),
    "loss_bound": (
        "Least possible loss",
        "Proven: no release by groups under this definition loses less, whatever its labels are.",
        True,
    ),
    "loss_bound_ranges": (
        "Least possible loss with ranges",
        "Proven: no release by groups under this definition that publishes numbers as ranges loses less.",
        True,
    ),
    "loss_bound_confidence": ("Confidence of these bounds", "They come from a sample of the records.", True),
    "loss_geometric": (
        "Geometric loss",
        "The same, but a column that is lost altogether weighs more than several that lost a little.",
        True,
    ),
    "ncp": ("Certainty penalty", "How wide the published ranges are against the whole range of the column.", True),
    "cp": ("Penalty, added up", "The certainty penalty of every cell, added over rows and columns.", False),
    "average_group_size": ("Average group", "How many rows look alike on average.", False),
    "discernibility": ("Discernibility", "For each row, the number of rows that look the same, added up.", False),
    "non_uniform_entropy": ("Entropy", "Bits needed to say, for every cell, which exact value it had.", False),
    "kl": ("Divergence", "How far a table guessed from the release is from the real one, in nats.", False),
    "kl_quasi": ("Divergence, quasi", "The same for the columns that others may know alone.", False),
    "height": ("Height", "Levels climbed in all hierarchies together.", False),
    "one_way_error": (
        "Error of single columns",
        "Share of records that would have to change for a column's counts to be right, on average over columns (total variation).",
        True,
    ),
    "two_way_error": ("Error of pairs of columns", "The same for the joint counts of two columns.", True),
}

_LITTLE_USE = "It is of little use: most of the detail is gone, or all of a column."
