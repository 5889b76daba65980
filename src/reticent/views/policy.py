"""Who may see which view: roles, positive and negative authorizations, and a log of every decision (R-PP-29).

A *negative* authorization says that an accessor must learn nothing about a secret; its meaning is perfect privacy. A
*positive* one names views that an accessor may use. A decision looks at query texts only, never at data and never at
what was answered before: perfect privacy is stateless, and private views stay private together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reticent.errors import Denied, PolicyError, did_you_mean
from reticent.ledger import Ledger
from reticent.views.checking import Checker, prepare
from reticent.views.query import Query
from reticent.views.schema import Schema
from reticent.views.verdict import Verdict

_RULES = "views: authorization"
_DECISIONS = "views: decision"
ACTIONS = ("define view", "define secret", "assign", "withdraw", "allow", "forbid", "revoke")


@dataclass(frozen=True)
class Event:
    """One change of the rules: what, for whom, about what, and who made it."""

    action: str
    accessor: str
    subject: str
    by: str
    text: str = ""
    made: str = ""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise PolicyError(f"An authorization event is one of {', '.join(ACTIONS)}, not {self.action!r}.")


@dataclass(frozen=True)
class Decision:
    """Whether a user may see a query's answer, and the verdicts that it rests on."""

    allowed: bool
    user: str
    roles: tuple[str, ...]
    view: str
    reason: str
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for machines."""
        return {
            "ok": self.allowed,
            "allowed": self.allowed,
            "user": self.user,
            "roles": list(self.roles),
            "view": self.view,
            "reason": self.reason,
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }


@dataclass(frozen=True)
class Leak:
    """What colluding users learn: one may see a view that discloses a secret which another must not learn."""

    seer: str
    view: str
    victim: str
    secret: str
    verdict: Verdict = field(repr=False)


@dataclass
class Rules:
    """The rules as they stand. Mutable while the log is replayed."""

    views: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    forbidden: dict[str, set[str]] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take one event into account."""
        if event.action == "define view":
            self.views[event.subject] = event.text
        elif event.action == "define secret":
            self.secrets[event.subject] = event.text
        elif event.action == "assign":
            self.roles.setdefault(event.accessor, set()).add(event.subject)
        elif event.action == "withdraw":
            self.roles.get(event.accessor, set()).discard(event.subject)
        elif event.action == "allow":
            self.allowed.setdefault(event.accessor, set()).add(event.subject)
        elif event.action == "forbid":
            self.forbidden.setdefault(event.accessor, set()).add(event.subject)
        else:
            for rules in (self.allowed, self.forbidden):
                rules.get(event.accessor, set()).discard(event.subject)

    def of(self, rules: Mapping[str, set[str]], user: str, roles: Iterable[str]) -> set[str]:
        """What rules say for a user and roles together."""
        return set().union(*(rules.get(name, set()) for name in (f"user {user}", *(f"role {role}" for role in roles))))


