"""The page of a dossier: the parts of the report's pages, under the headings of a regime."""

from __future__ import annotations

from html import escape

from reticent import __version__
from reticent.reports.attack_figures import attack_figures
from reticent.reports.dossier import Dossier, DossierBlock, DossierSection
from reticent.reports.page_parts import LOGO, PageSection, card, contents, plain_table, whole_page
from reticent.reports.verdict_block import verdict_block


def render_dossier(made: Dossier) -> str:
    """The whole page."""
    sections = [_not_a_determination(made), *map(_section, made.sections)]
    tag = (
        '<span class="tag">Confidential: holds facts about the table</span>'
        if made.private
        else '<span class="tag public">From the published files alone</span>'
    )
    head = (
        f'<header><div class="kicker"><span class="brand">{LOGO}Reticent evidence dossier</span>{tag}</div>'
        f'<h1>{escape(made.of.title)}</h1><p class="lead">{escape(made.release)}</p></header>'
    )
    foot = f"<footer>Sources: {escape('; '.join(made.of.sources))}. They are paraphrased, not quoted. Written by Reticent {escape(__version__)}.</footer>"
    body = (
        head,
        # The verdict is on the guarantee, but no page shows it as good above adversaries that succeed.
        verdict_block(
            made.headline.beside(filter(None, [made.attacked])), [f"{_GUARANTEE} {made.judged}", made.judgement]
        ),
        _tiles(made),
        contents(sections),
        *map(card, sections),
        foot,
    )
    return whole_page(f"{made.of.title}: {made.release}", "\n".join(body))


def _tiles(made: Dossier) -> str:
    """The figures against the threshold, and what is still to be stated."""
    tiles = [(each.measured.partition(" (")[0], each.name, each.meets) for each in made.measures if each.exact]
    asked = len(made.missing) + sum(each.answer is not None for part in made.sections for each in part.statements)
    tiles.append((f"{len(made.missing)} of {asked}", "statements still missing", None if made.missing else True))
    items = "".join(
        f"<li><b>{escape(number)}</b><span>{escape(words)}{_mark(meets)}</span></li>" for number, words, meets in tiles
    )
    return f'<ul class="tiles">{items}</ul>'


def _mark(meets: bool | None) -> str:
    return "" if meets is None else ": meets the threshold" if meets else ": above the threshold"


def _not_a_determination(made: Dossier) -> PageSection:
    missing = made.missing
    listed = plain_table(("field", "to be stated"), [(each.name, each.question) for each in missing]) if missing else ""
    told = (
        f"<h3>What the steward must still state</h3><p>Fill these in under [dossier] of the policy, or in a TOML file (--statements).</p>{listed}"
        if missing
        else "<p>All statements that the headings ask for were made by the steward.</p>"
    )
    return PageSection(
        "Evidence, not a determination",
        f"This document gathers what was measured. It is not a legal finding. {made.of.determination}",
        f"<p>Threshold: {escape(made.of.threshold_words)}</p>{told}",
    )


def _section(part: DossierSection) -> PageSection:
    stated = "".join(
        f'<div class="promise{"" if each.answer else " open"}"><h3>{escape(each.question)}</h3>'
        f"<p>{escape(each.answer) if each.answer else 'To be stated by the steward'}</p><small>{escape(each.name)}</small></div>"
        for each in part.statements
    )
    return PageSection(part.title, f"{part.lead} ({part.source})", stated + "".join(map(_block, part.blocks)))


def _block(block: DossierBlock) -> str:
    text = "".join(f"<p>{escape(each)}</p>" for each in block.text)
    drawn = attack_figures(block.attacks) if block.attacks else ""
    rows = plain_table(block.heads, block.rows) if block.rows else ""
    items = "".join(f"<li>{escape(each)}</li>" for each in block.items)
    listed = f'<ul class="plain">{items}</ul>' if items else ""
    return f"<h3>{escape(block.title)}</h3>{text}{drawn}{rows}{listed}"


_GUARANTEE = "This is the verdict on the guarantee of the certificate, not on the regime."
