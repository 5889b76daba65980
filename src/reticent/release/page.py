"""The page of a report: sections as HTML, one self-contained file. What it tells is decided in ``report_facts``."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from reticent import __version__
from reticent.release import figures
from reticent.release.knowledge_figure import knowledge_curves
from reticent.release.lattice_figure import ladder, lattice
from reticent.release.page_parts import figure, section
from reticent.release.page_risk import attacks, risk
from reticent.release.report_facts import ReportFacts


def render(facts: ReportFacts) -> str:
    """The whole page."""
    home = files("reticent.release")
    body = "\n".join(
        part
        for part in (
            _head(facts),
            _verdict(facts),
            _tiles(facts),
            _promises(facts),
            attacks(facts),
            risk(facts),
            _crowds(facts),
            _sensitive(facts),
            _lattice(facts),
            _utility(facts),
            _residual(facts),
            _certificate(facts),
            _foot(facts),
        )
        if part
    )
    return Template(home.joinpath("report.html").read_text("utf-8")).substitute(
        version=__version__,
        title=escape(f"{facts.title}: release report"),
        style=home.joinpath("report.css").read_text("utf-8"),
        body=body,
    )


def _head(facts: ReportFacts) -> str:
    tag = (
        '<span class="tag public">Public report</span>'
        if facts.private is None
        else '<span class="tag">For the steward: do not publish this page</span>'
    )
    return (
        f'<header><div class="kicker"><span class="brand">{_LOGO}Reticent release report</span>{tag}</div>'
        f"<h1>{escape(facts.title)}</h1></header>"
    )


def _verdict(facts: ReportFacts) -> str:
    kind, icon, words = {
        "holds": ("", _CHECK, "The release keeps its promise."),
        "fails": (" fails", _CROSS, "The release does not keep its promise."),
        "unknown": (" unknown", _QUESTION, "Not every promise could be checked."),
    }[facts.verdict.status]
    detail = escape(facts.verdict.detail)
    return f'<div class="verdict{kind}">{icon}<div><strong>{words}</strong><p>{detail}</p></div></div>'


def _tiles(facts: ReportFacts) -> str:
    sizes = facts.groups.sizes
    tiles = [
        (f"{facts.rows:,}", "rows published"),
        (f"{len(sizes):,}", "groups of people who look alike"),
        (f"{int(facts.groups.people.min()):,}", "people in the smallest group"),
    ]
    if facts.private is not None:
        left_out = facts.private.suppressed
        tiles.append((f"{left_out:,}", f"rows left out ({left_out / max(facts.rows + left_out, 1):.1%})"))
        if "loss" in facts.private.utility:
            tiles.append((f"{facts.private.utility['loss']:.0%}", "of the detail given up"))
    items = "".join(f"<li><b>{escape(number)}</b><span>{escape(words)}</span></li>" for number, words in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _promises(facts: ReportFacts) -> str:
    kept = "".join(
        f'<div class="promise"><h3><code>{escape(each.name)}</code></h3><p>{escape(each.meaning)}</p>'
        f"<small>{escape(each.outcome)}</small></div>"
        for each in facts.promises
    )
    open_ends = list(dict.fromkeys(each.not_covered for each in facts.promises))
    left = "".join(f'<div class="promise open"><p>{escape(words)}</p></div>' for words in open_ends)
    return section(
        "What was promised, and against whom",
        "Each line is a definition that every published group was checked against, in exact arithmetic.",
        f"{kept}<h3>Not covered</h3>{left}",
    )


def _crowds(facts: ReportFacts) -> str:
    drawn = figures.crowd_sizes(facts.groups.people, facts.before, facts.least)
    lead = (
        "Whoever looks for somebody finds this many people who cannot be told apart."
        if facts.format == "generalize"
        else "Whoever finds somebody finds a bucket with this many people, each of whom may have any of its values."
    )
    return section(drawn.title, lead, _key(facts.before is not None, round_after=False) + figure(drawn))


def _sensitive(facts: ReportFacts) -> str:
    drawn = []
    for column in facts.groups.domain.columns:
        groups = facts.groups.marginal(column.name)
        before = facts.private.whole.get(column.name) if facts.private is not None else None
        spread = figures.sensitive_values(column.name, before, facts.published(column.name))
        guesses = figures.best_guesses(column.name, groups.histograms.top, groups.sizes)
        drawn.append(
            section(
                spread.title,
                "Publishing should not distort what the data are for.",
                _key(before is not None, round_after=True) + figure(spread),
            )
        )
        drawn.append(
            section(
                guesses.title,
                f"Somebody who knows a person's group guesses the most frequent {column.name} in it.",
                figure(guesses),
            )
        )
        facts_known = knowledge_curves(column.name, groups)
        drawn.append(
            section(
                facts_known.title,
                "The worst case over all facts that somebody could know, and over those that only rule values out.",
                _KNOWLEDGE_KEY + figure(facts_known),
            )
        )
    return "\n".join(drawn)


def _lattice(facts: ReportFacts) -> str:
    if facts.lattice is None or facts.private is None:
        return ""
    rows = []
    for name, level, height, examples in ladder(facts.lattice, facts.labels):
        steps = "".join(f'<i class="{"on" if step < level else ""}"></i>' for step in range(height))
        shown = f"<code>{escape(examples)}</code>" if examples else ""
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th><td><span class="steps" role="img" '
            f'aria-label="level {level} of {height}">{steps}</span></td><td>{level} of {height}</td><td>{shown}</td></tr>'
        )
    head = '<thead><tr><th scope="col">column</th><th scope="col">coarser</th><th scope="col">level</th><th scope="col">published as</th></tr></thead>'
    return section(
        "How it was made",
        "Every dot is one way to coarsen the columns, finest at the bottom. The search takes the one that keeps the promise "
        f"and gives up least.{_proof(facts.private.search)}",
        f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        + figure(lattice(facts.lattice)),
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


def _utility(facts: ReportFacts) -> str:
    if facts.private is None:
        return ""
    rows = []
    for name, value in facts.private.utility.items():
        title, words, of_one = _MEASURES.get(name, (name.replace("_", " "), "", False))
        meter = f'<span class="meter"><i style="width:{min(max(value, 0), 1):.1%}"></i></span>' if of_one else ""
        number = f"{value:.1%}" if of_one else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        rows.append(
            f'<tr><th scope="row">{escape(title)}</th><td class="number">{escape(number)}{meter}</td>'
            f"<td><small>{escape(words)}</small></td></tr>"
        )
    if not rows:
        return ""
    head = '<thead><tr><th scope="col">measure</th><th scope="col">value</th><th scope="col">in plain words (less is better)</th></tr></thead>'
    return section(
        "What it cost",
        "How much of the table's detail was given up for the promise, by the measures in use.",
        f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>',
    )


def _residual(facts: ReportFacts) -> str:
    if not facts.residual:
        return ""
    items = "".join(f"<li>{escape(words)}</li>" for words in facts.residual)
    return section("What remains", "Risks that the promise does not remove.", f'<ul class="plain">{items}</ul>')


def _certificate(facts: ReportFacts) -> str:
    if not facts.certificate:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_plain_or_code(value)}</td></tr>'
        for name, value in facts.certificate
    )
    return section(
        "Certificate",
        "Anybody can check these claims again from the published files: reticent verify.",
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>',
    )


def _plain_or_code(value: str) -> str:
    """Fingerprints and keys in fixed width, sentences as text."""
    return f"<code>{escape(value)}</code>" if value.startswith(("sha256", "Ed25519")) else escape(value)


def _foot(facts: ReportFacts) -> str:
    words = (
        "This page shows only what follows from the published files."
        if facts.private is None
        else "This page holds facts about the confidential table. Keep it with the private side of the release."
    )
    return f"<footer>{words} Written by Reticent {escape(__version__)}.</footer>"


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

_LOGO = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M7 12h10" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/></svg>'
)
_CHECK = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--good)"/>'
    '<path d="M13 23l6.5 6.5L31.5 16" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
_QUESTION = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--warn)"/>'
    '<path d="M16.5 17.5a5.7 5.7 0 1 1 8 5.2c-1.8.9-2.5 1.9-2.5 3.8M22 32v.2" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round"/></svg>'
)
_CROSS = (
    '<svg viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="21" style="fill:var(--bad)"/>'
    '<path d="M15 15l14 14M29 15L15 29" fill="none" style="stroke:var(--card)" stroke-width="4" stroke-linecap="round"/></svg>'
)
