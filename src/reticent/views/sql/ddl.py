"""Schemas from DDL: keys, NOT NULL, finite domains, foreign keys, stored views.

``PRIMARY KEY`` columns are NOT NULL (except in SQLite, which allows NULL in most). A UNIQUE constraint over a nullable
column is a partial key. Texts fold case if the column is declared so (CITEXT, COLLATE NOCASE), and by default in MySQL
and SQL Server, as their default collations do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from reticent.errors import PolicyError, did_you_mean
from reticent.views.constants import Constant, constant
from reticent.views.schema import ForeignKey, Key, Relation, Schema, SchemaColumn
from reticent.views.sql.dialect import ZONED, fold, parse_statements, relation_name, where

_SMALL_RANGE = 64
_TYPE = exp.DataType.Type
_DATES = {_TYPE.DATE, _TYPE.DATE32}
# Steps of a microsecond or coarser, and constants as precise as written; DATETIME of SQL Server rounds them, DATETIME2
# and TIMESTAMP_NS have finer steps.
_MICROSECONDS = {
    _TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ, _TYPE.TIMESTAMP_S, _TYPE.TIMESTAMP_MS, _TYPE.DATETIME,
}  # fmt: skip
_TEXTS = set(exp.DataType.TEXT_TYPES) | {_TYPE.ENUM, _TYPE.NAME}
# Equal values look the same. Some of the unsupported types have several representations of a value (INTERVAL, JSONB).
_SHOWN_ALIKE = {_TYPE.UUID, _TYPE.TIME, _TYPE.BINARY, _TYPE.VARBINARY}
# Rounded or truncated when a text is converted.
_NOT_READ = {_TYPE.MONEY, _TYPE.SMALLMONEY}
_FOLDING_DIALECTS = ("mysql", "tsql")
# In SQLite TRUE is 1, and a column declared BOOLEAN holds any number.
_BINARY_DIALECTS = ("duckdb", "sqlite")
_ROUNDING_DIALECTS = ("duckdb", "tsql")
_NUMBERS_AS_TRUTH = ("mysql", "sqlite")
_FOLDING_COLLATION = re.compile(r"nocase|_ci(_|$)", re.IGNORECASE)
_BY_CODE_POINT = re.compile(r"^(c|posix|binary|ucs_basic)$|_bin2?$", re.IGNORECASE)
# The built-in collations of PostgreSQL distinguish any two texts; names of other forms may be user-defined.
_EXACT_COLLATION = re.compile(
    r"^(default|unicode|[a-z]{2,3}_[A-Z]{2}(\.utf-?8)?|[a-z]{2,3}(-[A-Za-z0-9]{2,4})*-x-icu)$", re.ASCII
)
_CASE_SENSITIVE = re.compile(r"_cs(_|$)", re.IGNORECASE)
_WHOLE_NAMES = ("INTEGER", "INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT8")
_WIDE = {_TYPE.INT128, _TYPE.UINT128, _TYPE.INT256, _TYPE.UINT256}
_MOST_DIGITS = 30
_NAME = r'(?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))*'
_COLLATION = re.compile(rf"\s*COLLATION\s+(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>{_NAME})", re.IGNORECASE)
_POLICY = re.compile(
    rf"\s*POLICY\s+{_NAME}\s+ON\s+(?P<table>{_NAME})(?:.*?\bUSING\s*(?P<using>\(.*\)))?", re.IGNORECASE | re.DOTALL
)
# Expressions that depend only on the row and the current user, and raise no error.
_OF_ONE_ROW = (
    exp.Select, exp.Paren, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.Tuple, exp.CurrentUser, exp.SessionUser,
)  # fmt: skip
_WHOLE = set(exp.DataType.INTEGER_TYPES) | {_TYPE.SMALLSERIAL, _TYPE.SERIAL, _TYPE.BIGSERIAL}


def kind_of(node: exp.DataType | None) -> tuple[str | None, bool]:
    """Return the kind of value of an SQL type, and whether it is integral."""
    if node is None:
        return None, False
    kind = node.this
    if kind in _NOT_READ:
        return "other", False
    if kind in _WHOLE:
        return "number", True
    if kind in exp.DataType.NUMERIC_TYPES:
        return "number", False
    if kind in _DATES:
        return "date", True
    if kind in exp.DataType.TEMPORAL_TYPES:
        if kind in ZONED:
            return "moment", True
        return ("timestamp", True) if kind in _MICROSECONDS else ("other", False)
    if kind == _TYPE.BOOLEAN:
        return "boolean", False
    return ("text", False) if kind in _TEXTS else ("other", False)


def form_of(node: exp.DataType | None) -> str:
    """Return how an SQL type stores numbers: ``""`` exactly, ``"double"`` or ``"single"`` (see :class:`SchemaColumn`)."""
    if node is None:
        return ""
    if node.this in (_TYPE.DOUBLE, _TYPE.UDOUBLE):
        return "double"
    return "single" if node.this == _TYPE.FLOAT else ""


@dataclass(frozen=True)
class _Texts:
    """How a collation compares texts: ``readable`` if what equals a constant is known, ``loose`` if only for plain texts."""

    folds: bool = False
    loose: bool = False
    by_code_point: bool = True
    readable: bool = True


def _collated(dialect: str, collation: str, folding_type: bool) -> _Texts:
    """Return how a text column is compared: which texts are equal, and whether their order is that of code points.

    The collations of PostgreSQL itself differ in order only; those of DuckDB and SQLite also in equality.
    """
    if folding_type or _FOLDING_COLLATION.search(collation) or (dialect in _FOLDING_DIALECTS and not collation):
        return _Texts(True, True, dialect in _BINARY_DIALECTS)
    if _BY_CODE_POINT.search(collation) or (dialect in _BINARY_DIALECTS and not collation):
        return _Texts(loose=dialect in _FOLDING_DIALECTS)
    if dialect in _FOLDING_DIALECTS and _CASE_SENSITIVE.search(collation):
        return _Texts(loose=True, by_code_point=False)
    is_readable = not collation or (dialect not in _BINARY_DIALECTS and _EXACT_COLLATION.search(collation))
    return _Texts(by_code_point=False, readable=bool(is_readable))


def _looks_different(type_: object, kind: str | None, form: str, limited: bool, dialect: str) -> bool:
    """True if equal values of a type may look different: 1.0 and 1.00, 0 and -0, an interval of a day or of 24 hours."""
    if kind == "other":
        return type_ not in _SHOWN_ALIKE
    if kind != "number" or dialect == "sqlite":
        return False
    return form != "" or (dialect == "postgres" and type_ == _TYPE.DECIMAL and not limited)


def _is_wide(declared: exp.DataType | None) -> bool:
    """True if an exact number may have more digits than any other decimal type holds."""
    if not isinstance(declared, exp.DataType) or declared.this in _WIDE:
        return isinstance(declared, exp.DataType)
    digits = [int(item.name) for item in declared.expressions if item.name.isdigit()]
    return declared.this == _TYPE.DECIMAL and digits[0] - sum(digits[1:2]) > _MOST_DIGITS if digits else False


def read_schema(text: str, dialect: str = "postgres") -> Schema:
    """Return the schema that a DDL text declares; irrelevant statements (INSERT, GRANT, SET) are skipped."""
    reader = _SchemaReader(text, dialect)
    for statement in parse_statements(text, dialect, "The schema"):
        reader.read(statement, dialect)
    return reader.schema()


@dataclass
class _Draft:
    """A table under construction."""

    name: str
    columns: list[SchemaColumn]
    keys: list[tuple[bool, tuple[str, ...]]] = field(default_factory=list)
    checks: list[exp.Expr] = field(default_factory=list)
    ties: list[str] = field(default_factory=list)
    numbering: set[str] = field(default_factory=set)
    reads: list[str] = field(default_factory=list)


class _SchemaReader:
    """Collects the declarations of the statements of a text."""

    def __init__(self, text: str, dialect: str) -> None:
        self.text = text
        self.dialect = dialect
        self.drafts: dict[str, _Draft] = {}
        self.enums: dict[str, tuple[Constant, ...]] = {}
        self.views: dict[str, str] = {}
        self.foreign: list[tuple[ForeignKey, tuple[str, ...], tuple[str, ...]]] = []
        self.collations: set[str] = set()

    def read(self, statement: exp.Expr, dialect: str) -> None:
        """Apply one statement of a schema: types, tables, views, unique indexes and policies. Raises for one that changes tables in another way."""
        kind = str(statement.args.get("kind") or "").upper()
        if isinstance(statement, exp.Create) and kind == "TYPE":
            self._type(statement)
        elif isinstance(statement, exp.Create) and kind == "VIEW":
            table = statement.this.find(exp.Table)
            self.views[_name(table).lower()] = statement.sql(dialect)
        elif isinstance(statement, exp.Create) and kind == "TABLE":
            self._table(statement)
        elif isinstance(statement, exp.Create) and kind == "INDEX" and statement.args.get("unique"):
            self._unique_index(statement)
        elif isinstance(statement, exp.Alter):
            self._alter(statement)
        elif isinstance(statement, exp.Drop) and kind in ("TABLE", "VIEW", "TYPE", "SCHEMA"):
            raise self._unread(statement, f"DROP {kind}")
        elif isinstance(statement, exp.Command) and (security := _policy(statement)) is not None:
            self._secured(*security)
        elif (
            isinstance(statement, exp.Command) and (created := _COLLATION.match(str(statement.expression))) is not None
        ):
            self.collations.add(created["name"].rsplit(".", 1)[-1].strip('"').lower())
        elif isinstance(statement, exp.Command) and _changes_tables(statement):
            raise self._unread(statement, f"{statement.this} {str(statement.expression)[:60].strip()}")

    def _secured(self, table: str, condition: str) -> None:
        """Record a row-level security policy: one that depends on the row alone only hides rows; whatever else it
        reads, every query of the table reads too.
        """
        draft = self.drafts.get(table)
        if draft is None:
            raise PolicyError(
                f"A policy of the schema refers to the table {table}, which is declared later or not at all."
            )
        try:
            (node,) = parse_statements(f"SELECT {condition}", self.dialect, "A policy")
        except PolicyError:
            draft.reads.append(f"the row security of {draft.name}")
            return
        if not all(isinstance(child, _OF_ONE_ROW) for child in node.walk()):
            draft.reads.append(f"the row security {condition[:60]} of {draft.name}")

    def _alter(self, statement: exp.Alter) -> None:
        """Add constraints; statements that remove or change earlier declarations are refused."""
        draft = self.drafts.get(_name(statement.this).lower())
        for action in statement.args.get("actions") or []:
            harmless = isinstance(action, exp.AlterColumn) and not (
                action.args.get("dtype") or action.args.get("allow_null") or action.args.get("rename_to")
            )
            if harmless:
                continue
            if draft is None or not isinstance(action, exp.AddConstraint):
                raise self._unread(statement, f"ALTER ({action.sql()[:60]})")
            satisfied = list(draft.checks)
            for constraint in action.expressions:
                self._constraint(draft, constraint)
            if statement.args.get("not_valid"):
                # Existing rows may violate it.
                draft.checks = satisfied

    def _unread(self, statement: exp.Expr, what: str) -> PolicyError:
        return PolicyError(
            f"The schema changes an earlier or missing declaration: {what}{where(statement, self.text)}. That is not supported; pass the CREATE statements of the tables as they are now."
        )

    def schema(self) -> Schema:
        """Return the schema of all statements read so far."""
        relations = {}
        notes: list[str] = []
        for key, draft in self.drafts.items():
            relations[key] = _ruled(_finished(draft, notes, self.dialect), self.dialect)
        foreign = tuple(self._placed(*each) for each in self.foreign)
        return Schema(relations, self.views, foreign, tuple(notes))

    def _type(self, statement: exp.Create) -> None:
        body = statement.expression
        if isinstance(body, exp.DataType) and body.this == _TYPE.ENUM:
            self.enums[statement.this.name.lower()] = tuple(constant(item.name) for item in body.expressions)

    def _table(self, statement: exp.Create) -> None:
        """Read a CREATE TABLE statement; refused if it declares no columns of its own or repeats a table."""
        if not isinstance(statement.this, exp.Schema):
            if isinstance(statement.expression, exp.Query):
                raise PolicyError(
                    f"CREATE TABLE AS{where(statement, self.text)} does not declare columns; declare them, or make it a view."
                )
            return
        name = _name(statement.this.this)
        if statement.find(exp.InheritsProperty, exp.PartitionedOfProperty):
            raise PolicyError(
                f"The table {name}{where(statement, self.text)} is a partition of another one, whose queries read its rows too; that is not supported. Declare the whole table only, and the partition as a view of it."
            )
        draft = _Draft(name, [])
        if name.lower() in self.drafts:
            raise PolicyError(f"The schema declares the table {name} twice{where(statement, self.text)}.")
        self.drafts[name.lower()] = draft
        for item in statement.this.expressions:
            if isinstance(item, exp.ColumnDef):
                self._column(draft, item)
        for item in statement.this.expressions:
            if not isinstance(item, exp.ColumnDef | exp.Identifier):
                self._constraint(draft, item)

    def _column(self, draft: _Draft, item: exp.ColumnDef) -> None:
        """Read a column definition: its type, domain, collation and constraints, as the dialect stores and compares them."""
        declared = item.args.get("kind")
        kind, whole = kind_of(declared)
        if whole and self._numbers_rows(item.name):
            draft.numbering.add(item.name.lower())
        if kind == "boolean" and self.dialect in _NUMBERS_AS_TRUTH:
            kind, whole = "number", True
        form = form_of(declared)
        if self.dialect == "sqlite":
            # SQLite columns take values of every type, whatever was declared; non-integers are doubles, timestamps are
            # texts.
            whole = False
            form = "double" if kind == "number" else ""
            kind = "other" if kind in ("date", "timestamp", "moment") else kind
        if self.dialect == "tsql" and kind in ("timestamp", "moment"):
            kind = "other"
        type_, type_arguments = (
            (declared.this, declared.expressions) if isinstance(declared, exp.DataType) else (None, [])
        )
        if type_ == _TYPE.BIT and self.dialect != "tsql":
            kind, whole = "other", False
        domain: tuple[Constant, ...] | None = None
        if kind == "boolean":
            domain = (constant(False), constant(True))
        type_name = ""
        if type_ == _TYPE.USERDEFINED and declared is not None:
            type_name = str(declared.args.get("kind")).lower().strip('"').rsplit(".", 1)[-1]
        if type_ == _TYPE.ENUM:
            domain = tuple(constant(value.name) for value in type_arguments)
        elif type_name in self.enums:
            kind, domain = "text", self.enums[type_name]
        enumerated = kind == "text" and domain is not None
        if type_name == "citext":
            kind = "text"
        collation = next(
            (
                holder.kind.this.name
                for holder in item.args.get("constraints") or []
                if isinstance(holder.kind, exp.CollateColumnConstraint)
            ),
            "",
        )
        texts = _collated(self.dialect, collation, type_name == "citext") if kind == "text" else _Texts()
        if collation.lower() in self.collations:
            texts = _Texts(by_code_point=False, readable=False)
        if not texts.readable:
            kind, domain = "other", None
        padded = type_ in (_TYPE.CHAR, _TYPE.NCHAR, _TYPE.BPCHAR)
        loose = kind == "text" and not enumerated and (texts.loose or padded)
        # MySQL compares numbers with texts as doubles; DuckDB and SQL Server round a text to the decimals of the
        # column.
        loose = loose or (
            kind == "number" and (self.dialect == "mysql" or (self.dialect in _ROUNDING_DIALECTS and not whole))
        )
        coarse = texts.folds or _looks_different(type_, kind, form, bool(type_arguments), self.dialect)
        nullable = True
        for holder in item.args.get("constraints") or []:
            constraint = holder.kind
            if isinstance(constraint, exp.NotNullColumnConstraint):
                nullable = bool(constraint.args.get("allow_null"))
            elif isinstance(constraint, exp.PrimaryKeyColumnConstraint):
                draft.keys.append((self._excludes_null(draft, [item.name]), (item.name,)))
            elif isinstance(constraint, exp.UniqueColumnConstraint):
                draft.keys.append((False, (item.name,)))
                self._tie(draft, constraint)
            elif isinstance(constraint, exp.CheckColumnConstraint):
                draft.checks.append(constraint.this)
            elif isinstance(constraint, exp.Reference):
                self._foreign(draft, [item.name], constraint)
        if domain is not None and texts.folds and kind == "text":
            domain = tuple(dict.fromkeys(Constant("text", value.value.lower()) for value in domain))
        draft.columns.append(
            SchemaColumn(
                item.name,
                kind,
                whole,
                nullable,
                domain,
                texts.folds,
                loose,
                form,
                coarse,
                texts.by_code_point,
                enumerated,
                _is_wide(declared),
            )
        )

    def _constraint(self, draft: _Draft, item: exp.Expr) -> None:
        """Read a table constraint: a key, a foreign key, a check, or a constraint that links rows otherwise."""
        if isinstance(item, exp.Constraint):
            for inner in item.expressions:
                self._constraint(draft, inner)
            self._clustered(draft, item)
        elif isinstance(item, exp.PrimaryKey):
            self._key(draft, True, item.expressions, item)
        elif isinstance(item, exp.UniqueColumnConstraint):
            inner = item.this
            if isinstance(inner, exp.ClusteredColumnConstraint | exp.NonClusteredColumnConstraint):
                self._key(draft, False, inner.this, item)
            else:
                self._key(draft, False, inner.expressions if isinstance(inner, exp.Schema) else [inner], item)
            self._tie(draft, item)
        elif isinstance(item, exp.ExcludeColumnConstraint):
            draft.ties.append(f"{item.sql()} of {draft.name}")
        elif isinstance(item, exp.ForeignKey):
            self._foreign(draft, _names(item.expressions), item.args["reference"])
        elif isinstance(item, exp.CheckColumnConstraint | exp.Check):
            draft.checks.append(item.this)

    def _key(self, draft: _Draft, primary: bool, columns: Sequence[exp.Expr], item: exp.Expr) -> None:
        """Add a key over whole columns; a key over text prefixes links rows in an unknown way."""
        if any(column.find(exp.ColumnPrefix, exp.Func) for column in columns):
            draft.ties.append(f"{item.sql()} of {draft.name}")
        else:
            names = _names(columns)
            draft.keys.append((primary and self._excludes_null(draft, names), names))

    def _excludes_null(self, draft: _Draft, names: Sequence[str]) -> bool:
        """Return whether a primary key excludes NULL: SQLite allows NULL unless the key is declared INTEGER, which is then the row id."""
        return self.dialect != "sqlite" or (len(names) == 1 and names[0].lower() in draft.numbering)

    def _numbers_rows(self, name: str) -> bool:
        """True if a primary key of this name is SQLite's row id: declared INTEGER, not INT or BIGINT, and not DESC."""
        declared = re.findall(
            rf"(?<!\w){re.escape(name)}[\"`\]]?\s+(\w+)(?:\s+PRIMARY\s+KEY\s+(DESC))?", self.text, re.IGNORECASE
        )
        types = {(kind.upper(), order.upper()) for kind, order in declared if kind.upper() in _WHOLE_NAMES}
        return types == {("INTEGER", "")}

    def _clustered(self, draft: _Draft, item: exp.Constraint) -> None:
        """Handle ``PRIMARY KEY CLUSTERED (a)`` of SQL Server, which is parsed as two constraints."""
        if any(isinstance(inner, exp.PrimaryKeyColumnConstraint) for inner in item.expressions):
            for inner in item.expressions:
                if isinstance(inner, exp.ClusteredColumnConstraint | exp.NonClusteredColumnConstraint):
                    self._key(draft, True, inner.this, item)

    def _tie(self, draft: _Draft, item: exp.UniqueColumnConstraint) -> None:
        """Record NULLS NOT DISTINCT: rows with NULL exclude each other too."""
        if item.args.get("nulls"):
            draft.ties.append(f"{item.sql('postgres')} of {draft.name}")

    def _unique_index(self, statement: exp.Create) -> None:
        """Add the key of a unique index; one of expressions, or with a condition, is only noted."""
        index = statement.this
        draft = self.drafts.get(_name(index.args["table"]).lower())
        parameters = index.args.get("params")
        columns = [item.this for item in (parameters.args.get("columns") or [])] if parameters is not None else []
        plain = all(isinstance(column, exp.Column | exp.Identifier) for column in columns)
        if draft is None:
            raise self._unread(statement, "a unique index of a table that is declared later or not at all")
        if columns and plain and not (parameters and parameters.args.get("where")):
            draft.keys.append((False, _names(columns)))
        else:
            draft.ties.append(f"the unique index {statement.sql(self.dialect)}")

    def _foreign(self, draft: _Draft, columns: Sequence[str], reference: exp.Expr) -> None:
        """Add a foreign key."""
        table = reference.find(exp.Table)
        if table is None:
            return
        parent = _name(table)
        text = f"{draft.name}({', '.join(columns)}) references {parent}"
        holder = reference.find(exp.Schema)
        named = _names(holder.expressions) if holder is not None else ()
        self.foreign.append((ForeignKey(draft.name, parent, text), tuple(columns), named))

    def _placed(self, key: ForeignKey, columns: Sequence[str], named: Sequence[str]) -> ForeignKey:
        """Return the foreign key with the positions of its columns in child and parent; unchanged if a table or column
        is unknown.

        Without ``named`` columns it references the primary key.
        """
        child, parent = (self.drafts.get(name.lower()) for name in (key.child, key.parent))
        if child is None or parent is None:
            return key
        primary = next((names for is_primary, names in parent.keys if is_primary), ())
        ends = [
            [_place(draft, name) for name in names] for draft, names in ((child, columns), (parent, named or primary))
        ]
        if not ends[0] or len(ends[0]) != len(ends[1]) or None in (*ends[0], *ends[1]):
            return key
        return replace(key, columns=tuple(ends[0]), references=tuple(ends[1]))  # type: ignore[arg-type]  # no None is left


