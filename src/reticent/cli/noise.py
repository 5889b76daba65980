"""``reticent noise``: plan jointly generated noise, try it on this machine, and take part in it as one of several hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, shown
from reticent.cli.console import Json, answer, working
from reticent.cli.options import add_group
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.base.context import Context
    from reticent.methods.randomize import ViewDomain
    from reticent.noise import JointAnswer, NoisePlan

EpsilonOption = Annotated[str, typer.Option("--epsilon", help="One row may change the probability of an answer by a factor of e^epsilon.")]  # fmt: skip
DeltaOption = Annotated[str, typer.Option("--delta", help="The probability with which epsilon may be exceeded.")]
QueryOption = Annotated[str, typer.Option("--query", help="count, histogram or sum.")]
LawOption = Annotated[str, typer.Option("--law", help="binomial (coin flips of all parties) or exponential (less noise, more rounds).")]  # fmt: skip
LevelOption = Annotated[str, typer.Option("--level", help="byzantine (parties may deviate) or semi-honest (parties follow the protocol but are curious).")]  # fmt: skip
BitsOption = Annotated[int, typer.Option("--bits", help="For a sum: how many bits a value has.")]

_MADE_UP_ROWS, _MADE_UP_CELLS = 25, 6


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "noise",
        "Distributed noise generation: parties who do not trust each other compute a noisy answer jointly, and none of them knows the noise.",
        {"plan": plan, "run": run, "keys": keys, "party": party},
    )


def plan(
    epsilon: EpsilonOption = "1",
    delta: DeltaOption = "1e-6",
    parties: Annotated[int, typer.Option("--parties", help="How many parties take part.")] = 7,
    faults: Annotated[int, typer.Option("--faults", help="How many of them may deviate, collude or crash.")] = 2,
    query: QueryOption = "count",
    law: LawOption = "binomial",
    bits: BitsOption = 1,
    level: LevelOption = "byzantine",
    as_json: Json = False,
) -> None:
    """Compute the cost of a guarantee: exact numbers of coins and rounds, compared with the bounds of the literature.

    Example: reticent noise plan --epsilon 1 --delta 1e-6 --parties 4 --faults 1 --query histogram
    """
    from reticent.noise import plan as make

    answer(make(epsilon, delta, parties, faults, query, law, bits, level), as_json)


def run(
    data: Annotated[Path | None, typer.Argument(help="Rows of all parties (default: synthetic rows).")] = None,
    party: Annotated[str, typer.Option("--party", help="The column that names the party of each row.")] = "party",
    parties: Annotated[int, typer.Option("--parties", help="Without data: the number of parties.")] = 4,
    query: QueryOption = "count",
    where: Annotated[str | None, typer.Option("--where", help="For a count: the condition on the rows.")] = None,
    column: Annotated[str | None, typer.Option("--column", help="For a sum: an integer column.")] = None,
    domain: Annotated[
        Path | None, typer.Option("--domain", help="For a histogram: the values of its columns (.toml or .json).")
    ] = None,
    bits: BitsOption = 1,
    epsilon: EpsilonOption = "1",
    delta: DeltaOption = "1e-6",
    faults: Annotated[
        int | None, typer.Option("--faults", help="How many may deviate (default: the maximum tolerated).")
    ] = None,
    law: LawOption = "binomial",
    level: LevelOption = "byzantine",
    behave: Annotated[
        list[str] | None, typer.Option("--behave", help="Let a party misbehave: 2=garbage. Repeat for several.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute a joint answer on this machine, with one process per party.

    Example: reticent noise run --parties 5 --query histogram --behave "2=lie in shares"
    """
    from reticent.noise import run_local

    cells = None if query != "histogram" else _MADE_UP_CELLS
    view_domain: ViewDomain | None = None
    if data is None:
        names, rows = _made_up(parties, query, bits)
    else:
        view_domain = _domain(domain, query)
        cells = None if view_domain is None else view_domain.size
        names, rows = _read(data, party, query, where, column, view_domain)
    tolerated = (len(rows) - 1) // (3 if level == "byzantine" else 2) if faults is None else faults
    with working("Computing jointly ...", as_json) as context:
        joint_answer = run_local(
            rows,
            epsilon,
            delta,
            tolerated,
            query,
            cells,
            bits,
            law,
            level,
            behaviours=_behaviours(behave),
            context=context,
        )
    true = None if data is not None else _exact_answer(rows, cells, joint_answer.included)
    figures = {**joint_answer.describe(), "names": names, "made_up": data is None}
    if true is not None:
        figures["true"] = true
    answer(PlainResult(figures, _answer_card(joint_answer, names, true, view_domain)), as_json)


