// Releases of a series (docs/reference/release-format.md, section 7.12): groups with counterfeits, and the chain of certificates. Group membership is not public: the files prove only a part of the claim.

import { isWhole, need, same, sameSet } from "./canonical.js";
import { makeDefinition } from "./definitions.js";
import { bucketView, checkShownLabels, labelView, needPublished, only } from "./formats.js";
import { checkLabels } from "./values.js";
import { hashOf } from "./signatures.js";

const COUNT = "counterfeits";
const ATTESTED = "Who is in which group is not public: that people keep the values of their group from release to release is attested.";

// TauSafety(m, hardened) and MInvariance(m), section 9.11.
export function readHistory(name, { m, ...rest }) {
  need(isWhole(m) && m >= 2, `${name}: m must be a whole number of at least 2.`);
  need(Object.keys(rest).every((key) => name === "TauSafety" && key === "hardened" && typeof rest[key] === "boolean"), `${name} has no such parameter.`);
  return { name, m, toString: () => `${name}(m=${m}${rest.hardened === false ? ", hardened=false" : ""})` };
}

function checkDetails(details, withK) {
  const optional = ["retention", ...(withK ? ["k"] : [])].filter((name) => name in details), wrong = "manifest.json: the details are not those of a release of a series.";
  need(sameSet(Object.keys(details), ["m", "number", "follows", "choice", "balance", "baseline", ...optional]) && withK === "k" in details, wrong);
  for (const [name, least] of [["m", 2], ["number", 1], ["retention", 1], ["k", 2]]) need(!(name in details) || (isWhole(details[name]) && details[name] >= least), wrong);
  need(details.follows === null || (typeof details.follows === "string" && [...details.follows].length === 64), wrong);
  need(["near", "random", "bang"].includes(details.choice) && ["filled", "blind", "blocks"].includes(details.balance) && [null, "tau", "m-invariance"].includes(details.baseline), wrong);
}

// Tables without missing values, one box for each group, and fewer counterfeits than rows in each.
function checkGroups(manifest, tables, main, parts, withK) {
  const group = only(manifest, "group"), count = only(manifest, "count"), data = tables.get(main), listed = tables.get(COUNT);
  for (const [name, columns] of [...parts(group), [COUNT, [group, count]]]) need(sameSet(manifest.tables.get(name).columns, columns), `manifest.json: the table "${name}" of a release of a series has the columns ${columns.join(", ")}.`);
  checkDetails(manifest.details, withK);
  for (const table of tables.values()) for (const { distinct } of table.columns.values()) need(!distinct.includes(null), "A release of a series has no missing values.");
  const madeUp = new Map();
  for (const { values: [number, many], rows } of listed.counted([group, count])) {
    need(!madeUp.has(number) && rows === 1 && Number(many) >= 1, `The table "${COUNT}" lists a group twice, or with no counterfeits.`);
    madeUp.set(number, Number(many));
  }
  const people = new Map(data.counted([group]).map(({ values: [number], rows }) => [number, rows - (madeUp.get(number) ?? 0)]));
  need(isInOrder(data, group), "The rows are not in the order of their groups.");
  for (const number of madeUp.keys()) need(people.has(number), `None of the rows of group ${number} is there.`);
  for (const [number, many] of people) need(many > 0, `Group ${number} has as many counterfeits as rows.`);
  return { group, people, data };
}

function isInOrder(table, name) {
  const { distinct, codes } = table.column(name), number = (run) => BigInt(distinct[codes[run]]);
  for (let run = 1; run < table.times.length; run++) if (number(run) < number(run - 1)) return false;
  return true;
}

function checkQuasi(manifest, table) {
  needPublished(manifest, "labels");
  checkShownLabels(manifest, [table]);
  manifest.columns.filter((column) => column.role === "quasi").forEach(checkLabels);
}

const shared = { roles: ["group", "count"], hidesIdentity: true, isSeries: true, attested: () => ATTESTED };

const series = {
  ...shared, tables: ["data", COUNT],
  check(manifest, tables) {
    const { group, data } = checkGroups(manifest, tables, "data", (name) => [["data", [name, ...manifest.named("quasi"), ...manifest.named("sensitive")]]], false);
    need(data.counted([group, ...manifest.named("quasi")]).length === data.counted([group]).length, "Rows of one group have different boxes.");
    checkQuasi(manifest, data);
  },
  view: (manifest, tables) => bucketView(manifest, tables.get("data"), tables.get("data"), manifest.named("group")[0]),
  classes: (manifest) => ["data", manifest.named("quasi")],
  allows: () => false,
};

const batches = {
  ...shared, tables: ["batches", "people", COUNT],
  check(manifest, tables) {
    const parts = (name) => [["batches", [name, ...manifest.named("sensitive")]], ["people", [name, ...manifest.named("quasi")]]];
    const { group, people } = checkGroups(manifest, tables, "batches", parts, true), shown = new Map(tables.get("people").counted([group]).map(({ values: [number], rows }) => [number, rows]));
    for (const number of new Set([...people.keys(), ...shown.keys()])) need(people.get(number) === shown.get(number), `Batch ${number} has another number of people than of values that are no counterfeits.`);
    checkQuasi(manifest, tables.get("people"));
  },
  view: (manifest, tables) => bucketView(manifest, tables.get("people"), tables.get("batches"), manifest.named("group")[0]),
  alike: (manifest, tables) => labelView(manifest, tables.get("people")),
  classes: (manifest) => ["people", manifest.named("quasi")],
  allows: (definition) => definition.name === "KAnonymity",
};

export const SERIES_FORMATS = { series, "batch-series": batches };

// Section 7.12: the first release that does not follow the one before it; null if all do. A release is {certificate, manifest, view}.
export async function brokenChain(releases) {
  for (const [at, { manifest: { details } }] of releases.entries()) {
    if (at === 0) continue;
    const before = releases[at - 1], { signature, ...body } = before.certificate, number = before.manifest.details.number;
    if (details.number !== number + 1 || details.follows !== (await hashOf(body))) return `Release ${details.number} does not follow release ${number} as it lies here: the chain of certificates is broken.`;
  }
  return null;
}

// Section 9.11: the first release whose groups are not m-unique; null if there is none.
export function historyFailure({ m }, releases) {
  const unique = makeDefinition("MUnique", { m }), found = releases.find(({ view }) => unique.failure(view, { reference: new Map() }) !== null);
  return found ? `Release ${found.manifest.details.number}: a group does not show at least ${m} values, each of them once.` : null;
}

// Section 6.13: whether several releases are one series in its order; that none is missing is only stated by the ledger.
export function seriesCheck(certificates) {
  const ledgers = certificates.map(({ ledger }) => ledger), numbers = ledgers.map(({ release }) => release), check = (status, detail) => ({ id: "series", name: "series", status, detail, claim: false });
  if (!ledgers.every(({ dataset }) => same(dataset, ledgers[0].dataset))) return check("fails", "The folders are releases of different data sets.");
  if (numbers.includes(null)) return check("not re-checked", "The data set has no name, so the order of its releases is not known.");
  if (numbers.some((number, at) => at > 0 && number <= numbers[at - 1])) return check("fails", `The folders are not in the order of their releases: ${numbers.join(", ")}.`);
  return check("holds", `Releases ${numbers.join(", ")} of "${ledgers[0].dataset}", in their order.`);
}
