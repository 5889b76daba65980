"""The inner loops of an index: canonical build, neighbours of blocks, dendrogram, and the published regions of merged blocks.

Plain Python, interpreted on small tables and compiled on large ones (:mod:`reticent.methods.bang._kernels`). Columns and labels are unknown here.

*Build*. It works on the binary trie of the sorted keys: inner nodes are branch points, leaves are keys. A region is the
part of the space under a prefix, and its *top* is the highest node inside it; no two regions have the same top, since
each has rows that no other has.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np


def prune(
    depth: int,
    keys: Any,
    before: Any,
    sizes: Any,
    minimum: int,
    state: Any,
    bound: Any,
    begin: Any,
    held: Any,
    leaves: Any,
    first: Any,
    rows: Any,
) -> None:
    """Merge what can never be split: every maximal part of the trie of sorted keys with fewer than ``minimum`` rows becomes one leaf.

    No split goes below such a part. A region that is split has at least 2 ``minimum`` rows; the descent goes to the
    larger half, and stops where a half has at most half of the rows, as one below ``minimum`` has; and a half below
    ``minimum`` is not recorded. So the trie of the leaves gives the same regions as that of the keys.

    Keys of ``depth`` bits may come in several portions, smallest first. ``before`` is the common prefix length with the
    previous key (-1: none). ``state`` has the number of open parts, of leaves, and of earlier keys. An open part shares
    ``bound`` bits with the part before, begins at a leaf (``begin``), and has ``held`` rows. A leaf has the first of
    its ``keys``, that key's number and its rows. :func:`close` ends the last parts.
    """
    for key in range(len(sizes)):
        if before[key] >= depth:
            # The same cell again.
            held[state[0] - 1] += sizes[key]
            rows[state[1] - 1] += sizes[key]
            continue
        close(before[key], minimum, state, bound, begin, held, rows)
        count, top = state[1], state[0]
        bound[top], begin[top], held[top] = before[key], count, sizes[key]
        leaves[count] = keys[:, key]
        first[count], rows[count] = state[2] + key, sizes[key]
        state[0], state[1] = top + 1, count + 1
    state[2] += len(sizes)


def close(depth: int, minimum: int, state: Any, bound: Any, begin: Any, held: Any, rows: Any) -> None:
    """Merge the open parts that share more than ``depth`` bits with their predecessor."""
    top = state[0]
    while top > 1 and bound[top - 1] > depth:
        top -= 1
        held[top - 1] += held[top]
        if held[top - 1] < minimum:
            rows[begin[top - 1]] = held[top - 1]
            state[1] = begin[top - 1] + 1
    state[0] = top


def trie(shared: Any, left: Any, right: Any, parent: Any, order: Any) -> int:
    """Build the trie of ``n`` sorted keys with common prefix lengths ``shared``; return its root.

    Inner node ``i`` separates keys ``i`` and ``i + 1``; the leaf of key ``i`` is node ``n - 1 + i``. ``order`` becomes
    the nodes, parents before children.
    """
    inner = len(shared)
    stack = np.empty(inner + 1, dtype=left.dtype)
    top = 0
    for node in range(inner):
        last = -1
        while top > 0 and shared[stack[top - 1]] > shared[node]:
            top -= 1
            last = stack[top]
        left[node] = last if last >= 0 else inner + node
        right[node] = inner + node + 1
        if top > 0:
            right[stack[top - 1]] = node
        stack[top] = node
        top += 1
    root = stack[0] if inner > 0 else 0
    parent[root] = -1
    walk = np.empty(2 * inner + 1, dtype=left.dtype)
    walk[0] = root
    waiting, ordered = 1, 0
    while waiting > 0:
        waiting -= 1
        node = walk[waiting]
        order[ordered] = node
        ordered += 1
        if node < inner:
            parent[left[node]] = node
            parent[right[node]] = node
            walk[waiting] = right[node]
            walk[waiting + 1] = left[node]
            waiting += 2
    return int(root)


def weigh(left: Any, right: Any, order: Any, sizes: Any, rows_under: Any) -> None:
    """Fill ``rows_under`` with the number of rows of the keys under every trie node; ``sizes`` are those of the keys, and
    ``order`` lists parents before children.
    """
    inner = len(left)
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        rows_under[node] = sizes[node - inner] if node >= inner else rows_under[left[node]] + rows_under[right[node]]


def divide(root: int, minimum: int, shared: Any, left: Any, right: Any, parent: Any, held: Any, level: Any) -> None:
    """Split regions exhaustively: ``level[node]`` becomes the level of the region whose top is the node, -1 if none.

    ``held`` starts as the rows under every node; at the end it has, at the top of each region, the rows of its block.
    """
    level[:] = -1
    level[root] = 0
    waiting = np.empty(len(level), dtype=left.dtype)
    waiting[0] = root
    divide_further(waiting, 1, minimum, shared, left, right, parent, held, level)


def divide_further(
    waiting: Any, count: int, minimum: int, shared: Any, left: Any, right: Any, parent: Any, held: Any, level: Any
) -> None:
    """Continue splitting from given regions, whose tops are the first ``count`` of ``waiting`` (the next one last):
    ``held`` has at every node the rows of its innermost region.
    """
    inner = len(shared)
    while count > 0:
        count -= 1
        top = waiting[count]
        rows = held[top]
        if rows < 2 * minimum:
            continue
        best, half = _best_half(top, rows, inner, left, right, held, level)
        if best < 0 or half < minimum or rows - half < minimum:
            continue
        above = parent[best]
        level[best] = shared[above] + 1
        node = above
        while True:
            held[node] -= half
            if node == top:
                break
            node = parent[node]
        top = _tightened(top, inner, shared, left, right, held, level)
        best = _tightened(best, inner, shared, left, right, held, level)
        waiting[count] = top
        waiting[count + 1] = best
        count += 2


def weigh_apart(left: Any, right: Any, order: Any, sizes: Any, level: Any, held: Any) -> None:
    """Fill ``held`` with the rows under every trie node, without those in regions whose top is below the node.

    ``sizes`` are the rows of the keys; ``level`` is -1 at nodes that are not the top of a region.
    """
    inner = len(left)
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        if node >= inner:
            held[node] = sizes[node - inner]
            continue
        first, second = left[node], right[node]
        held[node] = (held[first] if level[first] < 0 else 0) + (held[second] if level[second] < 0 else 0)


def _best_half(top: int, rows: int, inner: int, left: Any, right: Any, held: Any, level: Any) -> tuple[int, int]:
    """Return the node (-1: none) and the rows of the half that splits a region most evenly: of the nodes met by descending
    from ``top`` to the half with more rows, the one nearest to half of ``rows``.
    """
    node, best, best_half, nearest = top, -1, 0, rows
    while node < inner:
        first, second = left[node], right[node]
        first_rows = held[first] if level[first] < 0 else 0
        second_rows = held[second] if level[second] < 0 else 0
        node, half = (second, second_rows) if second_rows > first_rows else (first, first_rows)
        imbalance = abs(rows - 2 * half)
        if imbalance < nearest:
            best, best_half, nearest = node, half, imbalance
        if 2 * half <= rows:
            break
    return best, best_half


def _tightened(top: int, inner: int, shared: Any, left: Any, right: Any, held: Any, level: Any) -> int:
    """Shrink a region to one half if the other half is a region itself; return its new top."""
    while top < inner and shared[top] == level[top]:
        first, second = left[top], right[top]
        if level[first] == level[top] + 1:
            remaining = second
        elif level[second] == level[top] + 1:
            remaining = first
        else:
            break
        level[remaining] = level[top] + 1
        level[top] = -1
        held[top] = 0
        top = remaining
    return top


def owners(order: Any, parent: Any, inner: int, level: Any, region: Any, owner: Any, encloser: Any) -> None:
    """Number the regions in walk order (``region[node]``) with their enclosers, and fill ``owner`` with the innermost region of each key."""
    count = 0
    for position in range(len(order)):
        node = order[position]
        above = region[parent[node]] if parent[node] >= 0 else -1
        if level[node] >= 0:
            region[node] = count
            encloser[count] = above
            count += 1
        else:
            region[node] = above
        if node >= inner:
            owner[node - inner] = region[node]


# Neighbours of a block.


def outlined(
    root: int, left: Any, right: Any, level: Any, region: Any, one: Any, other: Any, held: Any, inside: Any, branch: Any
) -> int:
    """Reduce the trie to nodes that are the top of a region or separate regions; return their number, the root first.

    Node ``i`` has the parts ``one[i]`` and ``other[i]`` (-1: none), is the top of region ``held[i]`` (-1: none) and is
    inside region ``inside[i]``; if it is no top, it is node ``branch[i]`` of the whole trie.
    """
    inner, count, waiting = len(left), 0, 1
    walk, outline_of = np.empty(len(level), dtype=np.int32), np.full(len(level), -1, dtype=np.int32)
    walk[0] = root
    stack = np.empty(len(level) + 1, dtype=np.int32)
    stack[0] = root
    walked = 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        walk[walked] = node
        walked += 1
        if node < inner:
            stack[waiting], stack[waiting + 1] = right[node], left[node]
            waiting += 2
    for position in range(walked - 1, -1, -1):
        node = walk[position]
        first, second = (outline_of[left[node]], outline_of[right[node]]) if node < inner else (-1, -1)
        if level[node] < 0 and (first < 0 or second < 0):
            outline_of[node] = max(first, second)
            continue
        one[count], other[count], branch[count] = first, second, node
        held[count] = region[node] if level[node] >= 0 else -1
        inside[count] = region[node] if level[node] >= 0 else inside[first]
        outline_of[node] = count
        count += 1
    return count


def touching(one: Any, other: Any, held: Any, lows: Any, highs: Any, height: int, first: Any, second: Any) -> int:
    """Fill ``first`` and ``second`` with all pairs of regions that share a face, each once; return their number, of which
    only as many are written as fit.

    Complete for any number of columns. Two parts of a node are disjoint. Regions in them can share a face only if the
    bounding boxes of the parts do, so other pairs are pruned with everything inside. Nodes are ordered parts before
    wholes; ``lows[i]`` and ``highs[i]`` are the box of node ``i``. No path has more than ``height`` nodes.
    """
    count = 0
    pairs, below = np.empty((2 * height + 4, 2), dtype=np.int64), np.empty(2 * height + 4, dtype=np.int64)
    for node in range(len(one)):
        if one[node] < 0 or other[node] < 0:
            continue
        pairs[0, 0], pairs[0, 1] = one[node], other[node]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            left_node, right_node = pairs[waiting, 0], pairs[waiting, 1]
            if not _faces(lows, highs, left_node, right_node):
                continue
            if held[left_node] >= 0:
                # This region against everything in the other part.
                below[0] = right_node
                depth = 1
                while depth > 0:
                    depth -= 1
                    node_below = below[depth]
                    if node_below != right_node and not _faces(lows, highs, left_node, node_below):
                        continue
                    if held[node_below] >= 0:
                        if count < len(first):
                            first[count], second[count] = held[left_node], held[node_below]
                        count += 1
                    for part in (one[node_below], other[node_below]):
                        if part >= 0:
                            below[depth] = part
                            depth += 1
            for part in (one[left_node], other[left_node]):
                if part >= 0:
                    pairs[waiting, 0], pairs[waiting, 1] = part, right_node
                    waiting += 1
    return count


def _faces(lows: Any, highs: Any, box: int, other_box: int) -> bool:
    """True if two disjoint boxes share a face: they touch along one axis, and overlap along all others."""
    touching_axes = 0
    for axis in range(lows.shape[1]):
        distance = max(lows[box, axis], lows[other_box, axis]) - min(highs[box, axis], highs[other_box, axis])
        if distance > 0:
            return False
        if distance == 0:
            touching_axes += 1
            if touching_axes > 1:
                return False
    return touching_axes == 1


def listed(one: Any, other: Any, starts: Any, beside: Any) -> None:
    """Fill ``beside`` with the neighbours of each block in CSR form, from pairs: those of block ``i`` are ``starts[i]``..``starts[i + 1]``."""
    blocks = len(starts) - 1
    for pair in range(len(one)):
        starts[one[pair] + 1] += 1
        starts[other[pair] + 1] += 1
    for block in range(blocks):
        starts[block + 1] += starts[block]
    free = starts[:-1].copy()
    for pair in range(len(one)):
        block_of_pair, other_block = one[pair], other[pair]
        beside[free[block_of_pair]] = other_block
        free[block_of_pair] += 1
        beside[free[other_block]] = block_of_pair
        free[other_block] += 1


# Merging: clusters 0 .. b - 1 are the blocks, and cluster b + i is the result of the i-th merge.


def balanced(
    rows: Any, volume: Any, lows: Any, highs: Any, sides: Any, head: Any, link: Any, beside: Any, pairs: Any
) -> int:
    """Merge clusters until none has a neighbour, each time the smallest with its best neighbour: minimal sum of the sides of the common box, times 1 + 0.2 |difference of log densities|.

    ``rows``, ``volume``, ``lows`` and ``highs`` have room for all clusters. ``head`` is the first of each block's
    neighbours, ``link`` the next of each, ``beside`` the neighbour (linked lists). ``pairs`` becomes the two parts of
    each merge; returns their number, which is smaller if blocks are not connected.
    """
    blocks = len(head)
    successor, stamp = np.arange(2 * blocks), np.full(2 * blocks, -1, dtype=np.int64)
    first, last = np.full(2 * blocks, -1, dtype=np.int64), np.full(2 * blocks, -1, dtype=np.int64)
    first[:blocks] = head
    for block in range(blocks):
        entry = head[block]
        while entry >= 0:
            last[block] = entry
            entry = link[entry]
    waiting = [(rows[0], 0)]
    for block in range(1, blocks):
        waiting.append((rows[block], block))
    heapq.heapify(waiting)
    merges = 0
    while len(waiting) > 0:
        _, smallest = heapq.heappop(waiting)
        if successor[smallest] != smallest:
            continue
        best, least, density = -1, np.inf, np.log(rows[smallest] + 1e-300) - np.log(volume[smallest])
        entry, previous = first[smallest], -1
        while entry >= 0:
            following, root = link[entry], current(successor, beside[entry])
            if root == smallest or stamp[root] == smallest:
                # Itself, or a duplicate: dropped.
                if previous < 0:
                    first[smallest] = following
                else:
                    link[previous] = following
                if following < 0:
                    last[smallest] = previous
            else:
                stamp[root] = smallest
                previous = entry
                gap = abs(density - np.log(rows[root] + 1e-300) + np.log(volume[root]))
                cost = spread_of(lows, highs, sides, smallest, root) * (1 + 0.2 * gap)
                if cost < least or (cost == least and root < best):
                    best, least = root, cost
            entry = following
        if best >= 0:
            merged = blocks + merges
            join(smallest, best, merged, rows, volume, lows, highs, successor)
            first[merged], last[merged] = first[smallest], last[best]
            link[last[smallest]] = first[best]
            if first[best] < 0:
                last[merged] = last[smallest]
            pairs[merges, 0], pairs[merges, 1] = smallest, best
            merges += 1
            heapq.heappush(waiting, (rows[merged], merged))
    return merges


def by_density(rows: Any, volume: Any, lows: Any, highs: Any, starts: Any, beside: Any, order: Any, pairs: Any) -> int:
    """Activate blocks in ``order`` of decreasing density, and merge each with every active neighbouring cluster, densest
    first (gridclus); return the number of merges, whose two parts are written to ``pairs``.
    """
    blocks = len(order)
    successor, active = np.arange(2 * blocks), np.zeros(blocks, dtype=np.bool_)
    merges = 0
    for block in order:
        active[block] = True
        for entry in range(starts[block], starts[block + 1]):
            if active[beside[entry]]:
                own_cluster, other_cluster = current(successor, block), current(successor, beside[entry])
                if own_cluster != other_cluster:
                    join(other_cluster, own_cluster, blocks + merges, rows, volume, lows, highs, successor)
                    pairs[merges, 0], pairs[merges, 1] = other_cluster, own_cluster
                    merges += 1
    return merges


def by_gap(rows: Any, volume: Any, lows: Any, highs: Any, starts: Any, beside: Any, pairs: Any) -> int:
    """Merge the two neighbouring clusters with the smallest difference of densities, repeatedly; return the number of merges.

    The arguments are those of :func:`balanced`, with the neighbours of each block in CSR form (``starts``, ``beside``).
    """
    blocks = len(starts) - 1
    successor = np.arange(2 * blocks)
    neighbours = [np.unique(beside[starts[block] : starts[block + 1]]) for block in range(blocks)]
    waiting = [(np.inf, -1, -1)]
    for block in range(blocks):
        for neighbour in neighbours[block]:
            if block < neighbour:
                waiting.append((gap_between(rows, volume, block, neighbour), block, neighbour))
    heapq.heapify(waiting)
    merges = 0
    while len(waiting) > 0:
        _, first, second = heapq.heappop(waiting)
        if first < 0 or successor[first] != first or successor[second] != second:
            continue
        merged = blocks + merges
        join(first, second, merged, rows, volume, lows, highs, successor)
        pairs[merges, 0], pairs[merges, 1] = first, second
        merges += 1
        roots = np.concatenate((neighbours[first], neighbours[second]))
        for position in range(len(roots)):
            roots[position] = current(successor, roots[position])
        roots = np.unique(roots)
        neighbours.append(roots)
        for neighbour in roots:
            if neighbour != merged:
                heapq.heappush(waiting, (gap_between(rows, volume, neighbour, merged), neighbour, merged))
    return merges


def connected(made: int, rows: Any, volume: Any, lows: Any, highs: Any, sides: Any, pairs: Any) -> None:
    """Merge the clusters that remain after ``made`` merges, neighbours or not: the smallest with the one that gives the
    smallest common box, until one remains. The parts of each merge are appended to ``pairs``.
    """
    blocks = len(pairs) + 1
    successor = np.arange(2 * blocks)
    for merging in range(made):
        successor[pairs[merging, 0]] = successor[pairs[merging, 1]] = blocks + merging
    roots = np.empty(2 * blocks, dtype=np.int64)
    count = 0
    for cluster in range(blocks + made):
        if successor[cluster] == cluster:
            roots[count] = cluster
            count += 1
    while count > 1:
        smallest = 0
        for position in range(1, count):
            if rows[roots[position]] < rows[roots[smallest]]:
                smallest = position
        best, least = -1, np.inf
        for position in range(count):
            cost = spread_of(lows, highs, sides, roots[smallest], roots[position])
            if position != smallest and cost < least:
                best, least = position, cost
        join(roots[smallest], roots[best], blocks + made, rows, volume, lows, highs, successor)
        pairs[made, 0], pairs[made, 1] = roots[smallest], roots[best]
        roots[min(smallest, best)] = blocks + made
        roots[max(smallest, best)] = roots[count - 1]
        made, count = made + 1, count - 1


def current(now: Any, cluster: int) -> int:
    """Return the cluster that an element finally belongs to (union-find with path compression)."""
    root = cluster
    while now[root] != root:
        root = now[root]
    while now[cluster] != root:
        after = now[cluster]
        now[cluster] = root
        cluster = after
    return int(root)


def join(one: int, other: int, fresh: int, rows: Any, volume: Any, lows: Any, highs: Any, now: Any) -> None:
    """Merge two clusters into a new one."""
    now[one] = now[other] = fresh
    rows[fresh], volume[fresh] = rows[one] + rows[other], volume[one] + volume[other]
    lows[:, fresh] = np.minimum(lows[:, one], lows[:, other])
    highs[:, fresh] = np.maximum(highs[:, one], highs[:, other])


def spread_of(lows: Any, highs: Any, sides: Any, one: int, other: int) -> float:
    """Return the sum of the sides of the common box of two clusters, each as a share of its axis."""
    total = 0.0
    for axis in range(len(sides)):
        high, low = max(highs[axis, one], highs[axis, other]), min(lows[axis, one], lows[axis, other])
        total += (high - low) / sides[axis]
    return total


def gap_between(rows: Any, volume: Any, one: int, other: int) -> float:
    """Return the difference of the densities of two clusters."""
    return float(abs(rows[one] / volume[one] - rows[other] / volume[other]))


def laid_out(pairs: Any, starts: Any, stops: Any, order: Any) -> None:
    """Fill ``order`` with the blocks such that every cluster is the segment ``starts``..``stops`` of it."""
    blocks = len(order)
    for cluster in range(2 * blocks - 1):
        stops[cluster] = (
            1 if cluster < blocks else stops[pairs[cluster - blocks, 0]] + stops[pairs[cluster - blocks, 1]]
        )
    for cluster in range(2 * blocks - 2, blocks - 1, -1):
        first, second = pairs[cluster - blocks, 0], pairs[cluster - blocks, 1]
        starts[first] = starts[cluster]
        starts[second] = starts[cluster] + stops[first]
    for cluster in range(2 * blocks - 1):
        stops[cluster] += starts[cluster]
        if cluster < blocks:
            order[starts[cluster]] = cluster


# Published regions of merged blocks.


def shown(group: Any, encloser: Any, level: Any, lows: Any, axis_of: Any, shift_of: Any, became: Any) -> None:
    """Drop regions inside a region of their own group, and join halves of one group: ``became[r]`` is the published region of region ``r``.

    ``level`` becomes that of the published region. Regions are in prefix order, enclosing ones first.
    """
    previous_sibling, inside = np.full(len(group), -1, dtype=np.int64), np.full(len(group) + 1, -1, dtype=np.int64)
    for region in range(len(group)):
        around_it = encloser[region] if encloser[region] < 0 else current(became, encloser[region])
        if around_it >= 0 and group[around_it] == group[region]:
            became[region] = around_it
            continue
        became[region] = published_region = region
        previous_sibling[published_region] = inside[around_it]
        while previous_sibling[published_region] >= 0 and _halves(
            previous_sibling[published_region], published_region, group, level, lows, axis_of, shift_of
        ):
            buddy = previous_sibling[published_region]
            became[published_region] = buddy
            level[buddy] -= 1
            published_region = buddy
        inside[around_it] = published_region
    for region in range(len(group)):
        current(became, region)


def _halves(region: int, other_region: int, group: Any, level: Any, lows: Any, axis_of: Any, shift_of: Any) -> bool:
    """True if two regions have the same group and are the two halves of one region: equal level, and equal cells but for
    the last bit of the axis halved last.
    """
    if group[region] != group[other_region] or level[region] != level[other_region] or level[region] == 0:
        return False
    halving = level[region] - 1
    for axis in range(len(lows)):
        shift = shift_of[halving] + 1 if axis == axis_of[halving] else 0
        if lows[axis, region] >> shift != lows[axis, other_region] >> shift:
            return False
    return True
