// Formats with sampled rows (docs/reference/release-format.md, sections 7.9 to 7.11): the sampling plan is judged, exactly.

import { exact, exceedsLogarithm, ONE, whole } from "./exact.js";
import { isObject, isWhole, need, needKeys, same, sameSet } from "./canonical.js";
import { fromText, isTemporal, TYPES } from "./values.js";

const LARGEST_EPSILON = whole(50);
const ADVERSARIES = ["independent", "exclusive", "both", "record"];

// A fraction in canonical spelling.
function fraction(value, name) {
  need(typeof value === "string" && String(exact(value)) === value, `manifest.json, details: ${name} must be a fraction, written as such.`);
  return exact(value);
}

// ---- The public domain (section 7.9) ----

// A column of the domain: its type, its size, and the index of a value in it (undefined if absent).
function readAttribute(json, name) {
  const wrong = `manifest.json, details: the domain of column "${name}" cannot be understood.`;
  need(isObject(json), wrong);
  if ("from" in json) {
    needKeys(json, ["from", "to", "step"], wrong);
    const [from, to, step] = ["from", "to", "step"].map((key) => {
      const number = isWhole(json[key]) ? BigInt(json[key]) : null;
      need(number !== null || (typeof json[key] === "string" && /^-?\d{16,20}$/.test(json[key]) && !Number.isSafeInteger(Number(json[key]))), wrong);
      return number ?? BigInt(json[key]);
    });
    need(step > 0n && to > from && (to - from) % step === 0n && from >= -(2n ** 63n) && to < 2n ** 63n, wrong);
    const place = (value) => {
      const at = value === null ? -1n : BigInt(value) - from;
      return at >= 0n && at <= to - from && at % step === 0n ? Number(at / step) : undefined;
    };
    return { name, type: "integer", size: (to - from) / step + 1n, place };
  }
  needKeys(json, ["type", "values"], wrong);
  need(TYPES.includes(json.type) && json.type !== "unsigned" && Array.isArray(json.values) && json.values.length > 0, wrong);
  const values = json.values.map((value) => domainValue(json.type, value, wrong)), places = new Map(values.map((value, at) => [value, at]));
  need(places.size === values.length && !isRun(json.type, values), wrong);
  return { name, type: json.type, size: BigInt(values.length), place: (value) => places.get(value) };
}

function domainValue(type, json, wrong) {
  if (json === null) return null;
  // Numbers and Booleans as in section 2.3; dates and timestamps as in labels.
  const plain = { text: "string", boolean: "boolean", real: "number" }[type];
  need(plain ? typeof json === plain : type === "integer" ? isWhole(json) || (typeof json === "string" && !Number.isSafeInteger(Number(json))) : typeof json === "string", wrong);
  const value = fromText(type, type === "real" && Number.isInteger(json) ? `${json}.0` : String(json));
  need(value !== null && (!isTemporal(type) || value.replace("T", " ") === json), wrong);
  return value;
}

// Integers at equal steps are written by their ends.
function isRun(type, values) {
  if (type !== "integer" || values.length < 2 || values.includes(null)) return false;
  const numbers = values.map(BigInt), step = numbers[1] - numbers[0];
  return step > 0n && numbers.every((number, at) => at === 0 || number - numbers[at - 1] === step);
}

// The domain with its columns in the order of the published table.
function readDomain(json, names) {
  need(isObject(json) && same(Object.keys(json).sort(), [...names].sort()), "manifest.json: the columns of the domain are not those that are described.");
  const columns = names.map((name) => readAttribute(json[name], name));
  return { columns, size: columns.reduce((product, column) => product * column.size, 1n) };
}

