"""The attack lists of TUF and of transparency logs against both verifiers: what one refuses the other refuses, and both accept the honest publisher."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reticent.errors import DataError
from reticent.release.canonical_json import readable
from reticent.release.trust import LogHead, ReleaseLog, TrustFile, append, create_log, read_proof
from tests.release.trust.conftest import LONG_AGO, certificate_of, dated, digits, key, ledger_file, publish, trust_of
from tests.release.trust.test_release_log import resigned
from tests.verifier.agreement import NODE, OPTIONAL, differences, node_answers, node_verdicts, python_verdicts

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
__all__ = ["ledger_file", "publish"]
Publish = Callable[..., Path]
SIGNED = ("alice", "bob")
NOW = "2026-06-01T00:00:00Z"


def saved(given: TrustFile, path: Path) -> Path:
    given.save(path)
    return path


def judged(folder: Path, *documents: Path, now: str | None = None) -> tuple[str, str]:
    """How the JavaScript core judges the origin, and why."""
    options = [part for document in documents for part in ("--document", str(document))]
    (answer,) = node_answers([folder / "public"], *options, *(("--now", now) if now else ()))
    found = next(check for check in answer["checks"] if check["id"] == "origin")
    return found["status"], found["detail"]


def both(
    folder: Path, trust: Path | None = None, log: Path | None = None, remember: Path | None = None
) -> dict[str, str]:
    """The verdicts of both verifiers, which must be the same."""
    options = [part for given in (trust, log, remember) if given for part in ("--document", str(given))]
    ((state, theirs),) = node_verdicts([folder / "public"], *options)
    mine_state, mine = python_verdicts(folder / "public", trust=trust, log=log, remember=remember)
    assert differences(mine, theirs, OPTIONAL) == {}
    assert state == mine_state
    return mine


def test_enough_holders_with_valid_keys(publish: Publish, tmp_path: Path) -> None:
    trust = saved(trust_of(), tmp_path / "trust.json")
    assert both(publish(*SIGNED, folder="good"), trust)["origin"] == "holds"
    assert both(publish("alice", folder="one"), trust)["origin"] == "fails"
    assert both(publish("alice", "mallory", folder="stranger"), trust)["origin"] == "fails"
    assert both(publish("alice", "r1", folder="root"), trust)["origin"] == "fails"
    assert both(publish(folder="unsigned"), trust)["origin"] == "fails"


def test_expired_keys_and_revoked_keys(publish: Publish, tmp_path: Path) -> None:
    folder = publish(*SIGNED)
    rotated = trust_of().rotated("alice", digits("alice2"), until="2100-01-01T00:00:00Z", on="2020-01-01T00:00:00Z")
    retired = trust_of().revoked("bob", "retired", on="2020-01-01T00:00:00Z")
    for number, changed in enumerate((rotated, retired)):
        trust = saved(changed.signed_by([key("r1"), key("r2")]), tmp_path / f"{number}.json")
        assert both(dated(folder, "2019-05-05T00:00:00Z", *SIGNED), trust)["origin"] == "holds"
        assert both(dated(folder, "2021-05-05T00:00:00Z", *SIGNED), trust)["origin"] == "fails"


def test_a_compromised_key_is_believed_only_for_what_a_log_had_before(publish: Publish, tmp_path: Path) -> None:
    honest, forged = publish(*SIGNED, folder="honest"), publish(*SIGNED, folder="forged")
    dated(forged, LONG_AGO, *SIGNED)
    create_log(tmp_path / "log.json", "releases", key("notary"))
    added = append(tmp_path / "log.json", certificate_of(honest), key("notary")).entry.added
    stolen = trust_of().revoked("bob", "compromised", on="9000-01-01T00:00:00Z").signed_by([key("r1"), key("r2")])
    trust = saved(stolen, tmp_path / "trust.json")
    assert both(honest, trust)["origin"] == "fails"
    assert both(honest, trust, tmp_path / "log.json")["origin"] == "holds"
    assert both(forged, trust, tmp_path / "log.json") == {
        **both(forged, trust, tmp_path / "log.json"),
        "origin": "fails",
        "log": "fails",
    }
    early = trust_of().revoked("bob", "compromised", on=added).signed_by([key("r1"), key("r2")])
    assert both(honest, saved(early, tmp_path / "early.json"), tmp_path / "log.json")["origin"] == "fails"
    # The thief's own log is no evidence.
    create_log(tmp_path / "thief.json", "releases", key("bob"))
    append(tmp_path / "thief.json", certificate_of(forged), key("bob"))
    assert both(forged, trust, tmp_path / "thief.json")["origin"] == "fails"


def test_rollback_freeze_and_strangers(publish: Publish, tmp_path: Path) -> None:
    """The page is given the version that the recipient keeps and the one that came: each attack is refused in words that name it."""
    folder, first = publish(*SIGNED), trust_of()
    kept = saved(first, tmp_path / "kept.json")
    second = first.next_version().signed_by([key("r1"), key("r3")])
    newer = saved(second, tmp_path / "newer.json")
    assert judged(folder, kept, newer)[0] == "holds"
    assert second == first.updated(second)
    # Two different files of one version, a version that strangers signed, too few roots, signatures of another version.
    other = first.next_version(expires="9998-01-01T00:00:00Z").signed_by([key("r1"), key("r2")])
    assert "two different trust files" in judged(folder, newer, saved(other, tmp_path / "other.json"))[1]
    stranger = trust_of(root_threshold=1)
    strange = TrustFile(stranger.body.model_copy(update={"version": 5}), ()).signed_by([key("r1")])
    assert "not signed by the root keys" in judged(folder, kept, saved(strange, tmp_path / "strange.json"))[1]
    few = first.next_version().signed_by([key("r1")])
    assert "lacks 1 signatures" in judged(folder, saved(few, tmp_path / "few.json"))[1]
    assert both(folder, tmp_path / "few.json")["origin"] == "fails"
    mixed = TrustFile(second.body, first.signatures)
    assert "is invalid" in judged(folder, saved(mixed, tmp_path / "mixed.json"))[1]
    # An attacker who keeps newer files from the recipient wins until the last one expires.
    frozen = saved(trust_of(expires="2026-05-01T00:00:00Z"), tmp_path / "frozen.json")
    assert judged(folder, frozen, now="2026-04-30T23:59:59Z")[0] == "holds"
    assert "expired at 2026-05-01" in judged(folder, frozen, now="2026-05-01T00:00:00Z")[1]
    assert both(folder, frozen)["origin"] == "fails"


def test_roots_are_replaced_by_old_and_new_ones_together(publish: Publish, tmp_path: Path) -> None:
    folder, first = publish(*SIGNED), trust_of()
    kept = saved(first, tmp_path / "kept.json")
    changed = first.rotated("r1", digits("r9"), until="2100-01-01T00:00:00Z")
    alone = saved(changed.signed_by([key("r9"), key("r3")]), tmp_path / "alone.json")
    together = saved(changed.signed_by([key("r1"), key("r2"), key("r9")]), tmp_path / "together.json")
    assert judged(folder, kept, alone)[0] == "fails"
    assert judged(folder, kept, together)[0] == "holds"


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"layout": 2},
        {"extra": 1},
        {"version": 0},
        {"expires": "2000-01-01T00:00:00Z"},
        {"issued": "2026-02-30T00:00:00Z"},
        {"publisher": ""},
        {"certificates": {"keys": [], "threshold": 1}},
        {"former_root": {"keys": [], "threshold": 1}},
    ],
    ids=str,
)
def test_files_that_are_no_trust_files_are_refused(publish: Publish, tmp_path: Path, change: dict[str, Any]) -> None:
    path = saved(trust_of(), tmp_path / "trust.json")
    document = json.loads(path.read_bytes())
    document["signed"] |= change
    path.write_bytes(readable(document))
    with pytest.raises(DataError):
        TrustFile.read(path)
    assert judged(publish(*SIGNED), path)[0] == "fails"


@pytest.fixture
def log(tmp_path: Path, publish: Publish) -> tuple[Path, Path]:
    """A log of four entries, and the release that is the third."""
    path = tmp_path / "log.json"
    create_log(path, "releases", key("notary"))
    folder = publish(*SIGNED, dataset="people")
    for release, made in ((7, "x"), (8, "x"), (None, "people"), (9, "x")):
        certificate = certificate_of(folder)
        if release is not None:
            certificate = {**certificate, "ledger": {**certificate["ledger"], "dataset": made, "release": release}}
        append(path, certificate, key("notary"))
    return path, folder


def test_a_release_is_found_in_the_log(log: tuple[Path, Path], publish: Publish, tmp_path: Path) -> None:
    path, folder = log
    trust = saved(trust_of(), tmp_path / "trust.json")
    found = both(folder, trust, path)
    assert (found["log"], found["other releases"], found["log history"]) == ("holds", "holds", "not re-checked")
    assert both(folder, None, path)["log"] == "not re-checked"
    assert both(publish(*SIGNED, folder="hidden", dataset="people", k=4), trust, path)["log"] == "fails"
    certificate = certificate_of(folder)
    append(path, {**certificate, "created": "2026-01-01T00:00:00Z"}, key("notary"))
    assert both(folder, trust, path)["other releases"] == "fails"


def test_earlier_releases_that_the_log_lacks_are_named(publish: Publish, tmp_path: Path) -> None:
    publish(*SIGNED, folder="first", dataset="people")
    second = publish(*SIGNED, folder="second", dataset="people", k=4)
    create_log(tmp_path / "log.json", "releases", key("notary"))
    append(tmp_path / "log.json", certificate_of(second), key("notary"))
    assert both(second, None, tmp_path / "log.json")["other releases"] == "not re-checked"


@pytest.mark.parametrize(
    "attack",
    [
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("removed", "reordered", "changed")),
        "split view",
        "older copy",
    ],
)
def test_a_changed_history_is_found(log: tuple[Path, Path], tmp_path: Path, attack: str) -> None:
    path, folder = log
    before = ReleaseLog.read(path)
    head = tmp_path / "head.json"
    before.head.save(head)
    assert both(folder, None, path, head)["log history"] == "holds"
    entries = json.loads(path.read_bytes())["entries"]
    if attack == "removed":
        del entries[0]
    elif attack == "reordered":
        entries[:2] = [
            {**entries[1], "added": entries[0]["added"]},
            {**entries[0], "added": entries[1]["added"]},
        ]
    elif attack == "changed":
        entries[0]["release"] = 1
    elif attack == "split view":
        entries = [entries[2], *({**entries[0], "release": 20 + number} for number in range(5))]
        entries = [{**each, "added": entries[-1]["added"]} for each in entries]
    else:
        entries = entries[:3]
    # A thief without the log's key cannot sign; the notary itself can, and is found by whoever remembers.
    document, changed = json.loads(path.read_bytes()), tmp_path / "changed.json"
    changed.write_bytes(readable({**document, "entries": entries}))
    assert judged(folder, changed)[0] == "fails"
    resigned(path, entries)
    (answer,) = node_answers([folder / "public"], "--document", str(path), "--document", str(head))
    assert {check["id"]: check["status"] for check in answer["checks"]}["log"] == "fails"
    assert python_verdicts(folder / "public", log=path, remember=head)[1]["log"] == "fails"


def test_proofs_stand_for_the_log(log: tuple[Path, Path], tmp_path: Path) -> None:
    path, folder = log
    found = ReleaseLog.read(path)
    head, inclusion, consistency = tmp_path / "head.json", tmp_path / "in.json", tmp_path / "grown.json"
    inclusion.write_bytes(readable(found.inclusion(certificate_of(folder)).model_dump(mode="json")))
    trust = saved(trust_of(), tmp_path / "trust.json")

    def checks(*documents: Path) -> dict[str, str]:
        options = [part for document in documents for part in ("--document", str(document))]
        return node_verdicts([folder / "public"], *options)[0][1]

    proven = checks(inclusion, trust)
    assert (proven["log"], proven["origin"], proven["other releases"]) == ("holds", "holds", "not re-checked")
    older = _head_of_first(path, tmp_path / "older.log.json", 3)
    older.save(head)
    assert checks(inclusion, trust, head)["log history"] == "not re-checked"
    consistency.write_bytes(readable(found.consistency(older).model_dump(mode="json")))
    assert checks(inclusion, trust, head, consistency)["log history"] == "holds"
    found.head.save(head)
    assert checks(inclusion, trust, head, consistency)["log history"] == "holds"


def _head_of_first(path: Path, place: Path, many: int) -> LogHead:
    """The head that the log had after some entries."""
    place.write_bytes(path.read_bytes())
    resigned(place, json.loads(path.read_bytes())["entries"][:many])
    return ReleaseLog.read(place).head


@pytest.mark.slow
@pytest.mark.parametrize("field", ["index", "path", "entry", "head"])
def test_forged_proofs_are_refused(log: tuple[Path, Path], tmp_path: Path, field: str) -> None:
    path, folder = log
    found = ReleaseLog.read(path)
    document = found.inclusion(certificate_of(folder)).model_dump(mode="json")
    changed = {
        "index": 1,
        "path": [*document["path"][1:], document["path"][0]],
        "entry": {**document["entry"], "added": "2001-01-01T00:00:00Z"},
        "head": {**document["head"], "signed": {**document["head"]["signed"], "size": 5}},
    }
    place = tmp_path / "proof.json"
    place.write_bytes(readable({**document, field: changed[field]}))
    with pytest.raises(DataError):
        read_proof(place).check()
    status, why = judged(folder, place)
    assert status == "fails"
    assert "proof" in why or "is invalid" in why


def test_trees_of_all_sizes_have_the_proofs_of_python(tmp_path: Path) -> None:
    """Inclusion and consistency for every pair of sizes up to nine, with every proof that has one hash replaced refused."""
    from reticent.release.trust import merkle_tree as tree
    from tests.verifier.test_core import evaluate

    leaves = [tree.leaf_hash(bytes([number])) for number in range(9)]
    roots = [tree.root_of(leaves[:size]).hex() for size in range(10)]
    included = [
        [leaves[index].hex(), index, size, [each.hex() for each in tree.inclusion_proof(leaves[:size], index)], roots[size]]
        for size in range(1, 10)
        for index in range(size)
    ]  # fmt: skip
    grown = [
        [old, roots[old], size, roots[size], [each.hex() for each in tree.consistency_proof(leaves[:size], old)]]
        for size in range(1, 10)
        for old in range(1, size + 1)
    ]
    wrong = [[*case[:3], [*case[3][:-1], "ab" * 32], case[4]] for case in included if case[3]]
    script = """const { isIncluded, isConsistent } = await import("CORE/log.js"), { unhex } = await import("CORE/signatures.js");
const b = (text) => unhex(text, 32), all = async (cases, test) => { const found = []; for (const each of cases) found.push(await test(...each)); return found; };
const inside = (leaf, index, size, path, root) => isIncluded(b(leaf), index, size, path.map(b), b(root));
console.log(JSON.stringify([await all(given[0], inside), await all(given[1], (old, oldRoot, size, root, path) => isConsistent(old, b(oldRoot), size, b(root), path.map(b))), await all(given[2], inside)]));"""
    right, consistent, refused = evaluate(script, [included, grown, wrong])
    assert all(right)
    assert all(consistent)
    assert not any(refused)
