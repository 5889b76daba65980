"""A process that publishes and saves the same release again and again, saying so on its output. Tests kill it."""

import sys
from pathlib import Path

from reticent.definitions import KAnonymity
from reticent.release import publish
from tests.release.conftest import table_of_patients


def main(folder: str) -> None:
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    print("ready", flush=True)
    while True:
        release.save(Path(folder) / "release", overwrite=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
