"""The entry points: one pair of queries, several views at once, or a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reticent.base.exact import one_of
from reticent.errors import PolicyError
from reticent.views.budget import NODES, SECONDS, OutOfBudget, SearchBudget
from reticent.views.collision import Collision, find_collision, find_ties
from reticent.views.critical import Setting, Signature
from reticent.views.datalog import looks_like_datalog, parse
from reticent.views.dependence import prove
from reticent.views.integer_queries import Codebook, encode
from reticent.views.links import steps_between, tied_tables
from reticent.views.naive_evaluation import TooManyAnswers, gains
from reticent.views.queries import Query
from reticent.views.query_classes import QueryClass, bound, classify
from reticent.views.query_core import minimized
from reticent.views.schema import Schema, SchemaColumn, inferred
from reticent.views.schema_fit import fit
from reticent.views.texts import read_text
from reticent.views.verdict import DISCLOSES, PRIVATE, UNKNOWN, Verdict, jointly
from reticent.views.witness import DatabaseWitness, build
from reticent.views.witness_search import search

if TYPE_CHECKING:
    from reticent.base.context import Context

Keys = Mapping[str, Iterable[Iterable[int | str]]]
Domains = Mapping[str, Mapping[int | str, Iterable[object]]]
KEY_MODES = ("exact", "conservative")
REPLAYS = ("sql", "definition")
FOREIGN_KEYS = ("known", "ignored")
_MOST_TIES = 6


def check(
    secret: str | Query,
    view: str | Query | Sequence[str | Query],
    schema: str | Path | Schema | None = None,
    *,
    semantics: str = "sql",
    keys: Keys | None = None,
    domains: Domains | None = None,
    key_mode: str = "exact",
    strict: bool = False,
    foreign_keys: str = "known",
    dialect: str = "postgres",
    nodes: int = NODES,
    seconds: float = SECONDS,
    context: Context | None = None,
) -> Verdict:
    """Decide whether ``view`` (a query, or several seen together) discloses anything about ``secret``.

    Queries are SQL, or Datalog text, which is always read with set semantics. ``schema`` is DDL text, a path to it or a
    :class:`Schema`; Datalog needs none. ``keys={"R": [[0]]}`` and ``domains={"R": {0: [0, 1]}}`` add to it, columns by
    position from 0 or by name. The adversary knows the constraints of the schema: keys, CHECK and foreign keys. With
    ``foreign_keys="ignored"`` rows of different tables count as independent, and a warning names the foreign keys that
    link them (with ``strict`` the verdict is then UNKNOWN). Only the texts are used, so a denial leaks nothing.

    >>> check("S(x) :- R(x,y)", "V(y) :- R(x,y)").status
    'DISCLOSES'
    """
    views = [view] if isinstance(view, str | Query) else list(view)
    if not views:
        raise PolicyError("Name at least one view to check.")
    tables = load_schema(schema, dialect)
    tables, (secret_query, *view_queries) = prepare([secret, *views], tables, semantics, keys, domains, dialect)
    checker = Checker(
        tables,
        key_mode=key_mode,
        strict=strict,
        foreign_keys=foreign_keys,
        nodes=nodes,
        seconds=seconds,
        context=context,
    )
    return jointly(tuple(checker.check(secret_query, item) for item in view_queries))


def load_schema(schema: str | Path | Schema | None, dialect: str = "postgres") -> Schema | None:
    """Return a schema from DDL text or the path of a DDL file; JSON, TOML and YAML files describe one without SQL."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, str) and len(schema.split()) == 1 and Path(schema).is_file():
        schema = Path(schema)
    if isinstance(schema, Path):
        from reticent.views.schema_file import SUFFIXES, read_schema_file

        if schema.suffix in SUFFIXES:
            return read_schema_file(schema)
        schema = read_text(schema)
    from reticent.views.sql.ddl import read_schema

    return read_schema(schema, dialect)


