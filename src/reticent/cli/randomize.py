"""``reticent randomize``: plan, publish, estimate, audit, compare and republish randomized views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from reticent.base.cards import Card, CardTable, PlainResult, tone_of
from reticent.cli.console import Json, answer, working
from reticent.cli.options import DatasetOption, LedgerOption, ReadingOptions, SeedOption, SignOption, add_group
from reticent.cli.verify import verify
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reticent.methods.randomize import Plan, ViewDomain

Domain = Annotated[
    Path,
    typer.Option(
        "--domain", help="The public domain (.toml or .json): a number, a list or {from, to} for each column."
    ),
]
Values = Annotated[
    Path | None, typer.Option("--domain", help="The values of every column, if the plan has only their counts.")
]
PublicNumber = Annotated[int, typer.Option("--n", help="The public number of records.")]
PlanFile = Annotated[Path, typer.Option("--plan", help="The plan (.json).")]
Duplicates = Annotated[
    str, typer.Option(help="How repeated rows are treated: refuse, dedupe, or count (needs a plan with --count).")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "randomize",
        "Randomized views: every record is deniable, and counts can be estimated.",
        {
            "plan": plan,
            "publish": publish,
            "estimate": estimate,
            "audit": audit,
            "compare": compare,
            "republish": republish,
            "verify": verify,
            "chart": chart,
        },
    )


def plan(
    domain: Domain,
    n: PublicNumber,
    k: Annotated[str | None, typer.Option("--k", help="The prior belief, in multiples of the average density.")] = None,
    d: Annotated[str | None, typer.Option("--d", help="The prior belief, as a probability (instead of --k).")] = None,
    gamma: Annotated[str, typer.Option(help="The largest posterior belief that is allowed.")] = "1/5",
    preset: Annotated[str, typer.Option(help="tight, max-utility, paper or floor.")] = "tight",
    floor: Annotated[
        str | None, typer.Option(help="With --preset floor: the minimum ratio of posterior to prior.")
    ] = None,
    adversary: Annotated[str, typer.Option(help="independent, exclusive (record linkage) or both.")] = "independent",
    views: Annotated[int, typer.Option(help="How many views will be published in all.")] = 1,
    frozen: Annotated[bool, typer.Option("--frozen", help="With --views: the data never change.")] = False,
    n_public: Annotated[
        int | None, typer.Option("--n-public", help="A rounded upper bound to publish instead of n.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="Add a column with the multiplicity of each record, capped at this.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="A public distribution of the noise records (.toml or .json): weights for each column."),
    ] = None,
    rho: Annotated[str | None, typer.Option(help="The required error constant, at least 1.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the plan to this file (.json).")] = None,
    as_json: Json = False,
) -> None:
    """Plan a view from public facts, before the data are read.

    Example: reticent randomize plan --n 30162 --domain adult.toml --k 10 --gamma 1/5 -o plan.json
    """
    import json

    from reticent.base.files import write_whole
    from reticent.methods.randomize import plan as make

    planned = make(
        n, read_domain(domain), k, gamma, preset, adversary, views,  # type: ignore[arg-type]  # checked by the planner
        d=d, floor=floor, frozen=frozen, n_public=n_public, count=count, rho=rho,
        source=None if source is None else read_settings(source),
    )  # fmt: skip
    if output is not None:
        write_whole(output, json.dumps(planned.as_json(), indent=2, ensure_ascii=False).encode() + b"\n")
    answer(planned, as_json)


def publish(
    data: Annotated[Path, typer.Argument(help="The data: any file that `reticent inspect` reads.")],
    reading: ReadingOptions,
    plan_file: PlanFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the view.")],
    domain: Values = None,
    dataset: DatasetOption = None,
    duplicates: Duplicates = "refuse",
    files: Annotated[str, typer.Option(help="csv, parquet, xlsx, sav, dta or xpt.")] = "csv",
    ledger: LedgerOption = None,
    again: Annotated[bool, typer.Option("--again", help="Allow another release of the same data set.")] = False,
    sign: SignOption = None,
    insecure_seed: SeedOption = None,
    as_json: Json = False,
) -> None:
    """Publish a view by a plan. It is recorded in the ledger first, and written in chunks.

    Example: reticent randomize publish scores.csv --plan plan.json -o view --dataset scores
    """
    from reticent.io import read_frame
    from reticent.methods.randomize import publish_to

    planned = read_plan(plan_file)
    with working("Sampling the view ...", as_json) as context:
        rows = publish_to(
            read_frame(data, **reading.said()), planned, output, read_domain(domain) if domain else None, dataset,
            duplicates=duplicates, files=cast(Any, files), ledger=ledger, again=again, insecure_seed=insecure_seed,
            signing_key=sign, context=context,
        )  # fmt: skip
    rates = {"alpha": planned.alpha, "beta": planned.beta, "worst_posterior": planned.worst_posterior}
    warning = "Without --dataset the ledger cannot refuse a second view; two views together disclose records."
    sentence, notes = f"Published {rows:,} rows to {output}.", [] if dataset else [warning]
    answer(PlainResult.saying(sentence, {"path": output, "rows": rows, **rates}, notes=notes), as_json)


def estimate(
    view: Annotated[
        list[Path],
        typer.Argument(help="The folder of the view; for a series all folders in order, then the condition."),
    ],
    condition: Annotated[str, typer.Argument(help='A condition as in SQL, such as "score < 3*age".')],
    error: Annotated[str | None, typer.Option(help="The probability that the interval misses the true value.")] = None,
    queries: Annotated[int, typer.Option(help="How many intervals must hold simultaneously.")] = 1,
    total: Annotated[str | None, typer.Option("--sum", help="Sum this column instead of counting.")] = None,
    average: Annotated[str | None, typer.Option("--average", help="Average this column instead of counting.")] = None,
    group_by: Annotated[
        list[str] | None, typer.Option("--group-by", help="One estimate per value of this column; repeat for several.")
    ] = None,
    within: Annotated[
        Path | None, typer.Option(help="Only records that match a row of this public table (.csv or .parquet).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate a count, a sum or an average of the original table from a view.

    Example: reticent randomize estimate view "score < 3*age and nationality = 'Indian'"
    """
    from reticent.conditions import Condition
    from reticent.io import read_frame
    from reticent.methods.randomize import open_published, read_views

    if sum(map(bool, (total, average, group_by))) > 1:
        raise PolicyError("Pass only one of --sum, --average and --group-by (which counts).")
    parsed = Condition.parse(condition) if within is None else Condition.parse(condition).within(read_frame(within))
    opened = open_published(view[0]) if len(view) == 1 else read_views(view)[-1]
    if group_by:
        frame = opened.group_by(group_by, parsed, error=error, queries=queries)
        card = Card("Estimates", tables=[CardTable(frame.columns, frame.rows())])
        answer(PlainResult({"groups": frame.to_dicts()}, card), as_json)
        return
    if total is not None:
        answered = opened.sum(total, parsed, error=error)
    elif average is not None:
        answered = opened.average(average, parsed, error=error)
    else:
        answered = opened.estimate(parsed, error=error, queries=queries)
    answer(answered, as_json)


