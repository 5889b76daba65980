"""Both verifiers on the conformance suite and on random releases: the same verdict on every check, and no forgery accepted."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from reticent.definitions import GroupDefinition, HistoryDefinition, names
from reticent.registry import load
from tests.verifier.agreement import NODE, OPTIONAL, PROGRAM, differences, node_verdicts, python_verdicts, write
from tests.verifier.conformance import unpacked, verdicts
from tests.verifier.random_releases import FORMATS, random_release

EXPECTED = verdicts()
NAMES = list(EXPECTED["releases"])
DECIDED = ("view", "records", "perturbed", "series", "batch-series")
"""Formats beside those of groups that the document makes decidable."""
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    return dict(zip(NAMES, unpacked(tmp_path_factory.mktemp("conformance")), strict=True))


def entry(name: str) -> dict[str, Any]:
    return EXPECTED["releases"][name]


def test_the_suite_has_every_format_and_every_definition(folders) -> None:
    """So that another implementation that passes it is a verifier."""
    claimed, formats = set(), set()
    for folder in folders.values():
        try:
            certificate = json.loads((folder / "certificate.json").read_bytes())
        except (OSError, ValueError):
            continue
        formats.add(str(certificate["format"]))
        claimed |= {claim["definition"] for claim in certificate["claims"]}
    assert {*FORMATS, *DECIDED} <= formats
    assert {name for name in names() if issubclass(load("definition", name), GroupDefinition)} <= claimed
    assert {"BoundedBelief", "LocalDP", "TauSafety", "MInvariance"} <= claimed
    statuses = {(name, status) for each in EXPECTED["releases"].values() for name, status in each["checks"].items()}
    decided = ["certificate", "files", "consistency", "order", "reference", "claim 1", "declared columns", "pseudonym"]
    assert {(name, status) for name in decided for status in ("holds", "fails")} <= statuses


def test_the_document_names_every_parameter_of_every_definition() -> None:
    """Somebody who has only the document knows what a claim may say."""
    written = (Path(__file__).parents[2] / "docs" / "reference" / "release-format.md").read_text()
    defined = written[written.index("## 9. Definitions") : written.index("## 10. ")]
    for name in names():
        kind = load("definition", name)
        if not issubclass(kind, GroupDefinition | HistoryDefinition) and name not in ("BoundedBelief", "LocalDP"):
            continue
        assert f"`{name}" in defined, name
        for each in fields(kind):
            # A population is brought along by the recipient.
            if each.name != "population":
                assert re.search(rf"[`(, ]{each.name}[`), ]", defined), (name, each.name)


def check_python(names: list[str], folders: dict[str, Path]) -> None:
    for name in names:
        headline, checks = python_verdicts(folders[name])
        assert differences(entry(name)["checks"], checks) == {}, (name, entry(name)["about"])
        if entry(name)["checks"].get("wording") == checks.get("wording"):
            assert headline == entry(name)["headline"]


def test_reticent_gives_the_expected_verdicts(folders) -> None:
    check_python(NAMES[::8], folders)


@pytest.mark.slow
def test_reticent_gives_all_expected_verdicts(folders) -> None:
    check_python(NAMES, folders)


@needs_node
def test_the_javascript_core_gives_the_expected_verdicts(folders) -> None:
    found = node_verdicts(list(folders.values()))
    wrong = {
        name: (entry(name)["about"], differences(entry(name)["checks"], checks))
        for name, (_, checks) in zip(NAMES, found, strict=True)
        if differences(entry(name)["checks"], checks)
    }
    assert wrong == {}
    for name, (headline, checks) in zip(NAMES, found, strict=True):
        if all(entry(name)["checks"].get(each) != "fails" for each in OPTIONAL) and "not re-checked" not in {
            status for check, status in checks.items() if check.startswith("claim")
        }:
            assert headline == entry(name)["headline"], (name, entry(name)["about"])


def test_no_forgery_with_the_signature_of_the_original_is_accepted() -> None:
    forged = [each for each in EXPECTED["releases"].values() if "with the signature of the original" in each["about"]]
    assert len(forged) > 30
    assert {each["headline"] for each in forged} == {"does not hold"}


def agree(seeds: range, folder: Path) -> None:
    """Random releases, a few hundred at a time."""
    for start in seeds[::200]:
        chosen = [seed for seed in seeds if start <= seed < start + 200]
        places = [write(random_release(seed, folder / "made"), folder / str(seed) / "public") for seed in chosen]
        ours = [python_verdicts(place) for place in places]
        for seed, (_, mine), (_, theirs) in zip(chosen, ours, node_verdicts(places), strict=True):
            assert differences(mine, theirs, OPTIONAL) == {}, seed
        shutil.rmtree(folder)
        folder.mkdir()


@needs_node
def test_both_verifiers_agree_on_random_releases(tmp_path) -> None:
    agree(range(70_000, 70_016), tmp_path)


@needs_node
@pytest.mark.slow
def test_both_verifiers_agree_on_ten_thousand_random_releases(tmp_path) -> None:
    agree(range(100_000, 110_000), tmp_path)


MUTATIONS = {
    "a group of k - 1 is accepted": ("core/definitions.js", "sizes: (p) => (size) => size >= p.k, crowd: (p) => (p.quasi", "sizes: (p) => (size) => size >= p.k - 1, crowd: (p) => (p.quasi"),
    "at most is taken for less": ("core/definitions.js", "const isAtMost = (n, f, m) => big(n) * f.d <= f.n * big(m);", "const isAtMost = (n, f, m) => big(n) * f.d < f.n * big(m);"),
    "other sensitive columns are not known": ("core/definitions.js", "yield groups.slices(this.p.alone ? [] : names", "yield groups.slices(true ? [] : names"),
    "hashes are not compared": ("core/verify.js", "if (!same(listed[name], { sha256, bytes: bytes.length }))", "if (listed[name].bytes !== bytes.length)"),
    "any signature will do": ("core/signatures.js", "for (const each of signatures) if (!(await isSignature(each, body))) return null;", ""),
    "a posterior may be anything": ("core/plans.js", "if (worst.compare(p.gamma) > 0)", "if (false)"),
    "drawn rows need no order": ("core/plans.js", "need(at < 0 ? !isSet : before[at] < after[at],", "need(true,"),
    "groups of a series may repeat a value": ("core/series.js", 'makeDefinition("MUnique", { m })', 'makeDefinition("KAnonymity", { k: m })'),
    "the suppressed records are not judged": ("core/verify.js", "if (!apart) judgeLeftOut(definition, remainder, context);", ""),
    "rows need not be sorted": ("core/tables.js", "if (before > after) return false;", ""),
    "labels may mean the same": ("core/values.js", "need(new Set(written).size === texts.length", "need(true || new Set(written).size === texts.length"),
    "keys are in the order of code points": ("core/canonical.js", "Object.keys(value).sort()", "Object.keys(value).sort((a, b) => (([...a].map((c) => c.codePointAt(0)).find((c, i) => c !== b.codePointAt(i)) ?? 0) - (b.codePointAt(0) ?? 0)))"),
    "ties of entropy fail": ("core/definitions.js", "...fixed.map((n) => [n, -n])]) >= 0;\n}", "...fixed.map((n) => [n, -n])]) > 0;\n}"),
    "the distance of an order is that of a set": ("core/definitions.js", 'if (kind === "equal") return', 'if (kind !== "hierarchical") return'),
    "buckets need not match": ("core/formats.js", "need(people.get(number) === values.get(number),", "need(true,"),
}  # fmt: skip


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_of_the_core_is_caught(mutation: str, folders, tmp_path) -> None:
    file, before, after = MUTATIONS[mutation]
    copy = shutil.copytree(PROGRAM.parent, tmp_path / "verifier")
    source = (copy / file).read_text()
    assert source.count(before) == 1
    (copy / file).write_text(source.replace(before, after))
    found = node_verdicts(list(folders.values()), program=copy / "node.js")
    assert any(differences(entry(name)["checks"], checks) for name, (_, checks) in zip(NAMES, found, strict=True))
