"""Bucketization: sensitive values are parted from people, whom only a group connects with them again.

``dealing``   which values meet in a group, and who goes there
``settling``  how many values must meet for a definition, and the rows of a table dealt out
``method``    the method ``Anatomy``: exact quasi values beside
``angel``     the method ``Angelization``: generalized quasi values beside
"""

from reticent.anonymize.anatomy.angel import Angelization
from reticent.anonymize.anatomy.method import Anatomy

__all__ = ["Anatomy", "Angelization"]
