"""The report's picture of worst-case knowledge says what the curves say."""

from __future__ import annotations

from reticent.base.figures import best_guesses
from reticent.core import Groups
from reticent.reports.knowledge_figure import knowledge_curves


def test_the_numbers_of_the_figure_are_those_of_both_curves():
    drawn = knowledge_curves("disease", Groups.from_histograms([(4, 2, 1, 1, 1, 1)]))
    assert drawn.rows == (
        ("0", "40.0%", "40.0%"),
        ("1", "54.5%", "50.0%"),
        ("2", "70.6%", "57.1%"),
        ("3", "84.8%", "66.7%"),
        ("4", "94.4%", "80.0%"),
        ("5", "certain", "certain"),
    )
    assert "5 well-chosen facts about people can make an attacker certain" in drawn.description
    assert drawn.svg.count("<circle") == drawn.narrow.count("<circle") == 12


def test_a_group_that_shares_one_value_needs_no_facts():
    drawn = knowledge_curves("disease", Groups.from_histograms([{"flu": 3}]))
    assert drawn.rows == (("0", "certain", "certain"),)


def test_nearly_certain_is_not_shown_as_certain():
    """One row of 759 has another value: a chance of 99.9 %, which rounded to 100 % would say that the value is given away."""
    groups = Groups.from_histograms([(758, 1)])
    assert "with a chance of 99.9%; 1 well-chosen fact about people" in knowledge_curves("pay", groups).description
    assert "right with at most 99.9%" in best_guesses("pay", groups.histograms.top, groups.sizes).description