// Rows must be in the domain and in its order; `isSet`: without duplicates.
function checkInDomain(table, domain, isSet, name) {
  const places = domain.columns.map((column) => table.column(column.name).distinct.map((value) => {
    const at = column.place(value);
    need(at !== undefined, `Column "${column.name}" shows ${JSON.stringify(value)}, which is not in its domain.`);
    return at;
  }));
  const row = (run) => domain.columns.map((column, at) => places[at][table.column(column.name).codes[run]]);
  for (let run = 0; run < table.times.length; run++) {
    need(!isSet || table.times[run] === 1, `${name} shows a tuple twice; it was changed after it was published.`);
    if (run === 0) continue;
    const [before, after] = [row(run - 1), row(run)], at = before.findIndex((place, column) => place !== after[column]);
    need(at < 0 ? !isSet : before[at] < after[at], `${name} is not in the order of its domain; it was changed after it was published.`);
  }
}

// ---- What a plan discloses (section 9.10): the largest and the smallest likelihood ratio ----

// One or several views of one table (section 7.9), each tuple shown with probability s if it is true, and with beta if it is not.
class ViewRates {
  constructor({ alpha, beta, views, carry, frozen, countsPeople }) { Object.assign(this, { s: alpha.plus(beta), beta, views, carry, frozen, countsPeople }); }

  ratios(adversary) {
    need(adversary !== "record", "A view has no rows about single people.");
    if (adversary === "independent") return this.independent();
    need(this.views === 1 && this.s.compare(ONE) < 0, "Against exclusive adversaries there is one view, and s is below 1.");
    const swap = this.s.times(ONE.minus(this.beta)).over(this.beta.times(ONE.minus(this.s))), linked = this.countsPeople ? largest(swap, swap.times(swap)) : swap;
    if (adversary === "exclusive") return { highest: linked, lowest: null };
    const alone = this.independent();
    return { highest: largest(linked, alone.highest), lowest: alone.lowest };
  }

  // View by view from the last to the first: the tuple showed before or did not, and is a member or is not. A step without membership has the ratio 1; a frozen table has none.
  independent() {
    let [shownHigh, newHigh, shownLow, newLow] = [ONE, ONE, ONE, ONE];
    const { s, carry, frozen } = this, rest = frozen ? [] : [ONE], missing = ONE.minus(s);
    for (let index = this.views; index > 0; index--) {
      const noise = this.noise(index), again = carry.n > 0n ? s.over(carry) : ONE, first = s.over(noise);
      const [gone, missed] = [missing.over(ONE.minus(noise)), missing.over(ONE.minus(carry))];
      [shownHigh, newHigh] = [largest(again, missed, ...rest).times(shownHigh), largest(first.times(shownHigh), gone.times(newHigh), ...rest.map(() => largest(shownHigh, newHigh)))];
      [shownLow, newLow] = [smallest(again, missed, ...rest).times(shownLow), smallest(first.times(shownLow), gone.times(newLow), ...rest.map(() => smallest(shownLow, newLow)))];
    }
    return { highest: newHigh, lowest: newLow, overTime: this.views > 1 && !frozen };
  }

  noise(index) {
    let noise = this.beta;
    for (let view = 1; this.frozen && view < index; view++) noise = noise.times(ONE.minus(this.s));
    return noise;
  }
}

// Records, or the values of a column, that are kept with one probability and else become another one of the domain (sections 7.10 and 7.11).
class KeptRates {
  constructor(kept, size) {
    need(size >= 2n, "manifest.json, details: the domain has one tuple, so that nothing is hidden.");
    const replaced = ONE.minus(kept).over(whole(size - 1n));
    need(replaced.compare(kept) < 0 && kept.compare(ONE) < 0 && replaced.n > 0n, "manifest.json, details: a record must be kept with more probability than any other replaces it, and below 1.");
    this.highest = kept.over(replaced);
  }

  ratios(adversary) {
    need(adversary === "record", "Records are perturbed one by one, which hides nothing about which tuples exist.");
    return { highest: this.highest, lowest: null };
  }
}

const largest = (...given) => given.reduce((most, each) => (each.compare(most) > 0 ? each : most));
const smallest = (...given) => given.reduce((least, each) => (each.compare(least) < 0 ? each : least));