def _finished(draft: _Draft, notes: list[str], dialect: str) -> Relation:
    """Return a table under construction as a relation; columns of a primary key are not nullable.

    A CHECK that only restricts one column to a list becomes its domain; the others are added to ``notes``.
    """
    position_of = {column.name.lower(): position for position, column in enumerate(draft.columns)}
    columns = list(draft.columns)
    for primary, names in draft.keys:
        for name in names:
            if name.lower() not in position_of:
                raise PolicyError(
                    f"A key of {draft.name} names the column {name!r}, which the table does not have."
                    f"{did_you_mean(name, position_of)}"
                )
            if primary:
                position = position_of[name.lower()]
                columns[position] = replace(columns[position], nullable=False)
    checks = [check for check in draft.checks if not _narrow(check, columns, position_of)]
    notes += [f"CHECK ({check.sql()}) of {draft.name}" for check in checks]
    keys = []
    for _, names in draft.keys:
        positions = tuple(sorted({position_of[name.lower()] for name in names}))
        key = Key(positions, partial=any(columns[position].nullable for position in positions))
        if key not in keys:
            keys.append(key)
    return Relation(
        draft.name,
        tuple(columns),
        _without_larger(keys),
        tuple(check.sql(dialect) for check in checks),
        tuple(draft.ties),
        tuple(draft.reads),
    )


