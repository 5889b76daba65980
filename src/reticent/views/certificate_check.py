"""Verify a certificate with little code that is independent of the search engine.

The query texts are parsed again and must agree with the certificate. A witness is loaded and the queries are run. A
list of homomorphisms is checked for completeness (it covers every two sets of subgoals that one row can match) and each
homomorphism for correctness. Only a PRIVATE verdict with keys, comparisons or finite domains is decided again by the
plain engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from reticent.base.cards import Card, tone_of
from reticent.views.checker import Checker, prepare
from reticent.views.constants import Constant
from reticent.views.dependence import is_possible
from reticent.views.naive_evaluation import TooManyAnswers, gains
from reticent.views.queries import ConjunctiveQuery, Query, Term, Variable
from reticent.views.schema import Schema
from reticent.views.verdict import DISCLOSES, PRIVATE
from reticent.views.view_certificate import has_short_proof, row_from_json, schema_from_json
from reticent.views.witness import DatabaseWitness


@dataclass(frozen=True)
class CertificateCheck:
    """Whether a certificate holds, and how that was checked."""

    holds: bool
    status: str
    how: str

    @property
    def ok(self) -> bool:
        """True if it holds."""
        return self.holds

    def card(self) -> Card:
        """Return the verdict, and how it was checked."""
        headline = f"{self.status}: {'holds' if self.holds else 'does NOT hold'}. {self.how}."
        return Card(headline, tone=tone_of(self.holds))

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {"holds": self.holds, "status": self.status, "how": self.how}


class _Wrong(Exception):
    """The certificate does not hold; the message says where."""


def verify(certificate: Mapping[str, Any]) -> CertificateCheck:
    """Check a certificate, as :func:`reticent.views.view_certificate.read_certificate` reads it; return whether it
    holds, its status, and how that was checked.

    A disclosure is checked on its witness, a PRIVATE status by its homomorphisms or by deciding again.
    """
    status = str(certificate.get("status"))
    try:
        schema = schema_from_json(certificate["schema"], certificate["dialect"])
        foreign_keys = certificate.get("foreign_keys", "known")
        texts = [certificate["secret"]["text"], certificate["view"]["text"]]
        names = [certificate["secret"]["name"], certificate["view"]["name"]]
        schema, (secret, view) = prepare(
            texts, schema, certificate["semantics"], dialect=certificate["dialect"], names=names
        )
        meaning = [certificate["meaning"]["secret"], certificate["meaning"]["view"]]
        if [_rules(secret), _rules(view)] != meaning:
            raise _Wrong("the query texts do not mean what the certificate says")
        if status == DISCLOSES:
            how = _check_witness(certificate["witness"], secret, view, schema, foreign_keys)
        elif status == PRIVATE and certificate["proof"]["kind"] == "homomorphisms":
            how = _check_homomorphisms(certificate["proof"]["pairs"], secret, view, schema)
        elif status == PRIVATE:
            checker = Checker(schema, foreign_keys=foreign_keys, fast=False, minimize=False)
            if not checker.check(secret, view).private:
                raise _Wrong("decided again, the pair is not private")
            how = "decided again by the generic engine (keys, comparisons or finite domains have no short proof)"
        else:
            raise _Wrong(f"{status} proves nothing")
    except _Wrong as wrong:
        return CertificateCheck(False, status, str(wrong))
    except TooManyAnswers:
        return CertificateCheck(False, status, "the queries have too many answers on the witness to list them")
    except (KeyError, TypeError, IndexError, ValueError) as error:
        return CertificateCheck(False, status, f"the certificate is damaged ({type(error).__name__}: {error})")
    return CertificateCheck(True, status, how)


def _rules(query: Query) -> list[list[str]]:
    return [[str(rule) for rule in part.disjuncts] for part in query.parts]


def _check_witness(witness: Mapping[str, Any], secret: Query, view: Query, schema: Schema, foreign_keys: str) -> str:
    """Check that the rows of a witness change both answers and that a key or equality links them; return how that was checked."""
    checker = Checker(schema, foreign_keys=foreign_keys)
    if checker.is_constrained(secret, view):
        return _check_possible(witness, secret, view, checker)
    relation = schema.relation(witness["relation"])
    rows = [row_from_json(witness[name]) for name in ("row", "view_row")]
    equal_columns = [column for column in range(len(relation.columns)) if rows[0][column] == rows[1][column]]
    meetings = relation.meetings
    if not any(set(meeting.columns) <= set(equal_columns) for meeting in meetings):
        raise _Wrong("the two rows of the witness are neither equal nor mutually exclusive by a key")
    for query, side, row in ((secret, "secret", rows[0]), (view, "view", rows[1])):
        before = {name: [row_from_json(item) for item in items] for name, items in witness[f"{side}_database"].items()}
        after = {**before, relation.name: [*before.get(relation.name, []), row]}
        for database in (before, after):
            _check_keys(database, schema)
        if secret.inexact or view.inexact:
            continue
        if not gains(query, before, after, row_from_json(witness[f"{side}_answer"])):
            raise _Wrong(f"adding the row does not change the answer of the {side}")
    if secret.inexact or view.inexact:
        _run_again(witness, secret, view, schema)
        return "the witness changes both answers, run again in a database"
    return "the witness changes both answers, evaluated from the definition"


def _check_possible(witness: Mapping[str, Any], secret: Query, view: Query, checker: Checker) -> str:
    """With foreign keys and CHECK constraints, changed answers alone prove nothing: check that the databases are
    possible, and decide the pair again.
    """
    for side, name, row in (("secret", "relation", "row"), ("view", "view_relation", "view_row")):
        facts = [(table, row_from_json(item)) for table, items in witness[f"{side}_database"].items() for item in items]
        for database in (facts, [*facts, (witness[name], row_from_json(witness[row]))]):
            if not is_possible(database, checker.schema):
                raise _Wrong(f"the constraints of the schema allow no such database (of the {side})")
    _run_again(witness, secret, view, checker.schema)
    if checker.check(secret, view).status != DISCLOSES:
        raise _Wrong("decided again, the pair does not disclose")
    return "the witness changes both answers in possible databases, and the pair was decided again"


def _run_again(witness: Mapping[str, Any], secret: Query, view: Query, schema: Schema) -> None:
    """Run the query texts on the databases of the witness, because queries beyond the exact fragment have no definition
    here. Raises if no engine shows that both answers change.
    """
    from reticent.views.replay import NotReplayed, TookTooLong, replay_on

    first, second = (row_from_json(witness[name]) for name in ("row", "view_row"))
    databases = [
        {name: tuple(row_from_json(item) for item in items) for name, items in witness[side].items()}
        for side in ("secret_database", "view_database")
    ]
    rebuilt = DatabaseWitness(
        witness["relation"],
        first,
        second,
        databases[0],
        databases[1],
        (),
        (),
        (secret, view, schema),
        view_relation=witness.get("view_relation", ""),
    )
    for engine in ("duckdb", "sqlite"):
        try:
            replay_on(engine, rebuilt, secret, view, schema)
            return
        except (NotReplayed, TookTooLong):
            continue
    raise _Wrong("no database at hand shows that the row changes both answers")


def _check_keys(database: Mapping[str, list[tuple[Constant, ...]]], schema: Schema) -> None:
    """Raise if two rows of a witness database agree in a key without nulls."""
    for name, rows in database.items():
        for key in schema.relation(name).keys:
            filled = [
                tuple(row[column] for column in key.columns)
                for row in rows
                if all(row[column].kind != "null" for column in key.columns)
            ]
            if len(set(filled)) < len(filled):
                raise _Wrong(f"the witness violates a key of {name}")


def _check_homomorphisms(pairs: Iterable[Mapping[str, Any]], secret: Query, view: Query, schema: Schema) -> str:
    """Check the listed homomorphisms, and return how many there are, in words.

    For every two sets of subgoals of secret and view that can be one row, one of the two queries must keep its answer
    without its set, by a homomorphism. Raises otherwise.
    """
    if not has_short_proof(secret, view, schema):
        raise _Wrong("homomorphisms alone prove nothing where there are keys, comparisons, finite domains or NULLs")
    listed_pairs = {
        (
            pair["secret_part"], pair["view_part"], pair["secret_rule"], pair["view_rule"],
            tuple(pair["secret_subgoals"]), tuple(pair["view_subgoals"]),
        ): pair
        for pair in pairs
    }  # fmt: skip
    checked = 0
    for secret_index, secret_union in enumerate(secret.parts):
        for view_index, view_union in enumerate(view.parts):
            for secret_rule, rule in enumerate(secret_union.disjuncts):
                for view_rule, other in enumerate(view_union.disjuncts):
                    for gamma, delta, equality in _unifiable(rule, other):
                        pair = listed_pairs.get((secret_index, view_index, secret_rule, view_rule, gamma, delta))
                        if pair is None:
                            raise _Wrong(
                                f"subgoals {gamma} and {delta} of rules {secret_rule} and {view_rule} can be one row, and are not listed"
                            )
                        side, union, rule_kept, removed = (
                            ("s", secret_union, rule, gamma)
                            if pair["kept"] == "secret"
                            else ("v", view_union, other, delta)
                        )
                        surviving = union.disjuncts[pair["through_rule"]]
                        _check_one(surviving, rule_kept, removed, pair["images"], equality, side)
                        checked += 1
    return f"{checked} homomorphisms checked; no other subgoals can be one row"


def _check_one(
    surviving: ConjunctiveQuery,
    rule: ConjunctiveQuery,
    removed: tuple[int, ...],
    images: Sequence[int],
    equality: _Same,
    side: str,
) -> None:
    """Check that the listed subgoals are images of ``surviving`` that avoid the removed ones and give the same head."""
    image: dict[Variable, Any] = {}

    def agree(term: Term, target: Term) -> bool:
        """Map a term to the image of ``target``; return False if it has another image already."""
        value = equality.of(side, target)
        return bool((image.setdefault(term, value) if isinstance(term, Variable) else ("c", term)) == value)

    if len(images) != len(surviving.body):
        raise _Wrong("a homomorphism does not map every subgoal")
    for atom, index in zip(surviving.body, images, strict=True):
        target = rule.body[index]
        if index in removed or atom.relation != target.relation:
            raise _Wrong("a homomorphism uses a subgoal that it must not use")
        if not all(agree(term, value) for term, value in zip(atom.terms, target.terms, strict=True)):
            raise _Wrong("a listed map is not a homomorphism")
    if not all(agree(term, value) for term, value in zip(surviving.head, rule.head, strict=True)):
        raise _Wrong("a listed homomorphism gives another answer")


class _Same:
    """Equality of the terms of two rules, by naive relabelling."""

    def __init__(self) -> None:
        self._label: dict[tuple[str, Term], Any] = {}

    def of(self, side: str, term: Term) -> Any:
        return self._label.get((side, term), (side, term)) if isinstance(term, Variable) else ("c", term)

    def join(self, side: str, term: Term, other: str, target: Term) -> bool:
        """Make two terms equal; return False if they are different constants (labels that start with "c")."""
        old, new = self.of(side, term), self.of(other, target)
        if old == new:
            return True
        if old[0] == "c" and new[0] == "c":
            return False
        if old[0] == "c":
            old, new = new, old
        for key in [*self._label, *((old,) if old not in self._label else ())]:
            if self._label.get(key, key) == old:
                self._label[key] = new
        return True


def _unifiable(
    rule: ConjunctiveQuery, other: ConjunctiveQuery
) -> Iterable[tuple[tuple[int, ...], tuple[int, ...], _Same]]:
    """Yield every two sets of subgoals, one of each rule, that can be one row, with the equalities of terms that this
    implies.
    """
    for relation in sorted({atom.relation for atom in rule.body} & {atom.relation for atom in other.body}):
        rule_subgoals = [index for index, atom in enumerate(rule.body) if atom.relation == relation]
        other_subgoals = [index for index, atom in enumerate(other.body) if atom.relation == relation]
        for gamma in _subsets(rule_subgoals):
            for delta in _subsets(other_subgoals):
                equality = _Same()
                base = rule.body[gamma[0]]
                rows = [("s", rule.body[g]) for g in gamma] + [("v", other.body[d]) for d in delta]
                if all(
                    equality.join("s", left, side, right)
                    for side, atom in rows
                    for left, right in zip(base.terms, atom.terms, strict=True)
                ):
                    yield gamma, delta, equality


def _subsets(indices: list[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(1, len(indices) + 1) for chosen in combinations(indices, size)]
