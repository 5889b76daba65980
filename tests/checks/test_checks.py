"""Definitions as checks of pandera and pointblank, run by the libraries themselves."""

from __future__ import annotations

import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError

FRAME = pl.DataFrame({"age": ["[20, 40)"] * 5 + ["[40, 60)"] * 4, "ill": ["flu", "gout", "cold"] * 3})
ROLES = {"quasi": ["age"], "sensitive": "ill"}


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_pandera_passes_and_fails_as_the_definition_does(kind: str) -> None:
    if kind == "polars":
        library = pytest.importorskip("pandera.polars", reason="pandera is not installed")
        frame = FRAME
    else:
        library = pytest.importorskip("pandera.pandas", reason="pandera is not installed")
        frame = FRAME.to_pandas()
    columns = {"age": library.Column(str), "ill": library.Column(str)}

    def schema(k: int):
        return library.DataFrameSchema(columns, checks=rt.checks.pandera_check(rt.KAnonymity(k), **ROLES))

    schema(4).validate(frame)
    with pytest.raises(library.errors.SchemaError) as failure:
        schema(5).validate(frame)
    assert "KAnonymity(k=5)" in str(failure.value)
    assert "gout" not in str(failure.value)


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_pointblank_passes_and_fails_as_the_definition_does(kind: str) -> None:
    library = pytest.importorskip("pointblank", reason="pointblank is not installed")
    frame = FRAME if kind == "polars" else FRAME.to_pandas()

    def passes(definition: rt.Definition) -> bool:
        check = rt.checks.pointblank_check(definition, **ROLES)
        return library.Validate(frame).specially(expr=check).interrogate().all_passed()

    assert passes(rt.KAnonymity(4) & rt.DistinctLDiversity(3))
    assert not passes(rt.KAnonymity(5))


def test_a_missing_value_is_a_value_and_a_new_column_is_named() -> None:
    frame = pl.DataFrame({"age": ["a", "a", None, None], "ill": ["x", "y", "x", "y"]})
    assert rt.checks.satisfies(frame, rt.KAnonymity(2), **ROLES)
    assert not rt.checks.satisfies(frame, rt.KAnonymity(3), **ROLES)
    with pytest.raises(PolicyError, match="'shoe size'"):
        rt.checks.satisfies(frame.with_columns(pl.lit(42).alias("shoe size")), rt.KAnonymity(2), **ROLES)
    assert rt.checks.satisfies(frame.with_columns(pl.lit(42).alias("n")), rt.KAnonymity(2), **ROLES, only=False)
