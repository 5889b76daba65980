"""The Merkle tree of a log: its root, inclusion proofs and consistency proofs.

Leaves and inner nodes are hashed with different first bytes, so that an inner node cannot be passed off as a leaf. A
proof lists the hashes that a reader needs to compute the root; checking it takes at most one step per tree level.

Source: [RFC9162], sections 2.1.1 to 2.1.4 (the same hashing as [RFC6962], section 2.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_LEAF, _NODE = b"\x00", b"\x01"


def leaf_hash(content: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(_LEAF + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(_NODE + left + right).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over the leaf hashes, in order; the empty tree's root is the hash of the empty string."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    level = list(leaves)
    while len(level) > 1:
        # The last node of an odd level is promoted unchanged: the left subtree of every split is the largest power of
        # two.
        level = [
            node_hash(*level[start : start + 2]) if start + 1 < len(level) else level[start]
            for start in range(0, len(level), 2)
        ]
    return level[0]


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the inclusion proof of leaf ``index``: the hashes of the siblings on its path to the root, bottom up."""
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), root_of(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), root_of(leaves[:split])]


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """Return the hashes that prove that the tree over the first ``size`` leaves is a prefix of this one; ``size`` is at least 1."""
    return _subproof(leaves, size, root_is_known=True)


def _subproof(leaves: Sequence[bytes], size: int, root_is_known: bool) -> list[bytes]:
    """Return the hashes that lead from the root over the first ``size`` leaves to the root over all (SUBPROOF of RFC 9162, section 2.1.4.1).

    ``root_is_known``: these first leaves are the whole old tree, whose root the reader already has.
    """
    if size == len(leaves):
        return [] if root_is_known else [root_of(leaves)]
    split = _split(len(leaves))
    if size <= split:
        return [*_subproof(leaves[:split], size, root_is_known), root_of(leaves[split:])]
    return [*_subproof(leaves[split:], size - split, root_is_known=False), root_of(leaves[:split])]


def _split(size: int) -> int:
    """Return the largest power of two below ``size``."""
    return 1 << (size - 1).bit_length() - 1


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """True if the proof (the siblings from the leaf up) shows that ``leaf`` has index ``index`` among the ``size``
    leaves of the Merkle tree with this ``root``.
    """
    if not 0 <= index < size:
        return False
    position, last, digest = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        # A right child, or the last node of its level, has its sibling on the left.
        if position & 1 or position == last:
            digest = node_hash(sibling, digest)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            digest = node_hash(digest, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and digest == root


def is_consistent(old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """True if the proof shows that the tree of ``old_size`` leaves is a prefix of the tree of ``size`` leaves (RFC
    6962).

    From the last old leaf up, the proof's nodes must yield both roots. The empty tree is a prefix of every tree.
    """
    if old_size == 0:
        return not proof and old_root == root_of([])
    if not 0 < old_size <= size:
        return False
    if old_size == size:
        return not proof and old_root == root
    # If the old tree is a complete subtree of the new one, its root is not repeated in the proof.
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    if not path:
        return False
    position, last = old_size - 1, size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old_digest = new_digest = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_digest, new_digest = node_hash(sibling, old_digest), node_hash(sibling, new_digest)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            new_digest = node_hash(new_digest, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and old_digest == old_root and new_digest == root
