// Verification (docs/reference/release-format.md, section 6): every check in order, and the verdict in one word.

import { isObject, isWrittenSo, need, parsed, Problem, same } from "./canonical.js";
import { judgeOrigin } from "./origin.js";
import { hex, sha256 as hashed } from "./signatures.js";
import { checkCertificate, Manifest, readReference, ROLES } from "./manifest.js";
import { fileKind, NotRead, readTable } from "./tables.js";
import { DEFINITIONS, makeDefinition, TOO_MANY } from "./definitions.js";
import { GROUP_FORMATS } from "./formats.js";
import { Groups } from "./groups.js";
import { readPopulation } from "./population.js";
import { OTHER_PLANS, PLAN_DEFINITIONS, PLAN_FORMATS } from "./plans.js";
import { brokenChain, historyFailure, readHistory, SERIES_FORMATS, seriesCheck } from "./series.js";

const MIXTURE = "It does not hold for a mixture of batches because it holds for each.";
const FORMATS = { ...GROUP_FORMATS, ...PLAN_FORMATS, ...SERIES_FORMATS };
// Section 7.13: formats that Reticent itself judges.
const OTHER_FORMATS = ["noisy counts", "grid sample", "grid counts", "synthetic"];
const HISTORIES = ["TauSafety", "MInvariance"];
const HOLDS = "holds", FAILS = "fails", UNCHECKED = "not re-checked";

// `files`: a Map from name to {size, bytes()}, everything in the public folder. `surroundings`: {readParquet, progress, key, documents, now, population}: the publisher's key in
// hexadecimal digits, or a Map of documents by name (trust files, a log or a proof, a remembered head); the time, for tests; and a file {name, bytes()} of a population.
// `earlier`: the earlier releases of a series, from their results. Returns {checks: [{id, name, status, detail, claim}], headline: {state, reasons}, certificate, manifest}.
export async function verify(files, surroundings = {}) {
  const run = new Run(files, surroundings);
  await run.all();
  return { checks: run.checks, headline: headlineOf(run.checks, run.reservations), certificate: run.certificate ?? null, manifest: run.manifest ?? null, signed: run.signed, shown: run.shown, reservations: run.reservations };
}

// Section 6.13: several releases of one data set, first to last, each together with those before it. `releases`: a list of such Maps.
export async function verifySeries(releases, surroundings = {}) {
  const checks = [], reasons = [], earlier = [], answers = [];
  for (const [at, files] of releases.entries()) {
    const found = await verify(files, { ...surroundings, earlier: [...earlier] });
    answers.push(found);
    checks.push(...found.checks.map((check) => ({ ...check, id: `release ${at + 1}, ${check.id}`, name: `release ${at + 1}, ${check.name}` })));
    reasons.push(...found.reservations.map((reason) => `Release ${at + 1}: ${reason}`));
    if (found.headline.state === "does not hold") return { ...found, checks, headline: headlineOf(checks, reasons) };
    earlier.push(found.shown);
  }
  checks.push(seriesCheck(answers.map(({ certificate }) => certificate)));
  return { ...answers.at(-1), checks, headline: headlineOf(checks, reasons), signed: answers.every(({ signed }) => signed) };
}

const words = (error) => (error instanceof Problem || error instanceof NotRead ? error.message : `The files cannot be parsed (${error.message}).`);

class Run {
  constructor(files, surroundings) {
    Object.assign(this, { files, surroundings, checks: [], reservations: [], signed: false });
  }

  // The context for judging later releases of a series.
  get shown() { return { certificate: this.certificate, manifest: this.manifest, view: this.view }; }

  add(id, status, detail, more = {}) { this.checks.push({ id, name: id, status, detail, claim: false, ...more }); }
  step(what, done = 0, of = 0) { this.surroundings.progress?.(what, done, of); }

