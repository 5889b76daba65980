// Worst-case background knowledge (docs/reference/release-format.md, section 9.7): the highest belief of an adversary with k facts, as an exact fraction.

import { Fraction, ONE } from "./exact.js";

// The smallest Pr(none of h atoms holds) in a bucket of n people whose values occur counts[0] >= counts[1] >= ... times:
// the smallest product of max(0, n - i - F(q_i)) / (n - i) over q_0 >= q_1 >= ... with sum h, where F(q) people have the q most frequent values.
function leastChances(size, counts, atoms) {
  const covered = [0];
  for (let rank = 0; rank < atoms; rank++) covered.push(rank < counts.length ? covered[rank] + counts[rank] : size);
  const known = new Map();
  const least = (person, most, left) => {
    if (left === 0) return ONE;
    if (person >= size) return null;
    const key = `${person} ${most} ${left}`;
    if (known.has(key)) return known.get(key);
    let best = null;
    for (let given = Math.min(most, left); given >= 1; given--) {
      const factor = new Fraction(BigInt(Math.max(0, size - person - covered[given])), BigInt(size - person));
      const rest = factor.n === 0n ? ONE : least(person + 1, given, left - given);
      if (rest !== null && (best === null || factor.times(rest).compare(best) < 0)) best = factor.times(rest);
    }
    known.set(key, best);
    return best;
  };
  return Array.from({ length: atoms + 1 }, (_, h) => least(0, h, h));
}

// D(B, k): the largest probability of any value of any person, over all sets of k facts "if A_i then A" (section 9.7).
export function largestDisclosure(slices, k) {
  const fewest = Math.min(...slices.map((slice) => slice.counts.size));
  if (fewest < k + 2) return ONE;
  // Buckets that agree in size and in their k + 1 largest counts are equivalent for the adversary; more than k + 1 of a kind are never used at once.
  const kinds = new Map();
  for (const slice of slices) {
    const counts = [...slice.counts.values()].sort((a, b) => b - a).slice(0, k + 1), key = `${slice.size} ${counts}`;
    const kind = kinds.get(key) ?? { size: slice.size, counts, copies: 0 };
    if (kind.copies <= k) kind.copies++;
    kinds.set(key, kind);
  }
  // without[j], withA[j]: the smallest Pr(no atom holds), and the same over Pr(A), with j further atoms in the buckets so far.
  const without = [ONE, ...new Array(k).fill(null)], withA = new Array(k + 1).fill(null);
  const better = (best, before, factor) => (before == null || (best !== null && before.times(factor).compare(best) >= 0) ? best : before.times(factor));
  for (const { size, counts, copies } of kinds.values()) {
    const chances = leastChances(size, counts, k + 1), share = new Fraction(BigInt(size), BigInt(counts[0]));
    for (let copy = 0; copy < copies; copy++) {
      for (let known = k; known >= 0; known--) {
        for (let taken = 0; taken <= known; taken++) {
          withA[known] = better(withA[known], without[known - taken], chances[taken + 1].times(share));
          if (taken === 0) continue;
          withA[known] = better(withA[known], withA[known - taken], chances[taken]);
        }
        for (let taken = 1; taken <= known; taken++) without[known] = better(without[known], without[known - taken], chances[taken]);
      }
    }
  }
  return ONE.over(ONE.plus(withA[k]));
}

