"""How randomized releases are shown, for the commands that meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reticent.cli.console import answer, table

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.policy import Published


def answer_published(found: Published, as_json: bool) -> None:
    """What ``reticent publish`` says of a randomized release: it has rows and claims, but no groups."""
    made: Any = found.release
    claims = made.certificate["claims"]
    payload = {
        "ok": True,
        "path": found.path,
        "format": made.manifest.format,
        "rows": len(made),
        "worst_posterior": made.manifest.assess().value,
        "unpublished": [name for name in found.table.frame.columns if name not in made.domain.names],
        "certificate": dict(made.certificate),
    }

    def render(console: Console) -> None:
        console.print(f"Published {len(made):,} rows to {found.path / 'public'}.", markup=False)
        console.print(
            table(
                "What is promised", ("definition", "in plain words"), [(c["definition"], c["covers"]) for c in claims]
            )
        )
        console.print(f"Anybody can check it: reticent verify {found.path}", markup=False)

    answer(payload, as_json, render)
