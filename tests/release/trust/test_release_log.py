"""The log of releases: what it shows, and the attacks on it: split views, deletion, reordering, forged proofs, killed and racing writers."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.release.canonical_json import readable
from reticent.release.trust import LogHead, ReleaseLog, append, create_log, read_proof
from tests.release.trust.conftest import LONG_AGO, certificate_of, digits, key, trust_of

Publish = Callable[..., Path]


def made_up(number: int, dataset: str | None = "people") -> dict[str, Any]:
    """As much of a certificate as a log looks at."""
    return {
        "created": LONG_AGO,
        "ledger": {"dataset": dataset, "release": number if dataset else None},
        "claims": [number],
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with five entries."""
    path = tmp_path / "log.json"
    create_log(path, "office", key("notary"))
    for number in range(1, 6):
        append(path, made_up(number), key("notary"))
    return path


def check(found: Any, name: str) -> tuple[str, str]:
    one = next(each for each in found.checks if each.name == name)
    return one.status, one.detail


def test_a_release_is_found_with_the_others_of_its_data_set(publish: Publish, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    create_log(path, "office", key("notary"))
    first, second = (
        publish("alice", "bob", dataset="people"),
        publish("alice", "bob", folder="2", dataset="people", k=4),
    )
    append(path, certificate_of(first), key("notary"))
    append(path, certificate_of(second), key("notary"))
    found = rt.verify(second, trust=trust_of(), log=path)
    assert found.holds
    assert "entry 2 of 2 in the log 'office'" in check(found, "log")[1]
    assert "Its head is signed by notary." in check(found, "log")[1]
    assert check(found, "other releases")[0] == "holds"
    assert "Other releases of 'people' in the log: release 1 (made" in check(found, "other releases")[1]
    assert check(found, "log history")[0] == "not re-checked"


def test_a_release_that_is_not_in_the_log_fails(publish: Publish, log: Path) -> None:
    found = rt.verify(publish("alice"), log=log)
    assert check(found, "log")[0] == "fails"
    assert not found.holds


def test_earlier_releases_that_the_log_lacks_are_named(publish: Publish, tmp_path: Path) -> None:
    create_log(tmp_path / "log.json", "office", key("notary"))
    publish("alice", dataset="people")
    later = publish("alice", folder="2", dataset="people", k=4)
    append(tmp_path / "log.json", certificate_of(later), key("notary"))
    found = rt.verify(later, log=tmp_path / "log.json")
    assert check(found, "other releases") == (
        "not re-checked",
        "The log has no other release of 'people'. Release 1 came before this one and is not in the log: ask the publisher.",
    )
    assert check(found, "log")[0] == "not re-checked"


def test_two_certificates_of_one_release_are_found(publish: Publish, tmp_path: Path) -> None:
    create_log(tmp_path / "log.json", "office", key("notary"))
    release = publish("alice", dataset="people")
    append(tmp_path / "log.json", certificate_of(release), key("notary"))
    append(tmp_path / "log.json", made_up(1), key("notary"))
    found = rt.verify(release, log=tmp_path / "log.json")
    assert check(found, "other releases")[0] == "fails"
    assert not found.holds


def test_adding_twice_changes_nothing(log: Path) -> None:
    before = log.read_bytes()
    append(log, made_up(3), key("notary"))
    assert log.read_bytes() == before


def test_a_split_view_is_found_by_the_head_that_was_remembered(publish: Publish, tmp_path: Path) -> None:
    """The publisher shows two readers two logs of the same size, both signed."""
    release, remembered = publish("alice"), tmp_path / "head.json"
    paths = [tmp_path / name for name in ("mine.json", "theirs.json")]
    create_log(paths[0], "office", key("notary"))
    paths[1].write_bytes(paths[0].read_bytes())
    for number, path in enumerate(paths):
        append(path, made_up(number), key("notary"))
        append(path, certificate_of(release), key("notary"))
    assert rt.verify(release, key=digits("alice"), log=paths[0], remember=remembered).checks
    assert rt.verify(release, log=paths[0], remember=remembered).holds
    found = rt.verify(release, log=paths[1], remember=remembered)
    assert check(found, "log")[0] == "fails"
    assert "different readers are shown different logs" in check(found, "log")[1]
    assert LogHead.read(remembered) == ReleaseLog.read(paths[0]).head


def test_a_growing_log_is_consistent_and_the_newest_head_is_remembered(publish: Publish, tmp_path: Path) -> None:
    path, remembered, release = tmp_path / "log.json", tmp_path / "head.json", publish("alice")
    create_log(path, "office", key("notary"))
    append(path, certificate_of(release), key("notary"))
    assert check(rt.verify(release, log=path, remember=remembered), "log history")[0] == "not re-checked"
    append(path, made_up(2), key("notary"))
    found = rt.verify(release, log=path, remember=remembered)
    assert check(found, "log history")[0] == "holds"
    assert LogHead.read(remembered).signed.size == 2


def resigned(path: Path, entries: list[dict[str, Any]]) -> None:
    """What a publisher who rewrites history can make: other entries under a head that fits them."""
    from reticent.release.trust.release_log import CertificateEntry, _headed

    old = ReleaseLog.read(path)
    _headed(old.header, tuple(CertificateEntry(**each) for each in entries), key("notary")).save(path)


@pytest.mark.parametrize("attack", ["deletion", "reordering", "change", "truncation"])
def test_history_that_was_rewritten_is_found(log: Path, attack: str) -> None:
    head = ReleaseLog.read(log).head
    document = json.loads(log.read_bytes())
    entries = document["entries"]
    rewritten = {
        "deletion": entries[:1] + entries[2:],
        "reordering": [entries[1], entries[0], *entries[2:]],
        "change": [{**entries[0], "dataset": "others"}, *entries[1:]],
        "truncation": entries[:4],
    }[attack]
    # Without the key: the head does not fit.
    tampered = log.with_name("tampered.json")
    tampered.write_bytes(readable({**document, "entries": rewritten}))
    with pytest.raises(DataError, match="Entries were removed, changed or put in another order"):
        ReleaseLog.read(tampered)
    # With the key: the head fits, and a reader who remembers one finds it.
    resigned(log, rewritten)
    with pytest.raises(DataError, match=r"does not begin with the 5 entries|entries were removed"):
        ReleaseLog.read(log).check_beside(head)
    with pytest.raises(DataError):
        ReleaseLog.read(log).consistency(head)


def test_a_file_that_was_cut_off_is_refused(log: Path) -> None:
    whole = log.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        log.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"log\.json"):
            ReleaseLog.read(log)
        with pytest.raises(DataError):
            append(log, made_up(9), key("notary"))
        assert log.read_bytes() == whole[:length]


