"""The documentation site: ``make docs`` builds it into ``docs/_build/html`` without network, and any warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from docs.tools.generated import filled, with_citations, with_source_links  # noqa: E402
from reticent import __version__  # noqa: E402

project = "Reticent"
author = "The Reticent engineers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "tools", "**/README.md"]
nitpicky = True
highlight_language = "text"
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "Reticent"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Reticent"},
    "show_toc_level": 2,
    "navigation_depth": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True


def _fill(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = with_citations(with_source_links(filled(source[0])), name)


def setup(app: Sphinx) -> None:
    app.connect("source-read", _fill)
