"""The log file: what may stand in it, and errors that name the line."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from reticent.audit import AggregateQuery, Answered, check_log, read_log
from reticent.audit.offline import Log, as_log, parse_log
from reticent.errors import DataError, PolicyError, ReticentError


def lines(*objects) -> list[str]:
    return [json.dumps(item) if not isinstance(item, str) else item for item in objects]


def test_a_file_of_json_lines_is_read_and_checked(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"people": 6}\n\n{"members": [1, 0], "function": "sum", "answer": 7.10}\n'
        '{"members": [0], "function": "SUM", "answer": "1/3"}\n{"members": [3], "function": "sum", "decision": "denied"}\n'
    )
    log = read_log(path)
    assert log.n == 6
    assert [(entry.number, entry.answer) for entry in log.entries] == [(3, Fraction("7.1")), (4, Fraction(1, 3))]
    report = check_log(log)
    assert report.exposed == {0: Fraction(1, 3), 1: Fraction("7.1") - Fraction(1, 3)}
    assert "query 3 - query 4" in report.certificate[1].lines(log)[0]
    assert json.loads(json.dumps(report.as_dict()))["exposed"] == {"0": "1/3", "1": "203/30"}


def test_averages_are_the_sums_they_give_away_and_counts_say_nothing():
    log = parse_log(
        lines(
            {"members": [0, 1], "function": "avg", "answer": "3.5"},
            {"members": [0], "function": "count", "answer": 1},
            {"members": [1], "function": "sum", "answer": 3},
        )
    )
    assert [(entry.number, entry.answer) for entry in log.entries] == [(1, 7), (3, 3)]
    assert check_log(log).exposed == {0: 4, 1: 3}


def test_a_header_declares_what_everybody_knows():
    log = parse_log(lines({"people": 3, "values": "boolean"}, {"members": [0, 1], "function": "sum", "answer": 2}))
    assert check_log(log).exposed == {0: 1, 1: 1}
    log = parse_log(
        lines({"people": 3, "lower": 0, "upper": "10.5"}, {"members": [0, 1], "function": "sum", "answer": 21})
    )
    assert check_log(log).exposed == {0: Fraction("10.5"), 1: Fraction("10.5")}
    log = parse_log(
        lines(
            {"people": 3, "duplicates": False},
            {"members": [0, 1], "function": "max", "answer": 5},
            {"members": [1, 2], "function": "max", "answer": 5},
        )
    )
    assert check_log(log).exposed == {1: 5}


def test_coefficients_make_a_sum_a_linear_question():
    log = parse_log(lines({"members": [1, 0], "coefficients": [3, 2], "function": "sum", "answer": 12}), "log")
    assert log.entries[0].query == AggregateQuery.linear({0: 2, 1: 3})


def test_one_column_of_several_is_chosen_by_name():
    both = lines(
        {"members": [0], "function": "sum", "answer": 1, "column": "salary"},
        {"members": [0], "function": "sum", "answer": 2, "column": "bonus"},
    )
    assert check_log(parse_log(both, column="bonus")).exposed == {0: 2}
    with pytest.raises(DataError, match=r"several columns \(bonus, salary\); choose one with column="):
        parse_log(both)
    with pytest.raises(DataError, match=r"no answered query about the column 'bonnus'\. Did you mean 'bonus'"):
        parse_log(both, column="bonnus")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"x, line 1: not a JSON object \(Expecting property name"),
        ("[1]", "x, line 1: a line must be an object such as"),
        ({"members": [0], "function": "sum"}, "x, line 1: the field 'answer' is missing."),
        ({"members": [0], "answer": 1}, "x, line 1: the field 'function' is missing."),
        ({"function": "sum", "answer": 1}, "x, line 1: the field 'members' is missing."),
        ({"members": "01", "function": "sum", "answer": 1}, "x, line 1: members must be a list of whole numbers"),
        ({"members": [], "function": "sum", "answer": 1}, "x, line 1: A query needs at least one person"),
        ({"members": [0, 0], "function": "sum", "answer": 1}, "x, line 1: .*person 0 is named twice"),
        ({"members": [-1], "function": "sum", "answer": 1}, "x, line 1: .*People are numbered from 0"),
        ({"members": [0.5], "function": "sum", "answer": 1}, "x, line 1: .*must be a whole number"),
        ({"members": ["ann"], "function": "sum", "answer": 1}, "x, line 1: .*must be a whole number"),
        ({"members": [2**80], "function": "sum", "answer": 1}, "x, line 1: .*not the number of a person"),
        ({"members": [0], "function": "summ", "answer": 1}, "x, line 1: function must be one of .*Did you mean 'sum'?"),
        ({"members": [0], "function": 3, "answer": 1}, "x, line 1: function must be one of"),
        ({"members": [0], "function": "sum", "answer": "many"}, "x, line 1: answer must be a number"),
        ({"members": [0], "function": "sum", "answer": None}, "x, line 1: answer must be a number"),
        ({"members": [0], "function": "sum", "answer": True}, "x, line 1: answer must be a number"),
        ('{"members": [0], "function": "sum", "answer": NaN}', "x, line 1: answer must be a number"),
        ({"members": [0], "function": "sum", "anser": 1}, "x, line 1: unknown field 'anser'.*Did you mean 'answer'?"),
        ({"members": [0], "function": "sum", "answer": 1, "column": 4}, "x, line 1: column must be a text"),
        (
            {"members": [0], "function": "max", "answer": 1, "coefficients": [2]},
            "x, line 1: coefficients belong to sums",
        ),
        ({"members": [0], "function": "sum", "answer": 1, "coefficients": [2, 3]}, "one whole number for each member"),
        ({"members": [0], "function": "sum", "answer": 1, "coefficients": [1.5]}, "x, line 1: .*coefficient"),
        ({"people": 0}, "x, line 1: people must be at least 1"),
        ({"people": 3, "uper": 4}, "x, line 1: unknown field 'uper'.*Did you mean 'upper'?"),
        ({"people": 3, "lower": 5, "upper": 4}, "x: lower must not be above upper, but they are 5 and 4"),
        ({"people": 3, "values": "bool"}, "x: values must be one of real, boolean.*Did you mean 'boolean'?"),
        ({"people": 3, "duplicates": "no"}, "x: duplicates must be true or false"),
        ("", "x holds no answered query"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(text, message):
    with pytest.raises(ReticentError, match=message):
        parse_log(lines(text), "x")


def test_a_question_about_somebody_beyond_the_declared_people_names_the_line():
    with pytest.raises(DataError, match="Query 2 is about person 7, but there are 3 people, numbered 0 to 2"):
        parse_log(lines({"people": 3}, {"members": [7], "function": "sum", "answer": 1}))


def test_a_missing_or_unreadable_file_is_a_clear_error(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.jsonl cannot be read: No such file"):
        read_log(tmp_path / "nothing.jsonl")
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_log(tmp_path / "image")


@pytest.mark.parametrize(
    ("log", "options", "error", "message"),
    [
        ("log.jsonl", {}, PolicyError, r"read a file with read_log\(path\)"),
        ([({0}, "sum")], {}, DataError, r"Query 1 must be \(members, function, answer\)"),
        ([({0}, "median", 1)], {}, DataError, "Query 1: function must be one of sum, avg, max, min, count"),
        ([({9}, "sum", 1)], {"n": 3}, DataError, "Query 1 is about person 9, but there are 3 people"),
        ([], {"n": 0}, PolicyError, "n must be at least 1"),
        ([], {"n": 3, "values": "bits"}, PolicyError, "values must be one of real, boolean"),
        ([], {"n": 3, "values": "boolean", "upper": 7}, PolicyError, "values='boolean' implies the bounds 0 and 1"),
        ([], {"n": 3, "lower": "x"}, PolicyError, "lower must be a number"),
        (
            [],
            {"n": 3, "lower": 0, "duplicates": False},
            PolicyError,
            "duplicates=False is supported only for columns without",
        ),
        ([], {"n": 3, "limit": 0}, PolicyError, "limit must be at least 1"),
        ([Answered(AggregateQuery.of({0}))], {}, DataError, "Query 1 has no answer"),
    ],
)
def test_a_bad_call_is_refused_with_a_message(log, options, error, message):
    with pytest.raises(error, match=message):
        check_log(log, **options)


def test_records_of_auditors_are_logs_too():
    answered = [Answered(AggregateQuery.of({0, 1}), 7), Answered(AggregateQuery.of({0}), 3)]
    assert check_log(answered).exposed == {0: 3, 1: 4}


def test_without_a_number_of_people_the_highest_member_counts():
    assert as_log([({0, 4}, "sum", 1)]).n == 5
    assert as_log([]).n == 1


def test_a_part_of_a_log_keeps_the_numbers_of_its_questions():
    log = as_log([({0, 1}, "sum", 7), ({0}, "sum", 3), ({1, 2}, "sum", 3)])
    part = log.only({1, 3})
    assert isinstance(part, Log)
    assert [entry.number for entry in part.entries] == [1, 3]
    assert check_log(part).ok
