// Published tables (docs/reference/release-format.md, section 4): CSV and Parquet become columns of small numbers, row by row in runs of equal rows.

import { need, Problem, same } from "./canonical.js";
import { compareValues, fromText, realText } from "./values.js";

// A table: `columns` by name, each {type, distinct, codes}, `times[r]` rows show the values of run r. Equal rows are adjacent in sorted tables, so runs are few.
export class PublishedTable {
  constructor(names, columns, times) {
    this.names = names;
    this.columns = columns;
    this.times = times;
    this.rows = times.reduce((sum, each) => sum + each, 0);
  }

  has(name) { return this.names.includes(name); }

  column(name) {
    need(this.has(name), `There is no column "${name}" in a table.`);
    return this.columns.get(name);
  }

  // Runs numbered by their values in some columns: {ids, count, firsts}, where firsts[i] is a run with number i.
  numbered(names) {
    let ids = new Int32Array(this.times.length), count = this.times.length ? 1 : 0;
    for (const name of names) {
      const { codes, distinct } = this.column(name), known = new Map(), next = new Int32Array(ids.length);
      for (let run = 0; run < ids.length; run++) {
        const key = ids[run] * distinct.length + codes[run];
        let id = known.get(key);
        if (id === undefined) known.set(key, (id = known.size));
        next[run] = id;
      }
      [ids, count] = [next, known.size];
    }
    const firsts = new Int32Array(count).fill(-1);
    for (let run = ids.length - 1; run >= 0; run--) firsts[ids[run]] = run;
    return { ids, count, firsts };
  }

  // Distinct combinations of values with the number of their rows: [{values: [...], rows}].
  counted(names) {
    const { ids, count, firsts } = this.numbered(names), rows = new Array(count).fill(0);
    this.times.forEach((many, run) => { rows[ids[run]] += many; });
    return rows.map((many, id) => ({ values: names.map((name) => this.value(name, firsts[id])), rows: many }));
  }

  value(name, run) {
    const { distinct, codes } = this.column(name);
    return distinct[codes[run]];
  }

  // Section 4.3: rows are sorted by all columns from left to right, missing values last.
  inOrder() {
    const ranks = this.names.map((name) => {
      const { type, distinct, codes } = this.column(name), order = [...distinct.keys()];
      order.sort((a, b) => (distinct[a] === null ? 1 : distinct[b] === null ? -1 : compareValues(type, distinct[a], distinct[b])));
      const rank = new Int32Array(distinct.length);
      order.forEach((code, at) => { rank[code] = at; });
      return [rank, codes];
    });
    for (let run = 1; run < this.times.length; run++) {
      for (const [rank, codes] of ranks) {
        const [before, after] = [rank[codes[run - 1]], rank[codes[run]]];
        if (before < after) break;
        if (before > after) return false;
      }
    }
    return true;
  }
}

// Section 4: the type of a column in a table. Quasi columns are text if they show labels.
export function typeIn(column, table) {
  const labelled = column.published === "labels" || (column.published === "typical" && table === "groups");
  return column.role === "quasi" && labelled ? "text" : column.type;
}

// Section 3.4: which names the files of a table may have.
export function fileKind(table, files) {
  for (const kind of ["csv", "parquet", "xlsx", "sav", "dta", "xpt"]) {
    const expected = files.length === 1 ? [`${table}.${kind}`] : files.map((_, part) => `${table}-${String(part + 1).padStart(5, "0")}.${kind}`);
    if (same(expected, files) && (files.length === 1 || kind === "csv" || kind === "parquet")) return kind;
  }
  throw new Problem(`manifest.json: table "${table}" has invalid file names: ${files.slice(0, 9).join(", ")}.`);
}

export class NotRead extends Error {}

// All files of a table, one after the other. `readParquet(bytes)` gives {name: values} and is passed in, because it needs a library.
export async function readTable(name, manifest, files, surroundings) {
  const table = manifest.tables.get(name), kind = fileKind(name, table.files);
  const types = table.columns.map((column) => typeIn(manifest.column(column), name));
  for (const file of table.files) need(files.has(file), `public/${file} is missing.`);
  if (kind !== "csv" && kind !== "parquet") throw new NotRead(`Files of kind ${kind} are not read here. Use the program (reticent verify), or ask the publisher for CSV or Parquet.`);
  const builder = new TableBuilder(table.columns, types);
  for (const file of table.files) {
    const bytes = await files.get(file).bytes();
    if (kind === "csv") readCsv(bytes, builder, file, surroundings.progress);
    else readColumns(await surroundings.readParquet(bytes), builder, file);
  }
  const made = builder.table();
  const formulas = table.columns.filter((column) => made.column(column).type === "text" && made.column(column).distinct.some((text) => text !== null && FORMULA.test(text)));
  need(same(formulas, table.formulas), `manifest.json: table "${name}" does not list the columns with text that a spreadsheet would run as a formula.`);
  return made;
}

class TableBuilder {
  constructor(names, types) {
    Object.assign(this, { names, types, times: [] });
    this.known = names.map(() => new Map());
    this.distinct = names.map(() => []);
    this.codes = names.map(() => []);
  }

  code(column, value) {
    const known = this.known[column];
    let code = known.get(value);
    if (code === undefined) {
      known.set(value, (code = known.size));
      this.distinct[column].push(value);
    }
    return code;
  }

  table() {
    const columns = new Map(this.names.map((name, at) => [name, { type: this.types[at], distinct: this.distinct[at], codes: Int32Array.from(this.codes[at]) }]));
    return new PublishedTable(this.names, columns, Float64Array.from(this.times));
  }
}

