"""The judging core on its own: exact arithmetic, the texts of numbers, and the CSV that it reads, compared with Python's."""

from __future__ import annotations

import hashlib
import io
import json
import math
import random
import struct
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.definitions.likeness import exceeds_logarithm
from reticent.definitions.logarithms import sign_of_logarithms
from reticent.table.blocks import as_csv
from reticent.worst_case import curve
from tests.verifier.agreement import NODE, PROGRAM

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def evaluate(script: str, given: Any) -> Any:
    """What a script of the core's modules prints, given some JSON as ``given``."""
    source = f"const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));(async () => {{ {script} }})();"
    core = (PROGRAM.parent / "core").as_uri()
    ran = subprocess.run(
        [str(NODE), "-e", source.replace("CORE", core)], input=json.dumps(given), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_sign_of_logarithms_is_python_s_ties_included() -> None:
    draw = random.Random(1)
    sums = [[[draw.randrange(1, 60), draw.randrange(-9, 10)] for _ in range(draw.randrange(1, 6))] for _ in range(300)]
    sums += [[[12, 3], [4, -3], [3, -3]], [[2**200, 1], [2, -200]], [[10**40 + 1, 1], [10**40, -1]]]
    script = """const { signOfLogarithms } = await import("CORE/exact.js");
console.log(JSON.stringify(given.map((sum) => signOfLogarithms(sum.map(([base, exponent]) => [BigInt(base), BigInt(exponent)])))));"""
    written = [[[str(base), exponent] for base, exponent in each] for each in sums]
    assert evaluate(script, written) == [sign_of_logarithms(map(tuple, each)) for each in sums]


def test_logarithms_of_fractions_are_compared_at_rising_precision() -> None:
    near = Fraction(math.log(3)).limit_denominator(10**30)
    cases = [(near, Fraction(3)), (near + Fraction(1, 10**40), Fraction(3)), (Fraction(1, 2), Fraction(7, 4)), (Fraction(0), Fraction(1)), (Fraction(11, 20), Fraction(1739, 1000))]  # fmt: skip
    script = """const { exact, exceedsLogarithm } = await import("CORE/exact.js");
console.log(JSON.stringify(given.map(([value, argument]) => exceedsLogarithm(exact(value), exact(argument)))));"""
    given = [[str(value), str(argument)] for value, argument in cases]
    assert evaluate(script, given) == [exceeds_logarithm(*each) for each in cases]


def test_numbers_are_written_as_labels_are() -> None:
    draw = random.Random(2)
    numbers = [struct.unpack(">d", draw.randbytes(8))[0] for _ in range(500)]
    numbers = [each for each in numbers if math.isfinite(each)] + [1e15, 1e16, 1e-5, 9.99e-6, 0.1, 5e-324, 123456.0]
    script = """const { realText } = await import("CORE/values.js");
console.log(JSON.stringify(given.map(realText)));"""
    assert evaluate(script, numbers) == pl.Series(numbers).cast(pl.String).to_list()


def test_the_worst_facts_are_those_of_the_definition() -> None:
    draw = random.Random(3)
    cases = []
    for _ in range(60):
        tables = [tuple(draw.choices(range(1, 5), k=draw.randrange(2, 5))) for _ in range(draw.randrange(1, 4))]
        cases.append((tables, draw.randrange(0, 4)))
    script = """const { largestDisclosure } = await import("CORE/worst_case.js");
const slices = (tables) => tables.map((counts) => ({ size: counts.reduce((a, b) => a + b, 0), counts: new Map(counts.map((each, at) => [at, each])) }));
console.log(JSON.stringify(given.map(([tables, k]) => String(largestDisclosure(slices(tables), k)))));"""
    assert evaluate(script, cases) == [str(curve(tables, k)[k]) for tables, k in cases]


def test_csv_comes_back_as_it_was_written(tmp_path: Path) -> None:
    texts = ["a", "", None, "=1+1", "'=x", "a,b", 'say "hi"', "two\nlines", " x", "é", "😀", "-5", "-2+3", "null"]
    frame = pl.DataFrame({"t": texts, "n": [None, *range(len(texts) - 1)], "r": [0.5, None, *[1e-7] * 12]})
    script = """const { readTable } = await import("CORE/tables.js");
const columns = [["t", "text"], ["n", "integer"], ["r", "real"]].map(([name, type]) => ({ name, type, role: "sensitive", published: null }));
const manifest = { tables: new Map([["data", { files: ["data.csv"], columns: ["t", "n", "r"], formulas: ["t"] }]]), column: (name) => columns.find((each) => each.name === name) };
const files = new Map([["data.csv", { bytes: async () => new TextEncoder().encode(given) }]]);
const table = await readTable("data", manifest, files, {});
const rows = [];
table.times.forEach((many, run) => { for (let copy = 0; copy < many; copy++) rows.push(["t", "n", "r"].map((name) => table.value(name, run))); });
console.log(JSON.stringify(rows));"""
    expected = [list(row) for row in frame.with_columns(pl.col("n", "r").cast(pl.String)).iter_rows()]
    assert evaluate(script, as_csv(frame).decode()) == expected
    assert pl.read_csv(io.BytesIO(as_csv(frame))).height == frame.height


def test_vendored_readers_are_as_they_were_published() -> None:
    vendor = PROGRAM.parent / "vendor"
    listed = dict(reversed(line.split(maxsplit=1)) for line in (vendor / "HASHES").read_text().splitlines())
    found = {
        str(path.relative_to(vendor)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("hyparquet", "fzstd")
        for path in (vendor / folder).iterdir()
    }
    assert found == listed
