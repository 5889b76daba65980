"""Perfect privacy of views: does granting a view disclose anything about a secret query? Source: [Miklau2004];
[Machanavajjhala2006].

This is decided from query texts and schema alone: a view is private against a secret iff no row of any table can change
both answers (no common critical tuple). The modules:

- ``constants``, ``queries``, ``schema``, ``datalog``: the parts of queries; ``schema_file`` reads a schema without SQL; ``schema_fit`` types queries by a schema; ``texts`` reads files
- ``integer_queries``, ``unification``, ``homomorphism``, ``acyclic``, ``two_sat``, ``containment``: queries as small integers, and the containment tests; ``query_classes`` classifies queries by the cost of the test; ``query_core`` drops redundant subgoals
- ``sorts``, ``value_grid``, ``variable_models``, ``cases``: values for finite domains, comparisons and NULL; ``chase``: keys
- ``critical``, ``collision``: critical rows (critical tuples), and the search for a common one of two queries
- ``witness``, ``replay``: a disclosure as two small databases, run in SQLite or DuckDB
- ``view_certificate``, ``certificate_check``: verifiable verdicts, and their independent verification
- ``checker``, ``matrix``, ``verdict``, ``explanation``, ``repairs``: checks, verdicts, explanations, repairs; ``influence``: the critical rows of a query
- ``grants``: SQL that grants a private view behind a security barrier
- ``authorizations``, ``policy_file``: roles, positive and negative authorizations, and a log of every decision
- ``sql``: DDL, SQL queries and live catalogues; ``sql_text``: conjunctive queries as SQL
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names
from reticent.views.checker import Checker, check, load_schema, prepare
from reticent.views.influence import critical_rows, is_critical
from reticent.views.matrix import Matrix
from reticent.views.queries import Query
from reticent.views.schema import Key, Relation, Schema, SchemaColumn, table
from reticent.views.verdict import DISCLOSES, PRIVATE, UNKNOWN, Verdict, jointly

if TYPE_CHECKING:
    from reticent.views.certificate_check import verify
    from reticent.views.grants import grant
    from reticent.views.policy_file import open_policy
    from reticent.views.repairs import causes, possible_repairs
    from reticent.views.replay import write_sqlite
    from reticent.views.texts import is_path, read_text
    from reticent.views.view_certificate import certify, read_certificate
    from reticent.views.witness import DatabaseWitness

_HOMES = {
    "DatabaseWitness": "witness",
    "causes": "repairs",
    "certify": "view_certificate",
    "grant": "grants",
    "is_path": "texts",
    "open_policy": "policy_file",
    "possible_repairs": "repairs",
    "read_certificate": "view_certificate",
    "read_text": "texts",
    "verify": "certificate_check",
    "write_sqlite": "replay",
}

__all__ = [
    "DISCLOSES",
    "PRIVATE",
    "UNKNOWN",
    "Checker",
    "DatabaseWitness",
    "Key",
    "Matrix",
    "Query",
    "Relation",
    "Schema",
    "SchemaColumn",
    "Verdict",
    "causes",
    "certify",
    "check",
    "critical_rows",
    "grant",
    "is_critical",
    "is_path",
    "jointly",
    "load_schema",
    "open_policy",
    "possible_repairs",
    "prepare",
    "read_certificate",
    "read_text",
    "table",
    "verify",
    "write_sqlite",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _HOMES)
