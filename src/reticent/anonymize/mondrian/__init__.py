"""Local recoding by repeated cuts.

``method``     Mondrian, the method that ``publish`` takes
``partition``  the rounds of cuts, all groups of a generation at once
``stage``      the units of open groups, laid out group after group, and how they are cut
``judging``    which cuts a definition allows
``cells``      what is published of a group in each column
"""

from reticent.anonymize.mondrian.method import Mondrian

__all__ = ["Mondrian"]
