"""Plot both curves: the highest belief of adversaries with k facts, for any facts and for negations only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from reticent.base.charts import ChartAxis, ChartLine, line_chart, png
from reticent.base.files import write_whole
from reticent.errors import PolicyError

KINDS = (".svg", ".png", ".html", ".json")
ANY, NEGATED = "any facts", "“does not have” facts only"
_X, _Y = "facts that the attacker knows (k)", "worst-case belief about a person"

Curve = Sequence[Fraction]


def save_chart(path: str | Path, known: Curve, negated: Curve, c: Fraction | None = None, title: str = "") -> Path:
    """Write the chart as SVG, PNG, Vega-Lite JSON, or as a page with a slider (HTML), with the threshold ``c`` if given."""
    target = Path(path)
    if target.suffix not in KINDS:
        raise PolicyError(f"A chart is written as one of {', '.join(KINDS)}, but {str(target)!r} has another suffix.")
    if target.suffix == ".json":
        content = json.dumps(_vega_lite(known, negated, c, title), ensure_ascii=False, indent=1).encode()
    else:
        svg = _drawn(known, negated, c, title)
        content = png(svg) if target.suffix == ".png" else svg.encode()
        if target.suffix == ".html":
            content = _page(svg, known, title).encode()
    write_whole(target, content)
    return target


def _drawn(known: Curve, negated: Curve, c: Fraction | None, title: str) -> str:
    """Return the chart as SVG."""
    lines = [
        ChartLine(
            name,
            [(facts, float(value)) for facts, value in enumerate(values)],
            [f"{facts} facts: {value} ({float(value):.4f})" for facts, value in enumerate(values)],
        )
        for name, values in ((ANY, known), (NEGATED, negated))
    ]
    most_facts = max(len(known), len(negated), 2) - 1
    level = None if c is None else (float(c), f"c = {c}")
    return line_chart(lines, ChartAxis(_X, 0, most_facts, whole=True), ChartAxis(_Y, 0, 1), title=title, level=level)


def _page(svg: str, known: Curve, title: str) -> str:
    """Return the chart with a slider "how many facts?" that ends where a value becomes certain."""
    last = next((facts for facts, value in enumerate(known) if value == 1), len(known) - 1)
    sentences = [f"{facts} facts: belief up to {float(value):.1%} ({value})" for facts, value in enumerate(known)]
    sentences_json = json.dumps(sentences, ensure_ascii=False).replace("</", "<\\/")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title or "Background knowledge")}</title>'
        f'<body style="font-family:sans-serif">{svg}'
        f'<p><label>How many facts? <input id="facts" type="range" min="0" max="{last}" value="0"></label> '
        f'<output id="told">{escape(sentences[0])}</output></p>'
        f"<script>const told={sentences_json};"
        'document.getElementById("facts").oninput=e=>{document.getElementById("told").value=told[e.target.value]}</script></body></html>\n'
    )


def _vega_lite(known: Curve, negated: Curve, c: Fraction | None, title: str) -> dict[str, Any]:
    """Return the chart as a Vega-Lite document."""
    rows = [
        {"facts": facts, "disclosure": float(value), "exact": str(value), "attacker": name}
        for name, values in ((ANY, known), (NEGATED, negated))
        for facts, value in enumerate(values)
    ]
    lines = {
        "data": {"values": rows},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "facts", "type": "quantitative", "title": _X},
            "y": {"field": "disclosure", "type": "quantitative", "title": _Y, "scale": {"domain": [0, 1]}},
            "color": {"field": "attacker", "type": "nominal", "title": "attacker knows"},
        },
    }
    rule = {
        "data": {"values": [{"c": None if c is None else float(c)}]},
        "mark": {"type": "rule", "strokeDash": [4, 4]},
        "encoding": {"y": {"field": "c", "type": "quantitative"}},
    }
    return {"title": title, "width": 520, "height": 320, "layer": [lines] if c is None else [lines, rule]}
