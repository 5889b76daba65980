"""Certificates of verdicts in JSON, verifiable without the search engine.

A DISCLOSES certificate contains the witness; the two queries can be run on it. A PRIVATE certificate of plain queries
(no comparisons, finite domains or keys) lists, for every set of subgoals that a row could match, the homomorphism that
preserves the answer without that row. ``certificate_check`` verifies both independently.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any

from reticent.base.documents import parse_json
from reticent.errors import PolicyError
from reticent.views.budget import OutOfBudget, SearchBudget
from reticent.views.checker import Checker
from reticent.views.constants import NULL, Constant, coerce, constant
from reticent.views.containment import answer_remains
from reticent.views.homomorphism import gather
from reticent.views.integer_queries import CodedQuery, CodedUnion, Fact, encode
from reticent.views.queries import Query
from reticent.views.row_rules import rule_of
from reticent.views.schema import ForeignKey, Key, Relation, Schema, SchemaColumn
from reticent.views.unification import EqualTerms, unify
from reticent.views.verdict import PRIVATE, Verdict
from reticent.views.witness import DatabaseWitness, plain

FORMAT = "reticent views certificate 1"
MOST_PAIRS = 20_000


def certify(
    verdict: Verdict,
    secret: Query,
    view: Query,
    schema: Schema,
    *,
    semantics: str = "sql",
    dialect: str = "postgres",
    foreign_keys: str = "known",
) -> dict[str, Any]:
    """Return the certificate of a verdict on one pair."""
    used = secret.relations() | view.relations()
    certificate = {
        "format": FORMAT,
        "status": verdict.status,
        "reason": verdict.reason,
        "secret": {"name": secret.name, "text": secret.text},
        "view": {"name": view.name, "text": view.text},
        "semantics": semantics,
        "dialect": dialect,
        "foreign_keys": foreign_keys,
        "meaning": {"secret": _rules(secret), "view": _rules(view)},
        "schema": schema_to_json(schema, used if secret.language == view.language == "datalog" else None),
        "assumptions": list(verdict.assumptions),
        "witness": _typed(verdict.witness) if verdict.witness else None,
    }
    if verdict.status == PRIVATE:
        certificate["proof"] = _proof(secret, view, schema)
    return certificate


def read_certificate(text: str) -> dict[str, Any]:
    """Parse a certificate from its JSON text."""
    try:
        certificate = parse_json(text)
    except json.JSONDecodeError as error:
        raise PolicyError(
            f"The certificate is not JSON: {error.msg}, at line {error.lineno}, column {error.colno}."
        ) from None
    if not isinstance(certificate, dict) or certificate.get("format") != FORMAT:
        raise PolicyError(f"This is not a views certificate: its format is not {FORMAT!r}.")
    return certificate


def schema_to_json(schema: Schema, only: frozenset[str] | None = None) -> dict[str, Any]:
    """Return a schema as plain data."""
    return {
        "relations": [
            {
                "name": relation.name,
                "columns": [
                    {
                        "name": column.name,
                        "kind": column.kind,
                        "whole": column.whole,
                        "nullable": column.nullable,
                        "folds_case": column.folds_case,
                        "loose": column.loose,
                        "domain": None if column.domain is None else typed_row(column.domain),
                    }
                    for column in relation.columns
                ],
                "keys": [{"columns": list(key.columns), "partial": key.partial} for key in relation.keys],
                "ties": list(relation.ties),
                "checks": list(relation.checks),
            }
            for relation in schema.relations.values()
            if only is None or relation.name in only
        ],
        "views": dict(schema.views),
        "foreign_keys": [
            {
                "child": link.child,
                "parent": link.parent,
                "text": link.text,
                "columns": list(link.columns),
                "references": list(link.references),
            }
            for link in schema.foreign_keys
            if only is None or {link.child, link.parent} <= only
        ],
    }


def schema_from_json(payload: Mapping[str, Any], dialect: str = "postgres") -> Schema:
    """Return the schema written by :func:`schema_to_json`; its CHECK constraints are parsed again, in their ``dialect``."""
    relations = {}
    for item in payload["relations"]:
        columns = tuple(
            SchemaColumn(
                column["name"],
                column["kind"],
                column["whole"],
                column["nullable"],
                None if column["domain"] is None else row_from_json(column["domain"]),
                column["folds_case"],
                column.get("loose", False),
            )
            for column in item["columns"]
        )
        keys = tuple(Key(tuple(key["columns"]), key["partial"]) for key in item["keys"])
        checks = tuple(item.get("checks", ()))
        relation = Relation(item["name"], columns, keys, checks, tuple(item.get("ties", ())))
        relations[item["name"].lower()] = replace(relation, rule=rule_of(relation, dialect)) if checks else relation
    links = tuple(
        ForeignKey(link["child"], link["parent"], link["text"], tuple(link["columns"]), tuple(link["references"]))
        for link in payload.get("foreign_keys", ())
    )
    return Schema(relations, dict(payload["views"]), links)


def typed_row(row: Iterable[Constant]) -> list[list[object]]:
    """Return a row with the kind of each value, so that it is read back exactly."""
    return [[item.kind, plain(item)] for item in row]


def row_from_json(row: Iterable[tuple[str, object]]) -> tuple[Constant, ...]:
    """Return the row written by :func:`typed_row`."""
    return tuple(coerce(constant(value), kind) for kind, value in row)


def _typed(witness: DatabaseWitness) -> dict[str, Any]:
    """Return a witness as plain data with the types of its values."""
    return {
        "relation": witness.relation,
        "view_relation": witness.view_relation,
        "row": typed_row(witness.row),
        "view_row": typed_row(witness.view_row),
        "secret_answer": typed_row(witness.secret_answer),
        "view_answer": typed_row(witness.view_answer),
        "secret_database": {name: [typed_row(row) for row in rows] for name, rows in witness.secret_database.items()},
        "view_database": {name: [typed_row(row) for row in rows] for name, rows in witness.view_database.items()},
    }


def has_short_proof(secret: Query, view: Query, schema: Schema) -> bool:
    """True if homomorphisms alone can prove a pair PRIVATE, and the sets of subgoals are few enough to list.

    This requires that there are no keys, foreign keys, comparisons, finite domains, conditions on NULL, or functions
    that may read any table.
    """
    if secret.boundless or view.boundless or schema.foreign_keys:
        return False
    return all(_is_plain(query, schema) for query in (secret, view)) and _size(secret, view) <= MOST_PAIRS


def _size(secret: Query, view: Query) -> int:
    """Return the number of pairs of subgoal sets of one relation of two queries."""
    counts = [
        [Counter(atom.relation for atom in rule.body) for part in query.parts for rule in part.disjuncts]
        for query in (secret, view)
    ]
    return sum(
        (1 << first[relation]) * (1 << second[relation])
        for first, second in product(*counts)
        for relation in first.keys() & second.keys()
    )


def _is_plain(query: Query, schema: Schema) -> bool:
    """Return whether a query has no comparisons, keys, finite domains or possible nulls."""
    for part in query.parts:
        for rule in part.disjuncts:
            relations = [schema.relation(atom.relation) for atom in rule.body]
            columns = [column for relation in relations for column in relation.columns]
            terms = [term for atom in rule.body for term in atom.terms]
            speaks_of_null = NULL in terms or (rule.known and any(column.nullable for column in columns))
            if rule.comparisons or speaks_of_null or any(relation.keys for relation in relations):
                return False
            if any(column.domain is not None for column in columns):
                return False
    return True


def _rules(query: Query) -> list[list[str]]:
    return [[str(rule) for rule in part.disjuncts] for part in query.parts]


def _proof(secret: Query, view: Query, schema: Schema) -> dict[str, Any]:
    """Return homomorphisms for every two sets of subgoals of secret and view that can be one row, or the note that the
    verdict must be decided again.
    """
    checker = Checker(schema, minimize=False, fast=False)
    sides = [encode(query, schema, checker.setting.book) for query in (secret, view)]
    if not has_short_proof(secret, view, schema):
        return {"kind": "decide again"}
    budget = SearchBudget()
    entries: list[dict[str, Any]] = []
    try:
        for first_part, first in enumerate(sides[0]):
            for second_part, second in enumerate(sides[1]):
                for item in _pairs(first, second, budget):
                    entries.append({"secret_part": first_part, "view_part": second_part, **item})
    except OutOfBudget:
        return {"kind": "decide again"}
    return {"kind": "homomorphisms", "pairs": entries}


def _pairs(first: CodedUnion, second: CodedUnion, budget: SearchBudget) -> list[dict[str, Any]]:
    """Return, for every two sets of subgoals that can be one row, the query and rule that keep their answer without it,
    and the subgoals that the rule maps to.
    """
    pairs = []
    for secret_rule, query in enumerate(first.disjuncts):
        for view_rule, other in enumerate(second.disjuncts):
            shifted = other.shifted(query.count)
            for relation in sorted(query.places.keys() & shifted.places.keys()):
                for gamma in _subsets(query.places[relation]):
                    for delta in _subsets(shifted.places[relation]):
                        budget.tick()
                        atoms = [*(query.atoms[g] for g in gamma), *(shifted.atoms[d] for d in delta)]
                        classes = unify(atoms)
                        if classes is None:
                            continue
                        side, disjunct, rows = _survives(first, second, query, shifted, gamma, delta, classes, budget)
                        pairs.append(
                            {
                                "secret_rule": secret_rule,
                                "view_rule": view_rule,
                                "secret_subgoals": list(gamma),
                                "view_subgoals": list(delta),
                                "kept": side,
                                "through_rule": disjunct,
                                "images": rows,
                            }
                        )
    return pairs


def _survives(
    first: CodedUnion,
    second: CodedUnion,
    query: CodedQuery,
    shifted: CodedQuery,
    gamma: tuple[int, ...],
    delta: tuple[int, ...],
    classes: EqualTerms,
    budget: SearchBudget,
) -> tuple[str, int, list[int]]:
    """Return which query ("secret" or "view") keeps its answer without its subgoals, the index of the rule that gives
    it, and the subgoals the rule maps to.
    """
    for side, union, rule, removed in (("secret", first, query, gamma), ("view", second, shifted, delta)):
        remaining = {
            (atom.relation, classes.apply(atom.terms)): index
            for index, atom in enumerate(rule.atoms)
            if index not in removed
        }
        answer = answer_remains(union, gather(remaining), classes.apply(rule.head), budget, fast=False)
        if answer is not None:
            return side, answer[0], _images(union, answer, remaining)
    raise RuntimeError("a PRIVATE verdict has a pair of subgoal sets without a homomorphism")


def _images(union: CodedUnion, answer: tuple[int, list[Fact]], index_of: dict[tuple[str, Fact], int]) -> list[int]:
    atoms = union.disjuncts[answer[0]].atoms
    return [index_of[atom.relation, row] for atom, row in zip(atoms, answer[1], strict=True)]


def _subsets(indices: list[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(1, len(indices) + 1) for chosen in combinations(indices, size)]
