"""A hospital that lies: it runs the same program, but what it sends is not what the protocol says.

Usage: python lying_hospital.py CONFIG FAULT, where FAULT is one of ``reticent.noise.BEHAVIOURS``.
"""

from __future__ import annotations

import sys

from reticent.errors import ReticentError
from reticent.methods.counts.deployment import PartyConfig
from reticent.noise import run_party

if __name__ == "__main__":
    config = PartyConfig.read(sys.argv[1])
    values, _ = config.values()
    try:
        run_party(config.settings, values, behaviour=sys.argv[2])
    except ReticentError as error:
        print(f"{config.me} gave up: {error}", file=sys.stderr)
