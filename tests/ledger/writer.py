"""A process that writes to a ledger without end and says on its output what it was told is recorded. Tests kill it."""

import sys

from reticent.base.disclosures import unjudged
from reticent.ledger import Ledger


def main(path: str, name: str) -> None:
    with Ledger(path) as ledger:
        number = 0
        while True:
            content = f"{name}-{number}"
            entry = ledger.record("people", content, lambda entry: f"certificate of {entry.number}", beside=unjudged)
            print("release", content, entry.number, flush=True)
            ledger.answers.record("people", "sum", content, "answer", str(number))
            print("answer", content, number, flush=True)
            ledger.spend("people", "epsilon", "1/7", content, column="age", beside=unjudged)
            print("spend", content, number, flush=True)
            number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
