"""The report on a release: one self-contained page with the verdict, the promise, the pictures and what remains open.

It is for the steward: the search, the cost and everything about the table before publishing are private. The public
variant leaves all of that out and shows only what follows from the published files.

``report_files``  writes the page; ``facts`` gathers what it tells, ``page`` lays it out
``dossier``       the evidence under the headings of a regime (``regimes``); ``dossier_page`` lays it out, ``report_lines`` makes a PDF
``page_parts``    sections, tables and figures of all pages, laid out by ``templates`` (Jinja2, with the style sheet; the workbench uses the same parts);
                  ``attack_figures`` what adversaries achieve
``analysis``      means, spreads, correlations and a regression, before and after
``previews``      what a release would be, one or several side by side (``rt.preview``, ``rt.compare``)
``series_measures``, ``series_page``  a series of releases: figures over time, and the page with them
``knowledge_figure``  the curves of background knowledge; ``flow_figures`` and ``utility_figure`` what changed and what it cost;
                  figures of one kind of release are with the kind
"""

from __future__ import annotations

from reticent.errors import correct_names
from reticent.reports.analysis import Analysis, analyse
from reticent.reports.dossier import Dossier, dossier
from reticent.reports.facts import Comparison, PrivateFacts
from reticent.reports.flow_figures import FlowFacts, flow_facts
from reticent.reports.previews import MechanismPreview, Preview, PreviewComparison, compare, preview
from reticent.reports.report_files import report, write_report, write_stewards_report
from reticent.reports.series_measures import ReleaseMeasures, measure_series
from reticent.reports.series_page import series_figures, series_headline, write_series_page

__all__ = [
    "Analysis",
    "Comparison",
    "Dossier",
    "FlowFacts",
    "MechanismPreview",
    "Preview",
    "PreviewComparison",
    "PrivateFacts",
    "ReleaseMeasures",
    "analyse",
    "compare",
    "dossier",
    "flow_facts",
    "measure_series",
    "preview",
    "report",
    "series_figures",
    "series_headline",
    "write_report",
    "write_series_page",
    "write_stewards_report",
]

correct_names(__name__)
