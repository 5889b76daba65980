"""What is promised about a column, in words that follow from the policy and the history alone."""

from __future__ import annotations

from reticent.audit.service.settings import ProtectedColumn

_CALLED = {"linear": "Sums and averages", "max": "Maxima", "min": "Minima"}


def guarantee(column: ProtectedColumn, family: str | None) -> list[str]:
    """Sentences about one column, for everybody to read."""
    said = [_exact(column)]
    if column.refusal is None:
        said.append(
            f"{_CALLED[family]} are answered; the other functions are refused, whatever the values are."
            if family is not None
            else "The first answer decides whether sums, maxima or minima are answered from then on."
        )
        said.append("A refusal is decided before the values are touched, so it says nothing about them.")
    if column.noise is not None:
        when = "Every answer" if column.noise.only else "An answer instead of a denied sum"
        said.append(
            f"{when} may be noisy and is marked so. All noisy answers together are differentially private with epsilon = "
            f"{column.noise.epsilon}, which exact answers do not spend, and are charged to the account of the data set beside its noisy releases; where exact answers tie a person's value to those of others, the "
            "bound holds for all of them together."
        )
    if column.refusal is None:
        said.append(_changes(column, family))
        if not column.duplicates and column.chance is None and family != "linear":
            said.append(
                "Values are declared to be distinct, which those of different times need not be: while a value that was part of an answer is gone, no maxima or minima are answered."
            )
    said.append("Counts, who is in the table, the public columns, and whether a value changed are taken to be public.")
    return said


def _exact(column: ProtectedColumn) -> str:
    if column.refusal is not None:
        return column.refusal
    if column.chance is not None:
        chance = column.chance
        return (
            f"With probability at least 1 - {chance.delta} no answer of {chance.rounds} rounds changes anybody's belief in any interval of "
            f"prior mass 1/{chance.beta} by more than a factor 1 + {chance.ratio}, for people who believe what the prior says."
        )
    return (
        "Nobody's value follows from all answers together, for people who do not use bounds of the values and do not know any value "
        "beforehand."
    )


def _changes(column: ProtectedColumn, family: str | None) -> str:
    if column.changes == "unknown":
        return "A changed value counts as a new number: it is assumed that nobody knows how values change, such as a raise for everybody."
    left = "nothing more is answered" if column.noise is None else "nothing more is answered exactly"
    stops = f"Once the value of somebody in an answer changes, {left} until it is back: people may know by how much it changed."
    if column.changes == "any" or column.chance is not None or family in ("max", "min"):
        return stops
    goes_on = (
        "hold also for people who know by how much values changed, or that all changed by one percentage: all values of a person count as "
        "one. They do not hold for people who know the percentage by which single values changed (changes = 'any')."
    )
    if family == "linear":
        return f"Answers go on when values change. The promises {goes_on}"
    # Who may not see what was answered before is told of both: which of the two it is depends on the first answer.
    return f"Where sums are answered, answers go on when values change, and the promises {goes_on} Where maxima or minima are: {stops[0].lower()}{stops[1:]}"
