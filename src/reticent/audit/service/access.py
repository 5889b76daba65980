"""Who may ask what: roles, quotas, and tokens that are kept as keyed hashes only."""

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
    """The role does not allow the question."""


class QuotaUsed(Denied):
    """The day's questions are used up."""


def check_role(role: Role, statement: Statement) -> None:
    """Refuse what the role may not ask, whatever the answer would be."""
    for aggregate in statement.aggregates:
        if aggregate.function not in role.functions:
            raise Forbidden(f"The role {role.name!r} may not ask {aggregate.function.upper()}.")
        named = aggregate.column
        if (
            named is not None
            and aggregate.function != "count"
            and role.columns is not None
            and named not in role.columns
        ):
            raise Forbidden(f"The role {role.name!r} may not ask about column {named!r}.")


def check_quota(audits: Audits, dataset: str, user: str, role: Role) -> None:
    """Refuse one question more than the role may ask in 24 hours."""
    if role.questions_per_day is None:
        return
    since = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if audits.asked_since(dataset, user, since) >= role.questions_per_day:
        raise QuotaUsed(
            f"{role.questions_per_day} questions in 24 hours are allowed, and they are used up. Come back later."
        )


@contextmanager
def tokens_of(settings: Settings) -> Iterator[Tokens]:
    """The tokens of a table, without a look at the table itself."""
    with Ledger(settings.ledger, newest=settings.newest) as ledger:
        yield Tokens(settings, ledger.audits, ledger.secret)


class Tokens:
    """Tokens for the HTTP service: 256 random bits each, shown once, kept as a keyed hash."""

    def __init__(self, settings: Settings, audits: Audits, secret: Secret) -> None:
        self._settings, self._audits, self._secret = settings, audits, secret

    def make(self, user: str) -> str:
        """A new token for a user of the policy; it cannot be shown again."""
        if user not in self._settings.users:
            hint = did_you_mean(user, self._settings.users)
            raise PolicyError(f"There is no user {user!r} in the policy.{hint} Write {user} = 'ROLE' under [users].")
        name = secrets.token_hex(8)
        token = f"{_PREFIX}_{name}_{secrets.token_urlsafe(32)}"
        self._audits.add_token(self._settings.dataset, user, name, self._secret.digest(token.encode()))
        return token

    def revoke(self, user: str) -> int:
        """Make all tokens of a user useless; returns how many there were."""
        return self._audits.revoke(self._settings.dataset, user)

    def user_of(self, token: str) -> str | None:
        """Whose token it is; None for one that was not given out, was revoked, or whose user is gone from the policy."""
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != _PREFIX or not token.isascii():
            return None
        kept = self._audits.token(self._settings.dataset, parts[1])
        expected = kept.digest if kept is not None else bytes(32)
        matches = hmac.compare_digest(expected, self._secret.digest(token.encode()))
        if kept is None or not matches or kept.revoked is not None:
            return None
        return kept.asker if kept.asker in self._settings.users and kept.asker != STEWARD else None
