"""The replies of the tools: names of columns, definitions, methods and adversaries, counts and shares. No row, no cell,
no error message.

Each reply is built from fields that cannot contain a data value; no sentence of other packages is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.errors import Infeasible, PolicyError
from reticent.gates import without_message, without_values

_HIDDEN = "The message may show data and stays on this machine: run the same command in a terminal to read it."


def guarded(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the reply of some work with ``ok``; an error is reduced to its kind, column and position."""
    try:
        return {"ok": True, **work()}
    except OutsideRoot as error:
        return {"ok": False, "error": {"kind": "OutsideRoot", "message": str(error)}}
    except Infeasible:
        told = "No release of these data satisfies the definition. Weaken the definition, or allow suppression."
        return {"ok": False, "error": {"kind": "Infeasible", "message": told}}
    except Exception as error:
        told = f"{without_message(error)}. {_HIDDEN}"
        return {"ok": False, "error": {"kind": type(error).__name__, "message": told}}


class OutsideRoot(PolicyError):
    """A path that the server may not open, or that does not exist; the message contains only the path as given."""


def number(value: object) -> float | int | str | None:
    """Return a number in JSON form, fractions as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return str(value) if isinstance(value, Fraction) and value.denominator > 1 else float(value)


def inspected(source: Path, output: Path | None) -> dict[str, Any]:
    """Return the columns of a file with proposed roles and counts; with ``output`` the proposed policy is written to it, and not returned."""
    from reticent.policy import inspect

    found = inspect(source, output=output or source.with_name("policy.toml"))
    if output is not None:
        if output.exists():
            raise OutsideRoot(f"{output.name} exists already. Choose another name for the policy.")
        found.save(output)
    columns = [
        {
            "name": column.name,
            "role": column.role,
            "type": column.profile.type,
            "distinct": column.profile.distinct,
            "missing": column.profile.nulls,
            "values_of_one_row": column.profile.single,
        }
        for column in found.proposal.columns
    ]
    possible = found.proposal.refusal is None
    return {
        "columns": columns,
        "rows": columns and found.proposal.columns[0].profile.rows,
        "proposal": possible,
        "definition": [without_values(each) for each in found.parsed().definitions] if possible else [],
        "policy": None if output is None else str(output),
        "notes": f"{len(found.notes) + len(found.headline)} notes for the steward are in the policy.",
    }


def assessed(policy: Path) -> dict[str, Any]:
    """Return the disclosure risk of the unmodified table of a policy, by the policy's definition."""
    from reticent.policy import Policy
    from reticent.release import adversary_view_of, assess

    read = Policy.read(policy)
    table = read.table()
    sizes = adversary_view_of(table).labelled_groups.sizes
    parts = [(part, assess(table, part)) for part in read.definition.parts()]
    return {
        "holds": all(found.holds for _, found in parts),
        "rows": table.rows,
        "groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "unique_records": int((sizes == 1).sum()),
        "definitions": [
            {"definition": without_values(part), "holds": found.holds, "achieved": number(found.value)}
            for part, found in parts
        ],
        "columns_without_a_role": list(table.unpublished),
    }


def previewed(policy: Path, attacks: bool) -> dict[str, Any]:
    """Return what a policy would publish, in figures. Nothing is recorded."""
    from reticent.policy import Policy, preview_policy

    read = Policy.read(policy)
    found = preview_policy(read)
    groups = found.groups
    return {
        "recorded": False,
        "definition": without_values(found.definition),
        "verdict": found.headline.state,
        "reservations": len(found.headline.reasons),
        "method": found.method.get("name"),
        "format": found.format,
        "rows": found.rows,
        "suppressed": found.suppressed,
        "groups": None if groups is None else {"count": len(groups), "smallest": int(groups.people.min())},
        "utility": {name: number(value) for name, value in found.utility.items()},
        "loss_by_column": {name: number(value) for name, value in found.loss_by_column.items()},
        "attacks": [_attacked(after) for _, after in found.attacks] if attacks else None,
    }


def _attacked(found: Any) -> dict[str, Any]:
    return {
        "adversary": found.adversary,
        "hits": found.hits,
        "people": found.people,
        "share": found.share,
        "without_the_release": found.baseline,
        "succeeds": found.succeeds,
    }


def compared(policy: Path) -> dict[str, Any]:
    """Compare the policy's method with the others that satisfy its definition: risk and loss of each."""
    from reticent.policy import Policy, compare_policy

    rows = compare_policy(Policy.read(policy)).table.to_dicts()
    plain = ("rows", "suppressed", "groups", "smallest", "highest_risk", "succeeding", "loss", "ncp", "kl")
    return {
        "recorded": False,
        "methods": [
            {"method": row["method"], "possible": row["possible"], **{name: number(row[name]) for name in plain}}
            for row in rows
        ],
    }


def explained(release: Path) -> dict[str, Any]:
    """Return the parts of a certificate: claims, adversaries, columns, and signers. ``verify`` recomputes it."""
    from reticent.registry import DEFINITIONS
    from reticent.release import DeclaredColumns, certificate_hash, open_public, read_claims

    side = open_public(release)
    said, declared = side.certificate, DeclaredColumns.stated(side.certificate)
    claims = [
        {
            "definition": claim.text if claim.definition is None else without_values(claim.definition),
            "meaning": DEFINITIONS[claim.definition.name].help if claim.definition is not None else None,
            "adversary_knows": list(said["quasi"]),
        }
        for claim in read_claims(said)
    ]
    signature = said.get("signature") or {}
    return {
        "verdict_stated": said["headline"]["state"],
        "claims": claims,
        "unit": said["unit"],
        "format": said["format"],
        "published_rows": side.height,
        "quasi": list(said["quasi"]),
        "sensitive": list(said["sensitive"]),
        "declared_unknown": {
            name: {"unique_records": each.unique, "among_few": each.few} for name, each in declared.each.items()
        },
        "random_choices_are_secure": said["randomness"].get("releasable") is True,
        "data_set": said["ledger"].get("dataset"),
        "release_number": said["ledger"].get("release"),
        "created": said["created"],
        "signed_with": signature.get("public_key"),
        "files": {name: entry["sha256"] for name, entry in said["files"].items()},
        "hash": certificate_hash(said),
        "not_covered": "Nothing is claimed beyond these definitions. STATEMENT.txt in the public folder has the residual risks in words.",
    }


def verified(release: Path, key: Path | None, population: Path | None) -> dict[str, Any]:
    """Recompute every claim from the public side; return the outcome of each check."""
    from reticent.release import verify

    found = verify(release, key=key, population=population)
    return {
        "holds": found.holds,
        "verdict": found.headline.state,
        "signed": found.signed,
        "checks": [
            {"check": check.name.partition("(")[0], "status": check.status, "claim": check.claim}
            for check in found.checks
        ],
    }
