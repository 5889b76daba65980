"""A flow for Prefect: gate the policy, publish, gate the release, verify. Run it with `python reticent_flow.py`, or serve it with a schedule.

Reticent runs as a program of its own environment: its packages and Prefect's need not fit together.
"""

import os
import subprocess
from datetime import UTC, datetime

from prefect import flow, task

RETICENT = os.environ.get("RETICENT", "reticent").split()
STUDY = os.environ.get("RETICENT_STUDY", "/srv/study")


class NotReleased(Exception):
    """A limit is not met, or a guarantee cannot be kept: trying again would not help."""


@task
def reticent(*words: str) -> None:
    quiet = subprocess.DEVNULL if words[0] == "publish" else None
    code = subprocess.run([*RETICENT, *words], cwd=STUDY, stdout=quiet).returncode
    if code:
        raise NotReleased(f"reticent {words[0]} exits with {code}")


@flow
def publish_visits(release: str) -> None:
    reticent("gate", "policy.toml", "--limits", "limits.toml", "--junit", "planned.xml")
    reticent("publish", "policy.toml", "-o", release, "--sign", "keys/publisher.key", "--json")
    reticent("gate", release, "--limits", "limits.toml", "--junit", "released.xml")
    reticent("verify", release, "--key", "keys/publisher.pub", "--json")


if __name__ == "__main__":
    publish_visits(f"release-{datetime.now(UTC):%Y%m%dT%H%M%S}")
