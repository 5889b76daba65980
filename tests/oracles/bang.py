"""A spatial index by hand: regions are texts of 0 and 1, rows are listed one by one, and who lies where is found by looking at every cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

Point = tuple[int, ...]


def axis_order(bits: Sequence[int]) -> list[int]:
    """The axis of every halving, by taking turns until nobody has bits left."""
    left, order = list(bits), []
    while any(left):
        for axis in range(len(left)):
            if left[axis]:
                left[axis] -= 1
                order.append(axis)
    return order


def text_of(point: Point, bits: Sequence[int]) -> str:
    """The halvings that lead to a cell: 0 for the lower half, 1 for the upper one."""
    written = [format(value, f"0{most}b") if most else "" for value, most in zip(point, bits, strict=True)]
    taken, found = [0] * len(bits), ""
    for axis in axis_order(bits):
        found += written[axis][taken[axis]]
        taken[axis] += 1
    return found


def cells(bits: Sequence[int]) -> Iterator[Point]:
    """All cells of a grid."""
    return product(*(range(2**most) for most in bits))


def innermost(regions: Sequence[str] | Mapping[str, object], cell: str) -> str | None:
    """The longest region that a cell begins with."""
    return max((each for each in regions if cell.startswith(each)), key=len, default=None)


def build(rows: Sequence[Point], bits: Sequence[int], minimum: int) -> dict[str, list[str]]:
    """Every region with the rows of its block, split as long as both parts keep ``minimum`` rows."""
    depth = sum(bits)
    regions = {"": sorted(text_of(each, bits) for each in rows)}

    def split(region: str) -> None:
        mine = regions[region]
        many, now, best = len(mine), region, None
        if many < 2 * minimum:
            return
        while len(now) < depth:
            upper, lower = (sum(row.startswith(now + half) for row in mine) for half in "10")
            now += "1" if upper > lower else "0"
            held = max(upper, lower)
            if best is None or abs(many - 2 * held) < abs(many - 2 * best[1]):
                best = (now, held)
            if 2 * held <= many:
                break
        if best is None or min(best[1], many - best[1]) < minimum:
            return
        inner = best[0]
        regions[inner] = [row for row in mine if row.startswith(inner)]
        regions[region] = [row for row in mine if not row.startswith(inner)]
        region, inner = tighten(region), tighten(inner)
        split(inner)
        split(region)

    def tighten(region: str) -> str:
        while True:
            for half, rest in ("01", "10"):
                if region + half in regions:
                    regions[region + rest] = regions.pop(region)
                    region += rest
                    break
            else:
                return region

    split("")
    return regions


def volume(regions: Sequence[str], region: str) -> Fraction:
    """The share of the space that is in a region and in none inside it."""
    inside = [each for each in regions if each != region and each.startswith(region)]
    direct = [each for each in inside if not any(each != other and each.startswith(other) for other in inside)]
    return Fraction(1, 2 ** len(region)) - sum(Fraction(1, 2 ** len(each)) for each in direct)


def neighbours(regions: Sequence[str], bits: Sequence[int]) -> set[frozenset[str]]:
    """Regions that are not one inside the other and have cells side by side; and regions of which one lies directly inside the other."""
    held: dict[Point, set[str]] = {}
    for cell in cells(bits):
        text = text_of(cell, bits)
        held[cell] = {each for each in regions if text.startswith(each)}
    found = set()
    for cell, mine in held.items():
        for axis in range(len(bits)):
            beside = (*cell[:axis], cell[axis] + 1, *cell[axis + 1 :])
            for one, other in product(mine, held.get(beside, ())):
                if not one.startswith(other) and not other.startswith(one):
                    found.add(frozenset({one, other}))
    for each in regions:
        around = innermost([other for other in regions if other != each], each)
        if around is not None:
            found.add(frozenset({each, around}))
    return found