def audit(
    view: Annotated[Path, typer.Argument(help="The folder of the view.")],
    records: Annotated[
        list[str],
        typer.Option("--tuple", help='A record as JSON, such as \'{"age": 25, "score": 99}\'; several make a block.'),
    ],
    priors: Annotated[
        list[str], typer.Option("--prior", help="The prior belief in the record; one for each record of a block.")
    ],
    as_json: Json = False,
) -> None:
    """Compute the exact posterior of an adversary who sees a view: for a record, or for a block of records of which
    exactly one is true.

    Example: reticent randomize audit view --tuple '{"age": 25, "nationality": "British", "score": 99}' --prior 1/200
    """
    from reticent.base.documents import parse_json
    from reticent.methods.randomize import audit_block, audit_tuple, open_view

    try:
        tuples = [parse_json(text) for text in records]
    except ValueError as error:
        raise PolicyError(f"--tuple must be a JSON object: {error}.") from None
    opened = open_view(view)
    if len(tuples) == 1 and len(priors) == 1:
        posterior = audit_tuple(opened, tuples[0], priors[0])
    else:
        posterior = audit_block(opened, tuples, priors)
    ok = posterior.get("holds") is not False
    answer(PlainResult(posterior, Card("The belief after the view", posterior, tone_of(ok)), ok), as_json)


def compare(
    plan_file: PlanFile,
    as_json: Json = False,
) -> None:
    """Compare a plan with FRAPP at the same privacy.

    Example: reticent randomize compare --plan plan.json
    """
    from reticent.methods.randomize import error_constants, kept_share

    planned = read_plan(plan_file)
    constants = error_constants(planned.k, planned.gamma, planned.error)
    figures = {
        "kept_share": kept_share(planned.k, planned.gamma),
        "rho": planned.rho,
        **constants,
        "times_better": constants["rho2"] / planned.rho,
    }
    answer(PlainResult(figures, Card("The plan compared with FRAPP", figures)), as_json)


