"""Who may see which view: roles, positive and negative authorizations, and a log of every decision.

A *negative* authorization says that an accessor must learn nothing about a secret; its meaning is perfect privacy. A
*positive* one names views that an accessor may use. A decision looks at query texts only, never at data and never at
what was answered before: perfect privacy is stateless, and private views stay private together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice, product
from typing import Any

from reticent.base.cards import Card, tone_of
from reticent.base.disclosures import apart, unjudged
from reticent.errors import PolicyError, did_you_mean
from reticent.ledger import GRANT, Ledger
from reticent.views.checker import Checker, prepare
from reticent.views.constants import Constant, constant
from reticent.views.queries import Atom, ConjunctiveQuery, Query, Union
from reticent.views.schema import Schema, SchemaColumn
from reticent.views.schema_fit import fit
from reticent.views.verdict import Verdict

_RULES = "views: authorization"
_DECISIONS = "views: decision"
_ALLOW = "The steward can allow it: beside = 'allow' in the access policy."
ACTIONS = ("define view", "define secret", "assign", "withdraw", "allow", "forbid", "revoke view", "revoke secret")
_UNDONE_BY = {"assign": "withdraw", "allow": "revoke view", "forbid": "revoke secret"}


@dataclass(frozen=True)
class RuleChange:
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
class ViewDecision:
    """Whether a user may see a query's answer, and the verdicts that it rests on."""

    allowed: bool
    user: str
    roles: tuple[str, ...]
    view: str
    reason: str
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        """Whether the answer may be seen."""
        return self.allowed

    def card(self) -> Card:
        """The decision and its reason."""
        return Card(f"{'ALLOWED' if self.allowed else 'DENIED'}: {self.reason}", tone=tone_of(self.allowed))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for machines."""
        return {
            "allowed": self.allowed,
            "user": self.user,
            "roles": list(self.roles),
            "view": self.view,
            "reason": self.reason,
            "verdicts": [{"ok": verdict.ok, **verdict.as_dict()} for verdict in self.verdicts],
        }


_ROW = "whether there is the row"
_MOST_ROWS = 256
# One value of each kind that queries hardly name.
_BESIDE: dict[str | None, Constant] = {
    None: constant("reticent"),
    "text": constant("reticent"),
    "number": constant(987_654_321),
    "date": constant(date(1876, 5, 4)),
    "timestamp": constant(datetime(1876, 5, 4, 3, 2, 1)),
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
    """The rules as they stand. Mutable while the log is replayed.

    ``limited`` are the accessors who ever had a positive rule, themselves or by a role: taking their last one back leaves them nothing, not
    everything. ``origins`` says who made each rule that holds.
    """

    views: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    forbidden: dict[str, set[str]] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)
    origins: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def apply(self, event: RuleChange) -> None:
        """Take one event into account."""
        if event.action == "define view":
            self.views[event.subject] = event.text
        elif event.action == "define secret":
            self.secrets[event.subject] = event.text
        elif event.action in _UNDONE_BY:
            self._held(event.action).setdefault(event.accessor, set()).add(event.subject)
        else:
            (done,) = (action for action, undone in _UNDONE_BY.items() if undone == event.action)
            self._held(done).get(event.accessor, set()).discard(event.subject)
            self.origins.pop((done, event.accessor, event.subject), None)
            return
        self.origins[event.action, event.accessor, event.subject] = event.by
        self._limit(event)

    def holds(self, event: RuleChange) -> bool:
        """Whether the rule that an event makes holds already."""
        if event.action.startswith("define"):
            known = self.views if event.action == "define view" else self.secrets
            return known.get(event.subject) == event.text
        return event.subject in self._held(event.action).get(event.accessor, set())

    def of(self, rules: Mapping[str, set[str]], user: str, roles: Iterable[str]) -> set[str]:
        """What rules say for a user and roles together."""
        return set().union(*(rules.get(name, set()) for name in (f"user {user}", *(f"role {role}" for role in roles))))

    def roles_of(self, user: str) -> set[str]:
        """The roles that a user holds."""
        return self.roles.get(f"user {user}", set())

    def forbidden_to(self, user: str) -> set[str]:
        """The secrets that a user must learn nothing about; prohibitions of a role hold whether it is active or not."""
        return self.of(self.forbidden, user, self.roles_of(user))

    def knows(self, user: str) -> bool:
        """Whether a user holds a role or a rule names them. Names are compared as they are written."""
        return f"user {user}" in self.limited or bool(self.roles_of(user) or self.forbidden_to(user))

    def _held(self, action: str) -> dict[str, set[str]]:
        return {"assign": self.roles, "allow": self.allowed, "forbid": self.forbidden}[action]

    def _limit(self, event: RuleChange) -> None:
        if event.action == "allow":
            self.limited.add(event.accessor)
            role = event.accessor.removeprefix("role ")
            if event.accessor.startswith("role "):
                self.limited |= {user for user, held in self.roles.items() if role in held}
        elif event.action == "assign" and f"role {event.subject}" in self.limited:
            self.limited.add(event.accessor)


class AccessControl:
    """Authorizations over one data set, kept in the ledger. Mutable because it stands for the ledger's record.

    ``beside="allow"`` grants views even when something else was given out about the same data set, with which they are not judged. ``foreign_keys="ignored"`` takes rows of different
    tables to be independent.

    The log is read again before every change and every decision, so that what another process forbade or revoked holds here too.
    """

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        schema: Schema,
        *,
        dialect: str = "postgres",
        semantics: str = "sql",
        beside: str = "refuse",
        foreign_keys: str = "known",
    ) -> None:
        if beside not in ("refuse", "allow"):
            raise PolicyError(f"beside must be 'refuse' or 'allow', but it is {beside!r}.")
        self._beside = unjudged if beside == "allow" else apart("granted views", _ALLOW)
        self._ledger = ledger
        self._dataset = dataset
        self._schema = schema
        self._dialect = dialect
        self._semantics = semantics
        self._checker = Checker(schema, foreign_keys=foreign_keys, replay="definition")
        self._queries: dict[tuple[str, str], Query] = {}

    @property
    def rules(self) -> Rules:
        """The rules as the ledger has them now."""
        found = Rules()
        for event in self.history():
            found.apply(event)
        return found

    def define_view(self, name: str, text: str, by: str, *, replace: bool = False) -> None:
        """Make a view known under a name; a text that cannot be read is refused here and not at the first question."""
        self._define("define view", name, text, by, replace)

    def define_secret(self, name: str, text: str, by: str, *, replace: bool = False) -> None:
        """Make a secret known under a name. Another text for a known name is refused unless ``replace``: it may hide less."""
        self._define("define secret", name, text, by, replace)

    def assign(self, user: str, role: str, by: str) -> None:
        """Put a user into a role."""
        self._record(RuleChange("assign", f"user {user}", role, by))

    def withdraw(self, user: str, role: str, by: str) -> None:
        """Take a user out of a role."""
        if role not in self.rules.roles_of(user):
            raise PolicyError(f"{user} is not in the role {role!r}.")
        self._record(RuleChange("withdraw", f"user {user}", role, by))

    def allow(self, view: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Positive authorization: the accessor may use a view."""
        self._known(view, self.rules.views, "view")
        self._record(RuleChange("allow", _accessor(user, role), view, by))

    def forbid(self, secret: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Negative authorization: the accessor must learn nothing about a secret."""
        self._known(secret, self.rules.secrets, "secret")
        self._record(RuleChange("forbid", _accessor(user, role), secret, by))

    def revoke(
        self,
        *,
        by: str,
        view: str | None = None,
        secret: str | None = None,
        user: str | None = None,
        role: str | None = None,
    ) -> None:
        """Take back the positive authorization on a ``view``, or the negative one on a ``secret``."""
        if (view is None) == (secret is None):
            raise PolicyError("Revoke one rule at a time: give view= (a positive rule) or secret= (a negative one).")
        accessor, rules = _accessor(user, role), self.rules
        held = (rules.allowed if view is not None else rules.forbidden).get(accessor, set())
        subject = view if view is not None else str(secret)
        if subject not in held:
            kind = "view" if view is not None else "secret"
            raise PolicyError(
                f"{accessor} has no authorization about the {kind} {subject!r}.{did_you_mean(subject, held)}"
            )
        self._record(RuleChange("revoke view" if view is not None else "revoke secret", accessor, subject, by))

    def reconcile(self, events: Iterable[RuleChange], source: str) -> None:
        """Make the rules of a file hold, and take back those that an earlier version of it made and that it no longer states.

        Every difference is recorded with ``source`` as its maker. Rules that others made stay.
        """
        stated = list(events)
        for event in stated:
            rules = self.rules
            if rules.holds(event):
                continue
            if event.action.startswith("define"):
                maker = rules.origins.get((event.action, "", event.subject))
                self._define(event.action, event.subject, event.text, source, replace=maker == source)
                continue
            if event.action in ("allow", "forbid"):
                known = (rules.views, "view") if event.action == "allow" else (rules.secrets, "secret")
                self._known(event.subject, *known)
            self._record(event)
        wanted = {(event.action, event.accessor, event.subject) for event in stated}
        for (action, accessor, subject), maker in self.rules.origins.items():
            if maker == source and action in _UNDONE_BY and (action, accessor, subject) not in wanted:
                self._record(RuleChange(_UNDONE_BY[action], accessor, subject, source))

    def decide(self, user: str, view: str, roles: Iterable[str] | None = None) -> ViewDecision:
        """Whether the user may see a view (by name) or a query (by text); the decision is on record before it is told.

        ``roles`` are the active ones, by default all that the user has; they choose which positive rules are used. Allowed iff the
        query is proved PRIVATE against every secret forbidden to the user or to any role that they hold, active or not, and, if the user
        ever had positive rules, one of the user or of an active role covers it. A user without a role whom no rule names is denied everything.
        """
        rules = self.rules
        held = rules.roles_of(user)
        active = tuple(sorted(held if roles is None else roles))
        foreign = set(active) - held
        if foreign:
            raise PolicyError(f"{user} does not have the role {sorted(foreign)[0]!r}, so it cannot be active.")
        decision = self._decide(rules, user, view, active)
        refused = self._ledger.refusal(self._dataset, GRANT, self._beside) if decision.allowed else None
        if refused is not None:
            decision = ViewDecision(False, user, active, view, refused, decision.verdicts)
        question = json.dumps({"user": user, "roles": active, "view": view}, sort_keys=True)
        told = json.dumps({"allowed": decision.allowed, "reason": decision.reason}, sort_keys=True)
        grants = self._beside if decision.allowed else None
        self._ledger.answers.record(self._dataset, _DECISIONS, question, told, grants=grants)
        return decision

    def collusion(self, users: Iterable[str]) -> tuple[Leak, ...]:
        """What users who pool what they may see learn about what one of them must not know.

        One user's own private views never add up to a disclosure; different rules for different users do. Whoever never had positive rules may
        ask anything that is private for them. Of such a user the defined views and the secrets themselves are tried, and whether a table has a certain row, for
        rows made of the constants of the secrets and of values beside them.
        """
        rules = self.rules
        users = list(dict.fromkeys(users))
        hidden = {victim: sorted(rules.forbidden_to(victim)) for victim in users}
        everything = {secret for found in hidden.values() for secret in found}
        leaks = []
        for seer in filter(rules.knows, users):
            named = [(name, self._read(text, name)) for name, text in self._asked(rules, seer, everything)]
            rows = [] if f"user {seer}" in rules.limited else self._rows(rules, everything)
            seen = [(name, query) for name, query in [*named, *rows] if self._may_see(rules, seer, query)]
            for victim, secrets in hidden.items():
                for secret in secrets:
                    found = [
                        Leak(seer, name, victim, secret, verdict)
                        for name, query in seen
                        if not (verdict := self._verdict(rules, secret, query)).private
                    ]
                    by_name = [leak for leak in found if not leak.view.startswith(_ROW)]
                    leaks += by_name or found[:1]
        return tuple(leaks)

    def _asked(self, rules: Rules, user: str, secrets: set[str]) -> list[tuple[str, str]]:
        """The named queries that a user may ask for, by name and text."""
        if f"user {user}" in rules.limited:
            names = rules.of(rules.allowed, user, rules.roles_of(user))
            return [(name, rules.views[name]) for name in sorted(names)]
        return [*rules.views.items(), *((f"the secret {name}", rules.secrets[name]) for name in sorted(secrets))]

    def _may_see(self, rules: Rules, user: str, query: Query) -> bool:
        return all(self._verdict(rules, secret, query).private for secret in rules.forbidden_to(user))

    def _rows(self, rules: Rules, secrets: set[str]) -> list[tuple[str, Query]]:
        """Queries for single rows of the tables that the secrets read."""
        read = [self._read(rules.secrets[name], name) for name in sorted(secrets)]
        constants = sorted({item for query in read for item in query.constants}, key=str)
        found = []
        for name in sorted({relation for query in read for relation in query.relations()}):
            relation = self._schema.relation(name)
            for row in islice(product(*(_values(column, constants) for column in relation.columns)), _MOST_ROWS):
                atom = Atom(relation.name, row)
                asked = Query(f"{_ROW} {atom}", (Union((ConjunctiveQuery((), (atom,)),)),))
                found.append((asked.name, fit(asked, self._schema)))
        return found

    def history(self) -> list[RuleChange]:
        """Every change of the rules, first to last."""
        return [
            RuleChange(**{**json.loads(entry.question), "made": entry.made})
            for entry in self._ledger.answers.of(self._dataset, _RULES)
        ]

    def decisions(self) -> list[dict[str, Any]]:
        """Every decision that was told, first to last."""
        return [
            {**json.loads(entry.question), **json.loads(entry.decision), "made": entry.made}
            for entry in self._ledger.answers.of(self._dataset, _DECISIONS)
        ]

    def _decide(self, rules: Rules, user: str, view: str, active: tuple[str, ...]) -> ViewDecision:
        query = self._query(rules, view)
        if not rules.knows(user):
            return ViewDecision(False, user, active, view, f"the user {user!r} is not known: no role, no rule")
        positive = rules.of(rules.allowed, user, active)
        if f"user {user}" in rules.limited and not self._covered(rules, view, query, positive):
            known = f"allowed: {', '.join(sorted(positive))}" if positive else "none is left"
            return ViewDecision(False, user, active, view, f"no positive authorization covers it ({known})")
        forbidden = sorted(rules.forbidden_to(user))
        verdicts = tuple(self._verdict(rules, secret, query) for secret in forbidden)
        for verdict in verdicts:
            if not verdict.private:
                reason = f"{verdict.status} against the secret {verdict.secret}: {verdict.reason}"
                return ViewDecision(False, user, active, view, reason, verdicts)
        reason = f"private against {', '.join(forbidden)}" if forbidden else "no secret is forbidden to this user"
        return ViewDecision(True, user, active, view, reason, verdicts)

    def _covered(self, rules: Rules, view: str, query: Query, positive: set[str]) -> bool:
        """Whether the query is an allowed view, or asks the same."""
        return view in positive or any(
            (other := self._query(rules, name)).parts == query.parts and other.duplicates == query.duplicates
            for name in positive
        )

    def _verdict(self, rules: Rules, secret: str, query: Query) -> Verdict:
        return self._checker.check(self._read(rules.secrets[secret], secret), query)

    def _query(self, rules: Rules, view: str) -> Query:
        return self._read(rules.views.get(view, view), view if view in rules.views else "query")

    def _read(self, text: str, name: str) -> Query:
        if (text, name) not in self._queries:
            _, (query,) = prepare([text], self._schema, self._semantics, dialect=self._dialect, names=[name])
            self._queries[text, name] = query
        return self._queries[text, name]

    def _define(self, action: str, name: str, text: str, by: str, replace: bool) -> None:
        self._read(text, name)
        event = RuleChange(action, "", name, by, text)
        rules = self.rules
        known = rules.views if action == "define view" else rules.secrets
        if name in known and not replace and not rules.holds(event):
            kind = action.removeprefix("define ")
            raise PolicyError(
                f"There is a {kind} {name!r} with another text already, and rules rest on it. Choose another name, or give replace=True."
            )
        self._record(event)

    def _known(self, name: str, known: Mapping[str, str], what: str) -> None:
        if name not in known:
            raise PolicyError(f"There is no {what} {name!r}.{did_you_mean(name, known)} Define it first.")

    def _record(self, event: RuleChange) -> None:
        entry = {
            "action": event.action,
            "accessor": event.accessor,
            "subject": event.subject,
            "by": event.by,
            "text": event.text,
        }
        self._ledger.answers.record(self._dataset, _RULES, json.dumps(entry, sort_keys=True), event.action)


def _values(column: SchemaColumn, constants: Sequence[Constant]) -> list[Constant]:
    """Values of a column to try: those that are named, some beside them, and one that nobody names."""
    if column.domain is not None:
        return list(column.domain)
    if column.kind not in _BESIDE:
        return []
    named = []
    for item in constants:
        try:
            named.append(column.read(item))
        except ValueError:
            continue
    beside = [constant(item.value + step) for item in named if item.kind == "number" for step in (1, -1)]
    return list(dict.fromkeys(item for item in (*named, *beside, _BESIDE[column.kind]) if column.holds(item)))


def _accessor(user: str | None, role: str | None) -> str:
    if (user is None) == (role is None):
        raise PolicyError("An authorization is for one user or one role: give user= or role=.")
    return f"user {user}" if user is not None else f"role {role}"
