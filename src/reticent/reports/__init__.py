"""The report on a release: one self-contained HTML page with the verdict, the guarantee, figures and residual risks.

It is confidential and for the steward: the search, the information loss and all facts about the original table are private. The public
variant omits them and shows only what follows from the published files.

``report_files``  writes the page; ``facts`` collects its data, ``page`` builds its sections
``dossier``       evidence under the headings of a regulatory regime (``regimes``); ``dossier_page`` builds its page, ``pdf_printer`` prints it as PDF
``page_parts``    sections, tables and figures of all pages, rendered with ``templates`` (Jinja2 and a style sheet, shared with the workbench);
                  ``attack_figures`` charts of attack results
``analysis``      means, spreads, correlations and a regression, before and after
``previews``      previews of releases, and comparisons of several (``rt.preview``, ``rt.compare``)
``series_measures``, ``series_page``  a series of releases: measures over time, and the page that shows them
``synthetic_page``  synthetic records made by any tool: attacks, and how well they fit the original table
``knowledge_figure``  curves of worst-case background knowledge; ``flow_figures`` synthetic against original rows; ``utility_figure`` loss against k.
                  Figures specific to one release format are in the module of that format
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
from reticent.reports.synthetic_page import write_synthetic_page

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
    "write_synthetic_page",
]

correct_names(__name__)