// ---- Definitions of plans (section 9.10) ----

export const PLAN_DEFINITIONS = {
  // A prior of at most d becomes a posterior of at most gamma, and falls at most by the factor d/gamma.
  BoundedBelief: {
    read({ d, gamma, adversary = "independent", over_time = false, ...rest }) {
      const p = { d: exact(d), gamma: exact(gamma), adversary, overTime: over_time };
      need(Object.keys(rest).length === 0 && ADVERSARIES.includes(adversary) && typeof over_time === "boolean", "BoundedBelief: a parameter is not known.");
      need(p.d.n > 0n && p.d.compare(p.gamma) < 0 && p.gamma.compare(ONE) < 0, "BoundedBelief: 0 < d < gamma < 1.");
      return p;
    },
    failure(p, plan) {
      const { highest, lowest, overTime = false } = plan.ratios(p.adversary), lifted = highest.times(p.d), worst = lifted.over(lifted.plus(ONE).minus(p.d));
      if (worst.compare(p.gamma) > 0) return `A tuple with the prior ${p.d} can reach a posterior above ${p.gamma}.`;
      if (lowest !== null && lowest.compare(p.d.over(p.gamma)) < 0) return "A tuple that does not show can lose more than is promised.";
      return overTime && !p.overTime ? "Several views of a table that changes bound only who is bounded at every time." : null;
    },
    words: (p) => `An adversary who gives a record at most ${p.d} before seeing the release gives it at most ${p.gamma} after.`,
    open: "Records that are correlated, such as those of a household, are not covered, nor is a second view of the same data that was made independently.",
  },
  LocalDP: {
    read({ epsilon, ...rest }) {
      const p = { epsilon: exact(epsilon) };
      need(Object.keys(rest).length === 0 && p.epsilon.n > 0n && p.epsilon.compare(LARGEST_EPSILON) <= 0, "LocalDP: epsilon must be above 0 and at most 50.");
      return p;
    },
    failure(p, plan) {
      const { highest } = plan.ratios("record");
      return exceedsLogarithm(p.epsilon, highest) ? null : `A shown value can be ${highest} times as likely for one true value as for another, more than e^${p.epsilon}.`;
    },
    words: (p) => `Whatever value is shown for a person, no true value makes it more than e^${p.epsilon} times as likely as another.`,
    open: "The other columns are not protected: anybody can see who is in the table.",
  },
};

// ---- Formats ----

const needRole = (manifest, names) => need(sameSet(manifest.named("drawn"), names), "manifest.json: the columns that were drawn have the role drawn, and no others.");
const isBelief = (name) => name === "BoundedBelief";
// Types of a domain are those of the published columns.
const needTypes = (manifest, domain) => need(domain.columns.every((column) => manifest.column(column.name).type === column.type), "manifest.json: a column has another type than its domain.");

