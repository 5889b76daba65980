"""``python -m benchmarks [module [arguments]]``: run one benchmark, or all of them one after the other."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.adult import SHARED

MODULES = (
    "search",
    "local",
    "gaps",
    "bang",
    "suppression",
    "clustering",
    "buckets",
    "assessing",
    "knowledge",
    "known_columns",
    "views",
    "randomize",
    "audit",
    "audit_service",
    "process",
    "tiny",
    "big",
    "command",
    "first_hour",
    "real_files",
    "regressions",
    "querying",
    "noise",
    "grid",
    "synthesize",
    "marginals",
    "republish",
    "series_audit",
    "browser",
    "workbench",
)


def main() -> int:
    if not SHARED.is_dir():
        print(f"The benchmark data are not at {SHARED}.")
        return 1
    chosen = sys.argv[1:2] or MODULES
    for name in chosen:
        import_module(f"benchmarks.{name}").main(*sys.argv[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
