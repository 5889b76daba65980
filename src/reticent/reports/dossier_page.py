"""HTML page of a dossier, built from the same parts as the report, under the headings of a regime."""

from __future__ import annotations

from reticent.reports.attack_figures import attack_figures
from reticent.reports.dossier import Dossier, DossierBlock, DossierSection
from reticent.reports.page_parts import PageBlock, PageSection, block, page_text, plain_table


def render_dossier(made: Dossier) -> str:
    """Render the complete dossier as HTML."""
    return page_text(
        "report.html",
        title=f"{made.of.title}: {made.release}",
        kind="evidence dossier",
        tag="Confidential: holds facts about the table" if made.private else "From the published files alone",
        public=not made.private,
        heading=made.of.title,
        release=made.release,
        # The verdict is about the guarantee only, but it is not shown in green if any attack succeeds.
        headline=made.headline.beside(filter(None, [made.attacked])),
        details=[f"{_GUARANTEE} {made.judged}", made.judgement],
        tiles=_tiles(made),
        sections=[_not_a_determination(made), *map(_section, made.sections)],
        foot=f"Sources: {'; '.join(made.of.sources)}. They are paraphrased, not quoted.",
    )


def _tiles(dossier: Dossier) -> list[tuple[str, str]]:
    """Return the key figures: measures with their thresholds, and the number of missing statements."""
    tiles = [
        (measure.measured.partition(" (")[0], measure.name, measure.meets)
        for measure in dossier.measures
        if measure.exact
    ]
    required = len(dossier.missing) + sum(
        statement.answer is not None for section in dossier.sections for statement in section.statements
    )
    tiles.append(
        (f"{len(dossier.missing)} of {required}", "statements still missing", None if dossier.missing else True)
    )
    return [(number, f"{words}{_mark(meets)}") for number, words, meets in tiles]


def _mark(meets: bool | None) -> str:
    return "" if meets is None else ": meets the threshold" if meets else ": above the threshold"


def _not_a_determination(dossier: Dossier) -> PageSection:
    """Return the first section: that the dossier is not a legal finding, the threshold, and the statements that the steward has not made."""
    missing = [(statement.name, statement.question) for statement in dossier.missing]
    blocks = (
        [
            block("title", text="What the steward must still state"),
            block("paragraph", text="Fill these in under [dossier] of the policy, or in a TOML file (--statements)."),
            plain_table(("field", "to be stated"), missing),
        ]
        if missing
        else [block("paragraph", text="All statements that the headings ask for were made by the steward.")]
    )
    return PageSection(
        "Evidence, not a determination",
        f"This document gathers what was measured. It is not a legal finding. {dossier.of.determination}",
        [block("paragraph", text=f"Threshold: {dossier.of.threshold_words}"), *blocks],
    )


def _section(section: DossierSection) -> PageSection:
    """Return the page section of one heading: the steward's statements, then the evidence."""
    stated = [
        block(
            "promise",
            head=statement.question,
            text=statement.answer or "To be stated by the steward",
            small=statement.name,
            open=not statement.answer,
        )
        for statement in section.statements
    ]
    evidence = [page_block for evidence_block in section.blocks for page_block in _blocks(evidence_block)]
    return PageSection(section.title, f"{section.lead} ({section.source})", [*stated, *evidence])


def _blocks(evidence: DossierBlock) -> list[PageBlock]:
    """Return the parts of the page that show one block of evidence: title, sentences, charts of attacks, table, list."""
    return [
        block("title", text=evidence.title),
        *(block("paragraph", text=sentence) for sentence in evidence.text),
        *(attack_figures(evidence.attacks) if evidence.attacks else []),
        *([plain_table(evidence.heads, evidence.rows)] if evidence.rows else []),
        *([block("items", texts=evidence.items)] if evidence.items else []),
    ]


_GUARANTEE = "This is the verdict on the guarantee of the certificate, not on the regime."
