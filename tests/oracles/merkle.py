"""Merkle trees as RFC 6962, section 2.1 defines them: by recursion on the leaves, with no thought for speed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def tree_hash(leaves: Sequence[bytes]) -> bytes:
    """MTH(D[n]) over the contents of the leaves."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = power_below(len(leaves))
    return hashlib.sha256(b"\x01" + tree_hash(leaves[:split]) + tree_hash(leaves[split:])).digest()


def audit_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    split = power_below(len(leaves))
    if index < split:
        return [*audit_path(index, leaves[:split]), tree_hash(leaves[split:])]
    return [*audit_path(index - split, leaves[split:]), tree_hash(leaves[:split])]


def power_below(size: int) -> int:
    """The largest power of two smaller than ``size``."""
    power = 1
    while power * 2 < size:
        power *= 2
    return power
