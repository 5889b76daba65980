"""Command line and Python script that publish a version of a policy without the workbench."""

from __future__ import annotations

import shlex
from pathlib import Path

from reticent.workbench.desk import ProjectView


def command_for(view: ProjectView, output: str = "release") -> str:
    """Return the shell command that publishes the policy at the version shown.

    Paths in a policy are relative to its folder, so an earlier version is copied beside the current one first.
    """
    policy, before = view.project.policy_path, ""
    if view.version and not view.is_head:
        policy = view.project.folder / f"policy-{view.version}.toml"
        before = f"cp {_quoted(view.project.version_path(view.version))} {_quoted(policy)} && "
    return f"{before}reticent publish {_quoted(policy)} -o {shlex.quote(output)}"


def script_for(view: ProjectView, output: str = "release") -> str:
    """Return the Python script that publishes the policy at the version shown."""
    path, folder = view.project.policy_path, view.project.folder
    head = "import reticent as rt\nfrom reticent.policy import Policy, publish_policy\n\n"
    loaded = f"policy = Policy.read({str(path)!r})\n"
    if view.version and not view.is_head:
        head = f"from pathlib import Path\n\n{head}"
        text = f"Path({str(view.project.version_path(view.version))!r}).read_text('utf-8')"
        loaded = f"policy = Policy.parse({text}, folder={str(folder)!r})\n"
    return f"{head}{loaded}published = publish_policy(policy, {output!r})\nprint(rt.verify(published.path))\n"


def _quoted(path: Path) -> str:
    """Return a path for the shell, short if it is in the user's home folder."""
    home = Path.home()
    return f"~/{shlex.quote(str(path.relative_to(home)))}" if path.is_relative_to(home) else shlex.quote(str(path))
