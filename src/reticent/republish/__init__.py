"""Republishing: a table that changes, in releases that stay safe together (tau-safety, spec 004).

``series``       the releases of a table as columns: who is in which group, what happened to whom, what the public sees
"""

from reticent.republish.series import EventKind, PublishedSeries, SeriesRelease

__all__ = ["EventKind", "PublishedSeries", "SeriesRelease"]
