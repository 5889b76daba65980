"""One module a page: the addresses that it answers, the parts that it shows, and the changes of the policy that it makes."""

from __future__ import annotations

from fastapi import FastAPI

from reticent.workbench.desk import Desk
from reticent.workbench.pages import columns, data, start


def add_all(app: FastAPI, desk: Desk) -> None:
    """Add the addresses of all pages."""
    for page in (start, data, columns):
        page.add(app, desk)
