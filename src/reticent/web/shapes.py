"""What goes in and out of the HTTP service, as OpenAPI shows it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from reticent.audit.service import LONGEST_STATEMENT

# A number of the ledger: SQLite has no larger ones.
Number = Annotated[int, Field(ge=1, le=2**62)]


class Asked(BaseModel):
    """A question in SQL."""

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
    """A question, and whether a noisy answer will do where the exact one is denied."""

    allow_noise: bool = False


class AnswerShape(BaseModel):
    """One aggregate of one cell; ``value`` is a whole number, a fraction as text, or null where it was denied."""

    label: str
    answered: bool
    value: int | str | None
    decimal: str | None
    noisy: bool
    size: int
    rule: str
    reason: str
    decision: int | None


class RowShape(BaseModel):
    """The answers for one combination of the GROUP BY columns."""

    group: dict[str, Any]
    answers: list[AnswerShape]


class ReplyShape(BaseModel):
    """``ok`` says that nothing was denied."""

    ok: bool
    question: int | None
    rows: list[RowShape]


class QuestionShape(BaseModel):
    """A question of one's own, and the decisions it led to."""

    question: int
    sql: str
    asked: str
    decisions: list[int]


class HistoryShape(BaseModel):
    """One's own questions, last first."""

    ok: bool
    questions: list[QuestionShape]


class ExplanationShape(BaseModel):
    """A decision that one asked for, and why it was taken. All of it follows from queries and past answers."""

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
    """A column that can be asked about; ``family`` is what it is locked to."""

    name: str
    kind: str
    family: str | None = None
    guarantee: list[str] = Field(default_factory=list)


class TableShape(BaseModel):
    """What can be asked: the table, its public columns, and the protected ones."""

    ok: bool
    table: str
    public: list[ColumnShape]
    sensitive: list[ColumnShape]


class HealthShape(BaseModel):
    """The service is up."""

    ok: bool
    version: str


class Fault(BaseModel):
    """What went wrong, in one word for machines and in a sentence for people."""

    kind: str
    message: str


class FaultShape(BaseModel):
    """Every error has this shape."""

    ok: bool = False
    error: Fault