class AccessControl:
    """Authorizations over one data set, kept in the ledger. Mutable because it stands for the ledger's record."""

    def __init__(
        self, ledger: Ledger, dataset: str, schema: Schema, *, dialect: str = "postgres", semantics: str = "sql"
    ) -> None:
        self._ledger = ledger
        self._dataset = dataset
        self._schema = schema
        self._dialect = dialect
        self._semantics = semantics
        self._checker = Checker(schema, replay="definition")
        self.rules = Rules()
        for event in self.history():
            self.rules.apply(event)

    def define_view(self, name: str, text: str, by: str) -> None:
        """Make a view known under a name; a text that cannot be read is refused here and not at the first question."""
        self._read(text, name)
        self._record(Event("define view", "", name, by, text))

    def define_secret(self, name: str, text: str, by: str) -> None:
        """Make a secret known under a name."""
        self._read(text, name)
        self._record(Event("define secret", "", name, by, text))

    def assign(self, user: str, role: str, by: str) -> None:
        """Put a user into a role."""
        self._record(Event("assign", f"user {user}", role, by))

    def withdraw(self, user: str, role: str, by: str) -> None:
        """Take a user out of a role."""
        if role not in self.rules.roles.get(f"user {user}", set()):
            raise PolicyError(f"{user} is not in the role {role!r}.")
        self._record(Event("withdraw", f"user {user}", role, by))

    def allow(self, view: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Positive authorization: the accessor may use a view."""
        self._known(view, self.rules.views, "view")
        self._record(Event("allow", _accessor(user, role), view, by))

    def forbid(self, secret: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Negative authorization: the accessor must learn nothing about a secret."""
        self._known(secret, self.rules.secrets, "secret")
        self._record(Event("forbid", _accessor(user, role), secret, by))

    def revoke(self, subject: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Take back a positive or negative authorization."""
        accessor = _accessor(user, role)
        held = self.rules.allowed.get(accessor, set()) | self.rules.forbidden.get(accessor, set())
        if subject not in held:
            raise PolicyError(f"{accessor} has no authorization about {subject!r}.{did_you_mean(subject, held)}")
        self._record(Event("revoke", accessor, subject, by))

    def settle(self, event: Event) -> None:
        """Make a rule hold, and record it only if it did not hold yet; for policies kept in files."""
        rules = self.rules
        known = {
            "define view": rules.views.get(event.subject) == event.text,
            "define secret": rules.secrets.get(event.subject) == event.text,
            "assign": event.subject in rules.roles.get(event.accessor, set()),
            "allow": event.subject in rules.allowed.get(event.accessor, set()),
            "forbid": event.subject in rules.forbidden.get(event.accessor, set()),
        }
        if known.get(event.action):
            return
        if event.action.startswith("define"):
            self._read(event.text, event.subject)
        elif event.action in ("allow", "forbid"):
            self._known(
                event.subject, *((rules.views, "view") if event.action == "allow" else (rules.secrets, "secret"))
            )
        self._record(event)

    def decide(self, user: str, view: str, roles: Iterable[str] | None = None) -> Decision:
        """Whether the user may see a view (by name) or a query (by text); the decision is on record before it is told.

        ``roles`` are the active ones, by default all that the user has. Allowed iff the query is proved PRIVATE against
        every secret forbidden to the user or an active role and, if the accessor has positive rules, one covers it.
        """
        held = self.rules.roles.get(f"user {user}", set())
        active = tuple(sorted(held if roles is None else roles))
        foreign = set(active) - held
        if foreign:
            raise PolicyError(f"{user} does not have the role {sorted(foreign)[0]!r}, so it cannot be active.")
        decision = self._decide(user, view, active)
        question = json.dumps({"user": user, "roles": active, "view": view}, sort_keys=True)
        told = json.dumps({"allowed": decision.allowed, "reason": decision.reason}, sort_keys=True)
        self._ledger.answers.record(self._dataset, _DECISIONS, question, told)
        return decision

    def enforce(self, user: str, view: str, roles: Iterable[str] | None = None) -> Decision:
        """Like :meth:`decide`, but a refusal is an error."""
        decision = self.decide(user, view, roles)
        if not decision.allowed:
            raise Denied(f"{user} may not see {view}: {decision.reason}")
        return decision

    def collusion(self, users: Iterable[str]) -> tuple[Leak, ...]:
        """What users who pool what they may see learn about what one of them must not know.

        One user's own private views never add up to a disclosure; different rules for different users do.
        """
        users = list(dict.fromkeys(users))
        leaks = []
        for seer in users:
            roles = self.rules.roles.get(f"user {seer}", set())
            for view in sorted(self.rules.of(self.rules.allowed, seer, roles)):
                for victim in users:
                    forbidden = self.rules.of(
                        self.rules.forbidden, victim, self.rules.roles.get(f"user {victim}", set())
                    )
                    for secret in sorted(forbidden):
                        verdict = self._verdict(secret, self._query(view))
                        if not verdict.private:
                            leaks.append(Leak(seer, view, victim, secret, verdict))
        return tuple(leaks)

    def history(self) -> list[Event]:
        """Every change of the rules, first to last."""
        return [
            Event(**{**json.loads(entry.question), "made": entry.made})
            for entry in self._ledger.answers.of(self._dataset, _RULES)
        ]

    def decisions(self) -> list[dict[str, Any]]:
        """Every decision that was told, first to last."""
        return [
            {**json.loads(entry.question), **json.loads(entry.decision), "made": entry.made}
            for entry in self._ledger.answers.of(self._dataset, _DECISIONS)
        ]

    def _decide(self, user: str, view: str, active: tuple[str, ...]) -> Decision:
        query = self._query(view)
        positive = self.rules.of(self.rules.allowed, user, active)
        if positive and not self._covered(view, query, positive):
            reason = f"no positive authorization covers it (allowed: {', '.join(sorted(positive))})"
            return Decision(False, user, active, view, reason)
        forbidden = sorted(self.rules.of(self.rules.forbidden, user, active))
        verdicts = tuple(self._verdict(secret, query) for secret in forbidden)
        for verdict in verdicts:
            if not verdict.private:
                reason = f"{verdict.status} against the secret {verdict.secret}: {verdict.reason}"
                return Decision(False, user, active, view, reason, verdicts)
        reason = f"private against {', '.join(forbidden)}" if forbidden else "no secret is forbidden to this user"
        return Decision(True, user, active, view, reason, verdicts)

    def _covered(self, view: str, query: Query, positive: set[str]) -> bool:
        """Whether the query is an allowed view, or asks the same."""
        return view in positive or any(
            (other := self._query(name)).parts == query.parts and other.duplicates == query.duplicates
            for name in positive
        )

    def _verdict(self, secret: str, query: Query) -> Verdict:
        return self._checker.check(self._read(self.rules.secrets[secret], secret), query)

    def _query(self, view: str) -> Query:
        return self._read(self.rules.views.get(view, view), view if view in self.rules.views else "query")

    def _read(self, text: str, name: str) -> Query:
        _, (query,) = prepare([text], self._schema, self._semantics, dialect=self._dialect, names=[name])
        return query

    def _known(self, name: str, known: Mapping[str, str], what: str) -> None:
        if name not in known:
            raise PolicyError(f"There is no {what} {name!r}.{did_you_mean(name, known)} Define it first.")

    def _record(self, event: Event) -> None:
        entry = {
            "action": event.action,
            "accessor": event.accessor,
            "subject": event.subject,
            "by": event.by,
            "text": event.text,
        }
        self._ledger.answers.record(self._dataset, _RULES, json.dumps(entry, sort_keys=True), event.action)
        self.rules.apply(event)


def _accessor(user: str | None, role: str | None) -> str:
    if (user is None) == (role is None):
        raise PolicyError("An authorization is for one user or one role: give user= or role=.")
    return f"user {user}" if user is not None else f"role {role}"
