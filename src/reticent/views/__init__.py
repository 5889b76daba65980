"""Perfect privacy of views: does granting this view disclose anything about that secret?

The question is decided from query texts and schema alone (spec 000a, R-PP-1..32): a view is private against a secret
iff no row of any table can change both answers. The rooms of this room:

- ``constants``, ``queries``, ``schema``, ``datalog``: what queries are made of; ``schema_file`` reads a schema
  without SQL; ``schema_fit`` brings queries in line with a schema; ``texts`` reads files
- ``integer_queries``, ``unification``, ``homomorphism``, ``acyclic``, ``two_sat``, ``containment``: queries as small integers, and
  the containment tests; ``query_classes`` says which query has a cheap one; ``query_core`` drops redundant subgoals
- ``sorts``, ``value_grid``, ``variable_models``, ``cases``: values for finite domains, comparisons and NULL; ``chase``: keys
- ``critical``, ``collision``: critical rows, and the search for one that two queries share
- ``witness``, ``replay``: a disclosure as two small databases, run in SQLite or DuckDB
- ``view_certificate``, ``certificate_check``: verdicts that can be checked again, and the checking, with code of its own
- ``checker``, ``matrix``, ``verdict``, ``explanation``, ``repairs``: asking, answering, explaining, mending;
  ``influence``: which rows matter to a query
- ``grants``: SQL that grants a private view and keeps functions of the grantee away from rows that are not shown
- ``authorizations``, ``policy_file``: roles, positive and negative authorizations, and a log of every decision (R-PP-29)
- ``sql``: DDL, SQL queries and live catalogues; ``sql_text``: conjunctive queries as SQL
"""

from __future__ import annotations

from reticent.views.checker import Checker, check, load_schema, prepare
from reticent.views.influence import critical_rows, is_critical
from reticent.views.matrix import Matrix
from reticent.views.queries import Query
from reticent.views.schema import Key, Relation, Schema, SchemaColumn, table
from reticent.views.verdict import DISCLOSES, PRIVATE, UNKNOWN, Verdict

__all__ = [
    "DISCLOSES",
    "PRIVATE",
    "UNKNOWN",
    "Checker",
    "Key",
    "Matrix",
    "Query",
    "Relation",
    "Schema",
    "SchemaColumn",
    "Verdict",
    "check",
    "critical_rows",
    "is_critical",
    "load_schema",
    "prepare",
    "table",
]
