"""Packages that not everybody needs: imported where they are used, and named with the command that installs them where they are missing."""

from __future__ import annotations

from typing import Any

from reticent.errors import MissingPackage


def needed(module: str, extra: str, what: str) -> Any:
    """An optional package; ``what`` says what it is needed for (``"Reading SPSS files"``)."""
    try:
        return __import__(module, globals(), locals(), ["__name__"], 0)
    except ModuleNotFoundError as error:
        if error.name is not None and not module.startswith(error.name):
            raise
        package = module.partition(".")[0]
        raise MissingPackage(
            f"{what} needs the package {package}, which is not installed. Install it with: pip install 'reticent[{extra}]'"
        ) from None
