"""One party of several on hosts of their own: its config, and runs over real sockets with keys, ledgers and releases."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.privacy_cost import LossBound, PrivacyCost
from reticent.cli.app import app
from reticent.cli.console import run
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.ledger import Ledger
from reticent.methods.counts.deployment import PartyConfig, encoded
from reticent.methods.randomize import ViewDomain
from reticent.noise.certificates import make_party_keys

pytestmark = pytest.mark.xdist_group("deploying")
NAMES = ("anna", "bruno", "clara", "doris")
DOMAIN = '[answer.domain]\ndiagnosis = ["flu", "cold", "gout"]\n'
ROOT = Path(__file__).resolve().parents[3]


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in NAMES:
        make_party_keys(folder, name)
    return folder


def config(
    name: str, keys: Path, ports: list[int], answer: str = DOMAIN, query: str = "histogram", more: str = ""
) -> str:
    parties = "".join(
        f'[[party]]\nname = "{each}"\naddress = "127.0.0.1:{port}"\ncertificate = "{keys}/{each}.crt"\n'
        for each, port in zip(NAMES, ports, strict=True)
    )
    return (
        f'session = "a test"\nme = "{name}"\nkey = "{keys}/{name}.key"\n[answer]\nquery = "{query}"\nepsilon = 1\n{answer}'
        f'[data]\nsource = "{name}.csv"\n{more}{parties}'
    )


def write(folder: Path, keys: Path, **options: str) -> list[Path]:
    ports, paths = free_ports(len(NAMES)), []
    for number, name in enumerate(NAMES):
        rows = ["flu", "cold", "flu", "gout"] * (5 + number)
        pl.DataFrame({"diagnosis": rows, "days": [i % 4 for i in range(len(rows))]}).write_csv(folder / f"{name}.csv")
        paths.append(folder / f"{name}.toml")
        paths[-1].write_text(config(name, keys, ports, **options), "utf-8")
    return paths


def run_all(paths: list[Path], *more: str) -> list[tuple[int, dict, str]]:
    command = [sys.executable, "-m", "reticent", "noise", "party", "--json", *more, "--config"]
    started = [
        subprocess.Popen(
            [*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=path.parent
        )
        for path in paths
    ]
    done = [process.communicate(timeout=300) for process in started]
    return [
        (process.returncode, json.loads(out) if out.startswith("{") else {}, err)
        for process, (out, err) in zip(started, done, strict=True)
    ]


# Runs.


@pytest.mark.slow
def test_four_hosts_end_with_one_answer_a_release_each_and_a_charge_each(tmp_path, keys):
    paths = write(tmp_path, keys, more='[budget]\nledger = "ME.sqlite"\ndataset = "patients"\nepsilon = "1.5"\n')
    for path in paths:
        path.write_text(path.read_text("utf-8").replace("ME.sqlite", f"{path.stem}/ledger.sqlite"), "utf-8")
        (tmp_path / path.stem).mkdir()
    command = [sys.executable, "-m", "reticent", "noise", "party", "--json"]
    started = [
        subprocess.Popen(
            [*command, "--config", str(path), "-o", str(tmp_path / path.stem / "release")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for path in paths
    ]  # fmt: skip
    done = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0] * 4, [err for _, err in done]
    told = [json.loads(out) for out, _ in done]
    assert len({tuple(each["total"]) for each in told}) == 1
    assert (told[0]["included"], told[0]["blamed"], told[0]["coins"]) == (list(NAMES), {}, 200)
    check_releases(tmp_path, NAMES, "patients", "1/2")


def check_releases(folder: Path, names: tuple[str, ...], dataset: str, left: str) -> None:
    """Every party has the same cells in a release of its own that verifies, and was charged."""
    assert len({(folder / name / "release" / "public" / "cells.csv").read_bytes() for name in names}) == 1
    for name in names:
        assert rt.verify(folder / name / "release").holds
        with Ledger(folder / name / "ledger.sqlite") as book:
            of = dataset.format(name)
            assert str(book.accounts.of(of).left.epsilon) == left
            assert [entry.status for entry in book.entries(of)][-1] == "given out"


@pytest.mark.slow
def test_a_host_with_another_domain_is_left_out_and_named(tmp_path, keys):
    paths = write(tmp_path, keys)
    paths[1].write_text(paths[1].read_text("utf-8").replace('"gout"]', '"gout", "measles"]'), "utf-8")
    done = run_all(paths)
    assert done[0][0] == 0, done
    assert done[0][1]["blamed"] == {"bruno": "was set up for another task"}
    assert done[0][1]["included"] == ["anna", "clara", "doris"]
    assert len({tuple(done[each][1]["total"]) for each in (0, 2, 3)}) == 1


@pytest.mark.slow
def test_a_host_with_a_key_that_nobody_knows_is_left_out(tmp_path, keys):
    other = make_party_keys(tmp_path / "forged", "doris")
    paths = write(tmp_path, keys, more="[time]\ngathering = 12\n")
    text = paths[3].read_text("utf-8")
    paths[3].write_text(text.replace(f"{keys}/doris.", f"{other.private.parent}/doris."), "utf-8")
    done = run_all(paths)
    assert [code for code, _, _ in done[:3]] == [0, 0, 0], done
    assert done[0][1]["blamed"] == {"doris": "did not connect"}
    assert done[3][0] == 1


def with_clients(folder: Path, keys: Path) -> list[Path]:
    """Four facilitators without rows, and two clients with rows and accounts of their own."""
    ports, paths = free_ports(len(NAMES)), []
    clients = "".join(
        f'[[client]]\nname = "{each}"\ncertificate = "{folder}/{each}.crt"\n' for each in ("eva", "fritz")
    )
    for name in ("eva", "fritz"):
        make_party_keys(folder, name)
        rows = ["flu", "cold", "flu", "gout"] * 10
        pl.DataFrame({"diagnosis": rows}).write_csv(folder / f"{name}.csv")
    for name in (*NAMES, "eva", "fritz"):
        text = config(name, keys if name in NAMES else folder, ports) + clients
        text = re.sub(r'(certificate = ")[^"]*/(anna|bruno|clara|doris)', rf"\g<1>{keys}/\2", text)
        own = f'[budget]\nledger = "{folder}/{name}.sqlite"\ndataset = "rows of {name}"\nepsilon = 3\n'
        text = text.replace(
            f'[data]\nsource = "{name}.csv"\n', own + f'[data]\nsource = "{name}.csv"\n' if name not in NAMES else ""
        )
        paths.append(folder / f"{name}.toml")
        paths[-1].write_text(text, "utf-8")
    return paths


def test_clients_share_with_facilitators_of_a_config_and_pay_before_they_share(tmp_path, keys):
    configs = [PartyConfig.read(path) for path in with_clients(tmp_path, keys)]
    assert [each.settings.is_client for each in configs] == [False] * 4 + [True] * 2
    assert (configs[0].plan.parties, configs[0].settings.task.clients) == (4, 2)
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda each: each.run(each.values()[0]), configs))
    results = [result for result, _ in done]
    assert results[4:] == [None, None]
    assert len({result.numbers for result in results[:4]}) == 1
    # Eighty rows, with a standard error of about 7 for each cell.
    assert abs(sum(results[0].numbers) - 80) < 100
    release = configs[0].release(results[0], done[0][1], configs[0].values()[1], Context())
    assert rt.verify(release.save(tmp_path / "release")).holds
    for name in ("eva", "fritz"):
        assert rt.ledger.account(f"rows of {name}", ledger=tmp_path / f"{name}.sqlite").spent.epsilon == 1


def test_a_facilitator_has_no_rows(tmp_path, keys):
    path = with_clients(tmp_path, keys)[0]
    text = path.read_text("utf-8")
    path.write_text(text.replace("[[party]]", '[data]\nsource = "anna.csv"\n[[party]]', 1), "utf-8")
    with pytest.raises(PolicyError, match=r"'anna' is a facilitator.* Remove \[data\]"):
        PartyConfig.read(path)


# Configs.


@pytest.fixture
def plain(tmp_path, keys) -> Path:
    return write(tmp_path, keys)[0]


def test_a_config_says_who_takes_part_in_what(plain, keys):
    read = PartyConfig.read(plain)
    assert (read.names, read.me, read.settings.me) == (NAMES, "anna", 0)
    assert (read.plan.quota, read.plan.faults, read.settings.task.cells) == (50, 1, 3)
    values, frame = read.values()
    assert (len(values), frame.height, set(values)) == (20, 20, {0, 1, 2})
    assert str(keys) not in repr(read)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('session = "a test"', 'session = " "', "session must be a name"),
        ('session = "a test"\n', "", "session is missing"),
        ('me = "anna"', 'me = "ana"', "Did you mean 'anna'"),
        ('me = "anna"', 'me = "bruno"', "is not the private key of the certificate of 'bruno'"),
        ("epsilon = 1\n", "epsilon = 0\n", "epsilon must be above 0"),
        ("epsilon = 1\n", "epsilon = 1\nfaults = 2\n", "at least 7 parties"),
        ("epsilon = 1\n", "epsilonn = 1\n", "Did you mean 'epsilon'"),
        ('query = "histogram"', 'query = "count"', "needed for query = 'histogram', and for nothing else"),
        (DOMAIN, "", "needed for query = 'histogram'"),
        (DOMAIN, '[answer.domain]\ndiagnosis = "flu"\n', "must be a number of values, a list"),
        ("[data]\n", "[dat]\n", "Did you mean 'data'"),
        ("anna.key", "nobody.key", "cannot be read"),
        ("bruno.crt", "clara.crt", "belongs to 'clara', not to 'bruno'"),
        ('address = "127.0.0.1:', 'address = "127.0.0.1;', "must be host:port"),
        ('name = "clara"', 'name = "bruno"', "same name"),
        ("[data]", "[time]\npatience = 0\n[data]", "patience must be a number of seconds"),
        ("[data]", '[budget]\ndataset = "x"\nepsilon = 1\n[data]', "ledger must be the file"),
        ("[data]", '[budget]\nledger = "l"\ndataset = "x"\nepsilon = 1\ndelta = -1\n[data]', "delta must be at least 0"),
        ("[data]", '[budget]\nledger = "l"\ndataset = "x"\nepsilon = "much"\n[data]', "epsilon must be a number"),
        ("epsilon = 1\n", "epsilon = 1\nmost_rows = 0\n", "most_rows must be at least 1"),
        ("epsilon = 1\n", 'epsilon = 1\nmost_rows = "many"\n', "most_rows must be a whole number"),
        ("[data]", "[data]\nnothing = 1", "there is no setting 'nothing'"),
        ("[data]", "[other]\n[data]", "there is no setting 'other'"),
        ("[data]", "[data", "not valid TOML"),
    ],
)  # fmt: skip
def test_a_config_that_is_wrong_says_where_and_what_to_do(plain, old, new, message):
    text = plain.read_text("utf-8")
    assert old in text
    plain.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ReticentError, match=message) as caught:
        PartyConfig.read(plain)
    assert str(caught.value).startswith(str(plain))


def test_hosts_agree_beforehand_on_how_many_rows_each_may_have(plain):
    text = plain.read_text("utf-8")
    plain.write_text(text.replace("epsilon = 1\n", "epsilon = 1\nmost_rows = 19\n", 1), "utf-8")
    read = PartyConfig.read(plain)
    assert read.settings.task.most_rows == 19
    with pytest.raises(DataError, match="has 20 rows, but the parties agreed on at most 19 each"):
        read.run(read.values()[0])


def test_a_key_that_others_can_read_is_not_used(plain, keys, tmp_path):
    key = tmp_path / "anna.key"
    key.write_bytes((keys / "anna.key").read_bytes())
    os.chmod(key, 0o644)
    plain.write_text(plain.read_text("utf-8").replace(f"{keys}/anna.key", str(key)), "utf-8")
    with pytest.raises(DataError, match="other users have permissions on it"):
        PartyConfig.read(plain)


def test_no_config_shows_a_private_key_in_its_errors(plain):
    plain.write_text(re.sub(r'key = ".*"', 'key = "anna.csv"', plain.read_text("utf-8"), count=1), "utf-8")
    os.chmod(plain.parent / "anna.csv", 0o600)
    with pytest.raises(DataError, match="cannot be read"):
        PartyConfig.read(plain)


# Rows.


def test_rows_become_numbers_by_the_query():
    frame = pl.DataFrame({"diagnosis": ["flu", "cold", None], "days": [3, 0, 1], "share": [0.5, 1.0, 0.0]})
    domain = ViewDomain.of({"diagnosis": ["flu", "cold", None]})
    assert encoded(frame, "histogram", None, None, domain) == [0, 1, 2]
    assert encoded(frame, "count", "days > 0", None, None) == [1, 0, 1]
    assert encoded(frame, "sum", None, "days", None) == [3, 0, 1]
    for query, where, column, message in (
        ("histogram", None, None, "needs a domain"),
        ("count", None, None, "needs a condition"),
        ("count", "nothing = 1", None, "nothing"),
        ("sum", None, None, "needs a column"),
        ("sum", None, "dayz", "Did you mean 'days'"),
        ("sum", None, "share", "whole numbers"),
    ):
        with pytest.raises((DataError, PolicyError), match=message):
            encoded(frame, query, where, column, None)


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> tuple[Path, str]:
    """The folder that the story leaves, and what it tells: four real processes, one of which lies."""
    folder = tmp_path_factory.mktemp("story")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "hospitals" / "story.py"), str(folder)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_story_of_four_hospitals_ends_as_told(story):
    _, told = story
    assert "All honest hospitals hold the same answer: True" in told
    assert "Excluded: Clara shared a value that is not a bit." in told
    assert "The claims of the release hold: True" in told
    counts = re.findall(
        r"^(\w[\w ]*?) +(-?\d+)  between (\d+) and (\d+)  \(true, known to nobody: (\d+)\)$", told, re.MULTILINE
    )
    assert len(counts) == 6
    # Standard error 6.1 of each count: five of them.
    assert all(abs(int(noisy) - int(true)) < 31 for _, noisy, _, _, true in counts)


def test_honest_hosts_end_with_a_release_each_and_a_charge_each(story):
    check_releases(story[0], ("St. Anna", "St. Bruno", "Doris"), "patients of {}", "1")


def test_a_run_that_costs_more_than_is_left_sends_nothing(story, monkeypatch, capsys):
    folder, _ = story
    with Ledger(folder / "Doris" / "ledger.sqlite") as book:
        book.charge("patients of Doris", PrivacyCost("something else", {"replace": LossBound(Fraction(1, 2))}))
    monkeypatch.setattr(sys, "argv", ["reticent", "noise", "party", "--config", str(folder / "Doris.toml")])
    assert run(app) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "The account of data set 'patients of Doris' cannot pay for joint histogram in session" in told
    assert "its epsilon runs out. It has epsilon 0.5 of 2" in told
    assert told.endswith("Nothing was sent.")