// Section 7.9: randomized views.
const view = {
  tables: ["view"], roles: ["drawn"], ownOrder: true, claims: isBelief,
  check(manifest, tables) {
    const { details } = manifest, names = manifest.tables.get("view").columns;
    needKeys(details, ["plan", "index", "duplicates"], "manifest.json, details");
    const { plan } = details, entries = ["plan", "n", "domain", "d", "gamma", "adversary", "preset", "alpha", "beta", "views", "carry", "frozen", "error"];
    needKeys(plan, isObject(plan) && "source" in plan ? [...entries, "source"] : entries, "manifest.json, details, plan");
    need(plan.plan === 1 && typeof plan.frozen === "boolean" && typeof plan.preset === "string" && isWhole(plan.n) && plan.n >= 1 && isWhole(plan.views) && plan.views >= 1, "manifest.json, details: the plan cannot be understood.");
    need(isWhole(details.index) && details.index >= 1 && details.index <= plan.views && ["refuse", "dedupe", "count"].includes(details.duplicates), "manifest.json, details: there is no such view of the plan.");
    needRole(manifest, names);
    const domain = readDomain(plan.domain, names), [alpha, beta, carry, error] = ["alpha", "beta", "carry", "error"].map((name) => fraction(plan[name], name));
    const s = alpha.plus(beta);
    needTypes(manifest, domain);
    need(BigInt(plan.n) < domain.size && error.n > 0n && error.compare(ONE) < 0, "manifest.json, details: n must be below the size of the domain, and error between 0 and 1.");
    need(alpha.n > 0n && beta.n > 0n && s.compare(ONE) <= 0 && (plan.views === 1 || (carry.n > 0n && carry.compare(s) < 0)), "manifest.json, details: the chances do not fit together.");
    checkInDomain(tables.get("view"), domain, true, "view");
    if ("source" in plan) return { unknown: "Its noise follows a public distribution; Reticent judges such plans." };
    const rates = new ViewRates({ alpha, beta, carry, views: plan.views, frozen: plan.frozen, countsPeople: names.includes("count") });
    needOwnPromise({ d: fraction(plan.d, "d"), gamma: fraction(plan.gamma, "gamma"), adversary: plan.adversary, over_time: plan.views > 1 && !plan.frozen }, rates);
    return { plan: rates };
  },
};

// Section 7.10: perturbed records.
const records = {
  tables: ["records"], roles: ["drawn"], ownOrder: true, claims: isBelief,
  check(manifest, tables) {
    const { details } = manifest, names = manifest.tables.get("records").columns;
    needKeys(details, ["n", "domain", "kept", "promise"], "manifest.json, details");
    need(isWhole(details.n) && details.n >= 1 && isObject(details.promise), "manifest.json, details: n or promise is wrong.");
    needRole(manifest, names);
    const domain = readDomain(details.domain, names), plan = new KeptRates(fraction(details.kept, "kept"), domain.size), { d, gamma, ...rest } = details.promise;
    needTypes(manifest, domain);
    need(rest.over_time !== false, "manifest.json, details: over_time is left out where it is false.");
    needOwnPromise({ d: fraction(d, "d"), gamma: fraction(gamma, "gamma"), ...rest }, plan);
    checkInDomain(tables.get("records"), domain, false, "records");
    return { plan };
  },
};

// Section 7.11: true rows but for one column.
const perturbed = {
  tables: ["data"], roles: ["drawn"], classes: (manifest) => ["data", manifest.named("quasi")],
  claims: (name, p) => name === "LocalDP" || (isBelief(name) && p.adversary === "record"),
  check(manifest, tables) {
    const { details } = manifest, data = tables.get("data");
    needKeys(details, ["n", "domain", "kept", "memory"], "manifest.json, details");
    need(details.n === data.rows && (details.memory === null || typeof details.memory === "string") && isObject(details.domain), "manifest.json, details: the plan is for another number of rows, or memory is wrong.");
    const names = Object.keys(details.domain);
    need(names.length === 1, "The domain of perturbed values must have one column.");
    needRole(manifest, names);
    const domain = readDomain(details.domain, names), [column] = domain.columns;
    for (const value of data.column(column.name).distinct) need(column.place(value) !== undefined, `Column "${column.name}" shows ${JSON.stringify(value)}, which is not in its domain.`);
    needTypes(manifest, domain);
    return { plan: new KeptRates(fraction(details.kept, "kept"), domain.size) };
  },
};

// A plan must satisfy the guarantee that it states.
function needOwnPromise(promise, plan) {
  const { read, failure } = PLAN_DEFINITIONS.BoundedBelief, wrong = failure(read(promise), plan);
  need(wrong === null, `manifest.json, details: the rates do not keep the promise. ${wrong}`);
}

// Definitions of plans that this verifier knows by name only.
export const OTHER_PLANS = ["ProbabilisticDP", "NoisyCounts", "UnboundedDP", "CrowdBlending"];

export const PLAN_FORMATS = { view, records, perturbed };