  async all() {
    if (!(await this.readCertificate())) return;
    const { checks: origin, signed, refused } = await judgeOrigin(this.certificate, this.surroundings);
    this.signed = signed;
    if (refused) {
      this.checks.push(...origin);
      this.add("claims", UNCHECKED, "The certificate is not the publisher's, so nothing else was read.", { claim: true });
      return;
    }
    const filesHold = await this.checkFiles();
    this.checks.push(...origin);
    if (!filesHold) {
      this.add("claims", UNCHECKED, "The files do not match the certificate.", { claim: true });
      return;
    }
    try {
      await this.checkContents();
    } catch (error) {
      if (error instanceof NotRead) this.giveUp(error.message);
      else this.add("consistency", FAILS, words(error));
    }
    this.add("earlier releases", UNCHECKED, String(this.certificate.ledger.statement));
    this.add("randomness", UNCHECKED, String(this.certificate.randomness.statement));
  }

  // Section 6.1.
  async readCertificate() {
    this.step("reading the certificate");
    try {
      need(this.files.has("certificate.json"), "public/certificate.json is missing.");
      const bytes = await this.files.get("certificate.json").bytes(), certificate = parsed(bytes, "certificate.json");
      checkCertificate(certificate);
      need(isWrittenSo(certificate, bytes), "certificate.json is not in the form that Reticent writes: it was changed.");
      this.certificate = certificate;
    } catch (error) {
      this.add("certificate", FAILS, words(error));
      return false;
    }
    this.add("certificate", HOLDS, "It can be read, and it is written as releases are written.");
    return true;
  }

  // Section 6.2.
  async checkFiles() {
    const listed = this.certificate.files, fail = (text) => { this.add("files", FAILS, text); return false; };
    for (const name of Object.keys(listed)) if (!this.files.has(name)) return fail(`public/${name} is missing.`);
    for (const name of this.files.keys()) if (name !== "certificate.json" && !Object.hasOwn(listed, name)) return fail(`public/${name} is not part of the release.`);
    for (const name of Object.keys(listed)) {
      this.step(`hashing ${name}`);
      const bytes = await this.files.get(name).bytes(), sha256 = hex(await hashed(bytes));
      if (!same(listed[name], { sha256, bytes: bytes.length })) return fail(`public/${name} is not the file that the certificate was made for.`);
    }
    this.add("files", HOLDS, `${Object.keys(listed).length} files have the fingerprints that the certificate states.`);
    return true;
  }

  // A format or file type that this verifier does not support: nothing fails, and nothing is proved.
  giveUp(reason) {
    this.add("consistency", UNCHECKED, reason);
    this.certificate.claims.forEach((claim, at) => this.add(`claim ${at + 1}`, UNCHECKED, reason, { name: `claim ${isObject(claim) ? claim.definition : at + 1}`, claim: true }));
  }

  async checkContents() {
    const { certificate } = this, bytes = await this.files.get("manifest.json")?.bytes();
    need(bytes, "public/manifest.json is missing.");
    const json = parsed(bytes, "manifest.json");
    this.manifest = new Manifest(json);
    const { manifest } = this, disagreement = () => this.disagreement(json, bytes);
    if (OTHER_FORMATS.includes(manifest.format)) {
      const wrong = disagreement();
      if (wrong !== null) this.add("consistency", FAILS, wrong);
      this.giveUp(`This verifier reads releases of groups; Reticent itself judges releases of format "${manifest.format}".`);
      return;
    }
    const format = FORMATS[manifest.format];
    need(format, `"${manifest.format}" is not a published format that this verifier knows.`);
    need(manifest.tables.size === format.tables.length && format.tables.every((name) => manifest.tables.has(name)), `manifest.json: a release of format "${manifest.format}" has the tables ${format.tables.join(", ")}.`);
    for (const column of manifest.columns) need(ROLES.includes(column.role) || format.roles.includes(column.role), `manifest.json: column "${column.name}" has a role that is not known.`);
    for (const [name, table] of manifest.tables) fileKind(name, table.files);
    this.tables = new Map();
    for (const name of format.tables) this.tables.set(name, await readTable(name, manifest, this.files, this.surroundings));
    this.step("checking tables and labels");
    this.plan = format.check(manifest, this.tables);
    const wrong = disagreement();
    this.add("consistency", wrong === null ? HOLDS : FAILS, wrong ?? "Tables, labels, manifest and certificate agree.");
    this.checkOrder(format);
    await this.checkClaims(format);
    this.checkDeclared(format);
    this.checkComputable(format);
    this.reserve();
    this.checkWording();
  }

