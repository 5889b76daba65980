"""PostgreSQL in place: views that show the rows of a table as a release recodes them, with grants and the release's certificate.

``generalized_views``  the statements, and what a view cannot promise that a release can
``label_expressions``  the label of a value as an SQL expression
"""

from reticent.postgres.generalized_views import GeneralizedView, generalized_view

__all__ = ["GeneralizedView", "generalized_view"]