// Section 4.4: text that a spreadsheet would run as a formula; in CSV it is prefixed with one more apostrophe.
const BEGINNING = "'*(?:[=@\\t\\r\\n＝＋－＠]|[+-].*[^\\p{Nd}., %])";
const FORMULA = new RegExp(`^${BEGINNING}`, "su");
const ESCAPED = new RegExp(`^'(?=${BEGINNING})`, "su");
const unescaped = (text) => text.replace(ESCAPED, "");

// Section 4.1. Lines are compared with the line before first: equal rows are adjacent, and need not be parsed again.
function readCsv(bytes, builder, file, progress) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Problem(`${file} is not UTF-8 text.`);
  }
  const fields = new CsvFields(text, file);
  const header = fields.next(builder.names.length).map((field) => field && unescaped(field));
  need(same(header, builder.names), `${file} begins with other columns than the manifest lists.`);
  // The same text in the same column is the same value, so each is parsed once.
  const read = builder.names.map(() => new Map());
  const width = builder.names.length;
  let from = -1, to = -1, row = 0;
  while (!fields.done) {
    const start = fields.at;
    if (from >= 0 && text.startsWith(text.slice(from, to), start) && (start + to - from === text.length || text[start + to - from - 1] === "\n")) {
      fields.at = start + to - from;
      builder.times[builder.times.length - 1]++;
    } else {
      const found = fields.next(width);
      for (let at = 0; at < width; at++) {
        const field = found[at];
        let code = read[at].get(field);
        if (code === undefined) {
          code = builder.code(at, fieldValue(field, builder.types[at], `${file}, column "${builder.names[at]}"`));
          read[at].set(field, code);
        }
        builder.codes[at].push(code);
      }
      builder.times.push(1);
      [from, to] = [start, fields.at];
    }
    if (++row % 50_000 === 0) progress?.(`reading ${file}`, fields.at, text.length);
  }
}

function fieldValue(field, type, where) {
  if (field === null) return null;
  const value = type === "text" ? unescaped(field) : fromText(type, field);
  need(value !== null, `${where}: "${field}" is not of type ${type}.`);
  return value;
}

// The records of a CSV text. An empty field is missing (null), a quoted one is text, with doubled quotes inside.
export class CsvFields {
  constructor(text, file) { Object.assign(this, { text, file, at: 0 }); }

  get done() { return this.at >= this.text.length; }

  // The fields of the next record; for a header with any number of columns `width` is omitted.
  next(width = null) {
    const { text } = this, found = [];
    for (;;) {
      if (text[this.at] === '"') found.push(this.quoted());
      else {
        let end = this.at;
        for (let code = text.charCodeAt(end); end < text.length && code !== 44 && code !== 10; code = text.charCodeAt(++end));
        found.push(end === this.at ? null : text.slice(this.at, end));
        this.at = end;
      }
      const mark = text[this.at++];
      if (mark === ",") continue;
      need(mark === "\n" || mark === undefined, `${this.file} has a quoted field with something behind it.`);
      need(width === null || found.length === width, `${this.file} has a row of ${found.length} fields, but the manifest lists ${width} columns.`);
      return found;
    }
  }

  quoted() {
    const { text } = this;
    let value = "", from = this.at + 1;
    for (;;) {
      const end = text.indexOf('"', from);
      need(end >= 0, `${this.file} has a quoted field without an end.`);
      value += text.slice(from, end);
      this.at = end + 1;
      if (text[this.at] !== '"') return value;
      value += '"';
      from = this.at + 1;
    }
  }
}

// Section 4.2: columns of a Parquet file, already of JavaScript's own types: text, BigInt or Number, Boolean; days and microseconds as BigInt.
function readColumns(columns, builder, file) {
  need(same(Object.keys(columns), builder.names), `${file} has other columns than the manifest lists.`);
  const arrays = builder.names.map((name) => columns[name]);
  const rows = arrays[0]?.length ?? 0;
  const read = builder.names.map(() => new Map());
  const before = new Array(builder.names.length).fill(-1);
  for (let row = 0; row < rows; row++) {
    let changed = row === 0;
    for (let at = 0; at < arrays.length; at++) {
      const cell = arrays[at][row] ?? null;
      let code = read[at].get(cell);
      if (code === undefined) {
        code = builder.code(at, cellValue(cell, builder.types[at], `${file}, column "${builder.names[at]}"`));
        read[at].set(cell, code);
      }
      changed ||= code !== before[at];
      before[at] = code;
    }
    if (!changed) builder.times[builder.times.length - 1]++;
    else {
      before.forEach((code, at) => builder.codes[at].push(code));
      builder.times.push(1);
    }
  }
}

export function cellValue(cell, type, where) {
  if (cell === null) return null;
  const wrong = () => need(false, `${where}: a value is not of type ${type}.`);
  switch (type) {
    case "text": return typeof cell === "string" ? cell : wrong();
    case "boolean": return typeof cell === "boolean" ? String(cell) : wrong();
    case "real": return typeof cell === "number" ? realText(cell) : wrong();
    case "integer": case "unsigned": return typeof cell === "bigint" || Number.isSafeInteger(cell) ? String(type === "unsigned" ? BigInt.asUintN(64, BigInt(cell)) : cell) : wrong();
    case "date": return typeof cell === "bigint" ? new Date(Number(cell) * 86_400_000).toISOString().slice(0, 10) : wrong();
    default: {
      if (typeof cell !== "bigint") return wrong();
      const micros = ((cell % 1000n) + 1000n) % 1000n;
      return `${new Date(Number((cell - micros) / 1000n)).toISOString().slice(0, 23)}${String(micros).padStart(3, "0")}`;
    }
  }
}
