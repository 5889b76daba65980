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


def _tiles(made: Dossier) -> list[tuple[str, str]]:
    """Return the key figures: measures with their thresholds, and the number of missing statements."""
    tiles = [(each.measured.partition(" (")[0], each.name, each.meets) for each in made.measures if each.exact]
    asked = len(made.missing) + sum(each.answer is not None for part in made.sections for each in part.statements)
    tiles.append((f"{len(made.missing)} of {asked}", "statements still missing", None if made.missing else True))
    return [(number, f"{words}{_mark(meets)}") for number, words, meets in tiles]


def _mark(meets: bool | None) -> str:
    return "" if meets is None else ": meets the threshold" if meets else ": above the threshold"


def _not_a_determination(made: Dossier) -> PageSection:
    missing = [(each.name, each.question) for each in made.missing]
    told = (
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
        f"This document gathers what was measured. It is not a legal finding. {made.of.determination}",
        [block("paragraph", text=f"Threshold: {made.of.threshold_words}"), *told],
    )


def _section(part: DossierSection) -> PageSection:
    stated = [
        block(
            "promise",
            head=each.question,
            text=each.answer or "To be stated by the steward",
            small=each.name,
            open=not each.answer,
        )
        for each in part.statements
    ]
    parts = [each for described in part.blocks for each in _blocks(described)]
    return PageSection(part.title, f"{part.lead} ({part.source})", [*stated, *parts])


def _blocks(described: DossierBlock) -> list[PageBlock]:
    return [
        block("title", text=described.title),
        *(block("paragraph", text=each) for each in described.text),
        *(attack_figures(described.attacks) if described.attacks else []),
        *([plain_table(described.heads, described.rows)] if described.rows else []),
        *([block("items", texts=described.items)] if described.items else []),
    ]


_GUARANTEE = "This is the verdict on the guarantee of the certificate, not on the regime."
