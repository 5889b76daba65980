"""Both curves in one picture: how sure attackers with k facts can become, for any facts and for negations only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.errors import PolicyError

KINDS = (".svg", ".png", ".html", ".json")
ANY, NEGATED = "any facts", "“does not have” facts only"
_COLOURS = ["#b3261e", "#1f5fa8"]


def chart(known: Sequence[Fraction], negated: Sequence[Fraction], c: Fraction | None = None, title: str = "") -> Any:
    """An altair chart of both curves, with the threshold ``c`` where there is one."""
    import altair as alt
    import polars as pl

    rows = [
        {"facts": facts, "disclosure": float(value), "exact": str(value), "attacker": name}
        for name, values in ((ANY, known), (NEGATED, negated))
        for facts, value in enumerate(values)
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X("facts:Q", title="facts that the attacker knows (k)", axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y("disclosure:Q", title="worst-case certainty about somebody", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("attacker:N", title="attacker knows", scale=alt.Scale(domain=[ANY, NEGATED], range=_COLOURS)),
        tooltip=["attacker:N", "facts:Q", "exact:N", alt.Tooltip("disclosure:Q", format=".4f")],
    )
    layers = [base.mark_line(), base.mark_point(filled=True, size=45)]
    if c is not None:
        threshold = alt.Chart(pl.DataFrame({"c": [float(c)]}))
        layers.append(threshold.mark_rule(strokeDash=[4, 4], color="#555").encode(y="c:Q"))
    return alt.layer(*layers).properties(width=520, height=320, title=title)


def explorer(known: Sequence[Fraction], negated: Sequence[Fraction], c: Fraction | None = None, title: str = "") -> Any:
    """The chart with a slider "how many facts?" that stops where somebody's value becomes certain."""
    import altair as alt
    import polars as pl

    last = next((facts for facts, value in enumerate(known) if value == 1), len(known) - 1)
    slider = alt.param("facts_known", value=0, bind=alt.binding_range(min=0, max=last, step=1, name="How many facts? "))
    told = pl.DataFrame(
        [
            {"facts": facts, "text": f"{facts} facts: up to {float(value):.1%} sure ({value})", "y": 1.0}
            for facts, value in enumerate(known)
        ]
    )
    marker = alt.Chart(told).transform_filter("datum.facts == facts_known")
    rule = marker.mark_rule(color="#888").encode(x="facts:Q")
    text = marker.mark_text(align="left", dx=6, dy=-8, fontSize=13).encode(x="facts:Q", y="y:Q", text="text:N")
    return (chart(known, negated, c) + rule + text).add_params(slider).properties(title=title)


def save_chart(
    path: str | Path, known: Sequence[Fraction], negated: Sequence[Fraction], c: Fraction | None = None, title: str = ""
) -> Path:
    """Write the picture as SVG, PNG, Vega-Lite JSON, or as a page with a slider (HTML)."""
    target = Path(path)
    if target.suffix not in KINDS:
        raise PolicyError(f"A chart is written as one of {', '.join(KINDS)}, but {str(target)!r} ends otherwise.")
    drawn = (explorer if target.suffix == ".html" else chart)(known, negated, c, title)
    if target.suffix == ".html":
        drawn.save(str(target), inline=True)
    elif target.suffix == ".png":
        drawn.save(str(target), scale_factor=2)
    else:
        drawn.save(str(target))
    return target
