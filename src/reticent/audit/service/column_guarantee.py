"""The guarantee of a column in words, derived from the policy and the history alone."""

from __future__ import annotations

from reticent.audit.service.settings import ProtectedColumn

_CALLED = {"linear": "Sums and averages", "max": "Maxima", "min": "Minima"}


def guarantee(column: ProtectedColumn, family: str | None) -> list[str]:
    """Return sentences about one column, for all users."""
    sentences = [_exact(column)]
    if column.refusal is None:
        sentences.append(
            f"{_CALLED[family]} are answered; the other functions are denied, whatever the values are."
            if family is not None
            else "The first answer decides whether sums, maxima or minima are answered from then on."
        )
        sentences.append("A denial is decided before the values are read, so it reveals nothing about them.")
    if column.noise is not None:
        when = "Every answer" if column.noise.only else "An answer instead of a denied one"
        sentences.append(
            f"{when} may be noisy and is marked so. All noisy answers together are differentially private with epsilon = "
            f"{column.noise.epsilon}, which exact answers do not use, and are charged to the privacy budget of the data set together with its noisy releases; where exact answers link a person's value to those of others, the "
            "bound holds for all of them together."
        )
    if column.refusal is None:
        sentences.append(_changes(column, family))
        if not column.duplicates and column.chance is None and family != "linear":
            sentences.append(
                "Values are declared to be distinct, which values of different times need not be: while a value that was part of an answer is missing from the table, no maxima or minima are answered."
            )
    sentences.append(
        "Counts, who is in the table, the public columns, and whether a value changed are assumed to be public."
    )
    return sentences


def _exact(column: ProtectedColumn) -> str:
    """Return the guarantee of exact answers of a column in a sentence."""
    if column.refusal is not None:
        return column.refusal
    if column.chance is not None:
        chance = column.chance
        return f"With probability at least 1 - {chance.delta} no answer of {chance.rounds} rounds changes a belief about any person in any interval of prior probability 1/{chance.beta} by more than a factor 1 + {chance.ratio}, for users whose prior belief is the declared prior."
    return "No value follows from all answers together, for users who do not use bounds of the values and do not know any value beforehand."


def _changes(column: ProtectedColumn, family: str | None) -> str:
    """Return what happens to the guarantee of a column when values change, in sentences."""
    if column.changes == "unknown":
        return "A changed value counts as a new number: it is assumed that no one knows how values change, such as a raise for all staff."
    consequence = "no further query is answered" if column.noise is None else "no further query is answered exactly"
    stops = f"Once a value that was part of an answer changes, {consequence} until it is restored: users may know by how much it changed."
    if column.changes == "any" or column.chance is not None or family in ("max", "min"):
        return stops
    goes_on = "also hold for users who know by how much values changed, or that all changed by one percentage: all values of a person count as one. They do not hold for users who know the percentage by which single values changed (changes = 'any')."
    if family == "linear":
        return f"Queries are still answered after values change. The guarantees {goes_on}"
    # A user who may not see the history gets both sentences: which one applies depends on the first answer.
    return f"Where sums are answered, queries are still answered after values change, and the guarantees {goes_on} Where maxima or minima are answered: {stops[0].lower()}{stops[1:]}"
