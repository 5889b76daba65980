"""Canonical JSON: the bytes that are hashed and signed are those of RFC 8785, which node reproduces."""

from __future__ import annotations

import hashlib
import json
import math
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, LedgerError
from reticent.ledger import Ledger
from reticent.release import certificate_hash
from reticent.release.canonical_json import canonical, former_json, readable
from reticent.release.certificate import content_hash

# Appendix B of RFC 8785: the bits of a double, and how it is written.
NUMBERS = {
    "0000000000000000": "0", "8000000000000000": "0", "0000000000000001": "5e-324", "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308", "ffefffffffffffff": "-1.7976931348623157e+308", "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992", "4430000000000000": "295147905179352830000", "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23", "44b52d02c7e14af7": "1.0000000000000001e+23", "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000", "444b1ae4d6e2ef50": "1e+21", "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001", "41b3de4355555553": "333333333.3333332", "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333", "43143ff3c1cb0959": "1424953923781206.2",
}  # fmt: skip


@pytest.mark.parametrize(("bits", "written"), NUMBERS.items())
def test_numbers_are_written_as_ecmascript_does(bits: str, written: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == written.encode()


def test_keys_are_in_the_order_of_utf_16_code_units() -> None:
    """The example of RFC 8785, section 3.2.3: an emoji stands before a Hebrew presentation form, though its code point is larger."""
    keys = ["€", "\r", "\ufb33", "1", "😀", "\u0080", "ö"]
    order = ["\r", "1", "\u0080", "ö", "€", "😀", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys, 1)))) == order
    assert list(json.loads(readable(dict.fromkeys(keys, 1)))) == order


@pytest.mark.parametrize("wrong", [2**53, -(2**53), math.nan, math.inf, "\ud800", {"\udfff": 1}])
def test_what_has_no_canonical_form_is_refused(wrong: Any) -> None:
    for write in (canonical, readable):
        with pytest.raises(DataError, match="canonical form"):
            write({"a": [wrong]})


def test_readable_json_is_canonical_json_on_several_lines() -> None:
    value = {"b": [1.0, 0.1, [], {}], "a": {"😀": None, "\ufb33": True}, "c": "é\n"}
    assert readable(value).decode() == (
        '{\n  "a": {\n    "😀": null,\n    "\ufb33": true\n  },\n  "b": [\n    1,\n    0.1,\n    [],\n    {}\n  ],\n  "c": "é\\n"\n}\n'
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_writes_the_same_bytes(tmp_path: Path) -> None:
    draw = random.Random(1)
    texts = ["a", "é", '\n"\\\x07', "😀", "\uffff", "\ufb33", "10", "9", ""]

    def made(depth: int) -> Any:
        match draw.randrange(8 if depth else 5):
            case 0:
                return draw.choice([None, True, False])
            case 1:
                return draw.randrange(-(2**53) + 1, 2**53)
            case 2 | 3:
                number = struct.unpack(">d", draw.randbytes(8))[0]
                return number if math.isfinite(number) else 0.5
            case 4:
                return "".join(draw.choices(texts, k=3))
            case 5:
                return [made(depth - 1) for _ in range(draw.randrange(4))]
            case _:
                return {"".join(draw.choices(texts, k=2)): made(depth - 1) for _ in range(draw.randrange(5))}

    values = [made(4) for _ in range(400)]
    given = tmp_path / "values.json"
    given.write_text(json.dumps(values))
    script = """
const write = (v) => v === null || typeof v !== "object" ? JSON.stringify(v) : Array.isArray(v) ? "[" + v.map(write).join(",") + "]"
  : "{" + Object.keys(v).sort().map((k) => JSON.stringify(k) + ":" + write(v[k])).join(",") + "}";
process.stdout.write(write(JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))));
"""
    found = subprocess.run(["node", "-e", script, str(given)], capture_output=True, check=True)
    assert found.stdout == canonical(values)


def floats(dataset: str | None = None) -> rt.Table:
    frame = pl.DataFrame({"size": [1.0, 1.5, 2.0, 2.5] * 5, "s": ["a", "b", "c", "d", "e"] * 4})
    return rt.Table(frame, quasi=["size"], sensitive="s", dataset=dataset)


def test_a_release_of_layout_3_keeps_its_number(ledger_file: Path) -> None:
    """Numbers are hashed as RFC 8785 writes them; the ledger still knows releases that were hashed as Python writes them."""
    drafted = rt.publish(floats(), rt.KAnonymity(3))
    rows = drafted._spool.row_hashes()
    earlier, now = (
        content_hash(drafted.certificate, drafted.manifest, rows, write) for write in (former_json, canonical)
    )
    assert earlier != now
    with Ledger(ledger_file) as ledger:
        ledger.record("sizes", earlier, lambda entry: "certificate")
    assert rt.publish(floats("sizes"), rt.KAnonymity(3)).entry.number == 1
    with pytest.raises(LedgerError, match="released already"):
        rt.publish(floats("sizes"), rt.KAnonymity(2))


def test_whole_numbers_of_a_real_column_are_read_back(tmp_path: Path) -> None:
    folder = rt.publish(floats(), rt.KAnonymity(3)).save(tmp_path / "release")
    labels = json.loads((folder / "public" / "manifest.json").read_text())["columns"][0]["labels"]
    assert '"value": 1\n' in (folder / "public" / "manifest.json").read_text()
    assert set(labels) == {"1.0", "1.5", "2.0", "2.5"}
    assert rt.verify(folder).holds


@pytest.mark.parametrize("number", ["9007199254740993", "1e400", "-9007199254740993"])
def test_a_certificate_with_a_number_beyond_json_is_refused(number: str, tmp_path: Path) -> None:
    folder = rt.publish(floats(), rt.KAnonymity(3)).save(tmp_path / "release")
    path = folder / "public" / "certificate.json"
    path.write_text(path.read_text().replace('"bytes": ', f'"bytes": {number}', 1))
    (failure,) = rt.verify(folder).failures
    assert failure.name == "certificate"


def test_the_hash_of_a_certificate_is_that_of_its_canonical_form(tmp_path: Path) -> None:
    release = rt.publish(floats(), rt.KAnonymity(3))
    folder = release.save(tmp_path / "release")
    said = json.loads((folder / "public" / "certificate.json").read_bytes())
    assert certificate_hash(said) == hashlib.sha256(canonical(said)).hexdigest()


def test_whole_numbers_beyond_2_to_the_53_of_a_real_column_are_read_back(tmp_path: Path) -> None:
    """They are written without an exponent, as integers are; claims that compare carry them in the certificate as well."""
    frame = pl.DataFrame({"age": [1, 2] * 6, "size": [1e17, 2.5e18, 0.5] * 4})
    table = rt.Table(frame, quasi=["age"], sensitive="size")
    folder = rt.publish(table, rt.TCloseness("1/2")).save(tmp_path / "release")
    assert "100000000000000000\n" in (folder / "public" / "certificate.json").read_text().replace(",", "")
    assert rt.verify(folder).holds
