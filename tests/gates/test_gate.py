"""The gate: limits of every kind, on policies and on releases, and not one value of the data in anything that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import reticent as rt
from reticent.cli.app import app
from reticent.cli.console import run
from reticent.errors import PolicyError
from reticent.gates import GateResult, Limits, junit, markdown, sarif
from reticent.release import generate_keys
from tests.cli.conftest import PATIENTS, POLICY

LIMITS = """\
[definitions]
hold = ["KAnonymity(4)", "DistinctLDiversity(3)"]

[attacks]
share = 0.4
[attacks.shares]
homogeneity = 0

[loss]
total = 0.3
suppressed = "1/20"
[loss.columns]
age = 0.1

[signature]
keys = ["reticent.pub"]

[columns]
published = ["age", "zip", "disease"]
declared = []
unnamed = ["note"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data file, its policy, keys, limits and a signed release."""
    made = tmp_path_factory.mktemp("gate")
    PATIENTS.write_csv(made / "patients.csv")
    (made / "policy.toml").write_text(POLICY.replace('dataset = "patients"\n', ""))
    (made / "limits.toml").write_text(LIMITS)
    keys = generate_keys(made)
    table = rt.read(policy=made / "policy.toml")
    definition = rt.KAnonymity(4) & rt.RecursiveLDiversity(c=3, l=2)
    rt.publish(table, definition, method=rt.Lattice(suppression="0.05"), signing_key=keys.private).save(
        made / "release"
    )
    return made


def outcome(result: GateResult, limit: str) -> str:
    return next(check.status for check in result.checks if check.limit == limit)


def limited(folder: Path, text: str) -> Limits:
    return Limits.parse(text, "limits.toml", folder)


def test_a_release_within_every_limit_passes(folder: Path) -> None:
    result = rt.gate(folder / "release", folder / "limits.toml")
    assert result.ok, result.failures
    assert result.kind == "release"
    assert {check.limit for check in result.checks if check.status == "skipped"} == {
        "loss.columns.age",
        "columns.unnamed",
    }
    assert outcome(result, "verified") == outcome(result, "signature.keys") == "passed"


def test_a_policy_within_every_limit_passes_and_nothing_is_recorded(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    result = rt.gate(folder / "policy.toml", folder / "limits.toml")
    assert result.ok, result.failures
    assert [check.limit for check in result.checks if check.status == "skipped"] == ["signature.keys"]
    assert sorted(folder.rglob("*")) == before


# Each limit that is broken, the target, and a word of the reason.
BROKEN = {
    '[definitions]\nhold = ["KAnonymity(7)"]': ("release", "definitions.hold", "do not satisfy"),
    "[definitions]\nhold = [\"UnboundedDP(1, '1e-6')\"]": ("release", "definitions.hold", "does not claim"),
    "[loss]\ntotal = 0.01": ("release", "loss.total", "above 0.01"),
    "[loss.columns]\nage = 0.01": ("policy.toml", "loss.columns.age", "above 0.01"),
    "[loss.columns]\nname = 0.5": ("policy.toml", "loss.columns.name", "not a quasi column"),
    "[attacks]\nshare = 0.01": ("release", "attacks.share", "skewness"),
    "[attacks]\nnone_succeeds = true": ("release", "attacks.none_succeeds", "skewness"),
    "[attacks.shares]\nskewness = 0.05": ("release", "attacks.shares.skewness", "above 5.0%"),
    "[attacks.shares]\nlinkage = 0.5": ("release", "attacks.shares.linkage", "[attacks] raw"),
    '[columns]\npublished = ["age", "zip"]': ("release", "columns.published", "'disease'"),
    "[columns]\nunnamed = []": ("policy.toml", "columns.unnamed", "'note'"),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_limit_that_is_not_met_fails_alone_with_its_reason(folder: Path, text: str) -> None:
    target, limit, words = BROKEN[text]
    result = rt.gate(folder / target, limited(folder, text))
    failure = result.failures
    assert [check.limit for check in failure] == [limit]
    assert words in failure[0].detail
    assert failure[0].line == 2


def test_an_adversary_who_succeeds_within_the_limits_leaves_no_green_tick(folder: Path) -> None:
    """A limit of 40 % lets an adversary pass who succeeds for fewer people: the verdict says so, in every file."""
    result = rt.gate(folder / "release", limited(folder, "[attacks]\nshare = 0.4"))
    assert result.ok
    assert [each.partition(" succeeds")[0] for each in result.reservations] == ["Skewness"]
    assert result.tone == "doubtful"
    assert result.verdict == "The gate passed; the guarantees hold, but:"
    assert markdown(result).startswith("## ⚠️ ")
    assert "Skewness succeeds" in markdown(result)
    assert "Skewness succeeds" in junit(result)
    assert result.as_dict()["reservations"] == list(result.reservations)


def test_what_the_headline_of_a_release_reserves_is_said_at_the_gate(tmp_path: Path) -> None:
    """A declared column that tells records apart, and a confidential one of which nothing is promised; nothing is reserved where nothing is to be."""
    frame = pl.DataFrame({"age": [30, 30, 40, 40], "badge": [1, 2, 3, 4], "ill": ["flu", "hiv", "flu", "hiv"]})
    limits = Limits.parse('[definitions]\nhold = ["KAnonymity(2)"]', "limits.toml", tmp_path)
    bare = rt.Table(frame, quasi=["age"], sensitive="ill", declared={"badge": "kept in a safe"}, identifiers=[])
    rt.publish(bare, rt.KAnonymity(2), method="Mondrian").save(tmp_path / "bare")
    found = rt.gate(tmp_path / "bare", limits)
    assert found.ok
    assert len(found.reservations) == 2
    assert "'badge' does not count as known" in found.reservations[0]
    assert found.reservations[1] == "Nothing is promised about ill."
    full = rt.Table(frame.drop("badge"), quasi=["age"], sensitive="ill")
    rt.publish(full, rt.KAnonymity(2) & rt.DistinctLDiversity(2), method="Mondrian").save(tmp_path / "full")
    clean = rt.gate(tmp_path / "full", limits)
    assert (clean.verdict, clean.tone, clean.reservations) == ("The gate passed.", "good", ())
    assert markdown(clean).startswith("## ✅ ")


def test_adversaries_look_up_the_people_of_the_raw_table(folder: Path) -> None:
    text = '[attacks]\nraw = "policy.toml"\n[attacks.shares]\nlinkage = 1'
    assert rt.gate(folder / "release", limited(folder, text)).ok


def test_a_release_that_another_key_signed_or_none_is_stopped(folder: Path, tmp_path: Path) -> None:
    other = generate_keys(tmp_path, "other")
    text = f'[signature]\nkeys = ["{other.public}"]'
    assert outcome(rt.gate(folder / "release", limited(folder, text)), "signature.keys") == "failed"
    both = f'[signature]\nkeys = ["{other.public}", "reticent.pub"]'
    assert rt.gate(folder / "release", limited(folder, both)).ok
    table = rt.read(policy=folder / "policy.toml")
    rt.publish(table, rt.KAnonymity(4)).save(tmp_path / "unsigned")
    unsigned = rt.gate(tmp_path / "unsigned", limited(folder, both))
    assert [check.detail for check in unsigned.failures] == ["There is no valid signature. 2 keys are accepted."]


def test_a_changed_file_is_stopped_whatever_the_limits(folder: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(folder / "release", tmp_path / "release")
    data = tmp_path / "release" / "public" / "data.csv"
    data.write_text(data.read_text().replace("flu", "gout", 1))
    result = rt.gate(tmp_path / "release", limited(folder, "[loss]\ntotal = 1"))
    assert [(check.limit, check.detail) for check in result.failures] == [
        ("verified", "These do not hold: files. `reticent verify release` shows why.")
    ]


def test_a_claim_about_a_population_is_verified_against_one(folder: Path, tmp_path: Path) -> None:
    population = pl.concat([PATIENTS.select("age", "zip")] * 3)
    population.write_csv(tmp_path / "population.csv")
    table = rt.read(policy=folder / "policy.toml")
    rt.publish(table, rt.KMap(6, population=population), method=rt.Lattice()).save(tmp_path / "release")
    without = rt.gate(tmp_path / "release", limited(tmp_path, "[columns]\ndeclared = []"))
    assert (
        "not re-checked: claim KMap. A claim about a population needs [population] source."
        in without.failures[0].detail
    )
    assert rt.gate(tmp_path / "release", limited(tmp_path, '[population]\nsource = "population.csv"')).ok


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[atacks]\nshare = 1", "limits.toml:1:1", "a limits file has no setting 'atacks'. Did you mean 'attacks'?"),
        ("[attacks]\nshares = { homogenity = 1 }", "limits.toml:2:12", "Did you mean 'homogeneity'?"),
        ("[loss]\n\ntotal = 1.5", "limits.toml:3:1", "total must be at most 1, but it is 1.5"),
        ("[loss]\ntotal = true", "limits.toml:2:1", "total must be a share from 0 to 1, but it is true"),
        ('[definitions]\nhold = ["KAnonimity(5)"]', "limits.toml:2:9", "Did you mean 'KAnonymity'?"),
        ('[definitions]\nhold = ["KAnonymity(5)", "KAnonymity("]', "limits.toml:2:26", "cannot be read"),
        ("[loss\n", "limits.toml:1:6", "this is not TOML"),
        ("", "limits.toml:1:1", "has no limit"),
        ("[signature]", "limits.toml:1:1", "needs a setting 'keys': the publisher's public key"),
        ('[signature]\nkeys = ["reticent.key"]', "limits.toml:2:9", "is a private key. Name the public one"),
        ('[attacks]\nraw = "patients.csv"', "limits.toml:2:1", "raw must be the policy (.toml)"),
    ],
)
def test_a_mistake_in_the_limits_is_shown_at_its_line(folder: Path, text: str, place: str, words: str) -> None:
    with pytest.raises(PolicyError) as error:
        limited(folder, text)
    assert str(error.value).startswith(place)
    assert words in str(error.value)


def test_targets_and_limits_that_do_not_exist_are_bad_input(folder: Path) -> None:
    with pytest.raises(PolicyError, match=r"There is no limits file .*Did you mean 'limits.toml'"):
        rt.gate(folder / "release", folder / "limit.toml")
    with pytest.raises(PolicyError, match="neither the folder of a release nor a policy"):
        rt.gate(folder / "nothing", folder / "limits.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[signature]\nkeys = ["lost.pub"]',
        '[population]\nsource = "lost.csv"',
        '[attacks]\nraw = "lost.toml"\nshare = 1',
    ],
)
def test_a_file_that_the_limits_name_and_nobody_has_is_bad_input_at_its_line(folder: Path, text: str) -> None:
    with pytest.raises(PolicyError, match=r"limits\.toml:2:\d+: there is no file .*lost\."):
        rt.gate(folder / "release", limited(folder, text))
    assert rt.gate(folder / "release", limited(folder, f"[signature]\nkeys = ['{'0' * 64}']")).number("failed") == 1


def test_the_command_exits_with_0_1_and_2_and_prints_one_object(folder: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)

    def command(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["reticent", "gate", *words])
        return run(app), capsys.readouterr().out

    code, text = command("release", "--limits", "limits.toml", "--json")
    assert (code, json.loads(text)["ok"]) == (0, True)
    Path("strict.toml").write_text("[loss]\ntotal = 0")
    code, text = command("release", "--limits", "strict.toml", "--json")
    assert code == 1
    assert [each["limit"] for each in json.loads(text)["checks"] if each["status"] == "failed"] == ["loss.total"]
    code, text = command("release", "--limits", "strict.toml")
    assert code == 1
    assert "strict.toml:2: loss.total: Loss: 0.0881, above 0." in text.splitlines()
    assert command("release", "--limits", "missing.toml", "--json")[0] == 2


@pytest.fixture(scope="module")
def failing(folder: Path) -> GateResult:
    text = '[definitions]\nhold = ["KAnonymity(7)"]\n[loss]\ntotal = 0\nsuppressed = 1\n[columns]\nunnamed = []'
    return rt.gate(folder / "release", limited(folder, text))


def test_junit_has_a_case_for_each_check(failing: GateResult) -> None:
    suites = ElementTree.fromstring(junit(failing).encode())
    suite = suites.find("testsuite")
    assert suite is not None
    assert (suites.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "testsuites",
        "5",
        "2",
        "1",
    )
    assert [case.get("name") for case in suite if case.find("failure") is not None] == [
        "definitions.hold: KAnonymity(k=7)",
        "loss.total: Loss",
    ]


def test_junit_stays_xml_whatever_a_column_is_called() -> None:
    from reticent.gates import GateCheck

    check = GateCheck("columns.unnamed", "Columns", "failed", "Not allowed: 'a\x00<b>&\"\ud800'.", 1)
    result = GateResult(Path("p.toml"), "policy", "l.toml", (check,))
    assert "a\ufffd<b>" in str(ElementTree.fromstring(junit(result).encode()).find(".//failure").get("message"))


def test_sarif_has_the_published_shape(failing: GateResult) -> None:
    document = json.loads(sarif(failing))
    results = document["runs"][0]["results"]
    assert [(each["ruleId"], each["locations"][0]["physicalLocation"]["region"]["startLine"]) for each in results] == [
        ("definitions.hold", 2),
        ("loss.total", 4),
    ]
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in results)
    shape = pytest.importorskip("sarif_pydantic", reason="the shape of SARIF 2.1.0 needs sarif-pydantic")
    assert shape.Sarif.model_validate(document).version == "2.1.0"


def test_markdown_is_a_table_whatever_a_column_is_called(failing: GateResult) -> None:
    from reticent.gates import GateCheck

    assert markdown(failing).startswith("## ❌ `")
    check = GateCheck("columns.unnamed", "Columns", "failed", "Not allowed: 'a|b\n<script>'.", 1)
    text = markdown(GateResult(Path("p.toml"), "policy", "l.toml", (check,)))
    assert text.splitlines()[-1].endswith(r"Not allowed: 'a\|b \<script\>'. |")


MARKER = "zzmarkerzz"


def marked() -> pl.DataFrame:
    """A table with a marker in every text and a number that marks the others."""
    return pl.DataFrame(
        {
            "name": [f"{MARKER}name{i}" for i in range(60)],
            "age": [987_000 + i // 6 for i in range(60)],
            "town": [f"{MARKER}town{i // 20}" for i in range(60)],
            "disease": [f"{MARKER}disease{i % 3}" for i in range(60)],
            "shoe": [f"{MARKER}shoe{i % 10}" for i in range(60)],
        }
    )


MARKED_POLICY = f"""\
[data]
source = "marked.csv"
[roles]
identifiers = ["name"]
quasi = ["age", "town"]
sensitive = ["disease"]
[declared]
shoe = "nobody knows it"
[hierarchies.age]
kind = "intervals"
widths = [10, 100]
domain = [986990, 987200]
[[definition]]
name = "KAnonymity"
k = 3
[[definition]]
name = "EntropyLDiversity"
l = 2
dont_care = ["{MARKER}disease0"]
column = "disease"
"""
# What makes the run end in an error whose message shows data or the policy's values.
SPOILED = {
    "fine": ("", ""),
    "domain": ("domain = [986990, 987200]", "domain = [0, 10]"),
    "type": ('source = "marked.csv"', 'source = "marked.csv"\ntypes = {town = "integer"}'),
    "infeasible": ("k = 3", "k = 61"),
    "unknown value": ('kind = "intervals"\nwidths = [10, 100]', f'kind = "taxonomy"\ntree = {{"{MARKER}" = [1]}}'),
    "unknown setting": ("widths", f'{MARKER} = "{MARKER}"\nwidths'),
    "unreadable": ("[roles]", f'"{MARKER}'),
    "missing column": ('quasi = ["age", "town"]', 'quasi = ["age", "city"]'),
}
MARKED_LIMITS = f"""\
[definitions]
hold = ["KAnonymity(30)", "EntropyLDiversity(l=3, dont_care=['{MARKER}disease1'])", "ConfidenceBounding(h=0.1, values=['{MARKER}disease2'])"]
[attacks]
share = 0
none_succeeds = true
[attacks.shares]
linkage = 0
[loss]
total = 0
[loss.columns]
town = 0
[columns]
published = []
declared = []
unnamed = []
"""


@pytest.fixture(scope="module")
def marked_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("marked")
    marked().write_csv(made / "marked.csv")
    (made / "limits.toml").write_text(MARKED_LIMITS)
    (made / "policy.toml").write_text(MARKED_POLICY)
    table = rt.read(policy=made / "policy.toml")
    definition = rt.KAnonymity(3) & rt.EntropyLDiversity(2, dont_care=[f"{MARKER}disease0"], column="disease")
    rt.publish(table, definition).save(made / "release")
    for name, (old, new) in SPOILED.items():
        assert old in MARKED_POLICY
        (made / f"{name.replace(' ', '_')}.toml").write_text(MARKED_POLICY.replace(old, new, 1))
    return made


def outputs(folder: Path, target: str, monkeypatch, capsys) -> Iterator[str]:
    """Everything that the command prints and writes, as text and as JSON."""
    monkeypatch.chdir(folder)
    words = ["gate", target, "--limits", "limits.toml", "--junit", "j.xml", "--sarif", "s.sarif", "--markdown", "m.md"]
    for extra in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["reticent", *words, *extra])
        assert run(app) == 1
        yield from capsys.readouterr()
    for name in ("j.xml", "s.sarif", "m.md"):
        yield Path(name).read_text()


@pytest.mark.parametrize("target", [*(f"{name.replace(' ', '_')}.toml" for name in SPOILED), "release", "forged"])
def test_no_value_of_the_data_is_in_any_output(marked_folder: Path, target: str, monkeypatch, capsys) -> None:
    if target == "forged":
        import shutil

        shutil.copytree(marked_folder / "release", marked_folder / "forged", dirs_exist_ok=True)
        manifest = marked_folder / "forged" / "public" / "manifest.json"
        manifest.write_text(manifest.read_text().replace(f"{MARKER}town0", f"{MARKER}other"))
    for text in outputs(marked_folder, target, monkeypatch, capsys):
        assert MARKER not in text
        assert "987" not in text


def test_the_same_errors_show_values_elsewhere(marked_folder: Path, monkeypatch, capsys) -> None:
    """The test above can fail: other commands do show these markers to the steward."""
    monkeypatch.chdir(marked_folder)
    shown = []
    for name in ("unknown_value", "unknown_setting", "unreadable", "domain"):
        monkeypatch.setattr(sys, "argv", ["reticent", "preview", f"{name}.toml"])
        run(app)
        text = "".join(capsys.readouterr())
        shown.append(MARKER in text or "987" in text)
    assert all(shown)


def test_starting_the_program_does_not_load_the_gate() -> None:
    code = "import sys, reticent.cli.app; print(any(name.startswith('reticent.gates') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_model_in_the_documentation_is_a_limits_file() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pipeline.md").read_text("utf-8")
    model = page.split("# file: limits.toml\n", 1)[1].split("```", 1)[0]
    assert set(tomllib.loads(model)) == {"definitions", "attacks", "loss", "signature", "columns", "population"}
    assert Limits.parse(model).definitions