  // Section 6.4: where manifest and certificate disagree; null if they agree.
  disagreement(json, bytes) {
    const { certificate: said, manifest } = this;
    if (!isWrittenSo(json, bytes)) return "manifest.json is not in the form that Reticent writes: it was changed.";
    if ((manifest.method.format ?? manifest.format) !== manifest.format) return "manifest.json: the method's format is not that of the release.";
    const described = { format: manifest.format, quasi: manifest.named("quasi"), sensitive: manifest.named("sensitive"), unit: manifest.unit };
    const name = Object.keys(described).find((each) => !same(said[each], described[each]));
    return name === undefined ? null : `The certificate and the manifest do not agree on ${name}.`;
  }

  // Section 6.5.
  checkOrder(format) {
    if (format.ownOrder) return this.add("order", HOLDS, "Rows are in the order that the format defines.");
    for (const [name, table] of this.tables) {
      if (table.inOrder()) continue;
      this.add("order", FAILS, `The rows of ${name} are not sorted, so their order may disclose something.`);
      return;
    }
    this.add("order", HOLDS, "Rows are sorted by their own values: their order tells nothing.");
  }

  // Sections 6.6 to 6.8.
  async checkClaims(format) {
    const { manifest, certificate, tables } = this;
    this.checkLinks(format);
    const claims = readClaims(certificate.claims);
    this.definitions = claims.filter((claim) => claim.definition).map((claim) => claim.definition);
    this.allKnown = claims.every((claim) => claim.known);
    const reference = readReference(certificate.reference, manifest), context = { manifest, reference, format };
    if (format.view) Object.assign(context, { view: (this.view = format.view(manifest, tables)), alike: format.alike?.(manifest, tables) ?? null });
    if (claims.some((claim) => claim.definition?.kind.population)) Object.assign(context, await this.population());
    context.sound = reference.size === 0 || this.checkReference(reference, context.view.groups);
    for (const [at, claim] of claims.entries()) {
      this.step("judging claims", at, claims.length);
      const [status, detail] = await this.judgeClaim(claim, context), id = `claim ${at + 1}`;
      this.add(id, status, detail, { name: `claim ${claim.text}`, claim: true, definition: claim.definition ?? claim.planned ?? claim.history ?? null });
      if (claim.history && status === HOLDS) this.add(`${id}, all of it`, UNCHECKED, "Who is in which group is not public, so only the publisher can judge releases together.", { name: `claim ${claim.text}, all of it` });
    }
    const attested = format.attested?.(manifest);
    if (attested) this.add("mechanism", UNCHECKED, attested);
    const linked = format.judgesLinks && manifest.named("pseudonym").length > 0;
    if (manifest.unit !== "row" && !linked) this.add("people", UNCHECKED, "The published files show rows, not how many people they are about.");
  }

