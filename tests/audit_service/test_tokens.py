"""Tokens: random, shown once, kept as keyed hashes, revocable, and bound to users of the policy."""

from __future__ import annotations

import sqlite3

import pytest

from reticent.errors import PolicyError

from .conftest import POLICY


def test_a_token_is_known_by_its_keyed_hash_only(simple):
    service = simple.service()
    token = service.tokens.make("alice")
    assert len(token) > 60
    assert service.tokens.user_of(token) == "alice"
    content = (simple.folder / "ledger.sqlite").read_bytes() + (simple.folder / "ledger.sqlite-wal").read_bytes()
    assert token.split("_", 2)[2].encode() not in content
    with sqlite3.connect(simple.folder / "ledger.sqlite") as raw:
        ((name, digest),) = raw.execute("SELECT name, digest FROM audit_tokens")
    assert token.split("_")[1] == name
    assert len(digest) == 32


@pytest.mark.parametrize(
    "damage",
    [
        lambda t: t[:-1],
        lambda t: t + "x",
        lambda t: t.swapcase(),
        lambda t: t.replace("rt_", "tr_"),
        lambda t: "",
        lambda t: "rt__",
        lambda t: "rt_é_é",
        lambda t: t.split("_")[1],
    ],
)
def test_anything_but_the_whole_token_is_nobodys(simple, damage):
    service = simple.service()
    assert service.tokens.user_of(damage(service.tokens.make("alice"))) is None


def test_tokens_are_different_and_can_be_revoked(simple):
    service = simple.service()
    first, second, other = (service.tokens.make(name) for name in ("alice", "alice", "bob"))
    assert len({first, second, other}) == 3
    assert service.tokens.revoke("alice") == 2
    assert [service.tokens.user_of(token) for token in (first, second, other)] == [None, None, "bob"]
    assert service.tokens.revoke("alice") == 0


def test_a_user_who_is_gone_from_the_policy_has_no_token_any_more(simple):
    with simple.service() as service:
        token = service.tokens.make("bob")
        with pytest.raises(PolicyError, match="There is no user 'dave' in the policy"):
            service.tokens.make("dave")
    assert simple.service(POLICY.replace('bob = "analyst"\n', "")).tokens.user_of(token) is None
