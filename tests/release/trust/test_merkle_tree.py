"""The tree of a log against its definition, published roots, and forged proofs."""

from __future__ import annotations

import random

import pytest

from reticent.release.trust.merkle_tree import (
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
    leaf_hash,
    node_hash,
    root_of,
)
from tests.oracles.merkle import audit_path, tree_hash

# The leaves and roots that implementations of certificate transparency test themselves with.
LEAVES = [
    bytes.fromhex(text)
    for text in ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
]
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31)


def leaves(size: int) -> tuple[list[bytes], list[bytes]]:
    contents = [f"leaf {number}".encode() for number in range(size)]
    return contents, [leaf_hash(each) for each in contents]


@pytest.mark.parametrize("size", range(9))
def test_roots_are_the_published_ones(size: int) -> None:
    assert root_of([leaf_hash(each) for each in LEAVES[:size]]).hex() == ROOTS[size]


@pytest.mark.parametrize("size", SIZES)
def test_roots_and_paths_are_those_of_the_definition(size: int) -> None:
    contents, hashes = leaves(size)
    assert root_of(hashes) == tree_hash(contents)
    for index in range(size):
        assert inclusion_proof(hashes, index) == audit_path(index, contents)


@pytest.mark.parametrize("size", SIZES)
def test_every_true_proof_is_accepted(size: int) -> None:
    _, hashes = leaves(size)
    root = root_of(hashes)
    for index in range(size):
        assert is_included(hashes[index], index, size, inclusion_proof(hashes, index), root)
        older = root_of(hashes[: index + 1])
        assert is_consistent(index + 1, older, size, root, consistency_proof(hashes, index + 1))
    assert is_consistent(0, root_of([]), size, root, [])


def forgeries(proof: list[bytes], draw: random.Random) -> list[list[bytes]]:
    """A proof with a hash changed, dropped, doubled, swapped or added."""
    other = draw.randbytes(32)
    made = [[*proof, other], [other, *proof]]
    for place in range(len(proof)):
        made += [
            [*proof[:place], other, *proof[place + 1 :]],
            proof[:place] + proof[place + 1 :],
            [*proof[:place], proof[place], *proof[place:]],
        ]
    if len(set(proof)) > 1:
        made.append(proof[::-1])
    return made


@pytest.mark.parametrize("size", SIZES)
def test_no_forged_proof_is_accepted(size: int) -> None:
    draw = random.Random(size)
    _, hashes = leaves(size)
    root = root_of(hashes)
    for index in range(size):
        proof = inclusion_proof(hashes, index)
        for forged in forgeries(proof, draw):
            assert not is_included(hashes[index], index, size, forged, root)
        assert not is_included(leaf_hash(b"another"), index, size, proof, root)
        # The same proof for another position; with another size only where the path is another one (the root fixes the size in a head).
        assert not any(
            is_included(hashes[index], other, size, proof, root) for other in range(-1, size + 2) if other != index
        )
        older = root_of(hashes[: index + 1])
        proof = consistency_proof(hashes, index + 1)
        for forged in forgeries(proof, draw):
            assert not is_consistent(index + 1, older, size, root, forged)
        assert not is_consistent(index + 1, draw.randbytes(32), size, root, proof)
        assert not is_consistent(index + 1, older, size, draw.randbytes(32), proof)
    assert not is_consistent(size + 1, root, size, root, [])


def test_an_inner_node_is_not_a_leaf() -> None:
    """Without the first byte, the two halves of a tree would be accepted as one leaf."""
    _, hashes = leaves(4)
    inner = node_hash(hashes[0], hashes[1])
    assert leaf_hash(hashes[0] + hashes[1]) != inner
    assert not is_included(leaf_hash(hashes[0] + hashes[1]), 0, 2, [node_hash(hashes[2], hashes[3])], root_of(hashes))


def test_proofs_agree_with_another_tree_of_two_histories() -> None:
    """Two logs that share a beginning are consistent up to there and no further."""
    _, hashes = leaves(12)
    other = [*hashes[:8], *(leaf_hash(f"other {number}".encode()) for number in range(6))]
    for size in range(1, 13):
        proof = consistency_proof(other, size)
        assert is_consistent(size, root_of(hashes[:size]), len(other), root_of(other), proof) == (size <= 8)
