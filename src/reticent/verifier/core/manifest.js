// The manifest (docs/reference/release-format.md, section 3) and the certificate (section 5): parsed strictly, so that they contain nothing unchecked.

import { isObject, isWhole, need, needKeys, Problem, sameSet } from "./canonical.js";
import { isTime } from "./signatures.js";
import { fromJson, readMeaning, TYPES } from "./values.js";

export const LAYOUT = 4;
export const ROLES = ["quasi", "sensitive", "declared", "pseudonym"];
const UNITS = ["row", "person", "household"];

export function checkLayout(found, file) {
  if (isWhole(found) && found < LAYOUT) throw new Problem(`${file} has layout ${found}, of an earlier version, and this verifier reads layout ${LAYOUT}. Verify it with the version of Reticent that its certificate names.`);
  need(found === LAYOUT, `${file} has layout ${JSON.stringify(found)}, and this verifier reads layout ${LAYOUT}.`);
}

export class Manifest {
  constructor(json) {
    const where = "manifest.json";
    checkLayout(json.layout, where);
    needKeys(json, ["layout", "format", "method", "unit", "columns", "tables", "quasi_sets", "details", ...["known_rows", "unit_declared"].filter((name) => name in json)], where);
    need(typeof json.format === "string" && isObject(json.method) && isObject(json.details) && Array.isArray(json.columns) && isObject(json.tables), `${where}: an entry has the wrong type.`);
    need(UNITS.includes(json.unit), `${where}: unit must be row, person or household.`);
    Object.assign(this, { format: json.format, method: json.method, unit: json.unit, details: json.details, quasiSets: json.quasi_sets, knownRows: json.known_rows ?? null, unitDeclared: "unit_declared" in json });
    need(!this.unitDeclared || (json.unit_declared === true && json.unit === "row"), `${where}: unit_declared is true, where the unit is the row, or it is not there.`);
    this.columns = json.columns.map((each, at) => readColumn(each, `${where}, columns, entry ${at + 1}`));
    this.tables = new Map(Object.keys(json.tables).map((name) => [name, readTable(json.tables[name], `${where}, table "${name}"`)]));
    this.checkWhole();
  }

  named(role) { return this.columns.filter((column) => column.role === role).map((column) => column.name); }

  column(name) {
    const found = this.columns.find((column) => column.name === name);
    need(found, `manifest.json: no column "${name}" is described.`);
    return found;
  }

  // The sets of quasi columns of which an adversary knows one (section 8.1).
  get sets() { return this.quasiSets ?? [this.named("quasi")]; }

  checkWhole() {
    const names = this.columns.map((column) => column.name);
    need(new Set(names).size === names.length, "manifest.json describes a column twice.");
    const shown = new Set([...this.tables.values()].flatMap((table) => table.columns));
    need(sameSet([...shown], names), "manifest.json: a column must be both described and published.");
    if (this.quasiSets !== null) {
      need(Array.isArray(this.quasiSets) && this.quasiSets.length > 0 && this.quasiSets.every(isNames), "manifest.json: quasi_sets must be lists of names.");
      need(sameSet([...new Set(this.quasiSets.flat())], this.named("quasi")), "manifest.json: quasi_sets must cover exactly the quasi columns.");
    }
    if (this.knownRows !== null) {
      needKeys(this.knownRows, ["rows", "judged", "same", ...["each_row"].filter((name) => name in this.knownRows)], "manifest.json, known_rows");
      const { rows, judged, same: columns, each_row: eachRow = [] } = this.knownRows;
      need((rows === "all" || (isWhole(rows) && rows >= 1)) && ["records", "people", "chances"].includes(judged) && isNames(columns) && isNames(eachRow), "manifest.json: known_rows must state how many rows may be known and what was judged.");
      need(this.unit !== "row", "manifest.json: known_rows applies to people with several rows, but the unit is the row.");
    }
  }
}

const isNames = (value) => Array.isArray(value) && value.every((name) => typeof name === "string");