def prepare(
    texts: Sequence[str | Query],
    schema: Schema | None,
    semantics: str = "sql",
    keys: Keys | None = None,
    domains: Domains | None = None,
    dialect: str = "postgres",
    names: Sequence[str] | None = None,
) -> tuple[Schema, list[Query]]:
    """Parse the queries against one schema, and return that schema with the added keys and domains.

    Datalog is parsed first: without a schema, the relations that it names are the schema, and keys and domains of
    others are ignored.
    """
    labels = list(names or ["secret", *(f"view {number}" for number in range(1, len(texts)))])
    if names is None and len(texts) == 2:
        labels[1] = "view"
    parsed: list[str | Query] = [
        parse(text, label) if isinstance(text, str) and looks_like_datalog(text) else text
        for text, label in zip(texts, labels, strict=True)
    ]
    if schema is None:
        if any(isinstance(text, str) for text in parsed):
            raise PolicyError(
                "An SQL query needs a schema: pass the CREATE TABLE statements (schema=..., --schema FILE)."
            )
        schema = inferred(text for text in parsed if isinstance(text, Query))
        keys = {name: value for name, value in (keys or {}).items() if schema.find(name)}
        domains = {name: value for name, value in (domains or {}).items() if schema.find(name)}
    schema = schema.with_domains(domains or {}).with_keys(keys or {})
    queries = []
    for text, label in zip(parsed, labels, strict=True):
        if isinstance(text, str):
            from reticent.views.sql.translate import translate

            query = translate(text, label, schema, dialect, semantics)
        else:
            query = text
            if semantics == "bag" and text.language == "datalog":
                query = replace(
                    text, warnings=(*text.warnings, "Datalog is read with set semantics; 'bag' is for SQL.")
                )
        queries.append(fit(query, schema))
    return schema, queries


