"""A commit that adds a kind of release touches its package: ``python .ci/kinds.py BASE..HEAD``.

Looks at every commit of the range that adds a name to FORMATS in src/reticent/registry.py. It may change files of that kind, the registry, the generated face, tests and pages;
other paths are printed, and the exit code is 1. A line ``Touches: <path>, because ...`` in the commit's message allows one path.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from fnmatch import fnmatch

REGISTRY = "src/reticent/registry.py"
ALWAYS = (REGISTRY, "src/reticent/__init__.pyi", "tests/*", "docs/*", "CHANGELOG.md", "README.md")


def git(*arguments: str) -> str:
    """What git says."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def formats_in(source: str) -> dict[str, str]:
    """The formats that a registry lists, each with its module."""
    for node in ast.parse(source).body:
        if (
            isinstance(node, ast.AnnAssign)
            and ast.unparse(node.target) == "FORMATS"
            and isinstance(node.value, ast.Dict)
        ):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {ast.literal_eval(key): ast.literal_eval(home.args[0]) for key, home in pairs}
    return {}


def registry_at(commit: str) -> str:
    """The registry as a commit has it; nothing where it has none."""
    listed = git("ls-tree", "--name-only", commit, REGISTRY)
    return git("show", f"{commit}:{REGISTRY}") if listed.strip() else ""


def outside(commit: str) -> list[str]:
    """The paths that a commit which adds a format changes beyond the package of that format."""
    before, after = formats_in(registry_at(f"{commit}^")), formats_in(registry_at(commit))
    added = [module for name, module in after.items() if name not in before]
    if not before or not added:
        return []
    packages = [f"src/{module.rpartition('.')[0].replace('.', '/')}/*" for module in added]
    allowed = re.findall(r"^Touches: ([^,\s]+), because \S", git("show", "-s", "--format=%B", commit), re.M)
    changed = git("show", "--format=", "--name-only", "--no-renames", commit).split()
    return [path for path in changed if not any(fnmatch(path, each) for each in (*ALWAYS, *packages, *allowed))]


def main(commits: str) -> int:
    """Print what is wrong in a range of commits; how many commits are."""
    wrong = 0
    for commit in git("rev-list", "--reverse", "--no-merges", commits).split():
        paths = outside(commit)
        wrong += bool(paths)
        for path in paths:
            print(f"{commit[:10]} adds a format and touches {path}")
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(1 if main(sys.argv[1]) else 0)