function readColumn(json, where) {
  need(isObject(json) && typeof json.name === "string" && typeof json.role === "string" && TYPES.includes(json.type), `${where}: a column has a name, a role and a type.`);
  const column = { name: json.name, role: json.role, type: json.type, published: null, labels: {}, meanings: new Map(), computable: [], reason: null };
  if (json.role !== "quasi") {
    const optional = ["coarsened", "computable_from"].filter((key) => key in json);
    needKeys(json, ["name", "role", "type", ...(json.role === "declared" ? ["reason"] : []), ...optional], where);
    need(!("coarsened" in json) || isObject(json.coarsened), `${where}: coarsened must be an object.`);
    need(!("computable_from" in json) || (isNames(json.computable_from) && json.computable_from.length > 0), `${where}: computable_from must be names.`);
    need(json.role !== "declared" || typeof json.reason === "string", `${where}: a declared column has a reason.`);
    return { ...column, computable: json.computable_from ?? [], reason: json.reason ?? null };
  }
  needKeys(json, ["name", "role", "type", "published", "labels", "domain"], where);
  need(["labels", "values", "typical"].includes(json.published) && isObject(json.labels), `${where}: published or labels are wrong.`);
  checkDomain(json.domain, json.type, where);
  const meanings = new Map(Object.keys(json.labels).map((label) => [label, readMeaning(json.labels[label], json.type, `manifest.json, column "${json.name}": the meaning of label "${label}"`)]));
  return { ...column, published: json.published, labels: json.labels, meanings };
}

// Section 3.2: a declared domain lists all its values, or the ends of a range of at least three consecutive integers.
function checkDomain(domain, type, where) {
  if (domain === null) return;
  if (isObject(domain) && Object.keys(domain).sort().join() === "from,to") {
    const [low, high] = [domain.from, domain.to].map((end) => BigInt(fromJson(type, end)));
    need((type === "integer" || type === "unsigned") && high - low >= 2n && high - low <= 100_000_000n, `${where}: the domain cannot be parsed.`);
    return;
  }
  needKeys(domain, ["values"], `${where}, domain`);
  need(Array.isArray(domain.values), `${where}: the domain cannot be parsed.`);
  const values = domain.values.map((value) => fromJson(type, value));
  const whole = type === "integer" || type === "unsigned";
  const run = whole && values.length > 2 && values.every((value, at) => at === 0 || BigInt(value) === BigInt(values[at - 1]) + 1n);
  need(!run, `${where}: a domain that is a run of whole numbers is written by its ends.`);
}

function readTable(json, where) {
  needKeys(json, ["files", "columns", ...(isObject(json) && "formulas" in json ? ["formulas"] : [])], where);
  need(isNames(json.files) && json.files.length > 0 && isNames(json.columns) && isNames(json.formulas ?? []), `${where}: files and columns must be lists of names.`);
  need(!("formulas" in json) || json.formulas.length > 0, `${where}: formulas are left out where there are none.`);
  return { files: json.files, columns: json.columns, formulas: json.formulas ?? [] };
}

// ---- The certificate (section 5) ----

const FIELDS = ["layout", "reticent", "format", "headline", "claims", "quasi", "sensitive", "declared", "declared_together", "unit", "reference", "randomness", "residual_risks", "files", "ledger", "created"];
const MOST_CLAIMS = 100;

