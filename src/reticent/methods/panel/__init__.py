"""People with several rows, grouped by their whole sequences.

``method``          Panel, the method that ``publish`` takes
``wave_pattern``    the column that identifies a person's rows, and people with rows at the same waves
``wave_definition`` a definition required at every wave of a group of people
``format``          the format ``panel``: generalized rows with the number of their group
"""

from reticent.methods.panel.method import Panel

__all__ = ["Panel"]
