"""Bucketization: sensitive values are parted from people, whom only a group connects with them again.

``dealing``  which values meet in a group, and who goes there
``method``   the method ``Anatomy``
"""

from reticent.anonymize.anatomy.method import Anatomy

__all__ = ["Anatomy"]
