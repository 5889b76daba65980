"""A policy says everything in one file, and every mistake in it is told with its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent
from reticent.definitions import Definition, KAnonymity, RecursiveLDiversity
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.policy import Policy
from reticent.policy.audit_policy import AuditPolicy
from reticent.table import Table
from reticent.utility import utility_of

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "policy"
GOOD = (FIXTURES / "good.toml").read_text()
MISTAKES = tomllib.loads((FIXTURES / "mistakes.toml").read_text())["mistake"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patients.csv").write_text("name,age,zip,disease\nAnn,31,13053,flu\nBob,40,13068,cold\n")
    return tmp_path


def use(text: str, folder: Path) -> None:
    """Everything that publishing does with a policy before anything goes out."""
    policy = Policy.parse(text, "policy.toml", folder)
    table, definition = policy.table(), policy.definition
    method = policy.method(table, definition)
    with policy.hinting("method", "hierarchies"):
        method.draft(table, definition)


def test_a_good_policy_gives_table_definition_and_method(folder: Path) -> None:
    policy = Policy.parse(GOOD, "policy.toml", folder)
    table = policy.table()
    assert table.dataset == "patients"
    assert list(table.quasi) == ["age", "zip"]
    assert table.quasi_sets == (("age",), ("age", "zip"))
    assert [hierarchy.height for hierarchy in table.hierarchies] == [3, 5]
    assert table.frame["zip"].dtype == pl.String
    assert policy.definition == KAnonymity(2) & RecursiveLDiversity(c=Fraction(3, 2), l=2)
    assert policy.named_method() == Lattice(objective="loss", suppression="0.05")
    assert policy.method(table, policy.definition, suppression="0.1", objective=None) == Lattice(
        objective="loss", suppression="0.1"
    )
    assert policy.sections.release.files == "parquet"
    use(GOOD, folder)


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake["title"] for mistake in MISTAKES])
def test_a_mistake_is_told_with_its_place(mistake: dict[str, str], folder: Path) -> None:
    assert GOOD.count(mistake["old"]) >= 1
    with pytest.raises(ReticentError) as caught:
        use(GOOD.replace(mistake["old"], mistake["new"], 1), folder)
    told = f"{type(caught.value).__name__}: {caught.value}".replace(f"{folder}/", "")
    # Lists of what other rooms offer grow; what matters here is that they are given.
    told = re.sub(
        r"(The definitions are:|The methods are:|Choose one of|Its parameters are: objective) [^\n]*", r"\1 ...", told
    )
    assert told == mistake["message"]


def test_several_mistakes_are_told_at_once_in_the_order_of_the_file(folder: Path) -> None:
    text = GOOD.replace("nulls =", "nuls =").replace("source =", "sorce =")
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, "policy.toml", folder)
    heads = [line for line in str(caught.value).split("\n") if line.startswith("policy.toml:")]
    assert [head.split(" It has")[0] for head in heads] == [
        "policy.toml:4:1: [data] has no setting 'sorce'. Did you mean 'source'?",
        "policy.toml:11:1: [roles] has no setting 'nuls'. Did you mean 'nulls'?",
    ]


def test_paths_are_relative_to_the_policy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    (folder / "policy.toml").write_text(GOOD)
    assert Policy.read(folder / "policy.toml").table().rows == 2
    assert Policy.read(folder / "policy.toml").path("out") == folder / "out"


def test_only_columns_with_a_role_are_read_and_the_others_are_listed(folder: Path) -> None:
    text = GOOD.replace('identifiers = "name"\n', "")
    table = Policy.parse(text, "policy.toml", folder).table()
    assert table.frame.columns == ["age", "zip", "disease"]
    assert table.unpublished == ("name",)


def test_one_definition_may_be_written_without_brackets(folder: Path) -> None:
    start, end = GOOD.index("[[definition]]"), GOOD.index("[method]")
    text = GOOD[:start] + '[definition]\nname = "KAnonymity"\nk = 3\n' + GOOD[end:]
    assert Policy.parse(text, "policy.toml", folder).definition == KAnonymity(3)
    with pytest.raises(PolicyError, match=r"policy\.toml:25:1: KAnonymity: k must be at least 1"):
        Policy.parse(text.replace("k = 3", "k = 0"), "policy.toml", folder)


def test_a_sensitive_column_can_have_an_order(folder: Path) -> None:
    text = GOOD + '\n[hierarchies.disease]\nkind = "ordered"\nvalues = ["cold", "flu", "plague"]\n'
    column = Policy.parse(text, "policy.toml", folder).table().sensitive_columns[0]
    assert column.ordered
    assert column.labels.to_list() == ["cold", "flu", "plague"]
    wrong = text.replace('"cold", "flu", ', '"flu", ')
    with pytest.raises(DataError, match="value 'cold'"):
        use(wrong, folder)


def test_a_missing_or_unreadable_policy_file_is_refused(folder: Path) -> None:
    (folder / "policy.toml").write_text(GOOD)
    with pytest.raises(PolicyError, match=r"There is no policy file '.*polcy\.toml'\. Did you mean 'policy\.toml'\?"):
        Policy.read(folder / "polcy.toml")
    with pytest.raises(PolicyError, match="is a folder, not a policy file"):
        Policy.read(folder)
    (folder / "latin.toml").write_bytes(b'dataset = "caf\xe9"\n')
    with pytest.raises(PolicyError, match="a policy file is UTF-8 text, but byte 15 is not"):
        Policy.read(folder / "latin.toml")


def test_a_policy_with_a_byte_order_mark_and_windows_line_ends_is_read(folder: Path) -> None:
    (folder / "windows.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert Policy.read(folder / "windows.toml").definition.parts()[0] == KAnonymity(2)


def test_unicode_columns_work_throughout(tmp_path: Path) -> None:
    pl.DataFrame({"âge": [1, 2], "עיר": ["א", "ב"], "e\u0301tat": ["x", "y"]}).write_csv(tmp_path / "d.csv")
    text = (
        '[data]\nsource = "d.csv"\n[roles]\nquasi = ["âge", "עיר"]\nsensitive = "e\u0301tat"\n[hierarchies."âge"]\nkind = "intervals"\n'
        'widths = [2]\n[[definition]]\nname = "KAnonymity"\nk = 2\n'
    )
    use(text, tmp_path)
    with pytest.raises(PolicyError, match=r"policy\.toml:8:1: column 'âge': intervals: a width of -2"):
        use(text.replace("[2]", "[-2]"), tmp_path)


def test_the_default_method_is_chosen_in_one_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, Definition, dict[str, object]]] = []

    def chosen(table: Table, definition: Definition, parameters: Mapping[str, object] | None = None) -> Mondrian:
        asked.append((table.rows, definition, dict(parameters or {})))
        return Mondrian(values="sets")

    for place in ("reticent.release", "reticent.release.request"):
        monkeypatch.setattr(f"{place}.default_method", chosen)
    unnamed = GOOD.replace('name = "Lattice"\n', "")
    policy = Policy.parse(unnamed, "policy.toml", folder)
    assert policy.named_method() is None
    table, k = policy.table(), KAnonymity(2)
    assert policy.method(table, k, suppression="0.1") == Mondrian(values="sets")
    release = reticent.publish(table, k, ledger=folder / "ledger.sqlite")
    assert release.manifest.method["name"] == "Mondrian"
    said = {"objective": "loss", "suppression": "0.05"}
    assert asked == [(2, k, said), (2, k, {**said, "suppression": "0.1"}), (2, k, {})]


def test_a_parameter_without_a_method_is_one_of_the_default_and_a_mistake_points_at_its_line(folder: Path) -> None:
    policy = Policy.parse(GOOD.replace('name = "Lattice"\nobjective', "obective"), "policy.toml", folder)
    with pytest.raises(PolicyError, match=r"(?s)policy.toml:33:1: Lattice has no parameter 'obective'.*objective"):
        policy.method(policy.table(), policy.definition)


def test_a_misspelled_role_is_blamed_and_not_the_hierarchy_that_is_right(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,disease\n1,x\n2,y\n")
    text = '[data]\nsource = "a.csv"\n[roles]\nquasi = ["agee"]\n[hierarchies.age]\nkind = "intervals"\nwidths = [10]\n'
    with pytest.raises(DataError, match=r"(?s)policy:4:10: .*no column 'agee'\. Did you mean 'age'"):
        Policy.parse(text, folder=tmp_path)
    with pytest.raises(PolicyError, match="there is a hierarchy for 'age', which is neither"):
        Policy.parse(text, folder=tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'dataset = "x"\n[database]\nsource = "x.csv"\n',
            r"\[database\] needs a setting 'key': the column that identifies a person",
        ),
        (
            '[database]\nsource = "x.csv"\nkey = "id"\n',
            "the policy needs a setting 'dataset': the name of the data set",
        ),
        ('dataset = "x"\n', "the policy needs a setting 'database'"),
    ],
)
def test_a_setting_that_an_audit_policy_lacks_is_named_with_what_it_is_for(text: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        AuditPolicy.parse(text)


STUDY = """
[data]
source = "study.csv"
[roles]
quasi = ["age", "height", "weight_kg"]
sensitive = ["pay"]
[[definition]]
name = "KAnonymity"
k = 5
[method]
name = "Mondrian"
values = "ranges"
split = "loss"
{weights}
[analysis]
models = ["pay ~ height"]
"""


def test_columns_that_a_regression_is_about_stay_sharp(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    columns = {name: draw.integers(0, 50, 200) for name in ("age", "height", "weight_kg", "pay")}
    pl.DataFrame(columns).write_csv(tmp_path / "study.csv")

    def loss_of_height(weights: str) -> float:
        policy = Policy.parse(STUDY.format(weights=weights), "policy.toml", tmp_path)
        table = policy.table()
        draft = policy.method(table, policy.definition).draft(table, policy.definition)
        return float(utility_of(draft).loss_by_column["height"])

    assert loss_of_height("") < 0.7 * loss_of_height("weights = {age = 1}")
