"""Privacy definitions as checks of data validation libraries: the table as it stands, judged exactly, in the pipeline that already validates it.

``pandera``     a ``Check`` of a whole frame, for schemas over pandas and polars
``pointblank``  an expression for ``Validate.specially``
``checked_frames``      the verdict that both give
"""

from reticent.checks.checked_frames import satisfies
from reticent.checks.pandera import pandera_check
from reticent.checks.pointblank import pointblank_check
from reticent.errors import correct_names

__all__ = ["pandera_check", "pointblank_check", "satisfies"]

correct_names(__name__)