def republish(
    data: Annotated[Path, typer.Argument(help="The current data: any file that `reticent inspect` reads.")],
    reading: ReadingOptions,
    series: Annotated[Path, typer.Option("--series", help="The folder of the series.")],
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="The plan (.json); needed for the first view only.")
    ] = None,
    domain: Values = None,
    dataset: DatasetOption = None,
    duplicates: Duplicates = "refuse",
    ledger: LedgerOption = None,
    insecure_seed: SeedOption = None,
    as_json: Json = False,
) -> None:
    """Publish the next view of a series; a view beyond the planned number is refused.

    Example: reticent randomize republish scores.csv --series views --plan plan.json
    """
    from reticent.io import read_frame
    from reticent.ledger import withdrawn_if_unsaved
    from reticent.methods.randomize import Series

    if (series / "series.json").exists():
        opened = Series.open(series)
        if plan_file is not None and _rates(read_plan(plan_file)) != _rates(opened.plan):
            raise PolicyError(
                f"The series in {str(series)!r} was started by another plan, which holds for all of its views. Leave --plan out, or start a new series."
            )
    elif plan_file is None:
        raise PolicyError(f"{str(series)!r} holds no series yet. Start one with --plan.")
    else:
        opened = Series(read_plan(plan_file))
    with working("Sampling the view ...", as_json) as context:
        grown = opened.publish(
            read_frame(data, **reading.said()), dataset, domain=read_domain(domain) if domain else None,
            duplicates=duplicates, ledger=ledger, insecure_seed=insecure_seed, context=context,
        )  # fmt: skip
    last = grown.views[-1]
    written = series / f"view-{last.manifest.index}"
    with withdrawn_if_unsaved(last.release.entry, written):
        grown.save(series)
    index, views = last.manifest.index, grown.plan.views
    figures = {"index": index, "views": views, "rows": len(last), "path": written}
    answer(PlainResult.saying(f"View {index} of {views}: {len(last):,} rows.", figures), as_json)


def chart(
    domain: Domain,
    n: PublicNumber,
    output: Annotated[Path, typer.Option("--output", "-o", help="The image file (.svg).")],
    k: Annotated[str, typer.Option("--k", help="The prior belief, in multiples of the average density.")] = "10",
    as_json: Json = False,
) -> None:
    """Plot error against gamma for the presets and FRAPP, with the region that no method can reach.

    Example: reticent randomize chart --n 30162 --domain adult.toml -o errors.svg
    """
    from reticent.methods.randomize import draw_chart, errors_by_gamma, red_zone

    space = read_domain(domain)
    frame = errors_by_gamma(n, space, k)
    draw_chart(frame, output, n=n, impossible_below=red_zone(n, space, k))
    answer(PlainResult.saying(f"Drew {output}.", {"path": output, "points": frame.to_dicts()}), as_json)


def read_domain(path: Path) -> ViewDomain:
    """Return the domain that a file declares, with or without an enclosing ``[domain]`` table."""
    from reticent.methods.randomize import ViewDomain

    settings = read_settings(path)
    if not isinstance(settings.get("domain", settings), dict):
        raise PolicyError(f"{path} must map every column to its values.")
    return ViewDomain.from_json(settings.get("domain", settings))


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings per column of a file (.json, else TOML)."""
    from reticent.base.documents import parse_toml

    settings = _read(path) if path.suffix == ".json" else _read(path, parse_toml)
    if not isinstance(settings, dict):
        raise PolicyError(f"{path} must map every column to its values.")
    return settings


def read_plan(path: Path) -> Plan:
    """Return the plan in a file."""
    from reticent.methods.randomize import Plan

    written = _read(path)
    if not isinstance(written, dict):
        raise PolicyError(
            f"{path} holds no plan: it must be one JSON object, as 'reticent randomize plan -o' writes it."
        )
    return Plan.from_json(written)


def _read(path: Path, loads: Callable[[str], Any] | None = None) -> Any:
    """Parse a settings file, as JSON by default."""
    from reticent.base.documents import parse_json, read_document

    try:
        return (loads or parse_json)(read_document(path).decode("utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"There is no file {str(path)!r}.") from None
    except ValueError as error:
        raise PolicyError(f"{path} cannot be read: {error}.") from None


def _rates(planned: Plan) -> dict[str, Any]:
    """Return a plan without its domain, whose values may have been listed since."""
    return {name: value for name, value in planned.as_json().items() if name != "domain"}
