"""``reticent dossier`` on the command line: statements from the policy and from a file beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import POLICY, Command


def test_a_dossier_is_written_with_the_stewards_statements(patients: Path, reticent: Command) -> None:
    (patients / "policy.toml").write_text(POLICY + '\n[dossier]\npurpose = "Research"\nreview = "Every year"\n')
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    (patients / "said.toml").write_text('[dossier]\nreview = "Every month"\nlegal_basis = "Article 9(2)(j)"\n')
    made = reticent(
        "dossier", "release", "--for", "gdpr", "--policy", "policy.toml", "--statements", "said.toml", "--json"
    )
    assert made.code == 0, made.out
    assert "review" not in made.json["missing_statements"]
    assert "controller" in made.json["missing_statements"]
    page = Path("dossier-gdpr.html").read_text()
    assert "Every month" in page
    assert "Every year" not in page
    plain = reticent("dossier", "release", "--for", "ema-prci", "-o", "d.json")
    assert "Largest probability of re-identification" in plain.out
    assert "It is evidence, not a determination." in plain.out
    assert json.loads(Path("d.json").read_bytes())["regime"] == "ema-prci"


def test_mistakes_end_in_words_and_leave_no_file(patients: Path, reticent: Command) -> None:
    reticent("publish", "policy.toml", "-o", "release")
    (patients / "bad.toml").write_text('[dossier]\npurpos = "x"\n')
    (patients / "worse.toml").write_text("[dosier]\n")
    for options, words in (
        (("--for", "hippa"), "regime must be one of"),
        (("--for", "gdpr", "-o", "d.txt"), "html, pdf, json"),
        (("--for", "gdpr", "--statements", "bad.toml"), "Did you mean 'purpose'"),
        (("--for", "gdpr", "--statements", "worse.toml"), "dosier"),
        (("--for", "gdpr", "--statements", "nowhere.toml"), "There is no statements file"),
    ):
        refused = reticent("dossier", "release", *options)
        assert (refused.code, words in refused.err) == (2, True), refused.err
    assert not list(patients.glob("d*.*"))
