"""What ``--json`` prints, command by command: scripts depend on these keys. ``python -m tests.cli.test_payloads`` writes them down anew."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.cli.app import app
from reticent.cli.console import run
from tests.audit_service.conftest import PEOPLE
from tests.audit_service.conftest import POLICY as AUDIT_POLICY
from tests.cli.conftest import PATIENTS, POLICY
from tests.cli.test_synthesize import MARGINALS, TOWNS
from tests.cli.test_synthesize import POLICY as SYNTHETIC_POLICY
from tests.methods.series.test_commands import FRAMES
from tests.methods.series.test_commands import POLICY as SERIES_POLICY
from tests.views.test_command_line import ACCESS, CANCER, DDL

SHAPES = Path(__file__).resolve().parents[1] / "fixtures" / "cli" / "payloads.json"
CURVED = ("--level", "age=3", "--level", "zip=4")
SECRET = ("--schema", "schema.sql", "--secret", "secret.sql")
SALES = "SELECT SUM(salary) FROM staff WHERE department = 'sales'"
COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "patients.csv", "-o", "proposed.toml"),
    "assess": ("assess", "policy.toml", "--advise", "--failing-rows", "failing.csv"),
    "assess protect": ("assess", "policy.toml", "--protect", "attribute"),
    "preview": ("preview", "policy.toml", "--compare"),
    "preview of a mechanism": ("preview", "noisy.toml"),
    "keys generate": ("keys", "generate", "-o", "keys", "--name", "ann"),
    "keys generate root": ("keys", "generate", "-o", "keys", "--name", "head"),
    "keys generate log": ("keys", "generate", "-o", "keys", "--name", "notary"),
    "publish": ("publish", "policy.toml", "-o", "release", "--sign", "keys/ann.key", "--report"),
    "publish noisy": ("publish", "noisy.toml", "-o", "noisy", "--again"),
    "verify": ("verify", "release", "--key", "keys/ann.pub"),
    "verify page": ("verify", "--page", "verifier.html"),
    "schema manifest": ("schema", "manifest"),
    "gate": ("gate", "release", "--limits", "limits.toml"),
    "scan": ("scan", "patients.csv"),
    "attack": ("attack", "release", "--raw", "policy.toml"),
    "attack a table": ("attack", "policy.toml"),
    "attack synthetic records": ("attack", "patients.csv", "--original", "policy.toml"),
    "query": ("query", "release", "age between 30 and 40"),
    "query noisy": ("query", "noisy", "disease = 'flu'"),
    "apply": ("apply", "release", "patients.csv", "--policy", "policy.toml", "-o", "later.csv"),
    "report": ("report", "release", "-o", "report.html", "--public"),
    "dossier": ("dossier", "release", "--for", "gdpr", "-o", "dossier.html"),
    "belief": ("belief", "release", "--population", "policy.toml", "--delta", "0.1"),
    "republish": ("republish", "series.toml", "--history", "h", "--insecure-seed", "1"),
    "republish dry-run": ("republish", "series.toml", "--history", "h", "--data", "1.csv", "--dry-run"),
    "republish second": ("republish", "series.toml", "--history", "h", "--data", "1.csv", "--insecure-seed", "1"),
    "republish plan": ("republish", "plan", "series.toml", "--releases", "2", "--rehearsals", "1"),
    "attack history": ("attack", "--history", "h", "--page", "h.html", "--person", "3"),
    "republish erase": ("republish", "erase", "0", "--history", "h", "--reason", "asked"),
    "knowledge curve": ("knowledge", "curve", "policy.toml", *CURVED, "--k", "0..3", "--c", "0.9", "--chart", "c.svg"),
    "knowledge explain": ("knowledge", "explain", "policy.toml", *CURVED, "--k", "2"),
    "knowledge whatif": ("knowledge", "whatif", "policy.toml", "--key", "name", *CURVED, "--know", "!Person 1=flu"),
    "knowledge breaking-point": ("knowledge", "breaking-point", "policy.toml", *CURVED, "--c", "0.6"),
    "knowledge monitor": ("knowledge", "monitor", "policy.toml", *CURVED, "--add", "patients.csv", "--c", "0.9"),
    "randomize plan": ("randomize", "plan", "--n", "119", "--domain", "domain.toml", "--d", "1/20", "-o", "plan.json"),
    "randomize publish": ("randomize", "publish", "ages.csv", "--plan", "plan.json", "-o", "view", "--ledger", "views.sqlite"),
    "randomize estimate": ("randomize", "estimate", "view", "age < 40"),
    "randomize estimate sum": ("randomize", "estimate", "view", "age < 40", "--sum", "age"),
    "randomize estimate groups": ("randomize", "estimate", "view", "age < 40", "--group-by", "disease"),
    "randomize audit": ("randomize", "audit", "view", "--tuple", '{"age": 25, "disease": "flu"}', "--prior", "1/20"),
    "randomize compare": ("randomize", "compare", "--plan", "plan.json"),
    "randomize republish": ("randomize", "republish", "ages.csv", "--series", "views", "--plan", "plan.json", "--ledger", "views.sqlite"),
    "randomize verify": ("randomize", "verify", "view"),
    "randomize chart": ("randomize", "chart", "--n", "120", "--domain", "domain.toml", "-o", "errors.svg"),
    "noise plan": ("noise", "plan", "--parties", "4", "--faults", "1", "--query", "histogram"),
    "noise run": ("noise", "run", "--parties", "3", "--level", "semi-honest"),
    "noise keys": ("noise", "keys", "-o", "keys", "--name", "anna"),
    "grid plan": ("grid", "plan"),
    "index build": ("index", "build", "policy.toml", "-o", "people.index"),
    "index show": ("index", "show", "people.index"),
    "index cut": ("index", "cut", "people.index", "--k", "10"),
    "index publish": ("publish", "policy.toml", "-o", "regions", "--method", "Bang", "--ledger", "regions.sqlite"),
    "index flat": ("index", "flat", "regions", "-o", "flat.csv"),
    "synthesize plan": ("synthesize", "plan", "--groups", "12,40", "--domain", "100", "--epsilon", "2"),
    "synthesize choose": ("synthesize", "choose", "marginals.toml", "--epsilon", "1", "--measure"),
    "synthesize publish": ("publish", "synthetic.toml", "-o", "drawn", "--ledger", "drawn.sqlite"),
    "synthesize audit": ("synthesize", "audit", "drawn", "--policy", "synthetic.toml"),
    "synthesize compare": ("synthesize", "compare", "drawn", "--policy", "synthetic.toml"),
    "views check": ("views", "check", *SECRET, "--view", "ward.sql", "--certificate", "c.json"),
    "views check several": ("views", "check", *SECRET, "--view", "ward.sql", "--view", "flu.sql"),
    "views matrix": ("views", "matrix", "--schema", "schema.sql", "--secrets", "secret.sql", "--views", "views"),
    "views grant": ("views", "grant", *SECRET, "--view", "flu.sql", "--to", "clerk", "--name", "flu"),
    "views explain": ("views", "explain", *SECRET, "--view", "ward.sql"),
    "views classify": ("views", "classify", "--schema", "schema.sql", "secret.sql"),
    "views critical-rows": ("views", "critical-rows", "--schema", "schema.sql", "secret.sql"),
    "views critical-rows one": ("views", "critical-rows", "--schema", "schema.sql", "secret.sql", "--row", "D(1,'flu',7)"),
    "views witness": ("views", "witness", *SECRET, "--view", "ward.sql", "--sqlite", "w.db"),
    "views verify": ("views", "verify", "c.json"),
    "views decide": ("views", "decide", "--user", "doctor", "--view", "ward", "--policy", "access.toml"),
    "views collusion": ("views", "collusion", "clerk", "doctor", "--policy", "access.toml"),
    "views log": ("views", "log", "--policy", "access.toml"),
    "audit ask": ("audit", "ask", "audit.toml", SALES),
    "audit would-answer": ("audit", "would-answer", "audit.toml", SALES),
    "audit log": ("audit", "log", "audit.toml", "--export", "log.jsonl"),
    "audit check": ("audit", "check", "log.jsonl"),
    "audit sync": ("audit", "sync", "audit.toml"),
    "audit token": ("audit", "token", "audit.toml", "alice"),
    "audit token revoked": ("audit", "token", "audit.toml", "alice", "--revoke"),
    "audit stories": ("audit", "stories", "--people", "24"),
    "ledger list": ("ledger", "list"),
    "ledger show": ("ledger", "show", "patients"),
    "ledger budget": ("ledger", "budget", "visits", "--epsilon", "3", "--delta", "1e-6"),
    "ledger budgets": ("ledger", "budget"),
    "ledger accept": ("ledger", "accept", "--reason", "a backup"),
    "keys init": ("keys", "init", "trust.json", "--publisher", "office", "--root-key", "head=keys/head.pub", "--key", "ann=keys/ann.pub", "--expires", "2999-01-31", "--root", "keys/head.key"),
    "keys list": ("keys", "list", "trust.json"),
    "keys rotate": ("keys", "rotate", "trust.json", "ann", "keys/notary.pub", "-o", "newer.json", "--root", "keys/head.key"),
    "keys revoke": ("keys", "revoke", "trust.json", "ann", "--reason", "retired", "-o", "revoked.json"),
    "keys sign": ("keys", "sign", "revoked.json", "--root", "keys/head.key"),
    "keys renew": ("keys", "renew", "trust.json", "--expires", "2999-02-01", "-o", "renewed.json", "--root", "keys/head.key"),
    "keys update": ("keys", "update", "trust.json", "newer.json"),
    "certificate sign": ("certificate", "sign", "release", "--sign", "keys/notary.key"),
    "certificate export": ("certificate", "export", "release", "--dsse", "--sign", "keys/ann.key", "-o", "dsse.json"),
    "log init": ("log", "init", "releases.log.json", "--name", "office", "--sign", "keys/head.key"),
    "log add": ("log", "add", "releases.log.json", "release", "--sign", "keys/head.key"),
    "log head": ("log", "head", "releases.log.json", "-o", "head.json"),
    "log prove": ("log", "prove", "releases.log.json", "release", "-o", "proof.json"),
    "log check": ("log", "check", "releases.log.json", "--release", "release"),
    "log check proof": ("log", "check", "proof.json"),
    "log check another": ("log", "check", "proof.json", "--release", "noisy"),
    "verify with a log": ("verify", "release", "--log", "releases.log.json"),
    "mcp requests": ("mcp", "requests"),
    "postgres views": ("postgres", "views", "policy.toml", "--release", "release", "--name", "visits", "--table", "raw.visits"),
    "demo": ("demo", "-o", "tour", "--patients", "200"),
}  # fmt: skip


def write_inputs() -> None:
    """The files that the commands are about, into the working folder."""
    PATIENTS.write_csv("patients.csv")
    PATIENTS.select("age", "disease").unique(maintain_order=True).write_csv("ages.csv")
    PEOPLE.write_csv("staff.csv")
    for number, frame in enumerate(FRAMES):
        frame.write_csv(f"{number}.csv")
    pl.DataFrame({"work": ["mill"] * 40 + ["port"] * 60, "home": [TOWNS[i * i % 4] for i in range(100)]}).write_csv(
        "jobs.csv"
    )
    pl.DataFrame({"work": ["mill", "port"], "size": [40, 60]}).write_csv("groups.csv")
    pl.DataFrame({"home": TOWNS, "weight": [1, 2, 2, 5], "keep": ["1/2", "1", "0.4", "0.9"]}).write_csv("domain.csv")
    ward, flu = "SELECT pid, diagnosis FROM D WHERE ward = 7", "SELECT pid FROM D WHERE diagnosis = 'flu'"
    texts = {
        "policy.toml": POLICY,
        "noisy.toml": POLICY.split("[[definition]]")[0].replace('"patients"', '"noisy"', 1)
        + '[[definition]]\nname = "NoisyCounts"\nepsilon = 1\n[method]\nname = "CentralCounts"\n'
        + 'domain = { disease = ["flu", "cold", "ulcer", "asthma"] }\n',
        "series.toml": SERIES_POLICY,
        "synthetic.toml": SYNTHETIC_POLICY,
        "marginals.toml": MARGINALS,
        "audit.toml": AUDIT_POLICY.replace("{source}", "staff.csv").replace("{table}", ""),
        "access.toml": ACCESS,
        "limits.toml": '[definitions]\nhold = ["KAnonymity(4)"]\n[loss]\ntotal = 0\n',
        "domain.toml": 'age = { from = 20, to = 79 }\ndisease = ["flu", "cold", "ulcer", "asthma"]\n',
        "schema.sql": DDL,
        "secret.sql": CANCER,
        "ward.sql": ward,
        "flu.sql": flu,
        "views/ward.sql": ward,
        "views/flu.sql": flu,
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)


def printed(arguments: tuple[str, ...]) -> str:
    """What a command prints on standard output, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["reticent", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run(app)
    finally:
        sys.argv = before
    assert out.getvalue(), (arguments, err.getvalue())
    return out.getvalue()


def shape(value: Any) -> Any:
    """The keys of a payload, all the way down, and the kinds of its values; of a list the kinds of what is in it."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        kinds = {json.dumps(shape(item), sort_keys=True): shape(item) for item in value}
        return [kinds[each] for each in sorted(kinds)]
    return {bool: "yes or no", int: "number", float: "number", str: "text"}.get(type(value))


def payloads() -> dict[str, Any]:
    """What every command prints with ``--json``, one after the other in the working folder."""
    write_inputs()
    return {name: payload(words) for name, words in COMMANDS.items()}


def payload(words: tuple[str, ...]) -> Any:
    """What a command prints with ``--json``; none of them fails."""
    found = json.loads(printed((*words, "--json")))
    assert list(found) != ["ok", "error"], (words, found)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    place, before = tmp_path_factory.mktemp("payloads"), Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETICENT_LEDGER", str(place / "ledger" / "ledger.sqlite"))
        os.chdir(place)
        try:
            yield payloads()
        finally:
            os.chdir(before)


def test_no_payload_lost_a_key(found: dict[str, Any]) -> None:
    stated = json.loads(SHAPES.read_text("utf-8"))
    for name, payload in found.items():
        assert keeps(shape(payload), stated[name]), name
    assert set(found) == set(stated)


def keeps(found: Any, stated: Any) -> bool:
    """Whether a payload still has every key that was written down, with a value of the same kind; it may have more."""
    if isinstance(stated, dict):
        return isinstance(found, dict) and all(key in found and keeps(found[key], each) for key, each in stated.items())
    if isinstance(stated, list):
        return isinstance(found, list) and all(any(keeps(own, each) for own in found) for each in stated)
    return stated is None or found is None or found == stated


def test_a_key_that_is_lost_is_found() -> None:
    stated = shape({"a": [{"b": 1, "c": "x"}], "d": None})
    assert keeps(stated, stated)
    assert keeps(shape({"a": [{"b": 2, "c": "y", "more": 1}], "d": 3, "e": 4}), stated)
    assert not keeps(shape({"a": [{"b": 1}], "d": None}), stated)
    assert not keeps(shape({"a": [{"b": "1", "c": "x"}], "d": None}), stated)
    assert not keeps(shape({"a": [], "d": None}), stated)


def test_every_payload_says_whether_it_is_well(found: dict[str, Any]) -> None:
    assert {name for name, payload in found.items() if not isinstance(payload.get("ok"), bool)} == set()


def test_every_command_that_prints_json_is_tried() -> None:
    from typer.main import get_command

    interactive = {
        ("workbench",),
        ("audit", "serve"),
        ("noise", "party"),
        ("mcp", "approve"),
        ("mcp", "decline"),
        ("ledger", "withdraw"),
    }
    commands: Any = get_command(app)
    tried = {words[:2] for words in COMMANDS.values()}
    for name, command in commands.commands.items():
        for inner in getattr(command, "commands", {}):
            assert (name, inner) in tried | interactive | {("republish", "publish")}, (name, inner)
        assert any(words[0] == name for words in tried | interactive), name


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.environ["RETICENT_LEDGER"] = str(Path(folder) / "ledger" / "ledger.sqlite")
        os.chdir(folder)
        made = payloads()
        SHAPES.parent.mkdir(exist_ok=True)
        lines = (f" {json.dumps(name)}: {json.dumps(shape(each))}" for name, each in made.items())
        SHAPES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