  // Judges a claim by the kind of format: a plan, a series, or groups.
  async judgeClaim(claim, context) {
    const { format } = context, { definition, planned, history } = claim;
    if (!claim.known) return [UNCHECKED, "This verifier does not know the definition."];
    if (definition?.compares && !context.sound) return [UNCHECKED, "It compares with the whole table's histogram, but the certificate declares another one."];
    if (format.claims) {
      if (!planned?.p || !format.claims(planned.name, planned.p)) return [FAILS, "It is not about how such rows are drawn, and nothing else is known of them."];
      return this.plan.unknown ? [UNCHECKED, this.plan.unknown] : judgedPlan(planned, this.plan.plan);
    }
    if (planned) return [FAILS, "It is about how a release is made, and this one shows groups of rows."];
    if (format.isSeries) {
      const broken = await brokenChain(this.chain);
      if (broken !== null) return [FAILS, broken];
    }
    if (history) return format.isSeries ? this.judgedHistory(history) : [FAILS, format.refuses ? MIXTURE : "It is about releases of a series, and this is none."];
    if (format.isSeries && !format.allows(definition)) return [FAILS, "It is not about a series; groups hold made-up rows, so that nothing about numbers can be claimed for them."];
    return judged(definition, context);
  }

  // The releases of a series up to this one.
  get chain() { return [...(this.surroundings.earlier ?? []), this.shown]; }

  // Section 9.11: what files prove of a claim about a series.
  judgedHistory(history) {
    try {
      const failure = historyFailure(history, this.chain);
      return failure === null ? [HOLDS, `Recomputed from the published rows: every group shows at least ${history.m} values, each of them once.`] : [FAILS, failure];
    } catch (error) {
      return [FAILS, words(error)];
    }
  }

  // Section 8.5: the population that was given as `people`, or why it cannot be used; that is not a defect of the release.
  async population() {
    const { population, readParquet } = this.surroundings;
    if (!population) return { noPeople: "It compares with a population, and none was given." };
    try {
      return { people: await readPopulation(population, this.manifest, readParquet) };
    } catch (error) {
      return { noPeople: words(error) };
    }
  }

  checkLinks(format) {
    for (const column of this.manifest.named("pseudonym")) {
      const table = [...this.tables.values()].find((each) => each.has(column)), repeats = table.counted([column]).length < table.rows;
      const add = (status, detail) => this.add("pseudonym", status, detail, { name: `pseudonym ${column}` });
      if (!repeats) add(HOLDS, "It never repeats: no rows are linked by it.");
      else if (this.manifest.unit === "row") add(FAILS, "It repeats, and so links rows of one person, but every row was counted as a different person.");
      else if (!format.judgesLinks) add(FAILS, "It repeats, and so links rows of one person, which were judged separately.");
      else add(HOLDS, "It links the rows of a person, and all people of a group show the same sequence of labels.");
    }
  }

  // Section 6.7.
  checkReference(reference, groups) {
    try {
      const missing = [...reference.values()].map((column) => unpublished(column, groups).reduce((sum, each) => sum + each, 0));
      need(new Set(missing).size === 1, "The histograms count different numbers of rows.");
    } catch (error) {
      this.add("reference", FAILS, words(error));
      return false;
    }
    this.add("reference", HOLDS, "The histogram with which claims compare, as declared, can contain the published rows.");
    return true;
  }

  // Section 6.9: how many records each declared column distinguishes.
  checkDeclared(format) {
    const { manifest, certificate: said, tables } = this, names = manifest.named("declared");
    const k = this.definitions.reduce((most, each) => Math.max(most, each.crowd ?? 0), 0) || 5;
    const [tableName, labels] = format.classes?.(manifest) ?? [format.tables[0], []], table = tables.get(tableName), height = tables.get(format.tables[0]).rows;
    const figures = (columns) => {
      const sizes = table.counted([...labels, ...columns]).map((each) => each.rows);
      return { unique: sizes.filter((size) => size === 1).length, few: sizes.filter((size) => size < k).reduce((sum, each) => sum + each, 0), classes: sizes.length };
    };
    const listed = names.map((name) => {
      const { unique, few, classes } = figures([name]), column = manifest.column(name);
      return { column: name, reason: column.reason, unique, few, computable_from: column.computable, may_link: mayLink(table.counted([name]).map((each) => each.rows), classes) };
    });
    const together = names.length ? figures(names) : null;
    const summed = together && { unique: together.unique, few: together.few, records: height, k };
    this.declared = { listed, summed };
    if (names.length && !this.allKnown) this.add("declared columns", UNCHECKED, "A claim is not known to this verifier, so how many records are few is not known.");
    else if (!same(said.declared, listed) || !same(said.declared_together, summed)) this.add("declared columns", FAILS, "The certificate states other figures of declared columns than counting gives.");
    else if (names.length) this.add("declared columns", HOLDS, "Recounted in the published rows.");
  }

