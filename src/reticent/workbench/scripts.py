"""Command line and Python script that publish a policy without the workbench."""

from __future__ import annotations

import shlex

from reticent.workbench.desk import ProjectView


def command_for(view: ProjectView, output: str = "release") -> str:
    """Return the shell command that publishes the policy."""
    return f"reticent publish {shlex.quote(str(view.project.policy_path))} -o {shlex.quote(output)}"


def script_for(view: ProjectView, output: str = "release") -> str:
    """Return the Python script that publishes the policy."""
    return (
        "import reticent as rt\n"
        "from reticent.policy import Policy, publish_policy\n\n"
        f"policy = Policy.read({str(view.project.policy_path)!r})\n"
        f"published = publish_policy(policy, {output!r})\n"
        "print(rt.verify(published.path))\n"
    )
