"""What is not modelled must end in UNKNOWN or in a refusal, never in PRIVATE. Each case here was once called PRIVATE."""

from __future__ import annotations

import pytest

from reticent import views
from reticent.errors import PolicyError
from reticent.views.certificate_check import verify
from reticent.views.view_certificate import certify

_TABLES = "CREATE TABLE r (a INT NOT NULL, b INT NOT NULL); CREATE TABLE s (a INT NOT NULL, c TEXT NOT NULL);"
_SECRET = "SELECT a FROM s WHERE c = 'x'"


def _status(secret: str, view: str, ddl: str, dialect: str = "postgres") -> str:
    try:
        return views.check(secret, view, schema=ddl, dialect=dialect).status
    except PolicyError:
        return "refused"


@pytest.mark.parametrize(
    "view",
    [
        "SELECT a FROM r LIMIT (SELECT count(*) FROM s)",
        "SELECT a FROM r OFFSET (SELECT count(*) FROM s)",
        "SELECT a FROM r FETCH FIRST (SELECT count(*) FROM s) ROWS ONLY",
        "(SELECT a FROM r UNION SELECT b FROM r) LIMIT (SELECT count(*) FROM s)",
        "SELECT a FROM r ORDER BY CASE WHEN EXISTS (SELECT 1 FROM s WHERE c = 'x') THEN a ELSE -a END",
        "SELECT a FROM r UNION SELECT b FROM r ORDER BY (SELECT count(*) FROM s)",
        "SELECT a FROM r GROUP BY a, CASE WHEN EXISTS (SELECT 1 FROM s WHERE c = 'x') THEN b END",
        "SELECT a, count(*) FROM r GROUP BY a, CASE WHEN EXISTS (SELECT 1 FROM s WHERE c = 'x') THEN b END",
        "SELECT a FROM r GROUP BY ROLLUP(a, (SELECT max(c) FROM s))",
        "SELECT DISTINCT ON (CASE WHEN EXISTS (SELECT 1 FROM s) THEN a END) a FROM r",
        "SELECT a, rank() OVER w FROM r WINDOW w AS (ORDER BY CASE WHEN EXISTS (SELECT 1 FROM s) THEN a ELSE -a END)",
        "SELECT x FROM (VALUES ((SELECT count(*) FROM s))) v(x)",
        "SELECT r.a FROM r, (VALUES ((SELECT count(*) FROM s))) v(x) WHERE r.a = v.x",
        "SELECT x FROM unnest(ARRAY(SELECT a FROM s)) AS u(x)",
        "SELECT r.a FROM r, unnest(ARRAY(SELECT a FROM s)) AS u(x)",
        "SELECT r.a FROM r, LATERAL generate_series(1, (SELECT count(*) FROM s)) q(x)",
        "SELECT r.a FROM r JOIN LATERAL generate_series(1, (SELECT count(*) FROM s)) q(x) ON true",
    ],
)
def test_a_nested_query_counts_as_read_wherever_it_stands(view: str) -> None:
    undecided = "ORDER BY CASE WHEN EXISTS (SELECT 1 FROM s WHERE", "ORDER BY (SELECT", "GROUP BY"
    expected = "UNKNOWN" if any(each in view for each in undecided) else "DISCLOSES"
    assert _status(_SECRET, view, _TABLES) == expected


def test_an_order_that_shows_more_than_its_rows_is_not_taken_for_their_set() -> None:
    """r(a, 2) is not critical to the set of a with b = 1, but it moves a in the order."""
    secret = "SELECT a FROM r WHERE b = 2"
    view = "SELECT x.a FROM r x JOIN r y ON x.a = y.a WHERE y.b = 1 GROUP BY x.a"
    assert _status(secret, view, _TABLES) == "PRIVATE"
    assert _status(secret, f"{view} ORDER BY x.a DESC", _TABLES) == "PRIVATE"
    assert _status(secret, f"{view} ORDER BY max(x.b)", _TABLES) == "UNKNOWN"
    distinct = "SELECT DISTINCT x.a AS shown FROM r x JOIN r y ON x.a = y.a WHERE y.b = 1"
    assert _status(secret, f"{distinct} ORDER BY shown", _TABLES) == "PRIVATE"
    assert _status(secret, f"{distinct} ORDER BY x.b", _TABLES, "mysql") == "UNKNOWN"


