"""Assets for Dagster: a release of a study, with its gates as asset checks. Load it with `dagster dev -f reticent_assets.py`.

Reticent runs as a program of its own environment: its packages and Dagster's need not fit together.
"""

import json
import os
import subprocess

import dagster

RETICENT = os.environ.get("RETICENT", "reticent").split()
STUDY = os.environ.get("RETICENT_STUDY", "/srv/study")


def reticent(*words: str) -> dict:
    """The one object that the command prints; bad input and failures are errors, a limit that is not met is an answer."""
    done = subprocess.run([*RETICENT, *words, "--json"], cwd=STUDY, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    if done.returncode not in (0, 1):
        raise dagster.Failure(f"reticent {words[0]}: {answer['error']['kind']}", allow_retries=False)
    return answer


def gated(target: str) -> dict:
    found = reticent("gate", target, "--limits", "limits.toml")
    failed = [each for each in found["checks"] if each["status"] == "failed"]
    return {"passed": found["ok"], "metadata": {each["limit"]: each["detail"] for each in failed}}


@dagster.asset
def planned() -> None:
    """What the policy would publish is within the limits; nothing goes out before it is."""
    found = gated("policy.toml")
    if not found["passed"]:
        raise dagster.Failure(f"limits are not met: {found['metadata']}", allow_retries=False)


@dagster.asset(deps=[planned])
def release(context: dagster.AssetExecutionContext) -> str:
    """The signed release of this run."""
    folder = f"release-{context.run_id}"
    reticent("publish", "policy.toml", "-o", folder, "--sign", "keys/publisher.key")
    return folder


@dagster.asset_check(asset=release)
def within_limits(release: str) -> dagster.AssetCheckResult:
    return dagster.AssetCheckResult(**gated(release))


@dagster.asset_check(asset=release)
def verified(release: str) -> dagster.AssetCheckResult:
    return dagster.AssetCheckResult(passed=reticent("verify", release, "--key", "keys/publisher.pub")["holds"])


definitions = dagster.Definitions(assets=[planned, release], asset_checks=[within_limits, verified])

if __name__ == "__main__":
    run = dagster.materialize([planned, release, within_limits, verified])
    checks = run.get_asset_check_evaluations()
    assert run.success
    assert [each.passed for each in checks] == [True, True]
