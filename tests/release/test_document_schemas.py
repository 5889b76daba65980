"""The shipped JSON Schemas are those of the models that the program reads by, and every release is valid by them.

To write the files anew, on purpose: ``python -m tests.release.test_document_schemas``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.release import shipped_schema
from reticent.release.document_models import CertificateDocument, ManifestDocument
from tests.release.document_faults import document_faults
from tests.verifier.conformance import unpacked, verdicts

MODELS = {"manifest": ManifestDocument, "certificate": CertificateDocument}
SHIPPED = Path(rt.__file__).parent / "release" / "schemas"


def generated_schemas() -> dict[str, Any]:
    """The schemas as the models have them. Optional entries are left out of a document, never null."""
    return {
        name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(by_alias=True),
            "title": f"{name.capitalize()} of a Reticent release, layout 4",
        }
        for name, model in MODELS.items()
    }


@pytest.mark.parametrize("name", ["manifest", "certificate"])
def test_the_shipped_schema_is_the_generated_one(name: str) -> None:
    assert shipped_schema(name) == generated_schemas()[name]
    Draft202012Validator.check_schema(shipped_schema(name))


def test_releases_of_the_conformance_suite_that_can_be_read_are_valid(tmp_path: Path) -> None:
    """And those whose structure is wrong are not: both are found by schema and reader alike."""
    expected = verdicts()["releases"]
    folders = dict(zip(expected, unpacked(tmp_path), strict=True))
    readable = [name for name, each in expected.items() if each["checks"].get("consistency") == "holds"]
    assert len(readable) > 150
    assert {name: found for name in readable if (found := document_faults(folders[name]))} == {}


@pytest.mark.parametrize("name", ["manifest", "certificate"])
def test_the_command_prints_a_schema(name: str) -> None:
    ran = CliRunner().invoke(app, ["schema", name])
    assert json.loads(ran.output) == shipped_schema(name)
    ran = CliRunner().invoke(app, ["schema", name, "--json"])
    assert json.loads(ran.output) == {"ok": True, "schema": shipped_schema(name)}


def test_the_command_names_the_schemas() -> None:
    assert CliRunner().invoke(app, ["schema", "policy"]).exit_code != 0
    ran = CliRunner().invoke(app, ["schema", "--json"])
    assert set(json.loads(ran.output)["schemas"]) == {"manifest", "certificate"}


if __name__ == "__main__":
    for each, schema in generated_schemas().items():
        SHIPPED.mkdir(exist_ok=True)
        (SHIPPED / f"{each}.schema.json").write_text(json.dumps(schema, indent=1) + "\n", encoding="utf-8")
