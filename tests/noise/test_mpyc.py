"""The law of joint noise beside the same circuits in MPyC, a library of its own (passive corruption only)."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from reticent.noise.laws import ExponentialLaw

pytest.importorskip("mpyc")

PROGRAM = """
import json, sys
from mpyc.runtime import mpc

async def main():
    sums, coins, precision, thresholds = json.loads(sys.argv[1])
    number = mpc.SecInt(16)
    await mpc.start()
    tossed = mpc.random_bits(number, sums * coins)
    heads = [mpc.sum(tossed[k * coins : (k + 1) * coins]) - coins // 2 for k in range(sums)]
    bits = iter(mpc.random_bits(number, 2 * sums * len(thresholds) * precision))
    noise = []
    for _ in range(sums):
        geometric = []
        for _ in range(2):
            total = number(0)
            for place, threshold in enumerate(thresholds):
                drawn = number(0)
                for _ in range(precision):
                    drawn = 2 * drawn + next(bits)
                total = total + (1 << place) * (drawn <= threshold)
            geometric.append(total)
        noise.append(geometric[0] - geometric[1])
    found = [[int(each) for each in await mpc.output(numbers)] for numbers in (heads, noise)]
    await mpc.shutdown()
    if mpc.pid == 0:
        print(json.dumps(found))

mpc.run(main())
"""


@pytest.mark.parametrize("parties", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_noise_of_the_same_circuits_in_mpyc_has_the_laws_of_the_plan(parties, tmp_path):
    """Chi-square of what MPyC computes against the weights that our runs are tested against (``test_protocol``)."""
    law = ExponentialLaw(Fraction(1), 2, 3)
    sums = 100
    asked = json.dumps([sums, 8, 3, [one - 1 for one in law.ones]])
    # MPyC starts the other parties by calling the same file again.
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, "utf-8")
    done = subprocess.run(
        [sys.executable, str(program), asked, f"-M{parties}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    heads, noise = json.loads(done.stdout.splitlines()[-1])
    for found, weights in ((heads, [comb(8, k) for k in range(9)]), (noise, list(law.weights()))):
        expected = np.array([float(each) for each in weights]) / float(sum(weights)) * sums
        counts = np.bincount(np.array(found) + len(weights) // 2, minlength=len(weights))
        middle = expected >= 5
        statistic = ((counts - expected)[middle] ** 2 / expected[middle]).sum()
        assert statistic < middle.sum() + 5 * np.sqrt(2 * middle.sum())
