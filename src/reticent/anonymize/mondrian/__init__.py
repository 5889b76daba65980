"""Local recoding by repeated cuts.

``method``     Mondrian, the method that ``publish`` takes
``partition``  the cuts, all groups of a generation at once
``cells``      what is published of a group in each column
"""

from reticent.anonymize.mondrian.method import Mondrian

__all__ = ["Mondrian"]
