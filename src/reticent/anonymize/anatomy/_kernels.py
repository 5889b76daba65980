"""The loop that says which values meet, compiled; ``cache=True`` keeps the machine code on disk. Small tables never come here."""

from __future__ import annotations

import numba as nb

from reticent.anonymize.anatomy.dealing import largest_first

compiled_largest_first = nb.njit(cache=True, nogil=True)(largest_first)
