"""Audit policies: what may be written, and messages that point at the line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reticent.audit.service import Chance, Noise, PriorSettings, ProtectedColumn, Role
from reticent.errors import PolicyError
from reticent.policy.audit_policy import AuditPolicy

WHOLE = """\
dataset = "staff"
ledger = "book.sqlite"

[database]
source = "staff.csv"
key = "id"
public = ["age", "city"]

[sensitive.salary]
bounds = "ignored"
duplicates = "distinct"
family = "max"
decimals = 2

[sensitive.salary.noise]
epsilon = "1/2"
each = 0.1
range = [0, 99.5]
when = "denied"

[sensitive.height]
auditor = "probabilistic"
lambda = 1
beta = 5
delta = 0.1
rounds = 10
prior = { kind = "normal", mean = 170, deviation = 10 }
nulls = "public"

[roles.analyst]
columns = ["salary"]
functions = ["SUM", "avg"]
questions_per_day = 7

[users]
alice = "analyst"

[reserved]
queries = ["SELECT SUM(salary) FROM staff"]
"""


def test_a_whole_policy_is_read(tmp_path):
    settings = AuditPolicy.parse(WHOLE, "audit.toml", tmp_path).settings
    assert settings.sensitive["salary"] == ProtectedColumn(
        "salary",
        "ignored",
        False,
        "max",
        "refuse",
        2,
        None,
        Noise(Fraction(1, 2), Fraction(1, 10), Fraction(0), Fraction("99.5")),
    )
    assert settings.sensitive["height"].chance == Chance(
        Fraction(1), Fraction(5), Fraction(1, 10), 10, PriorSettings("normal", Fraction(170), Fraction(10))
    )
    assert settings.roles == {"analyst": Role("analyst", frozenset({"salary"}), frozenset({"sum", "avg"}), 7)}
    assert settings.role_of("alice").name == "analyst"
    assert (settings.view, settings.ledger, settings.reserved) == (
        "staff",
        tmp_path / "book.sqlite",
        ("SELECT SUM(salary) FROM staff",),
    )


FAULTS = {
    ("dataset", "datset"): ("audit.toml:1:1: a policy has no setting 'datset'. Did you mean 'dataset'?",),
    ('dataset = "staff"', 'dataset = " "'): ("dataset must be a non-empty name",),
    ('source = "staff.csv"\n', ""): ("audit.toml:4:1: [database] needs a setting 'source'",),
    ('key = "id"', 'key = "salary"'): ("audit.toml:9:1:", "column 'salary' is sensitive. A key only identifies a person"),
    ('["age", "city"]', '["age", "salary"]'): ("column 'salary' is public and sensitive. Give it one role",),
    ('["age", "city"]', '["age", "age"]'): ("column 'age' is listed twice",),
    ('bounds = "ignored"\n', ""): ("audit.toml:9:1:", "bounds must be declared for column 'salary'", "A classical auditor is safe only against"),
    ('bounds = "ignored"', 'bounds = [5, 5]'): ("audit.toml:10:1: bounds must be increasing, but it goes from 5 to 5",),
    ('bounds = "ignored"', 'bounds = "ignore"'): ("audit.toml:10:1: bounds must be two numbers [low, high] or 'ignored', but it is 'ignore'",),
    ('duplicates = "distinct"', 'duplicates = "no"'): ("audit.toml:11:1: duplicates must be 'allowed' or 'distinct', but it is 'no'",),
    ('family = "max"', 'family = "median"'): ("audit.toml:12:1: family must be 'linear', 'max' or 'min', but it is 'median'",),
    ("decimals = 2", "decimals = 40"): ("audit.toml:13:1: decimals must be at most 18, but it is 40",),
    ("decimals = 2", "decimals = true"): ("audit.toml:13:1: decimals must be",),
    ("decimals = 2", "decimal = 2"): ("audit.toml:13:1: [sensitive.salary] has no setting 'decimal'. Did you mean 'decimals'?",),
    ('epsilon = "1/2"', 'epsilon = "x"'): ("noise: epsilon must be a number such as", "'x'"),
    ('epsilon = "1/2"', "epsilon = 0"): ("noise: epsilon must be above 0",),
    ("each = 0.1", "each = 1"): ("noise: each answer costs 1, more than the whole budget epsilon = 1/2",),
    ("range = [0, 99.5]", "range = [1]"): ("noise: range must be two numbers [low, high], but it is [1]",),
    ('when = "denied"', 'when = "now"'): ("when must be 'denied' or 'always', but it is 'now'",),
    ("lambda = 1\n", ""): ("auditor = 'probabilistic' of column 'height' needs lambda as well",),
    ("lambda = 1\n", "lambda = 0\n"): ("lambda and delta must be above 0",),
    ("delta = 0.1", "delta = 2"): ("delta must be at most 1, but it is 2",),
    ("rounds = 10", "rounds = 0"): ("rounds must be at least 1, but it is 0",),
    ("mean = 170, deviation = 10", "low = 1, high = 2"): ("prior: a normal prior has mean and deviation, and nothing else",),
    ("deviation = 10", "deviation = 0"): ("prior: deviation must be above 0",),
    ('kind = "normal"', 'kind = "gamma"'): ("kind must be 'normal', 'uniform' or 'exponential', but it is 'gamma'",),
    ('auditor = "probabilistic"', 'bounds = "ignored"'): ("lambda belongs to auditor = 'probabilistic', but the auditor is classical",),
    ('columns = ["salary"]', 'columns = ["salry"]'): ("role 'analyst' names column 'salry', which is not sensitive. Did you mean 'salary'?",),
    ('["SUM", "avg"]', '["SUM", "median"]'): ("functions names 'median', which is not one of sum, avg, count, max, min",),
    ("questions_per_day = 7", "questions_per_day = -1"): ("questions_per_day must be at least 0",),
    ('alice = "analyst"', 'alice = "analist"'): ("user 'alice' has the role 'analist', which is not defined. Did you mean 'analyst'?",),
    ('alice = "analyst"', 'steward = "analyst"'): ("'steward' is reserved for the command line",),
    ('alice = "analyst"', "alice = 3"): ("alice must be text in quotes, but it is 3",),
    ("[reserved]", "[reserve]"): ("a policy has no setting 'reserve'. Did you mean 'reserved'?",),
    ("[users]", "[users"): ("this is not TOML",),
    ("SELECT SUM(salary) FROM staff", "SELECT SUM(wage) FROM staff"): ("audit.toml:39:12:", "there is no column 'wage'"),
    ('source = "staff.csv"', 'source = "my staff.csv"'): ("name the table for queries",),
    ('source = "staff.csv"', 'source = "env:STAFF"'): ("name the table for queries",),
    ('source = "staff.csv"', 'source = "staff.csv"\ntable = "x"'): ("audit.toml:6:1: table= is for databases",),
}  # fmt: skip


@pytest.mark.parametrize("change", FAULTS, ids=lambda change: f"{change[0]} -> {change[1]}")
def test_what_is_wrong_is_said_with_its_place(change):
    assert change[0] in WHOLE
    with pytest.raises(PolicyError) as caught:
        AuditPolicy.parse(WHOLE.replace(*change, 1), "audit.toml")
    message = str(caught.value)
    assert message.startswith("audit.toml:")
    assert "\n" in message
    for part in FAULTS[change]:
        assert part in message


def test_a_table_needs_a_sensitive_column():
    with pytest.raises(PolicyError, match="at least one column must be protected"):
        AuditPolicy.parse('dataset = "x"\n[database]\nsource = "x.csv"\nkey = "id"\n')


def test_a_file_that_is_not_there_is_named(tmp_path):
    (tmp_path / "audit.toml").write_text(WHOLE)
    with pytest.raises(PolicyError, match=r"There is no policy file .*audti.toml.*Did you mean 'audit.toml'"):
        AuditPolicy.read(tmp_path / "audti.toml")
