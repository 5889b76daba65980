"""Perfect privacy of views: does granting this view disclose anything about that secret?

The question is decided from query texts and schema alone (spec 000a, R-PP-1..32): a view is private against a secret
iff no row of any table can change both answers. The rooms of this room:

- ``values``, ``query``, ``schema``, ``datalog``: what queries are made of; ``schema_file`` reads a schema
  without SQL; ``fitting`` brings queries in line with a schema; ``texts`` reads files
- ``coding``, ``unification``, ``homomorphism``, ``acyclic``, ``two_sat``, ``containment``: queries as small integers, and
  the containment tests; ``classes`` says which query has a cheap one; ``minimize`` drops redundant subgoals
- ``sorts``, ``grid``, ``models``, ``cases``: values for finite domains, comparisons and NULL; ``chase``: keys
- ``critical``, ``collision``: critical rows, and the search for one that two queries share
- ``witness``, ``replay``: a disclosure as two small databases, run in SQLite or DuckDB
- ``certificate``, ``verifying``: verdicts that can be checked again, and the checking, with code of its own
- ``checking``, ``matrix``, ``verdict``, ``explaining``, ``repairing``: asking, answering, explaining, mending;
  ``influence``: which rows matter to a query
- ``granting``: SQL that grants a private view and keeps functions of the grantee away from rows that are not shown
- ``policy``, ``policy_file``: roles, positive and negative authorizations, and a log of every decision (R-PP-29)
- ``sql``: DDL, SQL queries and live catalogues; ``rendering``: conjunctive queries as SQL
"""

from __future__ import annotations

from reticent.views.checking import Checker, check, load_schema, prepare
from reticent.views.influence import critical_rows, is_critical
from reticent.views.matrix import Matrix
from reticent.views.query import Query
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
