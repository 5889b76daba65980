"""What a command of ``reticent knowledge`` is about, read from its arguments: the table or release, levels, facts, certainty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

    from reticent.data import Table
    from reticent.knowledge.subject import Subject
    from reticent.release import PublicSide

_MOST_FACTS = 10_000


def table_or_release(
    source: str, quasi: list[str] | None, sensitive: str | None, key: str | None
) -> Table | PublicSide:
    """The table or the public side of the release that ``source`` names."""
    from reticent.errors import PolicyError
    from reticent.policy import Policy, read

    if Path(source).is_dir():
        from reticent.release import open_public

        return open_public(source)
    if source.endswith(".toml"):
        policy = Policy.read(source)
        overrides: dict[str, Any] = {}
        if quasi:
            overrides["quasi"] = {name: policy.hierarchies.get(name) for name in quasi}
        if sensitive:
            overrides["sensitive"] = {sensitive: policy.hierarchies.get(sensitive)}
        if key:
            overrides["key"] = key
        return read(policy=policy, **overrides)
    if not quasi or not sensitive:
        raise PolicyError(
            f"{source} is no policy and no release, so say what others may know and what is sensitive: --quasi age "
            f"--sensitive disease. Or let `reticent inspect {source}` propose a policy."
        )
    return read(source, quasi=quasi, sensitive=sensitive, key=key)


def subject_of(
    source: str, quasi: list[str] | None, sensitive: str | None, level: list[str] | None
) -> tuple[Subject, Table | PublicSide]:
    from reticent.data import Table
    from reticent.errors import PolicyError
    from reticent.knowledge.subject import Subject

    given = table_or_release(source, quasi, sensitive, None)
    if isinstance(given, Table):
        return Subject.of(given, levels_of(level), sensitive), given
    if level or quasi:
        raise PolicyError("A release is measured as it was published: leave out --level and --quasi.")
    return Subject.of(given, column=sensitive), given


def levels_of(level: list[str] | None) -> dict[str, int]:
    from reticent.errors import PolicyError

    found = {}
    for each in level or []:
        name, _, number = each.rpartition("=")
        if not name or not number.isdecimal():
            raise PolicyError(f"--level must look like age=3, but it is {each!r}.")
        found[name] = int(number)
    return found


def most_facts(k: str) -> int:
    """The largest number of facts in ``3`` or ``0..10``."""
    from reticent.errors import PolicyError

    low, dots, high = k.partition("..")
    if not low.strip().isdecimal() or (dots and (not high.strip().isdecimal() or int(low) != 0)):
        raise PolicyError(f"--k must be a number of facts such as 3, or a range from 0 such as 0..10, but it is {k!r}.")
    most = int(high if dots else low)
    if most > _MOST_FACTS:
        raise PolicyError(f"--k must be at most {_MOST_FACTS:,}: nobody is told apart by so many facts, but it is {k}.")
    return most


def threshold_of(c: str | None, source: str) -> Fraction | None:
    """The certainty that was asked about, or that the policy promises not to reach."""
    from reticent.worst_case import as_probability

    if c is not None:
        return as_probability(c)
    if not source.endswith(".toml"):
        return None
    from reticent.definitions import WorstCaseKnowledge
    from reticent.policy import Policy

    promised = [each for each in Policy.read(source).definitions if isinstance(each, WorstCaseKnowledge)]
    return min((each.threshold for each in promised), default=None)


def private_lists(source: str) -> dict[str, Any]:
    """The steward's lists of people, where the folder of a release still has its private side."""
    import polars as pl

    folder = Path(source) / "private"
    files = {name: folder / f"{name}.parquet" for name in ("people", "pseudonyms")}
    return {name: pl.read_parquet(file) for name, file in files.items() if file.is_file()}


def arrivals(add: str | None, source: str) -> tuple[Any, int]:
    """The new rows, recoded where they join a release, and how many fall outside its groups."""
    from reticent.data import Source as DataSource

    if add is None:
        return None, 0
    rows = DataSource(add).read(None)
    if not Path(source).is_dir():
        return rows, 0
    from reticent.release import apply

    recoded = apply(source, rows, unseen="suppress")
    return recoded, rows.height - recoded.height