@pytest.mark.parametrize(
    "view",
    [
        "SELECT my_fn(a) FROM r",
        "SELECT a FROM r WHERE my_fn(a) = 1",
        "SELECT hr.my_fn(a) FROM r",
        "SELECT query_to_xml('select * from s', true, false, '')",
        "SELECT r.a FROM r, LATERAL my_fn(r.a) q",
        "SELECT a FROM stored",
    ],
)
def test_a_function_of_ones_own_may_read_any_table(view: str) -> None:
    ddl = f"{_TABLES} CREATE VIEW stored AS SELECT a FROM r WHERE my_fn(a)"
    schema, (secret, shown) = views.prepare([_SECRET, view], views.load_schema(ddl))
    verdict = views.Checker(schema).check(secret, shown)
    assert verdict.status == "UNKNOWN"
    assert "which may read any table" in verdict.reason
    assert _status(_SECRET, view.replace("my_fn(a)", "abs(a)").replace("stored", "r"), _TABLES) in (
        "PRIVATE",
        "UNKNOWN",
    )


def test_a_certificate_does_not_prove_what_a_function_hides() -> None:
    schema, (secret, plain) = views.prepare([_SECRET, "SELECT DISTINCT a FROM r"], views.load_schema(_TABLES))
    proved = certify(views.Checker(schema).check(secret, plain), secret, plain, schema)
    assert verify(proved).holds
    forged = {**proved, "view": {**proved["view"], "text": "SELECT DISTINCT my_fn(a) FROM r"}}
    assert not verify(forged).holds
    assert "homomorphisms alone prove nothing" in verify(forged).how


@pytest.mark.parametrize(
    ("kind", "one", "other", "dialect"),
    [
        ("BOOLEAN", "true", "'on'", "postgres"),
        ("BOOLEAN", "false", "'n'", "postgres"),
        ("BOOLEAN", "2", "2", "mysql"),
        ("BOOLEAN", "2", "2", "sqlite"),
        ("DATE", "'1999-01-08'", "'1999-1-8'", "postgres"),
        ("DATE", "'1999-01-08'", "'January 8, 1999'", "postgres"),
        ("DATE", "'infinity'", "'infinity'", "postgres"),
        ("TIMESTAMP", "'2024-01-01 00:00:00'", "'2024-1-1'", "postgres"),
        ("DOUBLE PRECISION", "'NaN'", "'NaN'", "postgres"),
        ("DOUBLE PRECISION", "'Infinity'", "'inf'", "postgres"),
        ("INT", "31", "'0x1F'", "postgres"),
        ("INT", "0", "'abc'", "mysql"),
        ("INT", "5", "'5x'", "mysql"),
        ("INT", "0", "1/2", "postgres"),
        ("INT", "2.5", "2.5", "sqlite"),
        ("MONEY", "'$1'", "1::money", "postgres"),
        ("BIT", "1", "'true'", "tsql"),
        ("REAL", "0.1::real", "'0.1'", "postgres"),
        ("TEXT", "'a'", "'abc'::varchar(1)", "postgres"),
        ("TEXT", "'a'", "'abc'::char", "postgres"),
        ("TEXT", "'abc'", "0", "mysql"),
        ("CHAR(3)", "'a'", "'a  '", "postgres"),
        ("VARCHAR(3)", "'a'", "'a '", "mysql"),
        ("VARCHAR(3)", "'a'", "'a '", "tsql"),
        ("VARCHAR(5)", "'é'", "'e'", "mysql"),
        ('TEXT COLLATE "ci"', "'A'", "'a'", "postgres"),
        ("TEXT COLLATE RTRIM", "'a'", "'a '", "sqlite"),
    ],
)
def test_two_ways_to_write_one_value_are_not_taken_for_two_values(
    kind: str, one: str, other: str, dialect: str
) -> None:
    ddl = f"CREATE TABLE t (id INT NOT NULL, x {kind} NOT NULL)"
    pair = [f"SELECT id FROM t WHERE x = {value}" for value in (one, other)]
    decided = (kind, one) in (("BOOLEAN", "2"), ("INT", "2.5")) or other == "1/2"
    assert _status(*pair, ddl, dialect) == ("DISCLOSES" if decided else "UNKNOWN")


