"""Access control: roles, quotas, and tokens that are stored as keyed hashes only."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from reticent.audit.service.settings import STEWARD, Role, Settings
from reticent.audit.service.statement import Statement
from reticent.errors import Denied, PolicyError, did_you_mean
from reticent.ledger import Audits, Ledger, Secret

_PREFIX = "rt"


class Forbidden(Denied):
    """The role does not allow the query."""


class QuotaUsed(Denied):
    """The daily quota of queries is used up."""


def check_role(role: Role, statement: Statement) -> None:
    """Refuse a query that the role does not allow, regardless of the answer."""
    for aggregate in statement.aggregates:
        if aggregate.function not in role.functions:
            raise Forbidden(f"The role {role.name!r} may not use {aggregate.function.upper()}.")
        named = aggregate.column
        if (
            named is not None
            and (aggregate.function != "count" or aggregate.cells is not None)
            and role.columns is not None
            and named not in role.columns
        ):
            raise Forbidden(f"The role {role.name!r} may not query column {named!r}.")


def check_quota(audits: Audits, dataset: str, user: str, role: Role) -> None:
    """Refuse a query beyond the role's quota in 24 hours."""
    if role.questions_per_day is None:
        return
    since = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if audits.asked_since(dataset, user, since) >= role.questions_per_day:
        raise QuotaUsed(
            f"{role.questions_per_day} queries in 24 hours are allowed, and they are used up. Try again later."
        )


@contextmanager
def tokens_of(settings: Settings) -> Iterator[Tokens]:
    """Open the tokens of a table, without reading the table itself."""
    with Ledger(settings.ledger, newest=settings.newest) as ledger:
        yield Tokens(settings, ledger.audits, ledger.secret)


class Tokens:
    """Tokens for the HTTP service: 256 random bits each, shown once, stored as a keyed hash."""

    def __init__(self, settings: Settings, audits: Audits, secret: Secret) -> None:
        self._settings, self._audits, self._secret = settings, audits, secret

    def make(self, user: str) -> str:
        """Return a new token for a user of the policy; it cannot be shown again."""
        if user not in self._settings.users:
            hint = did_you_mean(user, self._settings.users)
            raise PolicyError(f"There is no user {user!r} in the policy.{hint} Write {user} = 'ROLE' under [users].")
        name = secrets.token_hex(8)
        token = f"{_PREFIX}_{name}_{secrets.token_urlsafe(32)}"
        self._audits.add_token(self._settings.dataset, user, name, self._secret.digest(token.encode()))
        return token

    def revoke(self, user: str) -> int:
        """Revoke all tokens of a user; return how many there were."""
        return self._audits.revoke(self._settings.dataset, user)

    def user_of(self, token: str) -> str | None:
        """Return the user of a token; None if it was never issued, was revoked, or its user is no longer in the policy."""
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != _PREFIX or not token.isascii():
            return None
        stored = self._audits.token(self._settings.dataset, parts[1])
        expected = stored.digest if stored is not None else bytes(32)
        matches = hmac.compare_digest(expected, self._secret.digest(token.encode()))
        if stored is None or not matches or stored.revoked is not None:
            return None
        return stored.asker if stored.asker in self._settings.users and stored.asker != STEWARD else None
