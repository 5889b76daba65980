// Definitions of privacy (docs/reference/release-format.md, section 9): what a claim means, and whether groups satisfy it. Exact, group by group.

import { exact, exceedsLogarithm, Fraction, ONE, signOfLogarithms, whole } from "./exact.js";
import { isObject, isWhole, need, Problem, sameSet } from "./canonical.js";
import { areDisjoint, compareValues, exactNumber, fromText, labelText, listed, NULL_LABEL } from "./values.js";
import { Groups } from "./groups.js";
import { largestDisclosure } from "./worst_case.js";

// ---- Parameters (section 9.1): each reader returns the value, or throws ----

const bounded = (test, words) => (value, name) => {
  const number = exact(value);
  need(test(number), `${name} must be ${words}.`);
  return number;
};
const from = (low) => (number) => number.compare(low) >= 0;
const ZERO = whole(0);
const atLeast = (low) => (value, name) => {
  need(isWhole(value) && value >= low, `${name} must be a whole number of at least ${low}.`);
  return value;
};
const positive = bounded((number) => number.n > 0n, "above 0");
const nonNegative = bounded(from(ZERO), "at least 0");
const oneOrMore = bounded(from(ONE), "at least 1");
const probability = bounded((number) => number.n >= 0n && number.compare(ONE) <= 0, "from 0 to 1");
const share = bounded((number) => number.n > 0n && number.compare(ONE) <= 0, "above 0 and at most 1");
const percentage = bounded((number) => number.n > 0n && number.compare(whole(100)) < 0, "above 0 and below 100");
const flag = (value, name) => {
  need(typeof value === "boolean", `${name} must be true or false.`);
  return value;
};
const columnName = (value, name) => {
  need(value === null || typeof value === "string", `${name} must be the name of a column.`);
  return value;
};
const columnNames = (value, name) => {
  need(Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string") && new Set(value).size === value.length, `${name} must name different columns.`);
  return value;
};
const someNames = (value, name) => {
  need(Array.isArray(value) && value.every((each) => typeof each === "string"), `${name} must name columns.`);
  return value;
};
// Values are identified by their text; null is the missing value.
const valueText = (value) => (value === null ? null : String(value));
const valueSet = (value, name) => {
  if (typeof value === "string") return [value];
  need(Array.isArray(value) && value.every((each) => each === null || typeof each !== "object"), `${name} must be a list of values.`);
  return [...new Set(value.map(valueText))];
};
const someValues = (value, name) => {
  const found = valueSet(value, name);
  need(found.length > 0, `${name} must name at least one value.`);
  return found;
};
const valueSets = (value, name) => {
  need(Array.isArray(value) && value.length > 0, `${name} must be a list of lists of values.`);
  return value.map((each) => someValues(each, name));
};
const weightsOf = (value, name) => {
  need(isObject(value), `${name} must give a weight for each value.`);
  return new Map(Object.keys(value).map((key) => [key, nonNegative(value[key], name)]));
};
const oneOf = (...known) => (value, name) => {
  need(known.includes(value), `${name} must be one of ${known.join(", ")}.`);
  return value;
};
const inner = (value, name) => {
  const parts = (Array.isArray(value) ? value : [value]).map((each) => {
    need(isObject(each) && typeof each.name === "string" && DEFINITIONS[each.name], `${name} must be a definition of groups.`);
    const { name: own, ...parameters } = each;
    return makeDefinition(own, parameters);
  });
  need(parts.length > 0, `${name} must be a definition of groups.`);
  return parts;
};
const relations = (value, name) => {
  need(Array.isArray(value), `${name} must be a list.`);
  return value.map((each) => {
    need(Array.isArray(each) && each.length === 2 && typeof each[1] === "string", `${name}: a relation has columns and the column that follows from them.`);
    return [typeof each[0] === "string" ? [each[0]] : columnNames(each[0], name), each[1]];
  });
};

// ---- Judging one slice of a group: {size, counts} of one sensitive column (sections 9.2 to 9.7) ----

const counts = (slice) => [...slice.counts.values()];
const top = (slice) => Math.max(...counts(slice));
const big = BigInt;
// n <= f * m and n < f * m for whole numbers n, m and a fraction f.
const isAtMost = (n, f, m) => big(n) * f.d <= f.n * big(m);
const isLess = (n, f, m) => big(n) * f.d < f.n * big(m);
const rowsOf = (column) => column.counts.reduce((sum, each) => sum + each, 0);
const distinctAtLeast = (l) => (slice) => slice.counts.size >= l;
const shareAtMost = (limit) => (slice) => isAtMost(top(slice), limit, slice.size);

// The codes of named values in a column. A value that the column does not have is ignored if the certificate declares no histogram, and a defect if it does (section 9.1).
function members(column, values, { declared }) {
  return values.map((value) => {
    const found = column.values.findIndex((each) => named(column, each, value));
    if (found >= 0) return found;
    const possible = value === null || fromText(column.type, value) !== null;
    need(!declared && possible, `Column "${column.name}" has no value ${JSON.stringify(value)}.`);
    return -1;
  });
}

function named(column, each, value) {
  if (value === null || each === null) return each === value || (each === null && value === NULL_LABEL && !column.values.includes(NULL_LABEL));
  if (column.type === "text") return each === value;
  if (labelText(column.type, each) === value) return true;
  const read = fromText(column.type, value);
  if (read !== null) return read === each;
  try {
    return exact(value).compare(exact(each)) === 0;
  } catch {
    return false;
  }
}

// Section 9.3: entropy of at least ln(l), where counts of don't-care values may be lowered first.
function entropyPasses(slice, wanted, spared) {
  const fixed = [], free = [];
  for (const [value, count] of slice.counts) (spared.has(value) ? free : fixed).push(big(count));
  if (fixed.length === 0) return true;
  free.sort((a, b) => (a < b ? -1 : 1));
  let capped = free.length;
  const sum = () => fixed.reduce((total, each) => total + each, 0n);
  for (const count of free) {
    // Counts below the optimal common height exp(sum(n ln n) / W) of the don't-care values are unchanged.
    if (signOfLogarithms([[count, sum()], ...fixed.map((n) => [n, -n])]) >= 0) break;
    fixed.push(count);
    capped--;
  }
  const needed = wanted.minus(whole(capped));
  if (needed.compare(ONE) <= 0) return true;
  const total = sum();
  return signOfLogarithms([[total, total], [needed.d, total], [needed.n, -total], ...fixed.map((n) => [n, -n])]) >= 0;
}

// Section 9.4: lead < c * tail, where the tail is the rows without the leading value and the l - 2 most frequent others.
function recursivePasses(slice, c, l, spared) {
  if (l === 1) return true;
  let lead = 0, leader = null;
  for (const [value, count] of slice.counts) if (!spared.has(value) && count > lead) [lead, leader] = [count, value];
  if (lead === 0) return true;
  const others = [...slice.counts].filter(([value]) => value !== leader).map(([, count]) => count).sort((a, b) => b - a);
  const tail = others.slice(l - 2).reduce((sum, each) => sum + each, 0);
  return isLess(lead, c, tail);
}

// Section 9.5: the earth mover's distance to the column's histogram, as a fraction.
function distance(slice, column, kind) {
  const n = big(slice.size), N = big(rowsOf(column)), size = column.values.length;
  const own = new Array(size).fill(0n), all = column.counts.map(big);
  for (const [value, count] of slice.counts) own[value] += big(count);
  const surplus = (parts, many) => {
    const mine = new Array(many).fill(0n), theirs = new Array(many).fill(0n);
    parts.forEach((part, value) => { mine[part] += own[value]; theirs[part] += all[value]; });
    return mine.reduce((sum, each, part) => sum + (each * N > n * theirs[part] ? each * N - n * theirs[part] : 0n), 0n);
  };
  const values = [...own.keys()];
  if (kind === "equal") return new Fraction(surplus(values, size), n * N);
  if (kind === "ordered") {
    need(column.ordered, `Column "${column.name}" has no order of its values.`);
    need(!column.values.includes(null), `Missing values of column "${column.name}" have no place in its order.`);
    // A declared tree may list values in any order; otherwise they are in sorted order.
    const order = column.levels === null ? values : [...values].sort((a, b) => compareValues(column.type, column.values[a], column.values[b]));
    let mine = 0n, theirs = 0n, work = 0n;
    for (const value of order) {
      mine += own[value];
      theirs += all[value];
      const gap = mine * N - theirs * n;
      work += gap < 0n ? -gap : gap;
    }
    return new Fraction(work, n * N * big(Math.max(size - 1, 1)));
  }
  need(column.levels !== null, `Column "${column.name}" has no tree of its values.`);
  const widths = column.levels.map((level) => Math.max(...level) + 1);
  const height = column.levels.length + ((widths.at(-1) ?? size) > 1 ? 1 : 0);
  let work = 0n;
  [values, ...column.levels].slice(0, height).forEach((parts, level) => { work += surplus(parts, level === 0 ? size : widths[level - 1]); });
  return new Fraction(work, n * N * big(Math.max(height, 1)));
}

const isClose = (t, kind) => (slice, column) => distance(slice, column, kind).compare(t) <= 0;

// Section 9.5: p/q - 1 <= beta, and if enhanced <= -ln q.
function likenessPasses(slice, column, beta, enhanced) {
  const rows = big(rowsOf(column));
  return [...slice.counts].every(([value, count]) => {
    const own = big(column.counts[value]);
    const ratio = new Fraction(big(count) * rows, big(slice.size) * own);
    return ratio.compare(ONE.plus(beta)) <= 0 && !(enhanced && exceedsLogarithm(ratio.minus(ONE), new Fraction(rows, own)));
  });
}

function disclosurePasses(slice, column, delta) {
  const rows = big(rowsOf(column));
  return [...slice.counts].every(([value, count]) => {
    const [above, below] = [big(count) * rows, big(slice.size) * big(column.counts[value])];
    const [larger, smaller] = above > below ? [above, below] : [below, above];
    return signOfLogarithms([[larger, delta.d], [smaller, -delta.d], [2n, -delta.n]]) < 0;
  });
}

// Section 9.6: the slice's numbers with their rows, rising.
function numbersOf(slice, column) {
  need(!column.values.includes(null), `The missing values of column "${column.name}" are not numbers.`);
  column.values.forEach((value) => exactNumber(column.type, value));
  return [...slice.counts].map(([value, count]) => [exactNumber(column.type, column.values[value]), count]).sort(([a], [b]) => a.compare(b));
}

function fullest(numbers, low, high) {
  let most = 0;
  for (const [start] of numbers) {
    const [first, last] = [start.minus(low), start.plus(high)];
    most = Math.max(most, numbers.reduce((sum, [each, count]) => (each.compare(first) >= 0 && each.compare(last) <= 0 ? sum + count : sum), 0));
  }
  return most;
}

function spanAtLeast(slice, column, e) {
  const numbers = numbersOf(slice, column);
  return numbers.at(-1)[0].minus(numbers[0][0]).compare(e) >= 0;
}

// ---- The definitions (section 9) ----
// takes: parameters with their readers; optional ones have a default. `test(p)` gives a judgement of one slice (slice, column, context) -> passes.
// `sizes(p)` judges the size of a group, `fitted(p)` its size together with the number of matching people of a population; all that exist must hold. `all(p)` judges all slices of a
// column together.

const COLUMN = { column: [columnName, null] };
const ALONE = { ...COLUMN, alone: [flag, false] };

export const DEFINITIONS = {
  KAnonymity: { takes: { k: [atLeast(1)], quasi: [columnNames, null] }, hidesIdentity: true, sizes: (p) => (size) => size >= p.k, crowd: (p) => (p.quasi === null ? p.k : null) },
  DistinctLDiversity: { takes: { l: [atLeast(1)], ...ALONE }, convex: true, test: (p) => distinctAtLeast(p.l) },
  ProbabilisticLDiversity: { takes: { l: [oneOrMore], ...COLUMN }, convex: true, test: (p) => shareAtMost(ONE.over(p.l)) },
  EntropyLDiversity: {
    takes: { l: [oneOrMore], dont_care: [valueSet, []], ...COLUMN }, convex: (p) => p.dont_care.length === 0,
    test: (p) => (slice, column, context) => entropyPasses(slice, p.l, new Set(members(column, p.dont_care, context))),
  },
  RecursiveLDiversity: {
    takes: { c: [positive], l: [atLeast(1)], dont_care: [valueSet, []], ...ALONE }, convex: (p) => p.dont_care.length === 0,
    test: (p) => (slice, column, context) => recursivePasses(slice, p.c, p.l, new Set(members(column, p.dont_care, context))),
  },
  NegativePositiveDiversity: {
    takes: { c1: [positive], c2: [percentage], l: [atLeast(1)], dont_care: [valueSet], must_keep: [valueSet], ...COLUMN },
    test: (p) => (slice, column, context) =>
      recursivePasses(slice, p.c1, p.l, new Set(members(column, p.dont_care, context))) &&
      members(column, p.must_keep, context).every((value) => !isLess((slice.counts.get(value) ?? 0) * 100, p.c2, slice.size)),
  },
  WorstCaseKnowledge: { takes: { c: [probability], k: [atLeast(0)], ...COLUMN }, together: true, all: (p) => (slices) => largestDisclosure(slices, p.k).compare(p.c) < 0 },
  NegatedKnowledge: {
    takes: { c: [probability], k: [atLeast(0)], ...COLUMN },
    test: (p) => (slice) => {
      const ranked = counts(slice).sort((a, b) => b - a);
      return isLess(ranked[0], p.c, slice.size - ranked.slice(1, p.k + 1).reduce((sum, each) => sum + each, 0));
    },
  },
  TCloseness: { takes: { t: [probability], distance: [oneOf("equal", "ordered", "hierarchical"), "equal"], ...ALONE }, compares: true, convex: true, test: (p) => isClose(p.t, p.distance) },
  NTCloseness: {
    takes: { n: [atLeast(1)], t: [probability], distance: [oneOf("equal", "ordered", "hierarchical"), "equal"], ...COLUMN }, compares: true, countsPeople: true,
    test: (p) => { const close = isClose(p.t, p.distance); return (slice, column) => close(slice, column) || slice.size >= p.n; },
  },
  AlphaKAnonymity: { takes: { alpha: [share], k: [atLeast(1)], ...COLUMN }, hidesIdentity: true, sizes: (p) => (size) => size >= p.k, test: (p) => shareAtMost(p.alpha), crowd: (p) => p.k },
  PSensitive: { takes: { p: [atLeast(1)], k: [atLeast(1)], ...COLUMN }, hidesIdentity: true, sizes: (p) => (size) => size >= p.k, test: (p) => distinctAtLeast(p.p), crowd: (p) => p.k },
  LAlphaDiversity: {
    takes: { l: [atLeast(1)], alpha: [nonNegative], weights: [weightsOf], ...COLUMN },
    test: (p) => (slice, column) => {
      const texts = [...slice.counts.keys()].map((value) => (column.values[value] === null ? NULL_LABEL : labelText(column.type, column.values[value])));
      return slice.counts.size >= p.l && texts.reduce((sum, text) => sum.plus(p.weights.get(text) ?? ZERO), ZERO).compare(p.alpha) >= 0;
    },
  },
  ConfidenceBounding: {
    takes: { h: [probability], values: [someValues], quasi: [columnNames, null], ...ALONE }, convex: true,
    test: (p) => (slice, column, context) => members(column, p.values, context).every((value) => isAtMost(slice.counts.get(value) ?? 0, p.h, slice.size)),
  },
  CategoryDiversity: {
    takes: { c: [share], categories: [valueSets], ...ALONE }, convex: true,
    test: (p) => (slice, column, context) => p.categories.every((values) =>
      isLess([...new Set(members(column, values, context))].reduce((sum, value) => sum + (slice.counts.get(value) ?? 0), 0), p.c, slice.size)),
  },
  RangeDiversity: {
    takes: { c: [share], below: [nonNegative], above: [nonNegative], ...COLUMN },
    test: (p) => (slice, column) => isLess(fullest(numbersOf(slice, column), ZERO, p.below.plus(p.above)), p.c, slice.size),
  },
  KEAnonymity: { takes: { k: [atLeast(1)], e: [nonNegative], ...COLUMN }, test: (p) => (slice, column) => spanAtLeast(slice, column, p.e) && slice.counts.size >= p.k },
  EpsilonMAnonymity: {
    takes: { epsilon: [nonNegative], m: [oneOrMore], ...COLUMN },
    test: (p) => (slice, column) => isAtMost(fullest(numbersOf(slice, column), p.epsilon, p.epsilon), ONE.over(p.m), slice.size), monotone: false,
  },
  BetaLikeness: { takes: { beta: [positive], enhanced: [flag, false], ...COLUMN }, compares: true, convex: true, test: (p) => (slice, column) => likenessPasses(slice, column, p.beta, p.enhanced) },
  DeltaDisclosure: { takes: { delta: [positive], ...COLUMN }, compares: true, monotone: false, test: (p) => (slice, column) => disclosurePasses(slice, column, p.delta) },
  MUnique: { takes: { m: [atLeast(1)], ...COLUMN }, monotone: false, test: (p) => (slice) => slice.size >= p.m && top(slice) === 1 },
  MEligible: { takes: { m: [atLeast(1)], ...COLUMN }, convex: true, test: (p) => shareAtMost(ONE.over(whole(p.m))) },
  XYPrivacy: { takes: { k: [atLeast(1)], h: [share], ...COLUMN, y: [someNames, null], x: [someNames, null] }, test: (p) => (slice) => slice.counts.size >= p.k && isAtMost(top(slice), p.h, slice.size) },
  AverageRisk: { takes: { limit: [share] }, hidesIdentity: true, together: true, everything: (p) => (sizes) => isAtMost(sizes.length, p.limit, sizes.reduce((sum, each) => sum + each, 0)) },
  AnyColumns: { takes: { known: [atLeast(1)], inner: [inner], relations: [relations, []] }, together: true },
  InTurn: { takes: { columns: [columnNames], inner: [inner] }, together: true, hidesIdentity: true },
  KMap: { takes: { k: [atLeast(1)] }, hidesIdentity: true, population: true, fitted: (p) => (_, people) => people >= p.k },
  DeltaPresence: { takes: { low: [probability], high: [probability] }, hidesIdentity: true, population: true, countsPeople: true, fitted: (p) => (rows, people) => isAtMost(rows, p.high, people) && !isLess(rows, p.low, people) },
  PersonalPrivacy: { takes: { h: [probability], guards: [columnName], ...COLUMN, thresholds: [columnName, null] }, hidden: true, monotone: false, test: () => () => false },
};
// A definition with its parameters; invalid ones are a Problem (section 9.1).
export function makeDefinition(name, parameters) {
  const kind = DEFINITIONS[name], p = {};
  for (const key of Object.keys(parameters)) need(Object.hasOwn(kind.takes, key), `${name} has no parameter "${key}".`);
  for (const [key, [read, ...otherwise]] of Object.entries(kind.takes)) {
    const given = Object.hasOwn(parameters, key);
    need(given || otherwise.length > 0, `${name} needs the parameter "${key}".`);
    try {
      p[key] = given ? read(parameters[key], `${name}: ${key}`) : otherwise[0];
    } catch (error) {
      throw new Problem(error instanceof Problem ? error.message : `${name}: ${key} must be a number.`);
    }
  }
  const made = new Definition(name, kind, p);
  made.checkTogether();
  return made;
}

export class Definition {
  constructor(name, kind, p) { Object.assign(this, { name, kind, p }); }

  get isWrapper() { return this.name === "AnyColumns" || this.name === "InTurn"; }
  get quasi() { return this.p.quasi ?? null; }
  get column() { return this.p.column ?? null; }
  get hasColumn() { return "column" in this.kind.takes; }
  get isLocal() { return !this.kind.together; }
  get isMonotone() { return this.kind.monotone !== false; }
  get needsSensitive() { return this.name === "AnyColumns" ? this.p.inner.some((each) => each.needsSensitive) : Boolean(this.kind.test || this.kind.all); }
  get compares() { return this.name === "AnyColumns" ? this.p.inner.some((each) => each.compares) : Boolean(this.kind.compares); }
  get hidesIdentity() { return this.name === "AnyColumns" ? this.p.inner.some((each) => each.hidesIdentity) : Boolean(this.kind.hidesIdentity); }
  get countsPeople() {
    if (this.name === "AnyColumns") return this.p.inner.some((each) => each.countsPeople);
    return Boolean(this.kind.countsPeople || this.kind.sizes || this.kind.everything);
  }
  get isConvex() { return typeof this.kind.convex === "function" ? this.kind.convex(this.p) : Boolean(this.kind.convex); }
  get crowd() { return this.name === "AnyColumns" ? largest(this.p.inner.map((each) => each.crowd)) : (this.kind.crowd?.(this.p) ?? null); }

  // The sensitive columns that it concerns (section 6.12).
  guarded(sensitive) {
    if (this.name === "AnyColumns") return [...new Set(this.p.inner.flatMap((each) => each.guarded(sensitive)))];
    if (this.name === "InTurn" || !this.needsSensitive) return [];
    if (this.name === "XYPrivacy" && this.p.y !== null) return this.p.y;
    return this.column === null ? sensitive : [this.column];
  }

  // Whether its adversary knows all quasi columns (section 6.12).
  knowsAll(manifest) {
    const quasi = manifest.named("quasi");
    if (this.name === "AnyColumns") return this.p.known >= quasi.length;
    if (this.quasi !== null) return quasi.length > 0 && sameSet([...new Set(this.quasi)], quasi);
    return manifest.quasiSets === null || manifest.quasiSets.some((each) => sameSet([...new Set(each)], quasi));
  }

  // The parts that judge groups one by one and imply it, if any; none that use raw quasi-identifier values (section 8.4).
  inEachGroup() { return this.name === "AnyColumns" ? this.p.inner : this.name === "InTurn" ? [] : [this]; }

  checkTogether() {
    const { p, name } = this;
    if (name === "DeltaPresence") need(p.low.compare(p.high) <= 0, `${name}: low must be at most high.`);
    if (name === "XYPrivacy") {
      need(p.y !== null || p.x === null, `${name}: x needs y.`);
      need(p.y === null || (p.column === null && p.y.length > 0), `${name}: y must name columns, and takes the place of column.`);
      need(p.y === null || p.x === null || !p.y.some((each) => p.x.includes(each)), `${name}: a column is in x and in y at once.`);
    }
    if (name === "AnyColumns") for (const each of p.inner) need(each.isMonotone && each.isLocal && each.quasi === null && !each.kind.hidden && !each.kind.population, `${name}: ${each.name} cannot be asked for any columns.`);
    if (name === "InTurn") for (const each of p.inner) need(each.needsSensitive && each.isMonotone && each.isLocal && !each.compares && each.column === null && each.quasi === null && !each.kind.hidden && !each.kind.population, `${name}: ${each.name} cannot be asked of a quasi column.`);
  }

  // The first group that does not pass, or null; a Problem if the definition cannot be judged (sections 8.2 and 9). `view` has the groups and their labels.
  failure(view, context) {
    const { groups } = view;
    need(groups.sizes.length > 0, "There are no groups: nothing is published.");
    if (this.name === "AnyColumns") return this.failureInColumns(view, context);
    if (this.name === "InTurn") return this.failureInTurn(view, context);
    return this.failing(groups, context, true)[0] ?? null;
  }

  // The numbers of the groups that do not pass: all of them, or only the first.
  failing(groups, context, onlyFirst = false) {
    const { kind, p } = this, failing = new Set();
    if (kind.everything) return kind.everything(p)(groups.sizes) ? [] : [0];
    if (kind.sizes) {
      const passes = kind.sizes(p);
      groups.sizes.forEach((size, group) => { if (!passes(size)) failing.add(group); });
    }
    if (kind.fitted) {
      const passes = kind.fitted(p);
      groups.sizes.forEach((size, group) => { if (!passes(size, groups.people[group])) failing.add(group); });
    }
    if (onlyFirst && failing.size) return [...failing];
    for (const { slices, column } of this.slices(groups)) {
      const about = { declared: column !== null && context.reference.has(column.name) };
      if (kind.all) {
        if (!kind.all(p)(slices)) failing.add(slices[0].group);
        continue;
      }
      if (!kind.test) continue;
      const passes = kind.test(p);
      for (const slice of slices) {
        if (!passes(slice, column, about)) failing.add(slice.group);
        if (onlyFirst && failing.size) return [...failing];
      }
    }
    return [...failing];
  }

  // Section 8.2: with several sensitive columns a column is judged among people who agree in the others, unless it is judged alone.
  *slices(groups) {
    if (!this.needsSensitive) return;
    const names = groups.columns.map((column) => column.name);
    need(names.length > 0, `${this.name} protects a sensitive column, and there is none.`);
    if (this.name === "XYPrivacy" && this.p.y !== null) {
      yield groups.slices(this.p.x ?? names.filter((name) => !this.p.y.includes(name)), this.p.y);
      return;
    }
    for (const name of this.column === null ? names : [this.column]) yield groups.slices(this.p.alone ? [] : names.filter((each) => each !== name), [name]);
  }

  // Section 9.8: the inner definitions, for every set of `known` columns with all that can be computed from it.
  failureInColumns(view, context) {
    if (!view.showsLabels) return firstFailure(this.p.inner, view.groups, context);
    const size = Math.min(this.p.known, view.names.length), seen = new Set();
    need(choose(view.names.length, size) * view.groups.sizes.length < 2e8, TOO_MANY);
    for (const chosen of subsets(view.names, size)) {
      const known = closure(chosen, this.p.relations).filter((name) => view.names.includes(name)), key = view.names.filter((name) => known.includes(name)).join("\n");
      if (seen.has(key)) continue;
      seen.add(key);
      const { ids, count } = view.cells(known);
      const found = firstFailure(this.p.inner, view.groups.merged(ids, count), context);
      if (found !== null) return found;
    }
    return null;
  }

  // Section 9.9: a cell that certainly fails, among records that agree in all quasi columns except one.
  failureInTurn(view, context) {
    return this.inTurn(view, context).find((cell) => cell.certain)?.group ?? null;
  }

  // Section 7.6: if batches link labels and values, labels are not those of the judged groups.
  get notShownApart() { return this.name === "InTurn" ? NO_LABELS : null; }

  // Why the labels do not determine everything it needs; null if they do (section 9.9).
  notShown(view, context) {
    if (this.name !== "InTurn") return null;
    if (!view.showsLabels) return NO_LABELS;
    const failing = this.inTurn(view, context);
    if (failing === null) return "It is about raw values, and published labels stand for several values.";
    return failing.length === 0 || failing.some((cell) => cell.certain) ? null : "It is about raw values, and published labels stand for several values: for some records they do not show it.";
  }

  // The failing cells of all columns, each with one of its groups, and whether it fails for all values that its labels cover; null if labels do not determine that.
  inTurn(view, context) {
    const found = [];
    for (const name of this.p.columns) {
      need(view.names.includes(name), `There is no quasi column "${name}".`);
      const { meanings, type } = context.manifest.column(name), own = view.labels[view.names.indexOf(name)];
      const labels = [...new Set(own)], single = labels.map((label) => ["value", "missing"].includes(meanings.get(label).kind)), raw = single.every(Boolean);
      if (!raw && !this.p.inner.every((each) => SPREAD.includes(each.name) && !(each.p.dont_care?.length))) return null;
      const codes = raw ? labels.map((_, at) => at) : disjointClasses(labels.map((label) => meanings.get(label)));
      const alone = codes.map((code, at) => single[at] && codes.filter((each) => each === code).length === 1);
      const { ids, count, firsts } = view.cells(view.names.filter((each) => each !== name));
      const histograms = Array.from({ length: count }, () => new Map()), sizes = new Array(count).fill(0), certain = new Array(count).fill(true);
      own.forEach((label, group) => {
        const at = labels.indexOf(label), cell = ids[group], many = view.groups.sizes[group];
        sizes[cell] += many;
        histograms[cell].set(codes[at], (histograms[cell].get(codes[at]) ?? 0) + many);
        certain[cell] &&= raw || alone[at];
      });
      const values = raw ? labels.map((label) => listed(meanings.get(label))[0]) : labels.map((_, at) => String(at));
      const column = { name, type: raw ? type : "integer", values, ordered: false, levels: null, counts: [] };
      const groups = new Groups(sizes, histograms, [column], values.map((_, value) => [value])), about = { ...context, reference: new Map() };
      const failing = new Set(this.p.inner.flatMap((each) => each.failing(groups, about)));
      found.push(...[...failing].map((cell) => ({ group: firsts[cell], certain: certain[cell] })));
    }
    return found;
  }

  toString() {
    const shown = (value) => (Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : value instanceof Map ? "{...}" : String(value));
    const defaults = this.kind.takes;
    return `${this.name}(${Object.keys(this.p).filter((key) => shown(this.p[key]) !== shown(defaults[key][1])).map((key) => `${key}=${shown(this.p[key])}`).join(", ")})`;
  }
}

const NO_LABELS = "It is about the labels of single columns, and the published files show none.";

// Definitions that hold for every refinement of the values for which they hold.
const SPREAD = ["DistinctLDiversity", "ProbabilisticLDiversity", "EntropyLDiversity", "RecursiveLDiversity"];
const MOST_COMPARED = 500;

// Labels numbered such that those of different numbers certainly have no value in common (section 9.9).
function disjointClasses(meanings) {
  if (meanings.length > MOST_COMPARED) return meanings.map(() => 0);
  const codes = meanings.map((_, at) => at);
  meanings.forEach((one, first) => meanings.slice(0, first).forEach((other, second) => {
    if (codes[first] === codes[second] || areDisjoint(one, other)) return;
    const [from, to] = [codes[first], codes[second]];
    codes.forEach((code, at) => { if (code === from) codes[at] = to; });
  }));
  return codes;
}

export const TOO_MANY = "There are too many sets of columns for this verifier; Reticent judges them.";
const largest = (numbers) => numbers.reduce((most, each) => (each !== null && (most === null || each > most) ? each : most), null);

function firstFailure(parts, groups, context) {
  for (const part of parts) {
    const [failing] = part.failing(groups, context, true);
    if (failing !== undefined) return failing;
  }
  return null;
}

function* subsets(names, size, start = 0) {
  if (size === 0) yield [];
  else for (let at = start; at <= names.length - size; at++) for (const rest of subsets(names, size - 1, at + 1)) yield [names[at], ...rest];
}

const choose = (n, k) => Array.from({ length: k }, (_, at) => (n - at) / (at + 1)).reduce((product, each) => product * each, 1);

function closure(chosen, relations) {
  const known = new Set(chosen);
  for (let before = -1; before !== known.size; ) {
    before = known.size;
    for (const [sources, target] of relations) if (sources.every((name) => known.has(name))) known.add(target);
  }
  return [...known];
}
