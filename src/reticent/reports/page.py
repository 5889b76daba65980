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
        each
        for part in (
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
        if (each := part)
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
    return headline, [detail, *(told for told in facts.declared if told not in headline.reasons)]


def _of_little_use(facts: ReportFacts) -> bool:
    """True if most of the detail is lost, or all detail of at least one column."""
    if facts.private is None:
        return False
    return facts.private.utility.get("loss", 0.0) > POOR or any(lost >= 1 for lost in facts.private.losses.values())


def _price(facts: ReportFacts) -> str:
    """Return a sentence on the information loss caused by the guarantee (steward's report only)."""
    loss = None if facts.private is None else facts.private.utility.get("loss")
    if loss is None:
        return ""
    gone = [name for name, lost in facts.private.losses.items() if lost >= 1] if facts.private is not None else []
    nothing = f" Nothing is left of {', '.join(gone)}." if gone else ""
    told = None
    if facts.private is not None:
        told = bound_sentence(facts.private.utility, final=facts.private.final_bound)
    least = "" if told is None else f" {told}"
    return f"It costs {loss:.0%} of the detail of the columns that others may know.{nothing}{least}"


def _sample(facts: ReportFacts) -> PageSection | None:
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
        left_out = facts.private.suppressed
        if facts.row_noun == "rows":
            tiles.append((f"{left_out:,}", f"records suppressed ({left_out / max(facts.rows + left_out, 1):.1%})"))
        if "loss" in facts.private.utility:
            tiles.append((f"{facts.private.utility['loss']:.0%}", "of the detail lost"))
    return tiles


def _promises(facts: ReportFacts) -> PageSection:
    kept = [
        block("promise", head=each.name, text=each.meaning, small=each.outcome, code=True) for each in facts.promises
    ]
    left = [
        block("promise", head="", text=words, small="", open=True)
        for words in dict.fromkeys(each.not_covered for each in facts.promises)
    ]
    return PageSection(
        "What is guaranteed, and against whom",
        f"Each line is a definition that the release was checked against, in exact arithmetic. {_left_out(facts)}",
        [*kept, block("title", text="Not covered"), *left],
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
    if facts.groups is None:
        return None
    drawn = figures.crowd_sizes(facts.groups.people, facts.before, facts.least)
    return PageSection(
        drawn.title, facts.words.group, [*_key(facts.before is not None, round_after=False), figure_block(drawn)]
    )


def _shapes(facts: ReportFacts) -> list[PageSection]:
    """Return the sections with figures of the equivalence classes that this format of release provides."""
    return [PageSection("Where the groups lie", drawn.title + ".", [figure_block(drawn)]) for drawn in facts.drawings]


def _sensitive(facts: ReportFacts) -> list[PageSection]:
    if facts.groups is None:
        return []
    drawn = []
    for column in facts.groups.domain.columns:
        groups = facts.groups.marginal(column.name)
        before = facts.private.whole.get(column.name) if facts.private is not None else None
        spread = figures.sensitive_values(column.name, before, value_counts(groups, whole=False))
        guesses = figures.best_guesses(column.name, groups.histograms.top, groups.sizes)
        drawn.append(
            PageSection(
                spread.title,
                "Publishing should not distort what the data are for.",
                [*_key(before is not None, round_after=True), figure_block(spread)],
            )
        )
        drawn.append(
            PageSection(
                guesses.title,
                f"An attacker who knows a person's group guesses the most frequent {column.name} in it.",
                [figure_block(guesses)],
            )
        )
        facts_known = knowledge_curves(column.name, groups)
        drawn.append(
            PageSection(
                facts_known.title,
                "The worst case over all facts that an attacker could know, and over those that only rule values out.",
                [block("key", marks=_KNOWLEDGE_KEY), figure_block(facts_known)],
            )
        )
    return drawn


def _method(facts: ReportFacts) -> PageSection | None:
    """Return the section on how the release was made: the lattice of a full-domain search, the labels of a local recoding, or the method's own text (``how``)."""
    if facts.private is None or facts.groups is None:
        return None
    if facts.lattice is not None:
        return _searched(facts.lattice, facts.labels, facts.private)
    drawn = _counted(facts.private.search)
    if not facts.private.losses and not drawn:
        return None
    rows = [
        (name, f"{loss:.1%}", ", ".join(map(str, facts.labels.get(name, ()))))
        for name, loss in facts.private.losses.items()
    ]
    usual = f"Rows were gathered in {len(facts.groups):,} groups, and recoded group by group: a label covers all values in its group."
    return PageSection(
        "How it was made",
        str(facts.private.search.get("how", usual)),
        [*([plain_table(("column", "detail lost", "labels, for example"), rows)] if rows else []), *drawn],
    )


def _counted(search: Mapping[str, Any]) -> list[PageBlock]:
    """Return bar charts of the counts that a method recorded for the report, each with a title and a text."""
    drawn = [figures.numbers(each["title"], each["words"], each["numbers"]) for each in search.get("figures") or ()]
    return [part for each in drawn for part in (block("title", text=each.title), figure_block(each))]


def _searched(found: LatticeFacts, labels: Mapping[str, Sequence[str]], private: PrivateFacts) -> PageSection:
    rows = [
        {
            "name": name,
            "level": level,
            "height": height,
            "lost": f"{private.losses[name]:.1%}" if name in private.losses else "",
            "examples": examples,
        }
        for name, level, height, examples in ladder(found, labels)
    ]
    return PageSection(
        "How it was made",
        "Every dot is one way to generalize the columns, with the exact values at the bottom. The search takes the one that satisfies the guarantee "
        f"and loses least.{_proof(private.search)}",
        [block("ladder", rows=rows), figure_block(lattice(found))],
    )


def _proof(search: Mapping[str, Any]) -> str:
    if not search.get("objective"):
        return ""
    measure = str(search["objective"]).replace("_", " ")
    if search.get("proven"):
        return f" It is proven that no other does better by the measure “{measure}”."
    bound = search.get("bound")
    known = f"; nothing can go below {bound:.4g}" if isinstance(bound, int | float) else ""
    return f" Time ran out before that was proven for the measure “{measure}”{known}."


def measured(name: str, value: float) -> tuple[str, str, str]:
    """Return a utility measure in readable form: its title, its formatted value and an explanation."""
    title, words, of_one = _MEASURES.get(name, (name.replace("_", " "), "", False))
    return title, f"{value:.1%}" if of_one else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}", words


def _utility(facts: ReportFacts) -> PageSection | None:
    if facts.private is None:
        return None
    rows = []
    for name, value in facts.private.utility.items():
        title, number, words = measured(name, value)
        of_one = name in _MEASURES and _MEASURES[name][2]
        rows.append({"title": title, "number": number, "words": words, "share": value if of_one else None})
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
    found = facts.analysis
    if found is None or not found.summaries:
        return None
    means = [(each.column, *each.texts) for each in found.summaries[: _MOST_LISTED * 2]]
    moved = sorted(found.correlations, key=lambda each: -_distance(each.values))[:_MOST_LISTED]
    together = [(" and ".join(each.columns), *map(figure_text, each.values)) for each in moved]
    terms = [
        (
            each.term,
            *(
                f"{figure_text(value)} ± {figure_text(error)}"
                for value, error in zip(each.values, each.errors, strict=True)
            ),
        )
        for each in found.coefficients
    ]
    changed = [(each.words,) for each in found.conclusions]
    return PageSection(
        "What an analyst finds",
        "The same figures from the table and from the release. A range counts as its midpoint, a set as its mean, a typical value as it is; suppressed cells are not used.",
        [
            block("paragraph", text=found.verdict),
            *listing("These conclusions change", ("coefficient, 95 % interval",), changed),
            plain_table(("column", "mean before", "mean after", "spread before", "spread after"), means),
            *listing("Correlations that moved most", ("columns", "before", "after"), together),
            *listing(f"Regression {found.formula}", ("term", "before", "after"), terms),
        ],
    )


def _flows(facts: ReportFacts) -> PageSection | None:
    """Return the section that compares synthetic with original rows: shares, counts, distances and a map."""
    found = facts.flows
    if found is None:
        return None
    levels = [(each.level, f"{each.pairs:,}", f"{each.together:.1%}", f"{each.values:.1%}") for each in found.levels]
    queries = [
        (f"{each.width:.0%}", f"{each.true_rows:,.0f}", f"{each.mean_error:,.1f}", f"{each.relative_error:.1%}")
        for each in found.queries
    ]
    heads = ("rows in the group", "groups", "true average, km", "synthetic average, km", "mean error, km", "bias, km")
    distances = [
        (
            each.name,
            f"{each.groups:,}",
            *(f"{number:.1f}" for number in (each.true_mean, each.drawn_mean, each.mean_error)),
            f"{each.bias:+.1f}",
        )
        for each in (*found.distances, *found.short)
    ]
    many = len(found.distances)
    return PageSection(
        "How well synthetic rows match true ones",
        f"Shares of {found.value} by {found.group}: half the sum of all differences between true and synthetic shares (total variation), so 0% is a perfect match.",
        [
            plain_table(("level", "pairs with rows", "together", f"{found.value} alone"), levels),
            *listing(
                "Counts over ranges of groups and values",
                ("share of each", "true rows on average", "mean error", "relative error"),
                queries,
            ),
            *listing("Average distance, group by group", heads, distances[:many]),
            *listing(f"The same for distances below {found.below:.1f} km", heads, distances[many:]),
            *([block("title", text=found.map.title), figure_block(found.map)] if found.map is not None else []),
        ],
    )


def _distance(pair: tuple[float, float]) -> float:
    """Return the absolute difference of a pair as a sort key; infinite if a value can no longer be computed from the release."""
    return abs(pair[1] - pair[0]) if all(map(isfinite, pair)) else inf


def _residual(facts: ReportFacts) -> PageSection | None:
    if not facts.residual:
        return None
    return PageSection(
        "What remains", "Risks that the guarantee does not remove.", [block("items", texts=facts.residual)]
    )


def _certificate(facts: ReportFacts) -> PageSection | None:
    if not facts.certificate:
        return None
    return PageSection(
        "Certificate",
        "Anyone can check these claims again from the published files: reticent verify.",
        [block("table", heads=(), rows=[[TableCell(text, "free") for text in row] for row in facts.certificate])],
    )


def _foot(facts: ReportFacts) -> str:
    return (
        "This page shows only what follows from the published files."
        if facts.private is None
        else "This page holds facts about the confidential table. Keep it with the private side of the release."
    )


def _attacks(facts: ReportFacts) -> PageSection | None:
    """Return the section on attack results before and after publication with one example each, or None if no attack was run."""
    if not facts.attacks:
        return None
    told = " ".join(filter(None, [_outcome(facts.attacks), facts.words.attacked]))
    return PageSection(
        "What adversaries achieve",
        "Attacks that were run, on the table as it stood (identifiers dropped) and on the published files. Thin lines: 95\u00a0% intervals. "
        "Notches: what is reached without the release, or about people who are not in it.",
        [
            block("paragraph", text=told),
            *attack_figures(facts.attacks),
            block("title", text="One example each"),
            block("quotes", pairs=[attack_quote(before, after) for before, after in facts.attacks]),
        ],
    )


def _outcome(attacks: Sequence[Comparison]) -> str:
    """Return a sentence on how many attacks succeed before and after publication."""
    before = [first for first, _ in attacks if first is not None]
    left = [after.adversary for _, after in attacks if after.succeeds]
    stood = (
        f"On the table as it stood {_how_many(sum(each.succeeds for each in before), len(before))} succeed. "
        if before
        else ""
    )
    if not left:
        return f"{stood}On the published files none does."
    return f"{stood}On the published files {_how_many(len(left), len(attacks))} still do: {', '.join(left)}."


def _how_many(some: int, everything: int) -> str:
    return f"all {everything}" if some == everything else f"{some} of {everything}"


def _risk(facts: ReportFacts) -> PageSection | None:
    """Return the section on the causes of risk in the original table, per set of columns that an adversary may know; None if it was not measured."""
    if not facts.risks:
        return None
    several = len(facts.risks) > 1
    parts: list[PageBlock] = []
    for number, each in enumerate(facts.risks):
        if several:
            parts.append(block("title", text=f"An attacker who knows {', '.join(each.together.columns)}"))
        parts += _risk_of_set(each, facts.exposed[number] if number < len(facts.exposed) else ())
    parts.append(
        block("remark", text="Distinction: different combinations per row. Separation: pairs of rows that differ.")
    )
    return PageSection("What drove the risk", "Why people were unique in the table before it was published.", parts)


def _risk_of_set(found: Risk, exposed: Sequence[ExposedGroup]) -> list[PageBlock]:
    drawn = figures.risk_columns(
        found.rows, found.together.alone, {each.column: round(each.adds) for each in found.columns}
    )
    values = [
        (f"{each.column} {each.value}", f"{each.rows:,}", f"{each.alone:,}", f"{each.drives:,}")
        for each in found.values[:_MOST_LISTED]
    ]
    lone = [(each.column, each.value) for each in found.lone[:_MOST_LISTED]]
    sets = [
        (", ".join(each.columns), f"{float(each.distinction):.2%}", _nearly(each.separation), f"{each.alone:,}")
        for each in found.sets[:_MOST_LISTED]
    ]
    groups = [
        (
            ", ".join(f"{name} {label}" for name, label in each.quasi.items()),
            f"{each.people:,}",
            ", ".join(f"{value} {count}" for value, count in each.histogram.items()),
        )
        for each in exposed
    ]
    return [
        figure_block(drawn),
        *listing("Values that make people unique", ("value", "rows", "unique", "unique by it"), values),
        *listing("Values that one person alone has", ("column", "value"), lone),
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
