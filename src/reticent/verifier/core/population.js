// A population supplied by the recipient (docs/reference/release-format.md, section 8.5): how many of its people match each group.

import { need, Problem } from "./canonical.js";
import { cellValue, CsvFields, NotRead } from "./tables.js";
import { covers, fromText } from "./values.js";

const MOST_COMPARED = 2e8;

// The people as {values, many}: those with the same quasi-identifiers are merged. `file` is {name, bytes()}.
export async function readPopulation(file, manifest, readParquet) {
  const columns = manifest.columns.filter((column) => column.role === "quasi"), bytes = await file.bytes();
  if (/\.parquet$/i.test(file.name)) return fromParquet(await readParquet(bytes), columns, file.name);
  if (/\.csv$/i.test(file.name)) return fromCsv(bytes, columns, file.name);
  throw new NotRead(`A population is read from a file .csv or .parquet, and this is ${file.name}.`);
}

function fromCsv(bytes, columns, name) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replaceAll("\r\n", "\n");
  } catch {
    throw new Problem(`${name} is not UTF-8 text.`);
  }
  const fields = new CsvFields(text, name), header = fields.next();
  const people = new Counted(columns, header, name), places = columns.map((column) => header.indexOf(column.name));
  while (!fields.done) {
    const found = fields.next(header.length);
    people.add(places.map((at, column) => people.read(column, found[at], (field, type) => fromText(type, field))));
  }
  return people;
}

function fromParquet(read, columns, name) {
  const people = new Counted(columns, Object.keys(read), name), arrays = columns.map((column) => read[column.name]);
  for (let row = 0; row < (arrays[0]?.length ?? 0); row++)
    people.add(arrays.map((values, column) => people.read(column, values[row] ?? null, (cell, type) => cellValue(cell, type, name))));
  return people;
}

class Counted {
  constructor(columns, header, file) {
    Object.assign(this, { columns, file, values: [], many: [], places: new Map(), known: columns.map(() => new Map()) });
    for (const { name } of columns) need(header.includes(name), `The population has no column "${name}".`);
  }

  // A value of a column; equal cells are parsed once.
  read(column, cell, value) {
    const { name, type } = this.columns[column], known = this.known[column];
    if (!known.has(cell)) {
      need(cell !== null, `The population has missing values in column "${name}": such people fit no group.`);
      const found = value(cell, type);
      need(found !== null, `${this.file}, column "${name}": "${cell}" is not of type ${type}.`);
      known.set(cell, found);
    }
    return known.get(cell);
  }

  add(values) {
    const key = JSON.stringify(values);
    if (!this.places.has(key)) {
      this.places.set(key, this.many.length);
      this.values.push(values);
      this.many.push(0);
    }
    this.many[this.places.get(key)]++;
  }

  // How many people match each group of a view: every label covers their value. A person who matches several groups counts in each.
  fitting(view, manifest) {
    const counts = new Array(view.groups.sizes.length).fill(0), places = view.names.map((name) => this.columns.findIndex((column) => column.name === name));
    const byLabels = new Map();
    view.groups.sizes.forEach((_, group) => {
      const key = JSON.stringify(view.labels.map((labels) => labels[group]));
      byLabels.set(key, [...(byLabels.get(key) ?? []), group]);
    });
    const fitted = view.names.map((name, at) => {
      const { meanings, type } = manifest.column(name), labels = [...new Set(view.labels[at])], found = new Map();
      return (value) => {
        if (!found.has(value)) found.set(value, labels.filter((label) => covers(meanings.get(label), type, value)));
        return found.get(value);
      };
    });
    let compared = 0;
    this.values.forEach((values, person) => {
      let combinations = [[]];
      places.forEach((place, at) => { combinations = combinations.flatMap((labels) => fitted[at](values[place]).map((label) => [...labels, label])); });
      need((compared += combinations.length) < MOST_COMPARED, "There are too many people with overlapping labels for this verifier; Reticent compares them.");
      for (const labels of combinations) for (const group of byLabels.get(JSON.stringify(labels)) ?? []) counts[group] += this.many[person];
    });
    return counts;
  }
}
