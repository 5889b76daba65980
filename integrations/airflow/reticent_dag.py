"""A DAG for Airflow: gate the policy, publish, gate the release, verify. Copy it to the dags folder and set the three constants.

Reticent runs as a program of its own environment: its packages and Airflow's need not fit together. Exit code 1 (a limit is not met) fails the task
without a retry, because it would fail again.
"""

import os
import subprocess
from datetime import datetime

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

RETICENT = os.environ.get("RETICENT", "reticent").split()
STUDY = os.environ.get("RETICENT_STUDY", "/srv/study")
RELEASE = "release-{}"


def reticent(*words: str) -> None:
    done = subprocess.run([*RETICENT, *words], cwd=STUDY, stdout=subprocess.DEVNULL if words[0] == "publish" else None)
    if done.returncode == 1:
        raise AirflowFailException(f"reticent {words[0]}: a limit is not met, or a guarantee cannot be kept")
    done.check_returncode()


@dag(schedule="@monthly", start_date=datetime(2026, 1, 1), catchup=False, tags=["privacy"])
def publish_visits():
    @task
    def gate_policy() -> None:
        reticent("gate", "policy.toml", "--limits", "limits.toml", "--junit", "planned.xml")

    @task
    def publish(run_id=None) -> str:
        release = RELEASE.format("".join(each if each.isalnum() else "-" for each in run_id))
        reticent("publish", "policy.toml", "-o", release, "--sign", "keys/publisher.key", "--json")
        return release

    @task
    def gate_release(release: str) -> str:
        reticent("gate", release, "--limits", "limits.toml", "--junit", "released.xml")
        return release

    @task
    def verify(release: str) -> None:
        reticent("verify", release, "--key", "keys/publisher.pub", "--json")

    published = publish()
    gate_policy() >> published
    verify(gate_release(published))


visits = publish_visits()

if __name__ == "__main__":
    visits.test()
