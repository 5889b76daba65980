"""How a release was made, read off its public side: what somebody needs who makes one in the same way."""

from __future__ import annotations

from typing import Any

from reticent.definitions import GroupDefinition, all_of, of_groups
from reticent.errors import PolicyError, ReticentError
from reticent.release import PublicSide
from reticent.release.claims import read_claims


def definition_of(side: PublicSide) -> GroupDefinition:
    """The definition that a release claims; refused where it cannot be judged without a population, or is not known."""
    claims = read_claims(side.certificate)
    unknown = [claim.text for claim in claims if claim.definition is None or claim.definition.needs_population]
    if unknown:
        raise PolicyError(f"The release would have to be made again, but {unknown[0]} cannot be repeated.")
    return of_groups(
        all_of(tuple(claim.definition for claim in claims if claim.definition is not None)), "Making it again"
    )


def method_of(side: PublicSide) -> Any:
    """The method that made a release, with its parameters; refused where it cannot be told."""
    from reticent import anonymize

    described = dict(side.manifest.method)
    name = str(described.pop("name", "unknown"))
    try:
        return getattr(anonymize, name)(**described)
    except (AttributeError, TypeError, ReticentError):
        raise PolicyError(f"The release would have to be made again, but {name} cannot be repeated.") from None
