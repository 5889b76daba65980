"""People with several rows, grouped by their whole sequences.

``method``          Panel, the method that ``publish`` takes
``wave_pattern``    the column that tells the rows of a person apart, and people who have rows at the same waves
``wave_definition`` a definition that holds at every wave of a group of people
``format``          the format ``panel``: generalized rows with the number of their group
"""

from reticent.methods.panel.method import Panel

__all__ = ["Panel"]