class Checker:
    """Checks many pairs over one schema. Mutable only as a cache: each query's critical rows are computed once.

    Every disclosure is replayed before it is returned: with ``replay="sql"`` the original SQL runs in SQLite or DuckDB,
    with ``"definition"`` (for large matrices) the translated queries are evaluated directly.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        key_mode: str = "exact",
        strict: bool = False,
        foreign_keys: str = "known",
        nodes: int = NODES,
        seconds: float = SECONDS,
        fast: bool = True,
        minimize: bool = True,
        replay: str = "sql",
        context: Context | None = None,
    ) -> None:
        one_of(key_mode, "key_mode", KEY_MODES)
        one_of(replay, "replay", REPLAYS)
        one_of(foreign_keys, "foreign_keys", FOREIGN_KEYS)
        self.schema = schema
        self.setting = Setting(schema, Codebook(), key_mode == "exact", fast)
        self._strict = strict
        self._tied = tied_tables(schema) if foreign_keys == "known" else frozenset()
        self._nodes, self._seconds = nodes, seconds
        self.context = context
        self._minimize = minimize
        self._replay = replay
        self._signatures: dict[Query, tuple[Signature, ...]] = {}
        self._classes: dict[Query, QueryClass | None] = {}

    def check(self, secret: Query, view: Query) -> Verdict:
        """Return the verdict on one pair; a cut-off search gives UNKNOWN with its reason."""
        budget = self._budget()
        try:
            collision = self._collision(secret, view, budget)
        except OutOfBudget as cut:
            return self._verdict(UNKNOWN, secret, view, f"{str(cut)[0].upper()}{str(cut)[1:]}.", budget)
        except RecursionError:
            return self._verdict(UNKNOWN, secret, view, "The queries are nested too deeply to be searched.", budget)
        if collision is None:
            return self._private(secret, view, budget)
        return self._collided(secret, view, collision, budget)

    def collide(self, secret: Query, view: Query) -> Collision | None:
        """Return the collision of two queries without a verdict, for display."""
        return self._collision(secret, view, self._budget())

    def _budget(self) -> SearchBudget:
        return SearchBudget(self._nodes, self._seconds, self.context)

    def signatures(self, query: Query, budget: SearchBudget) -> tuple[Signature, ...]:
        """Return one signature for each union of conjunctive queries in a query; cached.

        A signature finds the critical rows of its union: rows whose removal can change the answer.
        """
        if query not in self._signatures:
            small = minimized(query, self.schema, budget) if self._minimize else query
            unions = encode(small, self.schema, self.setting.book)
            self._signatures[query] = tuple(Signature(union, self.setting) for union in unions)
        return self._signatures[query]

    def classify(self, query: Query) -> QueryClass | None:
        """Return the syntactic class of a query with one conjunctive rule, cached; None for any other query."""
        if query not in self._classes:
            unions = encode(query, self.schema, self.setting.book)
            single = len(unions) == 1 and len(unions[0].disjuncts) == 1
            self._classes[query] = classify(unions[0].disjuncts[0], self.schema) if single else None
        return self._classes[query]

    def _collision(self, secret: Query, view: Query, budget: SearchBudget) -> Collision | None:
        """Return a common critical row of the two queries; None if there is none."""
        for first in self.signatures(secret, budget):
            for second in self.signatures(view, budget):
                collision = find_collision(first, second, budget)
                if collision is not None:
                    return collision
        return None

    def _private(self, secret: Query, view: Query, budget: SearchBudget) -> Verdict:
        """Return the verdict if no common critical row was found: PRIVATE, unless something outside the theory links the tables."""
        unbounded = [
            f"{query.name}: {why}, which may read any table" for query in (secret, view) for why in query.boundless
        ]
        shared = {name.lower() for name in secret.relations()} & {name.lower() for name in view.relations()}
        row_ties = [tie for name in sorted(shared) for tie in self.schema.relation(name).ties]
        unordered = _unsorted(secret, view, self.schema)
        if unbounded or row_ties or unordered:
            reasons = "; ".join([*unbounded, *row_ties, *unordered])
            reason = f"No shared critical row was found, but that proves nothing because of {reasons}."
            return self._verdict(UNKNOWN, secret, view, reason, budget)
        if self._tied:
            try:
                tied_verdict = self._tied_together(secret, view, budget)
            except OutOfBudget as cut:
                return self._verdict(UNKNOWN, secret, view, f"{str(cut)[0].upper()}{str(cut)[1:]}.", budget)
            if tied_verdict is not None:
                return tied_verdict
        not_covered = [] if self._tied else self._outside(secret, view)
        if not_covered and self._strict:
            reason = f"No shared critical row, but the theory does not cover {'; '.join(not_covered)} (--strict)."
            return self._verdict(UNKNOWN, secret, view, reason, budget, not_covered)
        reason = "No row of any table can change both answers."
        if self._tied & {name.lower() for name in secret.relations() | view.relations()}:
            reason += " No foreign key ties rows of the two."
        return self._verdict(PRIVATE, secret, view, reason, budget, not_covered)

    def _tied_together(self, secret: Query, view: Query, budget: SearchBudget) -> Verdict | None:
        """Return the verdict if rows that the two queries depend on are linked by keys and foreign keys; None if none
        are.
        """
        last_tie = None
        for first in self.signatures(secret, budget):
            for second in self.signatures(view, budget):
                for count, (collision, tie) in enumerate(find_ties(first, second, budget)):
                    last_tie = tie
                    witness = build(collision, secret, view, self.schema, self.setting.book)
                    proved = prove(witness, tie.steps)
                    if proved is not None:
                        keys = " and ".join(tie.foreign_keys) or "a key"
                        reason = f"Rows of {proved.relation}, on which the secret depends, and of {proved.view_relation}, on which the view depends, are tied by {keys}."
                        verdict = self._verdict(DISCLOSES, secret, view, reason, budget)
                        return replace(verdict, relation=proved.relation, witness=proved)
                    if count >= _MOST_TIES:
                        break
        if last_tie is None:
            return None
        proved = search(secret, view, self.schema, accepted=lambda random: prove(random, ()))
        if proved is not None:
            reason = f"{_changing(proved)}."
            return replace(
                self._verdict(DISCLOSES, secret, view, reason, budget), relation=proved.relation, witness=proved
            )
        reason = f"No row changes both answers, but {' and '.join(last_tie.foreign_keys) or 'a key'} ties rows on which the two depend, and whether that shows is not decided."
        return self._verdict(UNKNOWN, secret, view, reason, budget)

    def _collided(self, secret: Query, view: Query, collision: Collision, budget: SearchBudget) -> Verdict:
        """Return the verdict for a common critical row: DISCLOSES with a witness, or UNKNOWN if the translation was inexact."""
        from reticent.views.explanation import pattern_text, reading

        shape = pattern_text(collision, self.setting.book)
        view_shape = pattern_text(collision, self.setting.book, of_view=True)
        overlap = reading(collision, self.schema, self.setting.book)
        inexact = [
            *(f"{secret.name}: {causes}" for causes in secret.inexact),
            *(f"{view.name}: {causes}" for causes in view.inexact),
        ]
        is_constrained = self.is_constrained(secret, view)
        if inexact or is_constrained:
            demonstrated = (
                None if any(map(_depends_on_database, inexact)) else self._run(secret, view, collision, is_constrained)
            )
            causes = "; ".join(inexact)
            if demonstrated is not None:
                reason = f"{_changing(demonstrated)} when they are run (because of {causes})."
                verdict = self._verdict(DISCLOSES, secret, view, reason if inexact else overlap, budget)
                return replace(verdict, relation=demonstrated.relation, witness=demonstrated)
            causes = causes or "foreign keys and CHECK constraints, under which no small database shows it"
            reason = f"{overlap} Whether that shows is not decided, because of {causes}."
            verdict = self._verdict(UNKNOWN, secret, view, reason, budget)
            return replace(verdict, relation=collision.relation, pattern=shape, view_pattern=view_shape)
        witness = build(collision, secret, view, self.schema, self.setting.book)
        witness = self._replayed(witness, secret, view)
        verdict = self._verdict(DISCLOSES, secret, view, overlap, budget)
        return replace(verdict, relation=collision.relation, pattern=shape, view_pattern=view_shape, witness=witness)

    def is_constrained(self, secret: Query, view: Query) -> bool:
        """True if a witness must satisfy more than keys: foreign keys, or a CHECK that is not part of the queries."""
        names = {name.lower() for name in secret.relations() | view.relations()}
        return bool(self._tied & names) or any(self.schema.relation(name).checks for name in names)

    def _run(self, secret: Query, view: Query, collision: Collision, is_constrained: bool) -> DatabaseWitness | None:
        """Return a disclosure demonstrated in a real database under all constraints: with the rows of the collision, or with random ones."""
        witness = build(collision, secret, view, self.schema, self.setting.book)
        for steps in steps_between(witness.relation, witness.row, witness.view_row, self.schema):
            proved = prove(witness, steps)
            if proved is not None:
                return proved
        if not is_constrained:
            return search(secret, view, self.schema)
        return search(secret, view, self.schema, accepted=lambda random: prove(random, ()))

    def _replayed(self, witness: DatabaseWitness, secret: Query, view: Query) -> DatabaseWitness:
        """Return the witness with the engine that confirmed it: by running the SQL texts, else by evaluating the
        definitions of the queries. Raises if not both answers change.
        """
        from reticent.views.replay import NotReplayed, TookTooLong, replayed

        if self._replay == "sql":
            try:
                return replayed(witness, secret, view, self.schema)
            except (NotReplayed, TookTooLong):
                pass
        four = witness.databases()
        try:
            if gains(secret, four["secret_before"], four["secret_after"], witness.secret_answer) and gains(
                view, four["view_before"], four["view_after"], witness.view_answer
            ):
                return replace(witness, engine="definition")
        except TooManyAnswers:
            return replace(witness, engine="not replayed: too many answers to list")
        raise RuntimeError(f"the witness for {secret.name} and {view.name} does not change both answers")

    def _verdict(
        self, status: str, secret: Query, view: Query, reason: str, budget: SearchBudget, outside: Sequence[str] = ()
    ) -> Verdict:
        """Return a verdict with the classes of both queries, the bound on its cost, assumptions and warnings."""
        classes = [self.classify(secret), self.classify(view)]
        names = tuple(item.names() if item else ("union or footprint",) for item in classes)
        limit = (
            bound(classes[0], classes[1]) if classes[0] and classes[1] else "no polynomial bound; the budget decides"
        )
        return Verdict(
            status,
            secret.name,
            view.name,
            reason,
            query_class=(names[0], names[1]),
            bound=limit,
            assumptions=self._assumptions(secret, view),
            warnings=(
                *secret.warnings,
                *view.warnings,
                *self._warnings(secret, view),
                *(f"not covered: {reason_not_covered}" for reason_not_covered in outside),
            ),
            nodes=budget.used,
        )

    def _assumptions(self, secret: Query, view: Query) -> tuple[str, ...]:
        """Return the assumptions under which the verdict holds."""
        assumptions = [
            "rows are independent of each other, apart from "
            + ("keys and foreign keys" if self._tied else "declared keys"),
            "the answers are seen, and nothing else: grant a view as a security barrier (reticent views grant)",
        ]
        shared = [self.schema.relation(name) for name in sorted(secret.relations() & view.relations())]
        multiple_keys = [relation.name for relation in shared if len(relation.keys) > 1]
        if multiple_keys:
            assumptions.append(f"conservative (multiple keys) on {', '.join(multiple_keys)}")
        if any(True for query in (secret, view) for _ in _ordered_texts(query, self.schema)):
            assumptions.append("texts are ordered by code point (collation C)")
        if not self.setting.exact_keys:
            assumptions.append("conservative key test: databases that violate the keys were not excluded")
        return tuple(assumptions)

    def _warnings(self, secret: Query, view: Query) -> tuple[str, ...]:
        """Return a warning about tables without a key in queries whose answers count duplicates."""
        names = sorted(
            {
                name
                for query in (secret, view)
                if query.duplicates
                for name in query.relations()
                if not self.schema.relation(name).keys
            }
        )
        if not names:
            return ()
        return (f"{', '.join(names)} has no key; its rows are taken to be a set, without duplicates",)

    def _outside(self, secret: Query, view: Query) -> list[str]:
        """Return foreign keys that link a table of the secret to one of the view, over any number of steps."""
        parent_of: dict[str, str] = {}

        def find(name: str) -> str:
            """Return the representative of the tables that foreign keys link to this one (union-find)."""
            while parent_of.setdefault(name, name) != name:
                name = parent_of[name]
            return name

        for link in self.schema.foreign_keys:
            parent_of[find(link.child.lower())] = find(link.parent.lower())
        secret_roots = {find(name.lower()) for name in secret.relations()}
        view_roots = {find(name.lower()) for name in view.relations()}
        return [
            f"the foreign key {link.text}"
            for link in self.schema.foreign_keys
            if find(link.child.lower()) in secret_roots & view_roots
        ]


def _changing(witness: DatabaseWitness) -> str:
    """Return which rows of a witness change the answers, in words."""
    if (witness.relation, witness.row) == (witness.view_relation, witness.view_row):
        return f"A row of {witness.relation} changes both answers"
    return f"A row of {witness.relation} changes the answer of the secret, and one of {witness.view_relation}, tied to it by keys, that of the view"


def _depends_on_database(reason: str) -> bool:
    """True if a construct has different meanings in different databases, so that one database's answer proves nothing."""
    return any(words in reason for words in ("type is not known", "may look different"))


def _ordered_texts(query: Query, schema: Schema) -> Iterator[SchemaColumn]:
    """Yield the text columns that the query compares with ``<`` or ``<=``, which depends on the collation."""
    for part in query.parts:
        for rule in part.disjuncts:
            compared = {
                term
                for item in rule.comparisons
                if item.operator != "!=" and not item.by_code_point
                for term in (item.left, item.right)
            }
            for atom in rule.body:
                for term, column in zip(atom.terms, schema.relation(atom.relation).columns, strict=True):
                    if term in compared and (column.kind == "text" or column.kind is None):
                        yield column


def _unsorted(secret: Query, view: Query, schema: Schema) -> list[str]:
    """Return text columns compared by order whose collation may order the constants of the two queries differently from
    their code points.

    A single constant splits the texts alike in every order.
    """
    columns = [column for query in (secret, view) for column in _ordered_texts(query, schema)]
    constants = {item for query in (secret, view) for item in query.constants if item.kind == "text"}
    orders_by_column = {
        column.name: f"the order of texts in {column.name}, which its collation decides"
        for column in columns
        if not column.sorted_by_code_point and len(constants | set(column.domain or ())) > 1
    }
    return list(orders_by_column.values())
