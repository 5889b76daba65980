"""An access policy as one TOML file: schema, secrets, views, roles and rules.

```toml
schema = "schema.sql"
[secrets]
cancer = "SELECT ..."
[views]
ward = "SELECT ..."
[roles]
nurse = ["ann", "bea"]
[[allow]]
role = "nurse"
view = "ward"
[[forbid]]
role = "nurse"
secret = "cancer"
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reticent.base.documents import parse_toml
from reticent.errors import PolicyError, did_you_mean
from reticent.ledger import Ledger
from reticent.views.authorizations import AccessControl, RuleChange
from reticent.views.checker import load_schema
from reticent.views.texts import read_text

_FIELDS = (
    "schema", "dialect", "semantics", "dataset", "beside", "foreign_keys", "secrets", "views", "roles", "allow", "forbid",
)  # fmt: skip


@contextmanager
def open_policy(path: Path, ledger: Path | None = None) -> Iterator[AccessControl]:
    """Open the authorizations of a policy file, together with those that others recorded in the ledger.

    New ones are recorded; those that the file contained earlier and no longer contains are revoked, on record.
    """
    try:
        policy = parse_toml(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path} is not TOML: {error}.") from None
    for field in policy:
        if field not in _FIELDS:
            raise PolicyError(f"{path}: unknown field {field!r}.{did_you_mean(field, _FIELDS)}")
    if "schema" not in policy:
        raise PolicyError(f'{path}: name the DDL file, schema = "schema.sql".')
    dialect = str(policy.get("dialect", "postgres"))
    schema = load_schema(path.parent / str(policy["schema"]), dialect)
    assert schema is not None
    with Ledger(ledger if ledger is not None else path.with_suffix(".ledger")) as opened:
        control = AccessControl(
            opened,
            str(policy.get("dataset", path.stem)),
            schema,
            dialect=dialect,
            semantics=str(policy.get("semantics", "sql")),
            beside=str(policy.get("beside", "refuse")),
            foreign_keys=str(policy.get("foreign_keys", "known")),
        )
        control.reconcile(_events(policy, path), str(path.resolve()))
        yield control


def _events(policy: Mapping[str, Any], path: Path) -> Iterator[RuleChange]:
    """Yield the rules of a policy file as changes by its author, the path of the file."""
    by = str(path.resolve())
    for kind in ("secrets", "views"):
        for name, text in policy.get(kind, {}).items():
            yield RuleChange(f"define {kind[:-1]}", "", name, by, str(text))
    for role, users in policy.get("roles", {}).items():
        for user in users:
            yield RuleChange("assign", f"user {user}", role, by)
    for action, subject in (("allow", "view"), ("forbid", "secret")):
        for number, rule in enumerate(policy.get(action, []), start=1):
            accessors = [f"{kind} {rule[kind]}" for kind in ("user", "role") if kind in rule]
            if len(accessors) != 1 or subject not in rule:
                raise PolicyError(f"{path}: rule {number} of [[{action}]] needs {subject}= and one of user= and role=.")
            yield RuleChange(action, accessors[0], str(rule[subject]), by)