def test_times_must_rise(log: Path) -> None:
    entries = json.loads(log.read_bytes())["entries"]
    resigned(log, [*entries[:4], {**entries[4], "added": LONG_AGO}])
    with pytest.raises(DataError, match="are not in increasing order"):
        ReleaseLog.read(log)


def test_proofs_convince_without_the_log(log: Path, tmp_path: Path) -> None:
    older = ReleaseLog.read(log).head
    append(log, made_up(6), key("notary"))
    whole = ReleaseLog.read(log)
    for number in range(1, 7):
        path = tmp_path / f"proof-{number}.json"
        path.write_bytes(readable(whole.inclusion(made_up(number)).model_dump(mode="json")))
        proof = read_proof(path)
        proof.check()
        assert proof.entry.is_of(made_up(number))
    path.write_bytes(readable(whole.consistency(older).model_dump(mode="json")))
    read_proof(path).check()
    with pytest.raises(DataError, match="is not in the log"):
        whole.inclusion(made_up(7))


def test_forged_proofs_are_refused(log: Path, tmp_path: Path) -> None:
    older = ReleaseLog.read(log).head
    append(log, made_up(6), key("notary"))
    whole = ReleaseLog.read(log)
    included = whole.inclusion(made_up(2)).model_dump(mode="json")
    consistent = whole.consistency(older).model_dump(mode="json")
    other = "00" * 32
    forged = [
        {**included, "index": 2},
        {**included, "index": 99},
        {**included, "entry": {**included["entry"], "release": 3}},
        {**included, "path": included["path"][1:]},
        {**included, "path": [other, *included["path"][1:]]},
        {**included, "head": json.loads(json.dumps(included["head"]).replace(whole.head.signed.root, other))},
        {**included, "head": older.model_dump(mode="json")},
        {**consistent, "path": consistent["path"][1:]},
        {**consistent, "path": [other, *consistent["path"][1:]]},
        {**consistent, "older": consistent["head"]},
        {**consistent, "older": consistent["head"], "head": consistent["older"]},
    ]
    for each in forged:
        path = tmp_path / "forged.json"
        path.write_bytes(readable(each))
        with pytest.raises(DataError):
            read_proof(path).check()


def test_a_head_of_another_log_does_not_fit(log: Path, tmp_path: Path) -> None:
    other = create_log(tmp_path / "other.json", "elsewhere", key("notary"))
    with pytest.raises(DataError, match="to another log"):
        ReleaseLog.read(log).check_beside(other.head)
    document = json.loads(log.read_bytes())
    log.write_bytes(readable({**document, "log": {**document["log"], "name": "elsewhere"}}))
    with pytest.raises(DataError, match="the head belongs to another log"):
        ReleaseLog.read(log)


def test_the_next_head_is_signed_with_the_same_key(log: Path) -> None:
    with pytest.raises(PolicyError, match="Use that key"):
        append(log, made_up(6), key("mallory"))
    append(log, made_up(6), key("notary-2"), new_key=True)
    assert ReleaseLog.read(log).head.signers == (digits("notary-2"),)
    with pytest.raises(PolicyError, match="a log is not overwritten"):
        create_log(log, "office", key("notary"))


def _append_many(path: Path, first: int, many: int) -> None:
    for number in range(first, first + many):
        append(path, made_up(number), key("notary"))


def test_two_writers_lose_nothing(log: Path) -> None:
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_append_many, args=(log, first, 15)) for first in (100, 200)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
        assert each.exitcode == 0
    numbers = {each.release for each in ReleaseLog.read(log).entries}
    assert numbers == {*range(1, 6), *range(100, 115), *range(200, 215)}


def _killed_while_writing(path: Path, at: str) -> None:
    """Append, and die when a call of the system is about to be made."""

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, at, die)
    append(path, made_up(6), key("notary"))


@pytest.mark.parametrize("at", ["write", "fsync", "fchmod", "replace"])
def test_a_killed_append_leaves_the_log_as_it_was(log: Path, at: str) -> None:
    before = log.read_bytes()
    victim = multiprocessing.get_context("fork").Process(target=_killed_while_writing, args=(log, at))
    victim.start()
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert log.read_bytes() == before
    append(log, made_up(6), key("notary"))
    assert len(ReleaseLog.read(log).entries) == 6


def test_a_log_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: No such file"):
        create_log(tmp_path / "nowhere" / "log.json", "office", key("notary"))