def _place(draft: _Draft, name: str) -> int | None:
    return next(
        (position for position, column in enumerate(draft.columns) if column.name.lower() == name.lower()), None
    )


def _ruled(relation: Relation, dialect: str) -> Relation:
    """Return the table with a rule for its CHECK constraints, if they can be parsed."""
    from reticent.views.row_rules import rule_of

    return replace(relation, rule=rule_of(relation, dialect)) if relation.checks else relation


def _without_larger(keys: list[Key]) -> tuple[Key, ...]:
    """Return the keys that are not implied by a smaller one."""
    return tuple(
        key
        for key in keys
        if not any(
            set(other.columns) < set(key.columns) and (key.partial or not other.partial)
            for other in keys
            if other != key
        )
    )


def _narrow(check: exp.Expr, columns: list[SchemaColumn], position_of: dict[str, int]) -> bool:
    """Use a CHECK that lists values, or a short range of integers, as the finite domain of its column; return whether
    that is all it says.
    """
    check = check.unnest()
    column = check.this.unnest() if isinstance(check, exp.In | exp.Between | exp.EQ) else None
    if not isinstance(column, exp.Column) or column.name.lower() not in position_of:
        return False
    position = position_of[column.name.lower()]
    listed: Iterable[Constant | None]
    if isinstance(check, exp.In) and check.expressions and not check.args.get("query"):
        listed = [fold(item) for item in check.expressions]
    elif isinstance(check, exp.EQ):
        right = check.expression.unnest()
        array = right.find(exp.Array) if isinstance(right, exp.Any) else None
        listed = [fold(item) for item in array.expressions] if array is not None else [fold(right)]
    elif isinstance(check, exp.Between) and columns[position].whole:
        low, high = fold(check.args["low"]), fold(check.args["high"])
        if low is None or high is None or low.kind != "number" or high.kind != "number":
            return False
        if high.value - low.value >= _SMALL_RANGE:
            return False
        listed = [constant(value) for value in range(int(low.value), int(high.value) + 1)]
    else:
        return False
    values = list(listed)
    if any(item is None or item.kind == "null" for item in values):
        # Another column or NULL in the list allows more than its constants.
        return False
    try:
        domain = tuple(dict.fromkeys(columns[position].read(item) for item in values if item is not None))
    except ValueError:
        return False
    if not domain:
        return False
    old = columns[position].domain
    columns[position] = replace(
        columns[position], domain=domain if old is None else tuple(v for v in old if v in domain)
    )
    return True