  // Section 6.10: columns that an adversary can compute must not make a class of records violate a claim.
  checkComputable(format) {
    const { manifest, tables } = this, named = manifest.columns.filter((column) => column.computable.length).map((column) => column.name);
    if (named.length === 0) return;
    const [tableName, labels] = format.classes?.(manifest) ?? [format.tables[0], []], table = tables.get(tableName), known = named.filter((name) => table.has(name));
    const parts = this.definitions.flatMap((each) => (each.kind.hidden || each.kind.population ? [] : each.inEachGroup())).filter((each) => each.isLocal && each.quasi === null);
    let failing = 0;
    if (known.length && parts.length) {
      const sensitive = manifest.named("sensitive").filter((name) => table.has(name) && !known.includes(name));
      const { ids, count } = table.numbered([...labels, ...known]);
      const groups = Groups.ofTable(table, ids, count, sensitive, new Map(manifest.columns.map((column) => [column.name, column.type])));
      const wrong = new Set(parts.filter((part) => !part.needsSensitive || part.guarded(sensitive).length).flatMap((part) => part.failing(groups, { reference: new Map() })));
      failing = [...wrong].reduce((sum, group) => sum + groups.sizes[group], 0);
    }
    this.add("computable columns", failing ? FAILS : HOLDS, failing ? `Columns can be computed from others, and ${failing} records are in classes that then fail a claim.` : "Columns can be computed from others; the claims hold against an adversary who does so.");
  }

  // Section 6.12: what claims that hold do not cover.
  reserve() {
    const { manifest, definitions, reservations } = this;
    if (this.certificate.randomness.releasable !== true) reservations.push("Random choices came from a fixed seed, so that they can be repeated: this release is for tests only.");
    for (const { column, few, may_link } of this.declared.listed) if (few !== 0 || may_link) reservations.push(`The column "${column}" counts as unknown because the publisher says so. For an adversary who knows it, ${few} records are among fewer than ${this.declared.summed.k}.${may_link ? " Its values may link records of one person." : ""}`);
    if (this.declared.listed.length > 1 && this.declared.summed.few !== 0) reservations.push(`For an adversary who knows all columns that are declared unknown, ${this.declared.summed.few} records are among fewer than ${this.declared.summed.k}.`);
    if (manifest.unitDeclared) reservations.push("The promises count records, and each record counts as another person because the publisher says so: a column that names people, which is not published, repeats.");
    const sensitive = manifest.named("sensitive"), guarded = new Set(definitions.flatMap((each) => each.guarded(sensitive)));
    for (const name of sensitive) if (!guarded.has(name)) reservations.push(`Nothing is promised about "${name}".`);
    const inTurn = definitions.filter((each) => each.name === "InTurn").flatMap((each) => each.p.columns);
    if (inTurn.length && manifest.unit !== "row") reservations.push(`The promises about ${inTurn.join(", ")} in turn are about an adversary who knows one record of a ${manifest.unit}.`);
    const known = manifest.knownRows;
    const guardedOf = (names) => new Set(definitions.flatMap((each) => each.guarded(names)));
    const changing = (known?.each_row ?? []).filter((name) => guardedOf(known.each_row).has(name));
    if (changing.length) reservations.push(`The promises about ${changing.join(", ")} are about each record, not about whether a ${manifest.unit} has a value in some record.`);
    if (known !== null && known.rows !== "all") {
      const same = known.same.filter((name) => guardedOf(known.same).has(name));
      if (same.length) reservations.push(`The promises about ${same.join(", ")} are about an adversary who knows at most ${known.rows} of a person's records.`);
    }
    for (const check of this.checks) if (check.definition?.name === "InTurn" && check.status === UNCHECKED) reservations.push(`${check.definition} is the publisher's word, and cannot be re-checked.`);
    const about = (each) => JSON.stringify([each.name, each.column]), whole = new Set(definitions.filter((each) => each.knowsAll(manifest)).map(about));
    if (definitions.some((each) => !whole.has(about(each)))) reservations.push("The promises are about an adversary who knows some of the published columns, not all of them.");
  }

