"""The report on a release: one self-contained page with the verdict, the promise, the pictures and what remains open.

It is for the steward: the search, the cost and everything about the table before publishing are private. The public
variant leaves all of that out and shows only what follows from the published files.

``writing``  writes the page; ``facts`` gathers what it tells, ``page`` lays it out
``analysis``  means, spreads, correlations and a regression, before and after
``previewing``  what a release would be, one or several side by side (``rt.preview``, ``rt.compare``)
``series_measures``, ``series_page``  a series of releases: figures over time, and the page with them
``figures``  draws; ``knowledge_figure`` the curves of background knowledge, ``lattice_figure`` the search,
             ``balls_figure`` centres and radii
"""

from __future__ import annotations

from reticent.report.analysis import Analysis, analyse
from reticent.report.previewing import Compared, Preview, compare, preview
from reticent.report.series_measures import ReleaseMeasures, measure_series
from reticent.report.series_page import series_figures, write_series_page
from reticent.report.writing import write_report, write_stewards_report

__all__ = [
    "Analysis",
    "Compared",
    "Preview",
    "ReleaseMeasures",
    "analyse",
    "compare",
    "measure_series",
    "preview",
    "series_figures",
    "write_report",
    "write_series_page",
    "write_stewards_report",
]