def _policy(statement: exp.Command) -> tuple[str, str] | None:
    """Return the table of a row-level security policy, and its condition on visible rows; None for any other statement."""
    policy = _POLICY.match(str(statement.expression))
    if policy is None or str(statement.this).upper() not in ("CREATE", "ALTER"):
        return None
    table = ".".join(part.strip('"') for part in policy["table"].split(".")).lower()
    return table.removeprefix("public."), policy["using"] or "TRUE"


def _changes_tables(statement: exp.Command) -> bool:
    """True if a statement that cannot be parsed concerns tables or types; owners and privileges are irrelevant."""
    words = f"{statement.this} {statement.expression}".upper().split()
    if words[:1] != ["ALTER"] or len(words) < 2 or words[1] not in ("TABLE", "TYPE", "DOMAIN", "INDEX", "VIEW"):
        return False
    return not any(word in ("OWNER", "ENABLE", "DISABLE", "FORCE", "CLUSTER", "REPLICA", "SET") for word in words)


def _names(items: Iterable[exp.Expr]) -> tuple[str, ...]:
    return tuple(item.name or (item.this.name if isinstance(item.this, exp.Expression) else "") for item in items)


def _name(table: exp.Expr | None) -> str:
    """Return the table's name without a default schema prefix."""
    if isinstance(table, exp.Schema):
        table = table.this
    name = relation_name(table) if isinstance(table, exp.Table) else ""
    for default in ("public.", "main.", "dbo."):
        if name.lower().startswith(default):
            return name[len(default) :]
    return name
