"""The request and response models of the HTTP service, as shown by OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from reticent.audit.service import LONGEST_STATEMENT

# A ledger number: the maximum of SQLite.
Number = Annotated[int, Field(ge=1, le=2**62)]


class Asked(BaseModel):
    """A query in SQL."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_STATEMENT,
            description="SELECT SUM|AVG|COUNT|MAX|MIN(column) FROM table WHERE condition GROUP BY public columns",
            examples=["SELECT SUM(salary) FROM staff WHERE department = 'sales'"],
        ),
    ]


class AskedForAnswer(Asked):
    """A query, and whether a noisy answer is accepted if the exact one is denied, or does not exist."""

    allow_noise: bool = False


class AnswerShape(BaseModel):
    """One aggregate of one cell; ``value`` is an integer, a fraction as text, or null if it was denied. A noisy one
    has a 95 % ``interval``, as decimals.
    """

    label: str
    answered: bool
    value: int | str | None
    decimal: str | None
    noisy: bool
    interval: list[str] | None = None
    size: int
    rule: str
    reason: str
    decision: int | None


class RowShape(BaseModel):
    """The answers for one combination of the GROUP BY columns."""

    group: dict[str, Any]
    answers: list[AnswerShape]


class ReplyShape(BaseModel):
    """The reply to a query; ``ok`` is true if nothing was denied."""

    ok: bool
    question: int | None
    rows: list[RowShape]


class QuestionShape(BaseModel):
    """One of your own queries, and its decisions."""

    question: int
    sql: str
    asked: str
    decisions: list[int]


class HistoryShape(BaseModel):
    """Your own queries, last first."""

    ok: bool
    questions: list[QuestionShape]


class ExplanationShape(BaseModel):
    """A decision on one of your queries, and its reason. All of it follows from queries and past answers."""

    ok: bool
    decision: int
    column: str
    function: str
    size: int
    answered: bool
    rule: str
    reason: str
    value: int | str | None
    decided: str
    guarantee: list[str]


class ColumnShape(BaseModel):
    """A column that can be queried; ``family`` is the family it is locked to."""

    name: str
    kind: str
    family: str | None = None
    guarantee: list[str] = Field(default_factory=list)


class TableShape(BaseModel):
    """What can be queried: the table, its public columns, and the protected ones."""

    ok: bool
    table: str
    public: list[ColumnShape]
    sensitive: list[ColumnShape]


class HealthShape(BaseModel):
    """The service is up."""

    ok: bool
    version: str


class Fault(BaseModel):
    """An error: one word for programs and a sentence for people."""

    kind: str
    message: str


class FaultShape(BaseModel):
    """The format of every error."""

    ok: bool = False
    error: Fault
