"""The page of a report: sections as HTML, one self-contained file. What it tells is decided in ``facts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from math import floor, inf, isfinite
from typing import Any

from reticent import __version__
from reticent.attacks import Findings
from reticent.base import figures
from reticent.base.cards import sentence_case
from reticent.methods.lattice.figure import LatticeFacts, ladder, lattice
from reticent.propose import POOR, ExposedGroup, Risk
from reticent.reports.analysis import figure_text
from reticent.reports.attack_figures import attack_figures
from reticent.reports.facts import Comparison, PrivateFacts, ReportFacts, value_counts
from reticent.reports.knowledge_figure import knowledge_curves
from reticent.reports.page_parts import (
    LOGO,
    PageSection,
    card,
    contents,
    figure_block,
    listing,
    plain_or_code,
    plain_table,
    whole_page,
)
from reticent.reports.verdict_block import verdict_block
from reticent.utility import bound_sentence

_MOST_LISTED = 6


def render(facts: ReportFacts) -> str:
    """The whole page."""
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
            _analysis(facts),
            _flows(facts),
            _residual(facts),
            _certificate(facts),
        )
        if (each := part)
    ]
    body = "\n".join(
        (_head(facts), _verdict(facts), _tiles(facts), contents(sections), *map(card, sections), _foot(facts))
    )
    return whole_page(f"{facts.title}: release report", body)


def _head(facts: ReportFacts) -> str:
    tag = (
        '<span class="tag public">Public report</span>'
        if facts.private is None
        else '<span class="tag">For the steward: do not publish this page</span>'
    )
    return (
        f'<header><div class="kicker"><span class="brand">{LOGO}Reticent release report</span>{tag}</div>'
        f"<h1>{escape(facts.title)}</h1></header>"
    )


def _verdict(facts: ReportFacts) -> str:
    headline = facts.headline.beside([_LITTLE_USE] if _of_little_use(facts) else [])
    detail = " ".join(filter(None, (facts.judged, _price(facts))))
    # Declared columns that tell nobody apart are no reservation, and said all the same.
    declared = (told for told in facts.declared if told not in headline.reasons)
    return verdict_block(headline, [detail, *declared])


def _of_little_use(facts: ReportFacts) -> bool:
    """Whether most of the detail is gone, or all of a column."""
    if facts.private is None:
        return False
    return facts.private.utility.get("loss", 0.0) > POOR or any(lost >= 1 for lost in facts.private.losses.values())


def _price(facts: ReportFacts) -> str:
    """What the promise cost, in a sentence, for the steward."""
    loss = None if facts.private is None else facts.private.utility.get("loss")
    if loss is None:
        return ""
    gone = [name for name, lost in facts.private.losses.items() if lost >= 1] if facts.private is not None else []
    nothing = f" Nothing is left of {', '.join(gone)}." if gone else ""
    told = bound_sentence(facts.private.utility) if facts.private is not None else None
    least = "" if told is None else f" {told}"
    return f"It costs {loss:.0%} of the detail of the quasi columns.{nothing}{least}"


def _sample(facts: ReportFacts) -> PageSection | None:
    if not facts.sample.width:
        return None
    rows = [tuple("" if cell is None else str(cell) for cell in row) for row in facts.sample.iter_rows()]
    return PageSection(
        "What is published",
        f"{len(rows)} of {facts.rows:,} {facts.row_noun}.",
        plain_table(facts.sample.columns, rows),
    )


def _tiles(facts: ReportFacts) -> str:
    tiles = [(f"{facts.rows:,}", f"{facts.row_noun} published")]
    if facts.groups is not None:
        tiles.append((f"{len(facts.groups):,}", "groups of records that look alike"))
        tiles.append((f"{int(facts.groups.people.min()):,}", "records in the smallest group"))
    if facts.private is not None:
        left_out = facts.private.suppressed
        if facts.row_noun == "rows":
            tiles.append((f"{left_out:,}", f"rows left out ({left_out / max(facts.rows + left_out, 1):.1%})"))
        if "loss" in facts.private.utility:
            tiles.append((f"{facts.private.utility['loss']:.0%}", "of the detail given up"))
    items = "".join(f"<li><b>{escape(number)}</b><span>{escape(words)}</span></li>" for number, words in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _promises(facts: ReportFacts) -> PageSection:
    kept = "".join(
        f'<div class="promise"><h3><code>{escape(each.name)}</code></h3><p>{escape(each.meaning)}</p>'
        f"<small>{escape(each.outcome)}</small></div>"
        for each in facts.promises
    )
    open_ends = list(dict.fromkeys(each.not_covered for each in facts.promises))
    left = "".join(f'<div class="promise open"><p>{escape(words)}</p></div>' for words in open_ends)
    return PageSection(
        "What was promised, and against whom",
        f"Each line is a definition that the release was checked against, in exact arithmetic. {_left_out(facts)}",
        f"{kept}<h3>Not covered</h3>{left}",
    )


def _left_out(facts: ReportFacts) -> str:
    """How many records are not in the release, for the steward; the public learns that some may be missing."""
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
        drawn.title, facts.words.group, _key(facts.before is not None, round_after=False) + figure_block(drawn)
    )


def _shapes(facts: ReportFacts) -> list[PageSection]:
    """Where groups lie, in the drawings of the kind of release."""
    return [PageSection("Where the groups lie", drawn.title + ".", figure_block(drawn)) for drawn in facts.drawings]


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
                _key(before is not None, round_after=True) + figure_block(spread),
            )
        )
        drawn.append(
            PageSection(
                guesses.title,
                f"Somebody who knows a person's group guesses the most frequent {column.name} in it.",
                figure_block(guesses),
            )
        )
        facts_known = knowledge_curves(column.name, groups)
        drawn.append(
            PageSection(
                facts_known.title,
                "The worst case over all facts that somebody could know, and over those that only rule values out.",
                _KNOWLEDGE_KEY + figure_block(facts_known),
            )
        )
    return drawn


def _method(facts: ReportFacts) -> PageSection | None:
    """How the release was made: the levels and the lattice of a search, or the columns of a recoding group by group; a method may say it itself (``how``)."""
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
    usual = f"Rows were gathered in {len(facts.groups):,} groups, and recoded group by group: a label says what the people of its group have in common."
    return PageSection(
        "How it was made",
        str(facts.private.search.get("how", usual)),
        (plain_table(("column", "detail given up", "labels, for example"), rows) if rows else "") + drawn,
    )


def _counted(search: Mapping[str, Any]) -> str:
    """The figures that a method left to be drawn: each with a title, words and named numbers."""
    drawn = [figures.numbers(each["title"], each["words"], each["numbers"]) for each in search.get("figures") or ()]
    return "".join(f"<h3>{escape(each.title)}</h3>{figure_block(each)}" for each in drawn)


def _searched(found: LatticeFacts, labels: Mapping[str, Sequence[str]], private: PrivateFacts) -> PageSection:
    rows = []
    for name, level, height, examples in ladder(found, labels):
        steps = "".join(f'<i class="{"on" if step < level else ""}"></i>' for step in range(height))
        shown = f"<code>{escape(examples)}</code>" if examples else ""
        lost = f"{private.losses[name]:.1%}" if name in private.losses else ""
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th><td><span class="steps" role="img" '
            f'aria-label="level {level} of {height}">{steps}</span></td><td>{lost}</td><td>{shown}</td></tr>'
        )
    head = '<thead><tr><th scope="col">column</th><th scope="col">coarser</th><th scope="col">detail given up</th><th scope="col">published as</th></tr></thead>'
    return PageSection(
        "How it was made",
        "Every dot is one way to coarsen the columns, finest at the bottom. The search takes the one that keeps the promise "
        f"and gives up least.{_proof(private.search)}",
        f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>' + figure_block(lattice(found)),
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
    """A measure of utility for people: its title, its value, and what it means."""
    title, words, of_one = _MEASURES.get(name, (name.replace("_", " "), "", False))
    return title, f"{value:.1%}" if of_one else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}", words


def _utility(facts: ReportFacts) -> PageSection | None:
    if facts.private is None:
        return None
    rows = []
    for name, value in facts.private.utility.items():
        title, number, words = measured(name, value)
        of_one = name in _MEASURES and _MEASURES[name][2]
        meter = f'<span class="meter"><i style="width:{min(max(value, 0), 1):.1%}"></i></span>' if of_one else ""
        rows.append(
            f'<tr><th scope="row">{escape(title)}</th><td class="number">{escape(number)}{meter}</td>'
            f"<td><small>{escape(words)}</small></td></tr>"
        )
    if not rows:
        return None
    head = '<thead><tr><th scope="col">measure</th><th scope="col">value</th><th scope="col">in plain words (less is better)</th></tr></thead>'
    return PageSection(
        "What it cost",
        "How much of the table's detail was given up for the promise, by the measures in use.",
        f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>',
    )


def _analysis(facts: ReportFacts) -> PageSection | None:
    """The same analysis of the table and of the release, beside each other."""
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
        "The same figures from the table and from the release. A range is read by its middle, a set by its mean, a typical value as it is; cells that say nothing are left out.",
        f"<p>{escape(found.verdict)}</p>"
        + listing("These conclusions change", ("coefficient, 95 % interval",), changed)
        + plain_table(("column", "mean before", "mean after", "spread before", "spread after"), means)
        + listing("Correlations that moved most", ("columns", "before", "after"), together)
        + (listing(f"Regression {found.formula}", ("term", "before", "after"), terms)),
    )


def _flows(facts: ReportFacts) -> PageSection | None:
    """Drawn rows beside true ones: shares, counts, distances, a map."""
    found = facts.flows
    if found is None:
        return None
    levels = [(each.level, f"{each.pairs:,}", f"{each.together:.1%}", f"{each.values:.1%}") for each in found.levels]
    queries = [
        (f"{each.width:.0%}", f"{each.true_rows:,.0f}", f"{each.mean_error:,.1f}", f"{each.relative_error:.1%}")
        for each in found.queries
    ]
    heads = ("rows in the group", "groups", "true average, km", "drawn average, km", "mean error, km", "bias, km")
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
        "How well drawn rows match true ones",
        f"Shares of {found.value} by {found.group}: half the sum of all differences between true and drawn shares (total variation), so 0% is a perfect match.",
        plain_table(("level", "pairs with rows", "together", f"{found.value} alone"), levels)
        + listing(
            "Counts over ranges of groups and values",
            ("share of each", "true rows on average", "mean error", "relative error"),
            queries,
        )
        + listing("Average distance, group by group", heads, distances[:many])
        + listing(f"The same for distances below {found.below:.1f} km", heads, distances[many:])
        + (f"<h3>{escape(found.map.title)}</h3>{figure_block(found.map)}" if found.map is not None else ""),
    )


def _distance(pair: tuple[float, float]) -> float:
    """How far two figures are apart; what became unknown comes first."""
    return abs(pair[1] - pair[0]) if all(map(isfinite, pair)) else inf


def _residual(facts: ReportFacts) -> PageSection | None:
    if not facts.residual:
        return None
    items = "".join(f"<li>{escape(words)}</li>" for words in facts.residual)
    return PageSection("What remains", "Risks that the promise does not remove.", f'<ul class="plain">{items}</ul>')


def _certificate(facts: ReportFacts) -> PageSection | None:
    if not facts.certificate:
        return None
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{plain_or_code(value)}</td></tr>'
        for name, value in facts.certificate
    )
    return PageSection(
        "Certificate",
        "Anybody can check these claims again from the published files: reticent verify.",
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>',
    )


def _foot(facts: ReportFacts) -> str:
    words = (
        "This page shows only what follows from the published files."
        if facts.private is None
        else "This page holds facts about the confidential table. Keep it with the private side of the release."
    )
    return f"<footer>{words} Written by Reticent {escape(__version__)}.</footer>"


def _attacks(facts: ReportFacts) -> PageSection | None:
    """What adversaries achieve, before and after, with an example each; nothing where none ran."""
    if not facts.attacks:
        return None
    quotes = "".join(_quote(before, after) for before, after in facts.attacks)
    return PageSection(
        "What adversaries achieve",
        "Attacks that were run, on the table as it stood (identifiers dropped) and on the published files. Thin lines: 95\u00a0% intervals. "
        "Notches: what is reached without the release, or about people who are not in it.",
        f"<p>{escape(' '.join(filter(None, [_outcome(facts.attacks), facts.words.attacked])))}</p>{attack_figures(facts.attacks)}"
        f'<h3>One example each</h3><div class="quotes">{quotes}</div>',
    )


def _outcome(attacks: Sequence[Comparison]) -> str:
    """How many adversaries succeed before and after, in a sentence."""
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


def _quote(before: Findings | None, after: Findings) -> str:
    """What an adversary knows, and an example of what follows, before and after."""
    lines = [f"<p><b>{escape(sentence_case(after.adversary))}</b> knows {escape(after.knows)}.</p>"]
    if before is not None:
        lines.append(f'<p><b class="was">As it stood:</b> {escape(before.example)}</p>')
    kind = "still" if after.succeeds else "is" if after.judged else "told"
    lines.append(f'<p><b class="{kind}">Published:</b> {escape(after.example)}</p>')
    if after.baseline is not None:
        lines.append(f"<p><small>Beyond what is reached anyway: {after.points} points (95&nbsp;% sure).</small></p>")
    return f'<div class="quote">{"".join(lines)}</div>'


def _risk(facts: ReportFacts) -> PageSection | None:
    """What drove the risk before, for each set of columns that an adversary may know; nothing where it was not looked at."""
    if not facts.risks:
        return None
    several = len(facts.risks) > 1
    parts = []
    for number, each in enumerate(facts.risks):
        if several:
            parts.append(f"<h3>Somebody who knows {escape(', '.join(each.together.columns))}</h3>")
        parts.append(_risk_of_set(each, facts.exposed[number] if number < len(facts.exposed) else ()))
    parts.append(
        "<p><small>Distinction: different combinations per row. Separation: pairs of rows that differ.</small></p>"
    )
    return PageSection(
        "What drove the risk", "Why people stood alone in the table before it was published.", "".join(parts)
    )


def _risk_of_set(found: Risk, exposed: Sequence[ExposedGroup]) -> str:
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
    return "".join(
        (
            figure_block(drawn),
            listing("Values by which people stand alone", ("value", "rows", "alone", "alone by it"), values),
            listing("Values that one person alone has", ("column", "value"), lone),
            listing("Columns that tell people apart together", ("columns", "distinction", "separation", "alone"), sets),
            listing("The most exposed, as it stood", ("who", "people", "sensitive values"), groups),
        )
    )


def _nearly(share: Fraction) -> str:
    """A share that is often close to 1, rounded down so that 100 % means all."""
    return f"{floor(share * 100_000) / 1000:.3f}%" if share < 1 else "100%"


def _key(both: bool, *, round_after: bool) -> str:
    if not both:
        return ""
    shape = " round" if round_after else ""
    return (
        '<div class="key"><span><i class="before"></i>as it stood</span>'
        f'<span><i class="after{shape}"></i>published</span></div>'
    )


_KNOWLEDGE_KEY = (
    '<div class="key"><span><i class="after round"></i>any facts</span>'
    '<span><i class="before round"></i>only facts such as "she has no flu"</span></div>'
)

_MEASURES: Mapping[str, tuple[str, str, bool]] = {
    "loss": ("Loss", "How much coarser a cell became on average: 0% is the exact value, 100% nothing at all.", True),
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
        "The same, but a column that is lost altogether weighs more than several a little coarser.",
        True,
    ),
    "ncp": ("Certainty penalty", "How wide the published ranges are against the whole range of the column.", True),
    "cp": ("Penalty, added up", "The certainty penalty of every cell, added over rows and columns.", False),
    "average_group_size": ("Average group", "How many rows look alike on average.", False),
    "discernibility": ("Discernibility", "For each row the rows that it cannot be told apart from, added up.", False),
    "non_uniform_entropy": ("Entropy", "Bits needed to say, for every cell, which exact value it had.", False),
    "kl": ("Divergence", "How far a table guessed from the release is from the real one, in nats.", False),
    "kl_quasi": ("Divergence, quasi", "The same for the quasi columns alone.", False),
    "height": ("Height", "Levels climbed in all hierarchies together.", False),
}

_LITTLE_USE = "It is of little use: most of the detail is gone, or all of a column."
