"""Linear forms: an arithmetic operand as exact coefficients of columns and a constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from reticent.conditions.nodes import MIRRORED, Arithmetic, Column, Number, Operand, Operator


@dataclass(frozen=True)
class LinearForm:
    """``sum of coefficients[c] * c + constant``, without columns whose coefficient is zero."""

    coefficients: Mapping[str, Fraction]
    constant: Fraction

    @classmethod
    def of(cls, operand: Operand) -> LinearForm:
        """The form of a numeric operand."""
        match operand:
            case Column(name=name):
                return cls({name: Fraction(1)}, Fraction(0))
            case Number(value=value):
                return cls({}, value)
            case Arithmetic(operator="*", left=left, right=right):
                first, second = cls.of(left), cls.of(right)
                return first.scaled(second.constant) if not second.coefficients else second.scaled(first.constant)
            case Arithmetic(operator=operator, left=left, right=right):
                return cls.of(left).plus(cls.of(right).scaled(Fraction(1 if operator == "+" else -1)))
            case _:
                raise TypeError(f"{operand} is not numeric")

    def scaled(self, factor: Fraction) -> LinearForm:
        """The form times a number; columns with coefficient zero are dropped (the caller handles null times zero)."""
        terms = {name: factor * value for name, value in self.coefficients.items() if factor}
        return LinearForm(terms, factor * self.constant)

    def plus(self, other: LinearForm) -> LinearForm:
        """The sum of two forms."""
        terms = dict(self.coefficients)
        for name, value in other.coefficients.items():
            terms[name] = terms.get(name, Fraction(0)) + value
        return LinearForm({name: value for name, value in terms.items() if value}, self.constant + other.constant)

    def integers(self) -> tuple[dict[str, int], int, int]:
        """The same form with integer coefficients and an integer constant over one positive denominator."""
        denominator = lcm(self.constant.denominator, *(value.denominator for value in self.coefficients.values()))
        terms = {name: int(value * denominator) for name, value in self.coefficients.items()}
        return terms, int(self.constant * denominator), denominator


def difference(left: Operand, right: Operand) -> LinearForm:
    """``left - right`` as one form."""
    return LinearForm.of(left).plus(LinearForm.of(right).scaled(Fraction(-1)))


def threshold(form: LinearForm, operator: Operator) -> tuple[str, Operator, Fraction]:
    """``form operator 0`` in a single column, solved for it: the column, the operator, the threshold."""
    ((name, coefficient),) = form.coefficients.items()
    return name, operator if coefficient > 0 else MIRRORED[operator], -form.constant / coefficient