  // Section 6.11: the headline in the certificate is checked; its sentences are left to Reticent.
  checkWording() {
    const { state } = this.certificate.headline, found = this.reservations.length ? "holds, but" : "holds";
    if (this.allKnown && state !== found) this.add("wording", FAILS, `The certificate states the headline "${state}", and what its claims leave open makes it "${found}".`);
    else this.add("wording", UNCHECKED, "The plain words of certificate and statement are compared by Reticent itself; this verifier speaks for itself.");
  }
}

// Section 5.2. A claim is {text, known} and one of `definition` (of groups), `planned` ({name, p} of a plan; p is null where it is known by name only) and `history` (of a series).
function readClaims(listed) {
  need(Array.isArray(listed) && listed.length > 0, "certificate.json makes no claims.");
  return listed.map((entry, at) => {
    need(isObject(entry) && isObject(entry.parameters), `certificate.json: claim ${at + 1} is not a definition with parameters.`);
    const name = String(entry.definition);
    if (Object.hasOwn(PLAN_DEFINITIONS, name)) return { text: name, known: true, planned: { name, p: PLAN_DEFINITIONS[name].read(entry.parameters) } };
    if (OTHER_PLANS.includes(name)) return { text: name, known: true, planned: { name, p: null } };
    if (HISTORIES.includes(name)) {
      const history = readHistory(name, entry.parameters);
      return { text: String(history), known: true, history };
    }
    if (!Object.hasOwn(DEFINITIONS, name)) return { text: name, known: false };
    const definition = makeDefinition(name, entry.parameters);
    return { text: String(definition), known: true, definition };
  });
}

// Section 5.3: the number of suppressed rows by value of a column.
function unpublished(column, groups) {
  const place = groups.place(column.name), missing = [...column.counts];
  groups.totals(place).forEach((count, value) => {
    const at = column.values.indexOf(groups.columns[place].values[value]);
    need(at >= 0, `A published value of column "${column.name}" is not in its histogram.`);
    missing[at] -= count;
  });
  need(missing.every((each) => each >= 0), `A value of column "${column.name}" is published more often than its histogram says.`);
  need(column.of === "whole table" || missing.every((each) => each === 0), `The histogram of column "${column.name}" is not that of the published rows, as it claims.`);
  return missing;
}

// Section 9.10: a claim about how rows are sampled.
function judgedPlan({ name, p }, plan) {
  try {
    const failure = PLAN_DEFINITIONS[name].failure(p, plan);
    return failure === null ? [HOLDS, "Recomputed from the published plan."] : [FAILS, failure];
  } catch (error) {
    return [FAILS, words(error)];
  }
}

