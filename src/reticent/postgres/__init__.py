"""PostgreSQL views that recode the rows of a table as a release does, with grants and the release's certificate.

``generalized_views``  the statements, and the limits of a view compared with a release
``label_expressions``  the label of a value as an SQL expression
"""

from reticent.postgres.generalized_views import GeneralizedView, generalized_view

__all__ = ["GeneralizedView", "generalized_view"]
