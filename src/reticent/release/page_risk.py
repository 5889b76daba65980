"""The sections of a report that are about attacks and risk. They are the steward's: the public report has neither."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from math import floor

from reticent.release import figures
from reticent.release.figures import Bar
from reticent.release.page_parts import figure, listing, section
from reticent.release.report_facts import Comparison, Exposed, Found, ReportFacts, RiskFound

_MOST_LISTED = 6
_A_FIGURE = 7  # a figure is not broken over printed pages, and more would be too small to read


def attacks(facts: ReportFacts) -> str:
    """What adversaries achieve, before and after, with an example each; nothing where none ran."""
    if not facts.attacks:
        return ""
    bars = [_bar(before, after) for before, after in facts.attacks]
    drawn = "".join(figure(figures.attacks(bars[at : at + _A_FIGURE])) for at in range(0, len(bars), _A_FIGURE))
    quotes = "".join(_quote(before, after) for before, after in facts.attacks)
    return section(
        "What adversaries achieve",
        "Attacks that were run, on the table as it stood (identifiers dropped) and on the published files. Thin lines: 95\u00a0% intervals. "
        "Notches: what is reached without the release, or about people who are not in it.",
        f"<p>{escape(_outcome(facts.attacks))}{_BUCKETS if facts.format == 'bucketize' else ''}</p>{_ATTACK_KEY}{drawn}"
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


def _bar(before: Found | None, after: Found) -> Bar:
    return Bar(
        after.adversary.capitalize(),
        before.share if before is not None else None,
        after.share,
        before.interval if before is not None else None,
        after.interval,
        after.baseline,
        f"people who {after.hit}",
        before.baseline if before is not None else None,
        after.succeeds,
    )


def _quote(before: Found | None, after: Found) -> str:
    """What an adversary knows, and an example of what follows, before and after."""
    lines = [f"<p><b>{escape(after.adversary.capitalize())}</b> knows {escape(after.knows)}.</p>"]
    if before is not None:
        lines.append(f'<p><b class="was">As it stood:</b> {escape(before.example)}</p>')
    kind = "still" if after.succeeds else "is"
    lines.append(f'<p><b class="{kind}">Published:</b> {escape(after.example)}</p>')
    if after.baseline is not None:
        low, high = (100 * end for end in after.excess)
        lines.append(
            f"<p><small>Beyond what is reached anyway: {low:+.1f} to {high:+.1f} points (95&nbsp;% sure).</small></p>"
        )
    return f'<div class="quote">{"".join(lines)}</div>'


def risk(facts: ReportFacts) -> str:
    """What drove the risk before, for each set of columns that an adversary may know; nothing where it was not looked at."""
    if not facts.risks:
        return ""
    several = len(facts.risks) > 1
    parts = []
    for number, each in enumerate(facts.risks):
        if several:
            parts.append(f"<h3>Somebody who knows {escape(', '.join(each.together.columns))}</h3>")
        parts.append(_risk_of_set(each, facts.exposed[number] if number < len(facts.exposed) else ()))
    parts.append(
        "<p><small>Distinction: different combinations per row. Separation: pairs of rows that differ.</small></p>"
    )
    return section(
        "What drove the risk", "Why people stood alone in the table before it was published.", "".join(parts)
    )


def _risk_of_set(found: RiskFound, exposed: Sequence[Exposed]) -> str:
    drawn = figures.risk_columns(found.rows, found.together.alone, {each.column: each.drives for each in found.columns})
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
            figure(drawn),
            listing("Values by which people stand alone", ("value", "rows", "alone", "alone by it"), values),
            listing("Values that one person alone has", ("column", "value"), lone),
            listing("Columns that tell people apart together", ("columns", "distinction", "separation", "alone"), sets),
            listing("The most exposed, as it stood", ("who", "people", "sensitive values"), groups),
        )
    )


def _nearly(share: Fraction) -> str:
    """A share that is often close to 1, rounded down so that 100 % means all."""
    return f"{floor(share * 100_000) / 1000:.3f}%" if share < 1 else "100%"


_BUCKETS = " Buckets show quasi values exactly, so people can be found in them; what they hide is whose of a bucket's values is whose."
_ATTACK_KEY = (
    '<div class="key"><span><i class="bad"></i>as it stood</span><span><i class="good"></i>published: no more than anyway</span>'
    '<span><i class="warn"></i>published: still succeeds</span></div>'
)