@pytest.mark.parametrize(
    ("secret", "view", "dialect"),
    [
        (
            "t = '2024-01-01 00:00:00'",
            "SELECT a FROM r JOIN s ON d = t WHERE d = '2024-01-01' AND t = '2024-01-01 00:00:00'",
            "postgres",
        ),
        ("c = 'A'", "SELECT a FROM r JOIN s ON n = c WHERE n = 'A' AND c = 'A'", "postgres"),
        ("c = 'A'", "SELECT a FROM r JOIN s ON n = c WHERE n = 'a'", "postgres"),
        ("c = 'A'", "SELECT a FROM r WHERE n = 'a' AND n IN (SELECT c FROM s)", "postgres"),
        ("c = 'A'", "SELECT n FROM r WHERE n = 'a' INTERSECT SELECT c FROM s", "postgres"),
        ("c = '5'", "SELECT r.a FROM r JOIN s ON r.a = s.c WHERE r.a = 5 AND s.c = '5'", "mysql"),
        ("c = '5'", "SELECT r.a FROM r JOIN s ON r.a = s.c WHERE r.a = 5", "mysql"),
    ],
)
def test_columns_that_write_equal_values_differently_are_not_taken_for_different(
    secret: str, view: str, dialect: str
) -> None:
    folded = "CITEXT" if dialect == "postgres" else "TEXT"
    ddl = f"""CREATE TABLE r (a INT NOT NULL, d DATE NOT NULL, n {folded} NOT NULL);
        CREATE TABLE s (c TEXT NOT NULL, t TIMESTAMP NOT NULL)"""
    expected = "DISCLOSES" if "INTERSECT" in view else "UNKNOWN"
    assert _status(f"SELECT c FROM s WHERE {secret}", view, ddl, dialect) == expected


def test_between_symmetric_is_not_empty_where_its_ends_are_turned_round() -> None:
    turned = "SELECT b FROM r WHERE a BETWEEN SYMMETRIC 5 AND 1"
    assert _status("SELECT b FROM r WHERE a = 3", turned, _TABLES) == "DISCLOSES"
    assert _status("SELECT b FROM r WHERE a = 3", "SELECT b FROM r WHERE a BETWEEN 5 AND 1", _TABLES) == "PRIVATE"


@pytest.mark.parametrize(
    ("collation", "dialect"),
    [
        ("Latin1_General_CS_AS", "tsql"),
        ("Latin1_General_BIN2", "tsql"),
        ("utf8mb4_bin", "mysql"),
        ("utf8mb4_0900_as_cs", "mysql"),
    ],
)
def test_a_column_that_tells_upper_from_lower_case_does_not_fold_it(collation: str, dialect: str) -> None:
    ddl = f"CREATE TABLE t (id INT NOT NULL, x VARCHAR(5) COLLATE {collation} NOT NULL)"
    assert (
        _status("SELECT id FROM t WHERE x = 'a'", "SELECT id FROM t WHERE x = 'a' AND x <> 'A'", ddl, dialect)
        == "DISCLOSES"
    )
    folding = "CREATE TABLE t (id INT NOT NULL, x VARCHAR(5) COLLATE utf8mb4_general_ci NOT NULL)"
    assert _status("SELECT id FROM t WHERE x = 'a'", "SELECT id FROM t WHERE x = 'A'", folding, dialect) == "DISCLOSES"


@pytest.mark.parametrize(
    "ddl",
    [
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c BOOLEAN NOT NULL); CREATE UNIQUE INDEX ON t (a) WHERE c",
        "CREATE TABLE t (a TEXT NOT NULL, b INT NOT NULL); CREATE UNIQUE INDEX ON t (lower(a))",
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, EXCLUDE USING gist (a WITH =))",
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL); ALTER TABLE t ADD CONSTRAINT e EXCLUDE USING gist (a WITH =)",
        "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a); CREATE TABLE t (a INT NOT NULL, b INT NOT NULL)",
    ],
)
def test_rows_that_exclude_each_other_in_ways_that_no_key_says_are_not_independent(ddl: str) -> None:
    assert _status("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 2", ddl) in ("UNKNOWN", "refused")


def test_nulls_that_are_not_distinct_tie_their_rows() -> None:
    pair = [f"SELECT b FROM t WHERE a IS NULL AND b = {value}" for value in (1, 2)]
    assert _status(*pair, "CREATE TABLE t (a INT, b INT NOT NULL, UNIQUE (a))") == "PRIVATE"
    assert _status(*pair, "CREATE TABLE t (a INT, b INT NOT NULL, UNIQUE NULLS NOT DISTINCT (a))") in (
        "UNKNOWN",
        "DISCLOSES",
    )
    assert _status(*pair, "CREATE TABLE t (a INT UNIQUE NULLS NOT DISTINCT, b INT NOT NULL)") in (
        "UNKNOWN",
        "DISCLOSES",
    )


@pytest.mark.parametrize(
    "key", ["PRIMARY KEY CLUSTERED (a ASC)", "UNIQUE NONCLUSTERED (a DESC)", "PRIMARY KEY NONCLUSTERED (a)"]
)
def test_keys_of_sql_server_are_keys(key: str) -> None:
    ddl = f"CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, CONSTRAINT k {key})"
    assert _status("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 2", ddl, "tsql") == "DISCLOSES"