def keys(
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder for the two files.")] = Path("."),
    name: Annotated[str, typer.Option("--name", help="The name of the party, as in every config.")] = "party",
    days: Annotated[int, typer.Option("--days", help="How many days the certificate is valid.")] = 825,
    as_json: Json = False,
) -> None:
    """Create a party's private key and certificate: keep NAME.key here, send NAME.crt to the other parties.

    Example: reticent noise keys -o keys --name "St. Anna"
    """
    from reticent.noise import make_party_keys

    party_keys = make_party_keys(folder, name, days)
    instructions = (
        f"Keep {party_keys.private} to yourself; the file is readable by its owner only.\nGive {party_keys.certificate} to the other parties.\n"
        f"Fingerprint, to compare by telephone: {party_keys.fingerprint}"
    )
    figures = {
        "private": party_keys.private,
        "certificate": party_keys.certificate,
        "fingerprint": party_keys.fingerprint,
    }
    answer(PlainResult.saying(instructions, figures), as_json)


def party(
    config: Annotated[Path, typer.Option("--config", help="This party's config (.toml); see docs/how-to/noise.md.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="For a histogram: a new folder for the release.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Take part in a joint answer as one of several hosts: wait for the others, compute, and print the noisy answer.

    Example: reticent noise party --config st-anna.toml -o release
    """
    from reticent.methods.counts import PartyConfig

    party_config = PartyConfig.read(config)
    if output is not None:
        _check_output(output, party_config.plan)
    values, frame = party_config.values()
    with working("Computing jointly ...", as_json) as context:
        context.step("waiting for the other parties")
        result, figures = party_config.run(values, context)
        if output is not None and result is not None:
            party_config.release(result, figures, frame, _unstoppable(context)).save(output)
    if result is None:
        without_answer = {
            "total": None,
            "shared_with": list(party_config.names[: party_config.plan.parties]),
            "rounds": figures.rounds,
        }
        sentence = "The rows were secret-shared with the facilitators, who compute and hold the answer."
        answer(PlainResult.saying(sentence, without_answer), as_json)
        return
    total: Any = list(result.numbers) if party_config.domain is not None else result.numbers[0]
    blamed = {party_config.names[number]: why for number, why in result.blamed.items()}
    outcome = {
        "total": total,
        "query": party_config.plan.query,
        "level": party_config.plan.level,
        "faults": party_config.plan.faults,
        "law": party_config.plan.law,
        "coins": result.coins,
        "included": [party_config.names[number] for number in result.included],
        "blamed": blamed,
        "rounds": figures.rounds,
        "bytes_sent": figures.bytes_sent,
        "path": output,
    }
    notes = [
        f"Level {party_config.plan.level}; counted: {', '.join(outcome['included'])}.",
        *(
            f"{name} {why}{'' if name in outcome['included'] else '; its rows are not counted'}."
            for name, why in blamed.items()
        ),
        *([] if output is None else [f"Published to {output}."]),
    ]
    answer(PlainResult(outcome, replace(_total(total, None, party_config.domain), notes=notes)), as_json)


def _unstoppable(context: Context) -> Context:
    """Return a context that cannot be cancelled: the answer is already opened and charged to the budget."""
    from reticent.base.context import never

    return replace(context, stop=never)


def _check_output(output: Path, plan: NoisePlan) -> None:
    """Refuse an output folder that cannot be written before anything is computed and charged."""
    if plan.query != "histogram":
        raise PolicyError("--output needs a histogram: a count or a sum is one number, which is printed.")
    if output.exists() or output.is_symlink():
        raise PolicyError(f"{output} exists already. Choose a new folder.")


def _made_up(parties: int, query: str, bits: int) -> tuple[list[str], list[list[int]]]:
    """Return random synthetic rows for a trial."""
    import secrets

    if not 1 <= parties <= 64:
        raise PolicyError(f"--parties must be from 1 to 64, but it is {parties}.", setting=("parties",), value=parties)
    bound = {"histogram": _MADE_UP_CELLS, "sum": 1 << bits}.get(query, 2)
    rows = [[secrets.randbelow(bound) for _ in range(_MADE_UP_ROWS)] for _ in range(parties)]
    return [f"party {number}" for number in range(1, parties + 1)], rows


def _read(
    data: Path, party: str, query: str, where: str | None, column: str | None, domain: ViewDomain | None
) -> tuple[list[str], list[list[int]]]:
    """Return every party's rows as integers, by party name."""
    from reticent.errors import DataError, did_you_mean
    from reticent.io import read_frame
    from reticent.methods.counts import encoded

    frame = read_frame(data)
    if party not in frame.columns:
        raise DataError(f"{data} has no column {party!r} (--party).{did_you_mean(party, frame.columns)}", column=party)
    if frame[party].null_count():
        raise DataError(f"Column {party!r} of {data} has nulls: some rows belong to no party.", column=party)
    names = frame[party].unique().sort().to_list()
    rows = [encoded(frame.filter(frame[party] == name), query, where, column, domain) for name in names]
    return [str(name) for name in names], rows


def _domain(path: Path | None, query: str) -> ViewDomain | None:
    """Return the declared domain of a histogram; None for other queries."""
    from reticent.cli.randomize import read_domain

    if query != "histogram":
        return None
    if path is None:
        raise PolicyError("A histogram of data needs --domain: the values of its columns, declared beforehand.")
    return read_domain(path)


def _behaviours(option_values: list[str] | None) -> dict[int, str]:
    """Return the fault of each misbehaving party by its number, from ``NUMBER=FAULT``."""
    fault_of_party = {}
    for option_value in option_values or ():
        number, equals, name = option_value.partition("=")
        if not equals or not number.strip().isdecimal():
            raise PolicyError(
                f"--behave must be NUMBER=FAULT, such as 2=garbage, but it is {option_value!r}.", setting=("behave",)
            )
        fault_of_party[int(number)] = name.strip()
    return fault_of_party


def _exact_answer(rows: list[list[int]], cells: int | None, included: tuple[int, ...]) -> int | list[int]:
    """Return the answer without noise; it is not secret because the rows are synthetic."""
    counted = [value for number, party_values in enumerate(rows, 1) if number in included for value in party_values]
    return [counted.count(cell) for cell in range(cells)] if cells is not None else sum(counted)


def _answer_card(
    joint_answer: JointAnswer, names: list[str], true: int | list[int] | None, domain: ViewDomain | None
) -> Card:
    """Return the card of a joint answer: the total, its guarantee, and which parties misbehaved."""
    plan = joint_answer.plan
    promise = (
        f"epsilon {shown(plan.epsilon)}, delta {float(plan.delta):g}; level {plan.level}: valid if at most {max(1, plan.faults)} of {plan.parties} parties are faulty. "
        f"Standard error {joint_answer.standard_error:.1f}. {joint_answer.seconds:.1f} seconds."
    )
    blamed = [
        f"{names[number - 1]} {why}{'' if number in joint_answer.included else '; its rows are not counted'}."
        for number, why in joint_answer.blamed.items()
    ]
    return replace(_total(joint_answer.total, true, domain), notes=[promise, *blamed])


def _total(total: int | list[int], true: int | list[int] | None, domain: ViewDomain | None) -> Card:
    """Return a card with the noisy number, or the noisy count of each cell, next to the true ones if the rows are synthetic."""
    if isinstance(total, int):
        return Card(f"Noisy answer: {total:,}" + ("" if true is None else f" (true: {true:,}; synthetic rows)"))
    import numpy as np

    labels = (
        [f"cell {cell}" for cell in range(len(total))]
        if domain is None
        else [", ".join(str(value) for value in row) for row in domain.unpack(np.arange(len(total))).rows()]
    )
    if isinstance(true, list):
        table = CardTable(("cell", "noisy count", "true (synthetic)"), list(zip(labels, total, true, strict=True)))
    else:
        table = CardTable(("cell", "noisy count"), list(zip(labels, total, strict=True)))
    return Card("Noisy histogram", tables=[table])
