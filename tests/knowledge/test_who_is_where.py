"""A release keeps who is where on its private side, so that the steward can ask what-if about it by name."""

from __future__ import annotations

import json
from fractions import Fraction

from typer.testing import CliRunner

import reticent as rt
from reticent.cli.app import app
from reticent.demo import ten_people


def release():
    quasi = {
        "zip": rt.Hierarchy.masking(5, keep=[5, 4]),
        "age": rt.Hierarchy.intervals([10], domain=(20, 29)),
        "sex": None,
    }
    table = rt.Table(ten_people(), quasi=quasi, sensitive="disease", identifiers=["name"])
    return rt.publish(table, rt.WorstCaseKnowledge("0.7", 1))


def test_what_if_finds_people_by_name_on_the_private_side():
    found = rt.knowledge.what_if(release(), know=["Hannah=Flu -> Charlie=Flu"], ask="Charlie=Flu")
    assert found.posterior == Fraction(10, 19)


def test_the_command_line_finds_them_in_a_saved_release(tmp_path):
    release().save(tmp_path / "release")
    assert not list((tmp_path / "release" / "public").glob("people*"))
    arguments = ["knowledge", "whatif", str(tmp_path / "release"), "--know", "Hannah=Flu -> Charlie=Flu"]
    done = CliRunner().invoke(app, [*arguments, "--ask", "Charlie=Flu", "--json"])
    assert json.loads(done.stdout)["posterior"] == "10/19"
