"""``reticent index``: a spatial index of a table, saved once and partitioned for any k."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import PolicyArgument, ReleaseArgument, add_group

if TYPE_CHECKING:
    from reticent.methods.bang import Bang, BangCut, BangIndex
    from reticent.policy import Policy

IndexArgument = Annotated[Path, typer.Argument(help="The folder of a saved index.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "index",
        "A spatial index of a table (method Bang): built once, then partitioned for any k.",
        {"build": build, "show": show, "cut": cut, "flat": flat},
    )


def build(
    policy: PolicyArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to save the index in. Keep it private.")],
    k: Annotated[
        int | None,
        typer.Option("--k", min=1, help="Minimum number of people per block: the smallest k that the index supports."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an older index.")] = False,
    as_json: Json = False,
) -> None:
    """Build the index of a policy's table and save it. Nothing is published or recorded.

    Example: reticent index build policy.toml -o people.index --k 5
    """
    from reticent.policy import Policy

    index_policy = Policy.read(policy)
    method = _method(index_policy, k)
    with working("Building the index ...", as_json) as context:
        index = method.build(index_policy.table(context=context), context)
        context.step("merging blocks")
        index.save(output, overwrite=force)
    sentence = f"Saved in {output}. Keep the folder private: it holds the distinct quasi-identifier combinations of the table with their counts."
    answer(PlainResult.saying(sentence, {"folder": output, **_index_figures(index)}), as_json)


def show(folder: IndexArgument, as_json: Json = False) -> None:
    """Describe a saved index: its table, settings and size. Its files are checked against their hashes.

    Example: reticent index show people.index
    """
    from reticent.methods.bang import open_index

    described = _index_figures(open_index(folder))
    words = {"points": "not stored: they exceed the memory limit", "sensitive": "none", "settings": "the defaults"}
    card = Card(f"Index {folder}", {name: value or words.get(name, value) for name, value in described.items()})
    answer(PlainResult({"folder": folder, **described}, card), as_json)


def cut(
    folder: IndexArgument,
    k: Annotated[int, typer.Option("--k", help="The minimum number of people per class.")],
    as_json: Json = False,
) -> None:
    """Show the classes that a saved index gives for k, and their information loss. Nothing is published or recorded.

    Example: reticent index cut people.index --k 40
    """
    from reticent.methods.bang import open_index

    class_figures = _cut(open_index(folder).draft(k))
    answer(
        PlainResult({"folder": folder, **class_figures}, Card(f"Classes of {folder} for k = {k}", class_figures)),
        as_json,
    )


def flat(
    release: ReleaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file to write.")],
    as_json: Json = False,
) -> None:
    """Write a release whose classes are nested regions as one flat table with a level column, for spreadsheets.

    Filter every column, then keep the rows with the highest level. Only the public files are used.

    Example: reticent index flat release -o flat.csv
    """
    from reticent.base.files import write_whole
    from reticent.methods.bang import flat_rows
    from reticent.release import open_public
    from reticent.table import csv_blocks

    rows = flat_rows(open_public(release))
    write_whole(output, csv_blocks(rows.schema, [rows]))
    sentence = f"{rows.height:,} rows in {output}: of the rows that match a person, those with the highest level describe that person's class."
    answer(PlainResult.saying(sentence, {"file": output, "rows": rows.height, "columns": rows.columns}), as_json)


def _method(policy: Policy, k: int | None) -> Bang:
    """Return the Bang method of the policy without a saved index, or one with default settings."""
    from dataclasses import replace

    from reticent.methods.bang import Bang

    policy_method = policy.named_method()
    method = replace(policy_method, index=None) if isinstance(policy_method, Bang) else Bang()
    return method if k is None else replace(method, minimum=k)


def _index_figures(index: BangIndex) -> dict[str, Any]:
    """Return the sizes, the columns and the settings of an index as plain data."""
    return {
        "rows": int(index.blocks.sizes.sum()),
        "points": len(index.units) if index.has_points else None,
        "blocks": len(index.directory),
        "minimum": index.minimum,
        "columns": [axis.hierarchy.column for axis in index.space.axes],
        "sensitive": [column.name for column in index.units.domain.columns],
        "settings": {name: value for name, value in index.method.describe().items() if name != "name"},
        "fingerprint": index.fingerprint,
    }


def _cut(bang_cut: BangCut) -> dict[str, Any]:
    """Return the figures of the classes for one k."""
    import numpy as np

    people, losses = bang_cut.groups.people, bang_cut.losses
    return {
        "k": bang_cut.k,
        "classes": bang_cut.count,
        "regions": len(bang_cut.published),
        "smallest": int(people.min()),
        "median": float(np.median(people)),
        "largest": int(people.max()),
        "loss": sum(losses.values()) / len(losses),
        "loss_by_column": losses,
    }
