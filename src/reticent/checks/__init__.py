"""Privacy definitions as checks of data validation libraries: an exact verdict on the unmodified table, within an
existing validation pipeline.

``pandera``         a ``Check`` of a whole frame, for schemas over pandas and polars
``pointblank``      an expression for ``Validate.specially``
``checked_frames``  the verdict used by both
"""

from reticent.checks.checked_frames import satisfies
from reticent.checks.pandera import pandera_check
from reticent.checks.pointblank import pointblank_check
from reticent.errors import correct_names

__all__ = ["pandera_check", "pointblank_check", "satisfies"]

correct_names(__name__)
