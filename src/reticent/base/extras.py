"""Optional packages: imported where they are used; if one is missing, the error names the command that installs it."""

from __future__ import annotations

from typing import Any

from reticent.errors import MissingPackage


def needed(module: str, extra: str, feature: str) -> Any:
    """Import an optional package; ``feature`` is the feature that needs it (``"Reading SPSS files"``)."""
    try:
        return __import__(module, globals(), locals(), ["__name__"], 0)
    except ModuleNotFoundError as error:
        if error.name is not None and not module.startswith(error.name):
            raise
        package = module.partition(".")[0]
        raise MissingPackage(
            f"{feature} needs the package {package}, which is not installed. Install it with: pip install 'reticent[{extra}]'"
        ) from None
