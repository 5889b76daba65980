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
        message = "No release of these data satisfies the definition. Weaken the definition, or allow suppression."
        return {"ok": False, "error": {"kind": "Infeasible", "message": message}}
    except Exception as error:
        message = f"{without_message(error)}. {_HIDDEN}"
        return {"ok": False, "error": {"kind": type(error).__name__, "message": message}}


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

    inspection = inspect(source, output=output or source.with_name("policy.toml"))
    if output is not None:
        if output.exists():
            raise OutsideRoot(f"{output.name} exists already. Choose another name for the policy.")
        inspection.save(output)
    columns = [
        {
            "name": column.name,
            "role": column.role,
            "type": column.profile.type,
            "distinct": column.profile.distinct,
            "missing": column.profile.nulls,
            "values_of_one_row": column.profile.single,
        }
        for column in inspection.proposal.columns
    ]
    possible = inspection.proposal.refusal is None
    return {
        "columns": columns,
        "rows": columns and inspection.proposal.columns[0].profile.rows,
        "proposal": possible,
        "definition": [without_values(definition) for definition in inspection.parsed().definitions]
        if possible
        else [],
        "policy": None if output is None else str(output),
        "notes": f"{len(inspection.notes) + len(inspection.headline)} notes for the steward are in the policy.",
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
        "holds": all(verdict.holds for _, verdict in parts),
        "rows": table.rows,
        "groups": len(sizes),
        "smallest_group": int(sizes.min()) if len(sizes) else 0,
        "unique_records": int((sizes == 1).sum()),
        "definitions": [
            {"definition": without_values(part), "holds": verdict.holds, "achieved": number(verdict.value)}
            for part, verdict in parts
        ],
        "columns_without_a_role": list(table.unpublished),
    }


def previewed(policy: Path, attacks: bool) -> dict[str, Any]:
    """Return what a policy would publish, in figures. Nothing is recorded."""
    from reticent.policy import Policy, preview_policy

    read = Policy.read(policy)
    policy_preview = preview_policy(read)
    groups = policy_preview.groups
    return {
        "recorded": False,
        "definition": without_values(policy_preview.definition),
        "verdict": policy_preview.headline.state,
        "reservations": len(policy_preview.headline.reasons),
        "method": policy_preview.method.get("name"),
        "format": policy_preview.format,
        "rows": policy_preview.rows,
        "suppressed": policy_preview.suppressed,
        "groups": None if groups is None else {"count": len(groups), "smallest": int(groups.people.min())},
        "utility": {name: number(value) for name, value in policy_preview.utility.items()},
        "loss_by_column": {name: number(value) for name, value in policy_preview.loss_by_column.items()},
        "attacks": [_attacked(after) for _, after in policy_preview.attacks] if attacks else None,
    }


def _attacked(attack_findings: Any) -> dict[str, Any]:
    """Return the success of one adversary in figures, without any record or value."""
    return {
        "adversary": attack_findings.adversary,
        "hits": attack_findings.hits,
        "people": attack_findings.people,
        "share": attack_findings.share,
        "without_the_release": attack_findings.baseline,
        "succeeds": attack_findings.succeeds,
    }


def compared(policy: Path) -> dict[str, Any]:
    """Compare the policy's method with the others that satisfy its definition: risk and loss of each."""
    from reticent.policy import Policy, compare_policy

    rows = compare_policy(Policy.read(policy)).table.to_dicts()
    figure_names = ("rows", "suppressed", "groups", "smallest", "highest_risk", "succeeding", "loss", "ncp", "kl")
    return {
        "recorded": False,
        "methods": [
            {"method": row["method"], "possible": row["possible"], **{name: number(row[name]) for name in figure_names}}
            for row in rows
        ],
    }


def explained(release: Path) -> dict[str, Any]:
    """Return the parts of a certificate: claims, adversaries, columns, and signers. ``verify`` recomputes it."""
    from reticent.registry import DEFINITIONS
    from reticent.release import DeclaredColumns, certificate_hash, open_public, read_claims

    side = open_public(release)
    certificate, declared = side.certificate, DeclaredColumns.stated(side.certificate)
    claims = [
        {
            "definition": claim.text if claim.definition is None else without_values(claim.definition),
            "meaning": DEFINITIONS[claim.definition.name].help if claim.definition is not None else None,
            "adversary_knows": list(certificate["quasi"]),
        }
        for claim in read_claims(certificate)
    ]
    signature = certificate.get("signature") or {}
    return {
        "verdict_stated": certificate["headline"]["state"],
        "claims": claims,
        "unit": certificate["unit"],
        "format": certificate["format"],
        "published_rows": side.height,
        "quasi": list(certificate["quasi"]),
        "sensitive": list(certificate["sensitive"]),
        "declared_unknown": {
            name: {"unique_records": statement.unique, "among_few": statement.few}
            for name, statement in declared.each.items()
        },
        "random_choices_are_secure": certificate["randomness"].get("releasable") is True,
        "data_set": certificate["ledger"].get("dataset"),
        "release_number": certificate["ledger"].get("release"),
        "created": certificate["created"],
        "signed_with": signature.get("public_key"),
        "files": {name: entry["sha256"] for name, entry in certificate["files"].items()},
        "hash": certificate_hash(certificate),
        "not_covered": "Nothing is claimed beyond these definitions. STATEMENT.txt in the public folder has the residual risks in words.",
    }


def verified(release: Path, key: Path | None, population: Path | None) -> dict[str, Any]:
    """Recompute every claim from the public side; return the outcome of each check."""
    from reticent.release import verify

    verification = verify(release, key=key, population=population)
    return {
        "holds": verification.holds,
        "verdict": verification.headline.state,
        "signed": verification.signed,
        "checks": [
            {"check": check.name.partition("(")[0], "status": check.status, "claim": check.claim}
            for check in verification.checks
        ],
    }