// Section 6.8: one claim, for each set of columns that an adversary may know, and for suppressed records.
function judged(definition, context) {
  const { manifest, reference, format } = context, kind = definition.kind;
  if (definition.hidesIdentity && !format.hidesIdentity) return [FAILS, "It requires that quasi values single out nobody, but this format publishes them exactly."];
  if (kind.population && format.refusesPopulations) return [FAILS, "Typical values tell who of a population is in the table."];
  if (format.refuses?.(definition)) return [FAILS, MIXTURE];
  if (definition.name === "InTurn" && manifest.quasiSets !== null) return [FAILS, "It says itself which columns an adversary knows, and the manifest names sets of them."];
  if (kind.hidden) return [UNCHECKED, "It depends on the people's own requests, which are not published."];
  if (kind.population && !context.people) return [UNCHECKED, context.noPeople];
  if (kind.population && kind.countsPeople && manifest.unit !== "row") return [UNCHECKED, "It compares people, but the published files show rows."];
  if (kind.population && !context.view.boxes) return [UNCHECKED, "Labels of this format are no boxes; Reticent looks up who fits them."];
  try {
    const compared = [...new Set(definition.inEachGroup().filter((part) => part.compares).flatMap((part) => (part.column === null ? manifest.named("sensitive") : [part.column])))];
    for (const name of compared) need(reference.has(name), `The histogram of "${name}", with which it compares, was not published.`);
    const apart = context.alike !== null && definition.hidesIdentity, view = apart ? context.alike : context.view;
    const sets = definition.quasi === null ? manifest.sets : [definition.quasi];
    const remainder = leftOut(reference, context.view.groups);
    let groups = 0;
    const shown = sets.map((set) => {
      const known = view.known(set), shownGroups = apart ? known.groups : known.groups.boundTo(reference);
      return known.with(kind.population ? shownGroups.beside(context.people.fitting(known, manifest)) : shownGroups);
    });
    for (const known of shown) {
      const hidden = apart ? definition.notShownApart : definition.notShown(known, context);
      if (hidden !== null) return [UNCHECKED, hidden];
    }
    for (const known of shown) {
      const failing = definition.failure(known, context);
      if (failing !== null) return [FAILS, `A group of ${known.groups.sizes[failing] ?? "some"} rows does not satisfy it.`];
      groups += known.groups.sizes.length;
    }
    if (!apart) judgeLeftOut(definition, remainder, context);
    return [HOLDS, `Recomputed from the published rows: all ${groups.toLocaleString("en")} groups satisfy it.`];
  } catch (error) {
    return error.message === TOO_MANY ? [UNCHECKED, TOO_MANY] : [FAILS, words(error)];
  }
}

// Section 8.4: the histograms of the whole table minus the published rows are one more group for each column.
function leftOut(reference, groups) {
  const found = [];
  for (const column of reference.values()) {
    const missing = unpublished(column, groups);
    if (missing.some((each) => each > 0)) found.push(Groups.single(column, missing));
  }
  return found;
}

function judgeLeftOut(definition, remainder, context) {
  const several = context.view.groups.columns.length > 1;
  for (const groups of remainder) {
    const name = groups.columns[0].name;
    for (const part of definition.inEachGroup()) {
      if (part.needsSensitive && part.column !== null && part.column !== name) continue;
      need(part.isLocal && !part.kind.population && (!several || !part.needsSensitive || part.hasColumn), `${part.name} cannot be judged for the rows left out, which the published histogram of "${name}" includes.`);
      need(part.failing(groups, context, true).length === 0, "The rows left out, as a group of their own, do not satisfy it.");
    }
  }
}

// Section 6.9: values that occur in few rows each, of several classes, may be identifiers of people.
function mayLink(rows, classes) {
  if (rows.length < 10) return false;
  const sorted = [...rows].sort((a, b) => a - b), middle = sorted.length / 2;
  const median = sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
  return median > 1 && median <= 20 && 2 * classes >= 3 * rows.length;
}

// Section 6.12: the verdict in one word, with its reasons.
export function headlineOf(checks, reservations) {
  const failing = checks.filter((check) => check.status === FAILS);
  if (failing.length) return { state: "does not hold", reasons: failing.map((check) => `${check.name}: ${check.detail}`) };
  const claims = checks.filter((check) => check.claim), unknown = claims.filter((check) => check.status !== HOLDS);
  if (unknown.length || claims.length === 0) return { state: "not shown", reasons: unknown.length ? unknown.map((check) => `${check.name} was not re-checked. ${check.detail}`) : ["The release makes no claim."] };
  return { state: reservations.length ? "holds, but" : "holds", reasons: [...reservations] };
}