@pytest.mark.parametrize("rest", ["a IN (0, 1, NULL)", "a IN (0, b)"])
def test_a_check_that_allows_more_than_its_constants_is_no_domain(rest: str) -> None:
    ddl = f"CREATE TABLE t (a INT CHECK ({rest}), b INT NOT NULL)"
    assert _status("SELECT b FROM t WHERE a = 5", "SELECT b FROM t WHERE a = 5", ddl) == "DISCLOSES"


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t DROP CONSTRAINT t_a_check",
        "ALTER TABLE t ALTER COLUMN a DROP NOT NULL",
        "ALTER TABLE t ALTER COLUMN a TYPE NUMERIC",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t DROP COLUMN b",
        "ALTER TYPE e ADD VALUE 'z'",
        "ALTER TABLE t INHERIT p",
        "DROP TABLE t",
        "CREATE TABLE child (a INT NOT NULL, b INT NOT NULL) INHERITS (t)",
    ],
)
def test_a_schema_that_takes_back_what_it_said_is_refused(change: str) -> None:
    ddl = f"CREATE TYPE e AS ENUM ('x', 'y'); CREATE TABLE t (a INT NOT NULL CHECK (a IN (0, 1)), b INT NOT NULL); {change};"
    with pytest.raises(PolicyError, match=r"pass the CREATE statements|partition of another one"):
        views.load_schema(ddl)


def test_what_a_dump_says_beside_tables_is_passed_over() -> None:
    ddl = """CREATE TABLE t (a INT NOT NULL, b INT NOT NULL); ALTER TABLE public.t OWNER TO postgres;
        ALTER TABLE ONLY t ALTER COLUMN a SET DEFAULT nextval('x'::regclass); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        ALTER TABLE ONLY public.t ADD CONSTRAINT k PRIMARY KEY (a); GRANT SELECT ON t TO PUBLIC; DROP INDEX i"""
    assert _status("SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 2", ddl) == "DISCLOSES"


def test_parts_of_a_partitioned_table_are_not_tables_beside_it(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS viewqa CASCADE")
        connection.execute("CREATE SCHEMA viewqa")
        connection.execute("CREATE TABLE viewqa.whole (a INT NOT NULL, b INT NOT NULL) PARTITION BY LIST (a)")
        connection.execute("CREATE TABLE viewqa.part PARTITION OF viewqa.whole FOR VALUES IN (1)")
        connection.execute("CREATE TABLE viewqa.tied (a TEXT NOT NULL, b INT NOT NULL)")
        connection.execute("CREATE UNIQUE INDEX ON viewqa.tied (a) WHERE b > 0")
        connection.execute("ALTER TABLE viewqa.tied ADD CONSTRAINT c CHECK (b IN (1, 2)) NOT VALID")
        try:
            from reticent.views.sql.database_schema import from_postgres

            schema = from_postgres(postgres_url)
        finally:
            connection.execute("DROP SCHEMA viewqa CASCADE")
    with pytest.raises(PolicyError, match=r"There is no table or view 'viewqa.part'"):
        views.check("SELECT b FROM viewqa.part", "SELECT b FROM viewqa.whole", schema)
    pair = [f"SELECT a FROM viewqa.tied WHERE b = {value}" for value in (1, 2)]
    assert views.check(*pair, schema).status == "UNKNOWN"
    assert (
        views.check("SELECT a FROM viewqa.tied WHERE b = 7", "SELECT a FROM viewqa.tied WHERE b = 7", schema).status
        == "DISCLOSES"
    )


@pytest.mark.parametrize(
    ("key", "dialect", "empty"),
    [
        ("k TEXT PRIMARY KEY, b INT NOT NULL", "sqlite", False),
        ("k TEXT, b INT NOT NULL, PRIMARY KEY (k)", "sqlite", False),
        ("k INTEGER, b INT NOT NULL, PRIMARY KEY (k, b)", "sqlite", False),
        ("k INT PRIMARY KEY, b INT NOT NULL", "sqlite", False),
        ("k BIGINT PRIMARY KEY, b INT NOT NULL", "sqlite", False),
        ("k INTEGER PRIMARY KEY DESC, b INT NOT NULL", "sqlite", False),
        ("k INTEGER PRIMARY KEY, b INT NOT NULL", "sqlite", True),
        ("k TEXT PRIMARY KEY NOT NULL, b INT NOT NULL", "sqlite", True),
        ("k TEXT PRIMARY KEY, b INT NOT NULL", "postgres", True),
    ],
)
def test_sqlite_lets_null_into_primary_keys(key: str, dialect: str, empty: bool) -> None:
    found = _status("SELECT b FROM t WHERE k IS NULL", "SELECT b FROM t", f"CREATE TABLE t ({key});", dialect)
    assert (found == "PRIVATE") is empty
