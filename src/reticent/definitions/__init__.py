"""What private means: pure, exact judgements of groups.

``base``        Definition, Assessment, Witness, composition with ``&``
``anonymity``   k-anonymity
"""

from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.base import All, Assessment, Definition, Witness

__all__ = ["All", "Assessment", "Definition", "KAnonymity", "Witness"]
