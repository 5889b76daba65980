"""``reticent publish`` with Mondrian and Datafly: what is wrong is told, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import POLICY, Command

HEAD = POLICY[: POLICY.index("[method]")]


@pytest.mark.parametrize(
    ("method", "options", "code", "message"),
    [
        ('name = "Mondrain"', [], 2, "There is no method 'Mondrain'. Did you mean 'Mondrian'?"),
        ('name = "Mondrian"\nsplt = "loss"', [], 2, "Mondrian has no parameter 'splt'. Did you mean 'split'?"),
        ('name = "Mondrian"\nsplit = "best"', [], 2, "Mondrian: split must be one of span, loss, but it is 'best'"),
        ('name = "Mondrian"\nties = ["keep"]', [], 2, "Mondrian: ties must be one of keep, divide"),
        (
            'name = "Mondrian"\nvalues = 3',
            [],
            2,
            "Mondrian: values must be one of sets, ranges, hierarchy, typical, drawn, but it is 3",
        ),
        ('name = "Mondrian"\nsuppression = "lots"', [], 2, "Mondrian: suppression must be a number such as"),
        ('name = "Datafly"\nsuppression = -1', [], 2, "Datafly: suppression must be at least 0, but it is -1"),
        ('name = "Mondrian"', ["--suppression", "1.5"], 2, "Mondrian: suppression must be at most 1, but it is 1.5"),
        ('name = "Mondrian"', ["--format", "bucketize"], 2, "Mondrian has no parameter 'format'"),
        ('name = "Mondrian"', ["--method", "anatmy"], 2, "There is no method 'anatmy'. Did you mean 'Anatomy'?"),
        ('name = "Mondrian"', ["--method", "anatomy"], 2, "requires that no person can be singled out by quasi values"),
        ('name = "Datafly"', ["--seconds", "1"], 2, "Datafly has no parameter 'seconds'"),
        ('name = "Mondrian"', ["--definition", "KAnonymity(500)"], 1, "even all 120 rows in one group do not"),
        (
            'name = "Mondrian"',
            ["--definition", "MUnique(3)"],
            1,
            "of 120 rows in groups that do not satisfy MUnique(m=3)",
        ),
        ('name = "Datafly"', ["--definition", "MUnique(3)"], 1, "Datafly reached the top of every hierarchy"),
        (
            'name = "Mondrian"\nties = "divide"',
            ["--engine", "streaming"],
            2,
            "Mondrian: ties='divide' needs all rows in memory, and this table is streamed",
        ),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_left_behind(
    method: str, options: list[str], code: int, message: str, patients: Path, reticent: Command
) -> None:
    (patients / "policy.toml").write_text(f"{HEAD}[method]\n{method}\n")
    before = sorted(path.name for path in patients.iterdir())
    for as_json in ([], ["--json"]):
        found = reticent("publish", "policy.toml", "-o", "release", *options, *as_json)
        told = found.json["error"]["message"] if as_json else found.err
        assert (found.code, message in told) == (code, True), told
        assert "Traceback" not in found.err
    assert {path.name for path in patients.iterdir()} - set(before) <= {"ledger"}


@pytest.mark.parametrize("method", ['name = "Mondrian"\nvalues = "hierarchy"', 'name = "Datafly"'])
def test_several_sets_and_streams_are_published_and_verified(method: str, patients: Path, reticent: Command) -> None:
    text = HEAD.replace("[roles]\n", '[roles]\nquasi_sets = [["age"], ["zip"]]\n')
    (patients / "policy.toml").write_text(f"{text}[method]\n{method}\n")
    first = reticent("publish", "policy.toml", "-o", "local", "--json")
    second = reticent("publish", "policy.toml", "-o", "streamed", "--engine", "streaming", "--again", "--json")
    assert (first.code, second.code) == (0, 0), (first.out, second.out)
    assert (patients / "local/public/data.csv").read_bytes() == (patients / "streamed/public/data.csv").read_bytes()
    assert (reticent("verify", "local").code, reticent("verify", "streamed").code) == (0, 0)


def test_another_method_comes_without_the_parameters_of_the_policy_s(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(f'{HEAD}[method]\nname = "Mondrian"\nties = "divide"\n')
    wanted = ["--method", "anatomy", "--definition", "DistinctLDiversity(2)"]
    assert reticent("preview", "policy.toml", *wanted, "--no-attacks", "--json").code == 0
    assert reticent("publish", "policy.toml", "-o", "release", *wanted).code == 0
    shown = reticent("verify", "release", "--json")
    assert (shown.code, shown.json["ok"]) == (0, True)
    assert (patients / "release" / "public" / "sensitive.csv").exists()
