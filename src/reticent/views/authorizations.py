"""Who may see which view: roles, positive and negative authorizations, and a log of every decision.

A *negative* authorization forbids that a user or role learns anything about a secret, in the sense of perfect privacy.
A *positive* one allows a user or role to use a view. A decision depends on query texts only, never on data or earlier
answers: perfect privacy is stateless, and private views stay private together.
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
    """One change of the rules: the action, the user or role, the subject, and its author."""

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
    """Whether a user may see a query's answer, and the verdicts behind it."""

    allowed: bool
    user: str
    roles: tuple[str, ...]
    view: str
    reason: str
    verdicts: tuple[Verdict, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        """True if the answer may be seen."""
        return self.allowed

    def card(self) -> Card:
        """Return the decision and its reason."""
        return Card(f"{'ALLOWED' if self.allowed else 'DENIED'}: {self.reason}", tone=tone_of(self.allowed))

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as plain data."""
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
# One value of each kind that queries are unlikely to name.
_BESIDE: dict[str | None, Constant] = {
    None: constant("reticent"),
    "text": constant("reticent"),
    "number": constant(987_654_321),
    "date": constant(date(1876, 5, 4)),
    "timestamp": constant(datetime(1876, 5, 4, 3, 2, 1)),
}


@dataclass(frozen=True)
class Leak:
    """A disclosure by collusion: one user may see a view that discloses a secret which another must not learn."""

    seer: str
    view: str
    victim: str
    secret: str
    verdict: Verdict = field(repr=False)


@dataclass
class Rules:
    """The current rules. Mutable while the log is replayed.

    ``limited`` are the users and roles that ever had a positive rule: revoking the last one leaves them nothing, not
    everything. ``origins`` maps each current rule to its author.
    """

    views: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    roles: dict[str, set[str]] = field(default_factory=dict)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    forbidden: dict[str, set[str]] = field(default_factory=dict)
    limited: set[str] = field(default_factory=set)
    origins: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def apply(self, event: RuleChange) -> None:
        """Change the rules by one event: a definition, a grant, or its revocation."""
        if event.action == "define view":
            self.views[event.subject] = event.text
        elif event.action == "define secret":
            self.secrets[event.subject] = event.text
        elif event.action in _UNDONE_BY:
            self._held(event.action).setdefault(event.accessor, set()).add(event.subject)
        else:
            (undone_action,) = (action for action, undone in _UNDONE_BY.items() if undone == event.action)
            self._held(undone_action).get(event.accessor, set()).discard(event.subject)
            self.origins.pop((undone_action, event.accessor, event.subject), None)
            return
        self.origins[event.action, event.accessor, event.subject] = event.by
        self._limit(event)

    def holds(self, event: RuleChange) -> bool:
        """True if the rule that an event creates already exists."""
        if event.action.startswith("define"):
            texts = self.views if event.action == "define view" else self.secrets
            return texts.get(event.subject) == event.text
        return event.subject in self._held(event.action).get(event.accessor, set())

    def of(self, rules: Mapping[str, set[str]], user: str, roles: Iterable[str]) -> set[str]:
        """Return the subjects of the rules for a user and roles together."""
        return set().union(*(rules.get(name, set()) for name in (f"user {user}", *(f"role {role}" for role in roles))))

    def roles_of(self, user: str) -> set[str]:
        """Return the roles of a user."""
        return self.roles.get(f"user {user}", set())

    def forbidden_to(self, user: str) -> set[str]:
        """Return the secrets that a user must learn nothing about; prohibitions of a role apply whether it is active or not."""
        return self.of(self.forbidden, user, self.roles_of(user))

    def knows(self, user: str) -> bool:
        """True if a user has a role or a rule. Names are compared case-sensitively."""
        return f"user {user}" in self.limited or bool(self.roles_of(user) or self.forbidden_to(user))

    def _held(self, action: str) -> dict[str, set[str]]:
        return {"assign": self.roles, "allow": self.allowed, "forbid": self.forbidden}[action]

    def _limit(self, event: RuleChange) -> None:
        """Record that a user's access is limited once a positive rule names them or one of their roles."""
        if event.action == "allow":
            self.limited.add(event.accessor)
            role = event.accessor.removeprefix("role ")
            if event.accessor.startswith("role "):
                self.limited |= {user for user, roles in self.roles.items() if role in roles}
        elif event.action == "assign" and f"role {event.subject}" in self.limited:
            self.limited.add(event.accessor)


class AccessControl:
    """Authorizations over one data set, stored in the ledger. Mutable: changes are written to the ledger.

    ``beside="allow"`` grants views even after other disclosures about the same data set that are not assessed jointly.
    ``foreign_keys="ignored"`` assumes that rows of different tables are independent.

    The log is read again before every change and every decision, so that rules changed by another process apply here
    too.
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
        """``beside="allow"`` grants views even next to disclosures of the dataset that are not assessed together with
        them.
        """
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
        """The current rules in the ledger."""
        rules = Rules()
        for event in self.history():
            rules.apply(event)
        return rules

    def define_view(self, name: str, text: str, by: str, *, replace: bool = False) -> None:
        """Define a view by name; a text that cannot be parsed is refused here, not at the first request."""
        self._define("define view", name, text, by, replace)

    def define_secret(self, name: str, text: str, by: str, *, replace: bool = False) -> None:
        """Define a secret by name. Another text for a known name is refused unless ``replace``: it may protect less."""
        self._define("define secret", name, text, by, replace)

    def assign(self, user: str, role: str, by: str) -> None:
        """Assign a role to a user."""
        self._record(RuleChange("assign", f"user {user}", role, by))

    def withdraw(self, user: str, role: str, by: str) -> None:
        """Remove a user from a role."""
        if role not in self.rules.roles_of(user):
            raise PolicyError(f"{user} is not in the role {role!r}.")
        self._record(RuleChange("withdraw", f"user {user}", role, by))

    def allow(self, view: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Add a positive authorization: the user or role may use a view."""
        self._known(view, self.rules.views, "view")
        self._record(RuleChange("allow", _accessor(user, role), view, by))

    def forbid(self, secret: str, *, by: str, user: str | None = None, role: str | None = None) -> None:
        """Add a negative authorization: the user or role must learn nothing about a secret."""
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
        """Revoke the positive authorization on a ``view``, or the negative one on a ``secret``."""
        if (view is None) == (secret is None):
            raise PolicyError("Revoke one rule at a time: pass view= (a positive rule) or secret= (a negative one).")
        accessor, rules = _accessor(user, role), self.rules
        authorizations = (rules.allowed if view is not None else rules.forbidden).get(accessor, set())
        subject = view if view is not None else str(secret)
        if subject not in authorizations:
            kind = "view" if view is not None else "secret"
            raise PolicyError(
                f"{accessor} has no authorization about the {kind} {subject!r}.{did_you_mean(subject, authorizations)}"
            )
        self._record(RuleChange("revoke view" if view is not None else "revoke secret", accessor, subject, by))

    def reconcile(self, events: Iterable[RuleChange], source: str) -> None:
        """Apply the rules of a file, and revoke those that an earlier version of it made and that it no longer
        contains.

        Every difference is recorded with ``source`` as its author. Rules of other authors are kept.
        """
        stated = list(events)
        for event in stated:
            rules = self.rules
            if rules.holds(event):
                continue
            if event.action.startswith("define"):
                author = rules.origins.get((event.action, "", event.subject))
                self._define(event.action, event.subject, event.text, source, replace=author == source)
                continue
            if event.action in ("allow", "forbid"):
                definitions = (rules.views, "view") if event.action == "allow" else (rules.secrets, "secret")
                self._known(event.subject, *definitions)
            self._record(event)
        stated_rules = {(event.action, event.accessor, event.subject) for event in stated}
        for (action, accessor, subject), author in self.rules.origins.items():
            if author == source and action in _UNDONE_BY and (action, accessor, subject) not in stated_rules:
                self._record(RuleChange(_UNDONE_BY[action], accessor, subject, source))

    def decide(self, user: str, view: str, roles: Iterable[str] | None = None) -> ViewDecision:
        """Return whether the user may see a view (by name) or a query (by text); the decision is recorded before it is
        returned.

        ``roles`` are the active ones, by default all that the user has; they choose which positive rules are used.
        Allowed iff the query is proved PRIVATE against every secret forbidden to the user or to any role that they
        hold, active or not, and, if the user ever had positive rules, one of the user or of an active role covers it. A
        user without a role or a rule is denied everything.
        """
        rules = self.rules
        all_roles = rules.roles_of(user)
        active = tuple(sorted(all_roles if roles is None else roles))
        foreign = set(active) - all_roles
        if foreign:
            raise PolicyError(f"{user} does not have the role {sorted(foreign)[0]!r}, so it cannot be active.")
        decision = self._decide(rules, user, view, active)
        refused = self._ledger.refusal(self._dataset, GRANT, self._beside) if decision.allowed else None
        if refused is not None:
            decision = ViewDecision(False, user, active, view, refused, decision.verdicts)
        question = json.dumps({"user": user, "roles": active, "view": view}, sort_keys=True)
        answer = json.dumps({"allowed": decision.allowed, "reason": decision.reason}, sort_keys=True)
        grants = self._beside if decision.allowed else None
        self._ledger.answers.record(self._dataset, _DECISIONS, question, answer, grants=grants)
        return decision

    def collusion(self, users: Iterable[str]) -> tuple[Leak, ...]:
        """Return what users who combine their views learn about secrets of one of them.

        The private views of one user never add up to a disclosure; different rules for different users may. A user who
        never had a positive rule may run any query that is private for them. For such a user, the defined views, the
        secrets themselves and membership queries of single rows are tried, with rows built from the constants of the
        secrets and neighbouring values.
        """
        rules = self.rules
        users = list(dict.fromkeys(users))
        hidden = {victim: sorted(rules.forbidden_to(victim)) for victim in users}
        all_secrets = {secret for secrets_of_victim in hidden.values() for secret in secrets_of_victim}
        leaks = []
        for seer in filter(rules.knows, users):
            named = [(name, self._read(text, name)) for name, text in self._asked(rules, seer, all_secrets)]
            rows = [] if f"user {seer}" in rules.limited else self._rows(rules, all_secrets)
            visible = [(name, query) for name, query in [*named, *rows] if self._may_see(rules, seer, query)]
            for victim, secrets in hidden.items():
                for secret in secrets:
                    leaks_of_pair = [
                        Leak(seer, name, victim, secret, verdict)
                        for name, query in visible
                        if not (verdict := self._verdict(rules, secret, query)).private
                    ]
                    by_name = [leak for leak in leaks_of_pair if not leak.view.startswith(_ROW)]
                    leaks += by_name or leaks_of_pair[:1]
        return tuple(leaks)

    def _asked(self, rules: Rules, user: str, secrets: set[str]) -> list[tuple[str, str]]:
        """Return the named queries that a user may run, by name and text."""
        if f"user {user}" in rules.limited:
            names = rules.of(rules.allowed, user, rules.roles_of(user))
            return [(name, rules.views[name]) for name in sorted(names)]
        return [*rules.views.items(), *((f"the secret {name}", rules.secrets[name]) for name in sorted(secrets))]

    def _may_see(self, rules: Rules, user: str, query: Query) -> bool:
        return all(self._verdict(rules, secret, query).private for secret in rules.forbidden_to(user))

    def _rows(self, rules: Rules, secrets: set[str]) -> list[tuple[str, Query]]:
        """Return membership queries of single rows of the tables that the secrets read."""
        queries = [self._read(rules.secrets[name], name) for name in sorted(secrets)]
        constants = sorted({item for query in queries for item in query.constants}, key=str)
        rows = []
        for name in sorted({relation for query in queries for relation in query.relations()}):
            relation = self._schema.relation(name)
            for row in islice(product(*(_values(column, constants) for column in relation.columns)), _MOST_ROWS):
                atom = Atom(relation.name, row)
                membership = Query(f"{_ROW} {atom}", (Union((ConjunctiveQuery((), (atom,)),)),))
                rows.append((membership.name, fit(membership, self._schema)))
        return rows

    def history(self) -> list[RuleChange]:
        """Return every change of the rules, first to last."""
        return [
            RuleChange(**{**json.loads(entry.question), "made": entry.made})
            for entry in self._ledger.answers.of(self._dataset, _RULES)
        ]

    def decisions(self) -> list[dict[str, Any]]:
        """Return every decision that was returned to a user, first to last."""
        return [
            {**json.loads(entry.question), **json.loads(entry.decision), "made": entry.made}
            for entry in self._ledger.answers.of(self._dataset, _DECISIONS)
        ]

    def _decide(self, rules: Rules, user: str, view: str, active: tuple[str, ...]) -> ViewDecision:
        """Decide one request without recording it: known user, positive rules, then every forbidden secret."""
        query = self._query(rules, view)
        if not rules.knows(user):
            return ViewDecision(False, user, active, view, f"the user {user!r} is not known: no role, no rule")
        positive = rules.of(rules.allowed, user, active)
        if f"user {user}" in rules.limited and not self._covered(rules, view, query, positive):
            allowed_text = f"allowed: {', '.join(sorted(positive))}" if positive else "none is left"
            return ViewDecision(False, user, active, view, f"no positive authorization covers it ({allowed_text})")
        forbidden = sorted(rules.forbidden_to(user))
        verdicts = tuple(self._verdict(rules, secret, query) for secret in forbidden)
        for verdict in verdicts:
            if not verdict.private:
                reason = f"{verdict.status} against the secret {verdict.secret}: {verdict.reason}"
                return ViewDecision(False, user, active, view, reason, verdicts)
        reason = f"private against {', '.join(forbidden)}" if forbidden else "no secret is forbidden to this user"
        return ViewDecision(True, user, active, view, reason, verdicts)

    def _covered(self, rules: Rules, view: str, query: Query, positive: set[str]) -> bool:
        """True if the query is an allowed view, or equivalent to one."""
        return view in positive or any(
            (other := self._query(rules, name)).parts == query.parts and other.duplicates == query.duplicates
            for name in positive
        )

    def _verdict(self, rules: Rules, secret: str, query: Query) -> Verdict:
        return self._checker.check(self._read(rules.secrets[secret], secret), query)

    def _query(self, rules: Rules, view: str) -> Query:
        return self._read(rules.views.get(view, view), view if view in rules.views else "query")

    def _read(self, text: str, name: str) -> Query:
        """Return the query that a text defines under this name; each text is parsed once."""
        if (text, name) not in self._queries:
            _, (query,) = prepare([text], self._schema, self._semantics, dialect=self._dialect, names=[name])
            self._queries[text, name] = query
        return self._queries[text, name]

    def _define(self, action: str, name: str, text: str, by: str, replace: bool) -> None:
        """Record the definition of a view or a secret. Raises if it exists with another text."""
        self._read(text, name)
        event = RuleChange(action, "", name, by, text)
        rules = self.rules
        texts = rules.views if action == "define view" else rules.secrets
        if name in texts and not replace and not rules.holds(event):
            kind = action.removeprefix("define ")
            raise PolicyError(
                f"A {kind} {name!r} with another text exists already, and rules depend on it. Choose another name, or pass replace=True."
            )
        self._record(event)

    def _known(self, name: str, definitions: Mapping[str, str], kind: str) -> None:
        if name not in definitions:
            raise PolicyError(f"There is no {kind} {name!r}.{did_you_mean(name, definitions)} Define it first.")

    def _record(self, event: RuleChange) -> None:
        """Write a change of the rules to the ledger."""
        entry = {
            "action": event.action,
            "accessor": event.accessor,
            "subject": event.subject,
            "by": event.by,
            "text": event.text,
        }
        self._ledger.answers.record(self._dataset, _RULES, json.dumps(entry, sort_keys=True), event.action)


def _values(column: SchemaColumn, constants: Sequence[Constant]) -> list[Constant]:
    """Return values of a column to try: the constants, some neighbouring values, and one that no query names."""
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
        raise PolicyError("An authorization is for one user or one role: pass user= or role=.")
    return f"user {user}" if user is not None else f"role {role}"