export function checkCertificate(json) {
  const where = "certificate.json";
  checkLayout(json.layout, where);
  needKeys(json, [...FIELDS, ...("signature" in json ? ["signature"] : [])], where);
  const { headline, ledger, randomness } = json;
  needKeys(headline, ["state", "reasons"], `${where}, headline`);
  need(["holds", "holds, but", "does not hold", "not shown"].includes(headline.state) && isNames(headline.reasons) && (headline.reasons.length > 0) === (headline.state !== "holds"), `${where}: the headline contradicts itself.`);
  need(typeof json.reticent === "string" && /^\d+(\.\w+)*$/.test(json.reticent), `${where}: "reticent" is no version.`);
  need(typeof json.format === "string" && UNITS.includes(json.unit) && isNames(json.quasi) && isNames(json.sensitive) && isNames(json.residual_risks), `${where}: format, unit, quasi, sensitive or residual_risks are wrong.`);
  need(Array.isArray(json.claims) && json.claims.length <= MOST_CLAIMS, `${where}: claims must be a list of at most ${MOST_CLAIMS}.`);
  for (const claim of json.claims) {
    needKeys(claim, ["definition", "parameters", "covers", "does_not_cover"], `${where}, claims`);
    need(typeof claim.definition === "string" && isObject(claim.parameters) && typeof claim.covers === "string" && typeof claim.does_not_cover === "string", `${where}: a claim is a definition with parameters, and words.`);
  }
  need(Array.isArray(json.declared), `${where}: declared must be a list.`);
  for (const each of json.declared) {
    needKeys(each, ["column", "reason", "unique", "few", "computable_from", "may_link"], `${where}, declared`);
    need(typeof each.column === "string" && isTextOrNull(each.reason) && isCountOrNull(each.unique) && isCountOrNull(each.few) && isNames(each.computable_from) && typeof each.may_link === "boolean", `${where}: a declared column is described wrongly.`);
  }
  if (json.declared_together !== null) {
    needKeys(json.declared_together, ["unique", "few", "records", "k"], `${where}, declared_together`);
    const { unique, few, records, k } = json.declared_together;
    need(isCountOrNull(unique) && isCountOrNull(few) && isCount(records) && isCount(k), `${where}: declared_together is wrong.`);
  }
  if (json.reference !== null) {
    need(isObject(json.reference), `${where}: the reference must be an object with one histogram for each column.`);
    for (const each of Object.values(json.reference)) checkReferenceEntry(each, `${where}, reference`);
  }
  needKeys(randomness, ["releasable", "statement"], `${where}, randomness`);
  need(typeof randomness.releasable === "boolean" && typeof randomness.statement === "string", `${where}: randomness is wrong.`);
  need(isObject(json.files), `${where}: files must be an object.`);
  for (const each of Object.values(json.files)) {
    needKeys(each, ["sha256", "bytes"], `${where}, files`);
    need(typeof each.sha256 === "string" && /^[0-9a-f]{64}$/.test(each.sha256) && isCount(each.bytes), `${where}: a fingerprint is wrong.`);
  }
  needKeys(ledger, ["dataset", "release", "statement", ...(isObject(ledger) && "beside" in ledger ? ["beside"] : [])], `${where}, ledger`);
  const named = typeof ledger.dataset === "string";
  need(typeof ledger.statement === "string" && (named ? isWhole(ledger.release) && ledger.release >= 1 : ledger.dataset === null && ledger.release === null) && (!("beside" in ledger) || (named && typeof ledger.beside === "string")), `${where}: the ledger entry must have both a data set and a release number, or neither.`);
  need(isTime(json.created), `${where}: "created" is no time of making.`);
}

const isCount = (value) => isWhole(value) && value >= 0;
const isCountOrNull = (value) => value === null || isCount(value);
const isTextOrNull = (value) => value === null || typeof value === "string";

function checkReferenceEntry(entry, where) {
  needKeys(entry, ["values", "counts", "ordered", "levels", "of"], where);
  need(["whole table", "published rows"].includes(entry.of) && typeof entry.ordered === "boolean", `${where}: of or ordered is wrong.`);
  need(Array.isArray(entry.values) && entry.values.every((value) => value === null || typeof value !== "object"), `${where}: values are wrong.`);
  need(Array.isArray(entry.counts) && entry.counts.every(isCount), `${where}: counts must be whole numbers.`);
  need(entry.levels === null || (Array.isArray(entry.levels) && entry.levels.every((level) => Array.isArray(level) && level.every(isCount))), `${where}: levels must list the category of every value.`);
}

// Section 5.3: the reference histograms of claims, by column.
export function readReference(json, manifest) {
  const found = new Map();
  if (json === null) return found;
  for (const name of Object.keys(json)) {
    const where = `certificate.json, reference of column "${name}"`, entry = json[name];
    need(manifest.named("sensitive").includes(name), `${where}: there is no such sensitive column.`);
    need(entry.values.length === entry.counts.length && entry.values.length > 0, `${where}: there must be one count for each value.`);
    const type = manifest.column(name).type, values = entry.values.map((value) => fromJson(type, value));
    need(new Set(values).size === values.length, `${where}: a value is listed twice.`);
    checkLevels(entry.levels, values.length, where);
    found.set(name, { name, type, values, counts: entry.counts, ordered: entry.ordered, levels: entry.levels, of: entry.of });
  }
  return found;
}

// Levels of a tree: for each the category of every value, numbered by first appearance, each level a coarsening of the one below.
function checkLevels(levels, size, where) {
  if (levels === null) return;
  need(levels.every((level) => level.length === size), `${where}: levels must list the category of every value.`);
  let below = [...Array(size).keys()];
  for (const level of levels) {
    let next = 0;
    const above = new Map();
    level.forEach((part, at) => {
      need(part <= next && part >= 0, `${where}: categories of a level are numbered in the order of their first values.`);
      next = Math.max(next, part + 1);
      need(!above.has(below[at]) || above.get(below[at]) === part, `${where}: the levels do not nest.`);
      above.set(below[at], part);
    });
    below = level;
  }
}

