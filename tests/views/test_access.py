"""The policy engine, certificates, repairs and explanations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reticent import views
from reticent.errors import PolicyError
from reticent.ledger import Ledger
from reticent.views.authorizations import AccessControl
from reticent.views.certificate_check import verify
from reticent.views.checker import Checker
from reticent.views.policy_file import open_policy
from reticent.views.repairs import causes, possible_repairs
from reticent.views.view_certificate import certify, read_certificate
from tests.views.goldens import read_goldens, read_sql_goldens

DDL = """
CREATE TABLE P (pid INT NOT NULL, name TEXT NOT NULL);
CREATE TABLE D (pid INT NOT NULL, diagnosis TEXT NOT NULL, ward INT NOT NULL);
"""
CANCER = "SELECT DISTINCT name FROM P JOIN D ON P.pid = D.pid WHERE diagnosis = 'cancer'"
FLU = "SELECT pid FROM D WHERE diagnosis = 'flu'"
WARD = "SELECT pid, diagnosis FROM D WHERE ward = 7"


def _control(ledger: Ledger) -> AccessControl:
    schema = views.load_schema(DDL)
    assert schema is not None
    return AccessControl(ledger, "hospital", schema)


def test_a_view_is_allowed_iff_it_is_private_against_what_is_forbidden(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        control.define_view("flu", FLU, by="dpo")
        control.define_view("ward", WARD, by="dpo")
        control.assign("ann", "nurse", by="dpo")
        assert control.decide("ann", "ward").allowed
        control.forbid("cancer", role="nurse", by="dpo")
        assert control.decide("ann", "flu").allowed
        denied = control.decide("ann", "ward")
        assert not denied.allowed
        assert "diagnosis = 'cancer'" in denied.reason
        assert not control.decide("ann", "ward", roles=[]).allowed
        assert not control.decide("ann", "SELECT COUNT(*) FROM D").allowed
        control.revoke(secret="cancer", role="nurse", by="dpo")
        assert control.decide("ann", "ward").allowed
        assert [entry["allowed"] for entry in control.decisions()] == [True, True, False, False, False, True]


@pytest.mark.parametrize("user", ["Ann", "ann ", "", "bob"])
def test_users_whom_nobody_named_are_denied_everything(tmp_path: Path, user: str) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        control.define_view("flu", FLU, by="dpo")
        control.forbid("cancer", user="ann", by="dpo")
        control.assign("bob", "nurse", by="dpo")
        control.withdraw("bob", "nurse", by="dpo")
        assert control.decide("ann", "flu").allowed
        denied = control.decide(user, "flu")
        assert (denied.allowed, denied.reason) == (False, f"the user {user!r} is not known: no role, no rule")
        assert control.decisions()[-1]["allowed"] is False
        assert not control.collusion([user, "ann"])


def test_positive_rules_limit_what_may_be_asked(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_view("flu", FLU, by="dpo")
        control.define_view("ward", WARD, by="dpo")
        assert not control.decide("bob", "ward").allowed
        control.allow("flu", user="bob", by="dpo")
        assert control.decide("bob", "flu").allowed
        assert control.decide("bob", "SELECT  pid FROM D WHERE 'flu' = diagnosis").allowed
        refused = control.decide("bob", "ward")
        assert not refused.allowed
        assert "no positive authorization" in refused.reason


def test_the_rules_are_read_again_from_the_ledger_with_their_history(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        control.assign("ann", "nurse", by="dpo")
        control.forbid("cancer", role="nurse", by="dpo")
        control.withdraw("ann", "nurse", by="chief")
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        assert [(event.action, event.by) for event in control.history()] == [
            ("define secret", "dpo"),
            ("assign", "dpo"),
            ("forbid", "dpo"),
            ("withdraw", "chief"),
        ]
        control.assign("ann", "guest", by="dpo")
        assert control.decide("ann", WARD).allowed
        control.assign("ann", "nurse", by="dpo")
        assert not control.decide("ann", WARD).allowed


def test_collusion_of_users_with_different_rules_is_found(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        for name, text in (("flu", FLU), ("ward", WARD)):
            control.define_view(name, text, by="dpo")
        control.allow("ward", user="doctor", by="dpo")
        control.allow("flu", user="clerk", by="dpo")
        control.forbid("cancer", user="clerk", by="dpo")
        assert control.decide("doctor", "ward").allowed
        assert control.decide("clerk", "flu").allowed
        assert control.collusion(["clerk"]) == ()
        (leak,) = control.collusion(["clerk", "doctor"])
        assert (leak.seer, leak.view, leak.victim, leak.secret) == ("doctor", "ward", "clerk", "cancer")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.forbid("cancr", role="nurse", by="x"), "no secret 'cancr'. Did you mean 'cancer'"),
        (lambda c: c.allow("flu", by="x"), "no view 'flu'"),
        (lambda c: c.forbid("cancer", by="x"), "one user or one role"),
        (lambda c: c.revoke(secret="cancer", user="ann", by="x"), "has no authorization"),
        (lambda c: c.revoke(user="ann", by="x"), "one rule at a time"),
        (lambda c: c.revoke(view="v", secret="s", user="ann", by="x"), "one rule at a time"),
        (lambda c: c.withdraw("ann", "nurse", by="x"), "not in the role"),
        (lambda c: c.decide("ann", WARD, roles=["chief"]), "does not have the role 'chief'"),
        (lambda c: c.define_view("bad", "SELECT nope FROM P", by="x"), "no column nope"),
    ],
)
def test_rules_that_make_no_sense_are_refused(tmp_path: Path, call: object, words: str) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        with pytest.raises(PolicyError, match=words.replace("?", r"\?")):
            call(control)  # type: ignore[operator]
        assert len(control.history()) == 1


def test_a_policy_file_states_the_same_rules_once(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(DDL)
    policy = tmp_path / "access.toml"
    policy.write_text(
        f"""
        schema = "schema.sql"
        [secrets]
        cancer = "{CANCER}"
        [views]
        flu = "{FLU}"
        [roles]
        nurse = ["ann"]
        [[forbid]]
        role = "nurse"
        secret = "cancer"
        """
    )
    for _ in range(2):
        with open_policy(policy) as control:
            assert control.decide("ann", "flu").allowed
            assert not control.decide("ann", WARD).allowed
            assert len(control.history()) == 4
    policy.write_text('schema = "schema.sql"\n[secret]\nx = "y"')
    with pytest.raises(PolicyError, match="Did you mean 'secrets'"), open_policy(policy):
        pass


def _certificates() -> list[tuple[str, dict[str, object]]]:
    found = []
    for golden in read_goldens("goldens.txt"):
        fields = golden.fields
        domains = {
            name: {int(place): values for place, values in columns.items()}
            for name, columns in json.loads(fields.get("domains", "{}")).items()
        }
        texts = [fields["secret"], fields["view"]]
        if "key_mode" in fields:
            continue
        schema, (secret, view) = views.prepare(texts, None, keys=json.loads(fields.get("keys", "{}")), domains=domains)
        found.append((golden.name, certify(Checker(schema).check(secret, view), secret, view, schema)))
    for golden in read_sql_goldens("sql_goldens.sql"):
        fields = golden.fields
        semantics = fields.get("semantics", "sql")
        schema, (secret, view) = views.prepare(
            [fields["secret"], fields["view"]], views.load_schema(fields["schema"]), semantics
        )
        verdict = Checker(schema).check(secret, view)
        if verdict.status != "UNKNOWN":
            found.append((golden.name, certify(verdict, secret, view, schema, semantics=semantics)))
    return found


def test_every_golden_certificate_verifies_and_a_turned_one_does_not() -> None:
    kinds = set()
    for name, certificate in _certificates():
        certificate = read_certificate(json.dumps(certificate))
        result = verify(certificate)
        assert result.holds, f"{name}: {result.how}"
        kinds.add(result.how.split(" ")[0] if certificate["status"] == "DISCLOSES" else certificate["proof"]["kind"])
        turned = {**certificate, "status": "PRIVATE" if certificate["status"] == "DISCLOSES" else "DISCLOSES"}
        turned["proof"] = {"kind": "homomorphisms", "pairs": []}
        assert not verify(turned).holds, name
    assert kinds >= {"the", "homomorphisms", "decide again"}


def test_a_tampered_certificate_does_not_verify() -> None:
    schema, (secret, view) = views.prepare(["Q(x) :- R(x,y), R(x,1)", "Q() :- R(0,5)"], None)
    good = certify(Checker(schema).check(secret, view), secret, view, schema)
    assert good["proof"]["pairs"]
    assert verify(good).holds

    def tampered(change: object) -> dict[str, object]:
        copy = json.loads(json.dumps(good))
        change(copy)  # type: ignore[operator]
        return copy

    assert not verify(tampered(lambda c: c["proof"]["pairs"].pop())).holds
    assert not verify(tampered(lambda c: c["proof"]["pairs"][0].update(images=[0, 0]))).holds
    assert not verify(tampered(lambda c: c["view"].update(text="Q(x) :- R(x,5)"))).holds
    assert not verify(tampered(lambda c: c.pop("schema"))).holds
    with pytest.raises(PolicyError, match="not a views certificate"):
        read_certificate("{}")
    with pytest.raises(PolicyError, match="line 1, column 1"):
        read_certificate("nonsense")


def test_repairs_are_proved_private_by_the_same_engine() -> None:
    schema, (secret, view) = views.prepare([CANCER, WARD], views.load_schema(DDL))
    verdict = Checker(schema).check(secret, view)
    found = possible_repairs(verdict, secret, view, schema)
    assert found[0].what == "exclude the rows with diagnosis = 'cancer'"
    for repair in found:
        assert views.check(CANCER, repair.text, schema=DDL).status == "PRIVATE"


def test_a_join_to_the_shared_table_is_left_out() -> None:
    """GT-7: the view that the thesis accepts informally shares its P rows; without P it is private."""
    text = "SELECT P.name, D.pid FROM P JOIN D ON P.pid = D.pid WHERE D.diagnosis <> 'cancer'"
    schema, (secret, view) = views.prepare([CANCER, text], views.load_schema(DDL))
    found = possible_repairs(Checker(schema).check(secret, view), secret, view, schema)
    assert any(repair.what.startswith("drop P") for repair in found)
    for repair in found:
        assert views.check(CANCER, repair.text, schema=DDL).status == "PRIVATE"


def test_distinct_is_offered_where_only_duplicates_disclose() -> None:
    ddl = "CREATE TABLE R (a INT NOT NULL, b INT NOT NULL)"
    texts = ["SELECT a FROM R WHERE b = 2", "SELECT r.a FROM R r JOIN R s ON r.a = s.a WHERE s.b = 1"]
    schema, (secret, view) = views.prepare(texts, views.load_schema(ddl))
    verdict = Checker(schema).check(secret, view)
    assert causes(secret, view, schema) == (
        "only duplicates disclose: with DISTINCT on both sides the view would be private",
    )
    found = possible_repairs(verdict, secret, view, schema)
    assert any(repair.text.startswith("SELECT DISTINCT") for repair in found)
    for repair in found:
        assert views.check(texts[0], repair.text, schema=ddl).status == "PRIVATE"


def test_repairs_are_tried_against_the_adversary_of_the_verdict() -> None:
    """Whoever knows that every diagnosis belongs to a person learns from any of them that somebody is there."""
    ddl = "CREATE TABLE P (pid INT PRIMARY KEY, name TEXT NOT NULL); CREATE TABLE D (pid INT NOT NULL REFERENCES P (pid), diagnosis TEXT NOT NULL)"
    texts = [CANCER, "SELECT P.name, D.pid FROM P JOIN D ON P.pid = D.pid WHERE D.diagnosis <> 'cancer'"]
    schema, (secret, view) = views.prepare(texts, views.load_schema(ddl))
    found = {}
    for known in ("known", "ignored"):
        verdict = Checker(schema, foreign_keys=known).check(secret, view)
        found[known] = possible_repairs(verdict, secret, view, schema, foreign_keys=known)
        for repair in found[known]:
            assert views.check(CANCER, repair.text, schema=ddl, foreign_keys=known).status == "PRIVATE"
    assert found["known"] == ()
    assert found["ignored"][0].what == "drop P"


def test_a_key_as_the_only_cause_is_named() -> None:
    schema, (secret, view) = views.prepare(["Q(p) :- R(p,1)", "Q(p) :- R(p,2)"], None, keys={"R": [[0]]})
    assert causes(secret, view, schema) == ("only a key links the rows: without it the view would be private",)


def test_revoking_the_last_grant_leaves_nothing_rather_than_everything(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        for name, text in (("flu", FLU), ("ward", WARD)):
            control.define_view(name, text, by="dpo")
        control.allow("flu", user="bob", by="dpo")
        control.revoke(view="flu", user="bob", by="dpo")
        assert not control.decide("bob", "flu").allowed
        assert not control.decide("bob", "ward").allowed
        control.assign("ann", "nurse", by="dpo")
        control.allow("flu", role="nurse", by="dpo")
        control.assign("eve", "nurse", by="dpo")
        for user in ("ann", "eve"):
            control.withdraw(user, "nurse", by="dpo")
            assert not control.decide(user, "ward").allowed
        control.assign("carl", "guest", by="dpo")
        assert control.decide("carl", "ward").allowed


def test_what_another_process_forbids_holds_at_once(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger, Ledger(tmp_path / "ledger") as other:
        control, elsewhere = _control(ledger), _control(other)
        control.define_secret("cancer", CANCER, by="dpo")
        control.assign("ann", "nurse", by="dpo")
        assert control.decide("ann", WARD).allowed
        elsewhere.forbid("cancer", user="ann", by="chief")
        assert not control.decide("ann", WARD).allowed
        elsewhere.define_view("flu", FLU, by="chief")
        elsewhere.allow("flu", user="bob", by="chief")
        elsewhere.revoke(view="flu", user="bob", by="chief")
        assert not control.decide("bob", "flu").allowed


def test_revoking_a_view_keeps_the_prohibition_of_the_same_name(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("x", CANCER, by="dpo")
        control.define_view("x", FLU, by="dpo")
        control.allow("x", user="ann", by="dpo")
        control.forbid("x", user="ann", by="dpo")
        control.revoke(view="x", user="ann", by="dpo")
        assert control.rules.forbidden["user ann"] == {"x"}


def test_a_secret_is_not_weakened_without_an_explicit_replacement(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        control.forbid("cancer", user="ann", by="dpo")
        weaker = "SELECT name FROM P WHERE name = 'nobody'"
        with pytest.raises(PolicyError, match="replace=True"):
            control.define_secret("cancer", weaker, by="mallory")
        assert not control.decide("ann", WARD).allowed
        control.define_secret("cancer", CANCER, by="dpo")
        control.define_secret("cancer", weaker, by="dpo", replace=True)
        assert control.decide("ann", WARD).allowed


def test_whoever_sees_everything_leaks_what_others_must_not_know(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", CANCER, by="dpo")
        control.define_view("ward", WARD, by="dpo")
        control.forbid("cancer", user="clerk", by="dpo")
        control.assign("open", "guest", by="dpo")
        leaks = control.collusion(["clerk", "open"])
        assert {(leak.seer, leak.view) for leak in leaks} == {("open", "ward"), ("open", "the secret cancer")}
        control.forbid("cancer", user="open", by="dpo")
        assert control.collusion(["clerk", "open"]) == ()


def test_a_part_of_a_secret_that_an_open_user_may_ask_for_is_found(tmp_path: Path) -> None:
    """Neither a view nor a secret as a whole: the seer must not know of cancer, but may ask for every other row that the victim must not know."""
    with Ledger(tmp_path / "ledger") as ledger:
        control = _control(ledger)
        control.define_secret("cancer", "SELECT pid FROM D WHERE diagnosis = 'cancer'", by="dpo")
        control.define_secret("all", "SELECT pid, diagnosis FROM D", by="dpo")
        control.forbid("cancer", user="doctor", by="dpo")
        control.forbid("all", user="clerk", by="dpo")
        (leak,) = control.collusion(["doctor", "clerk"])
        assert (leak.seer, leak.victim, leak.secret) == ("doctor", "clerk", "all")
        assert leak.view.startswith("whether there is the row D(")
        assert "cancer" not in leak.view
        control.forbid("all", user="doctor", by="dpo")
        assert control.collusion(["doctor", "clerk"]) == ()


def test_what_is_removed_from_a_policy_file_is_revoked_on_record(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(DDL)
    policy = tmp_path / "access.toml"

    def write(members: str, allowed: str, forbidden: str, cancer: str = CANCER) -> None:
        policy.write_text(
            f'schema = "schema.sql"\n[secrets]\ncancer = "{cancer}"\n[views]\nflu = "{FLU}"\nward = "{WARD}"\n'
            f"[roles]\nnurse = {members}\n{allowed}\n{forbidden}"
        )

    rule = '[[allow]]\nrole = "nurse"\nview = "flu"'
    ban = '[[forbid]]\nrole = "nurse"\nsecret = "cancer"'
    write('["ann", "bea"]', rule, ban)
    with open_policy(policy) as control:
        assert control.decide("ann", "flu").allowed
        control.assign("carl", "nurse", by="dpo")
    write('["ann"]', rule, ban)
    with open_policy(policy) as control:
        assert control.rules.roles_of("bea") == set()
        assert not control.decide("bea", "flu").allowed
        assert control.rules.roles_of("carl") == {"nurse"}
    write('["ann"]', "", ban)
    with open_policy(policy) as control:
        assert not control.decide("ann", "flu").allowed
        assert [(event.action, event.subject) for event in control.history()][-2:] == [
            ("withdraw", "nurse"),
            ("revoke view", "flu"),
        ]
    write('["ann"]', "", ban, cancer="SELECT name FROM P WHERE name = 'x'")
    with open_policy(policy) as control:
        assert control.rules.secrets["cancer"].endswith("'x'")
    second = tmp_path / "second.toml"
    second.write_text(policy.read_text().replace("'x'", "'y'").replace("[secrets]", 'dataset = "access"\n[secrets]', 1))
    with (
        pytest.raises(PolicyError, match="another text exists already"),
        open_policy(second, policy.with_suffix(".ledger")),
    ):
        pass
