// Groups, the input of definitions (docs/reference/release-format.md, section 8): rows that an adversary cannot distinguish, and their sensitive values.

import { need, sameSet } from "./canonical.js";

// Groups of rows. `sizes[g]` rows, of which `histograms[g].get(j)` have the joint sensitive value j; `joint[j]` lists the value of each sensitive column by its index in `columns[c].values`.
// A column is {name, type, values, ordered, levels, counts}: `counts` is the histogram with which claims compare (section 8.3).
export class Groups {
  constructor(sizes, histograms, columns, joint) {
    Object.assign(this, { sizes, histograms, columns, joint });
  }

  // From a table whose runs have the number of their group; `many[r]` rows for run r.
  static ofTable(table, ids, count, sensitive, types, many = table.times) {
    const columns = sensitive.map((name) => ({ name, type: types.get(name), values: table.column(name).distinct, ordered: false, levels: null }));
    const joined = table.numbered(sensitive);
    const joint = [...joined.firsts].map((run) => sensitive.map((name) => table.column(name).codes[run]));
    const sizes = new Array(count).fill(0), histograms = Array.from({ length: count }, () => new Map());
    for (let run = 0; run < ids.length; run++) {
      const histogram = histograms[ids[run]], value = joined.ids[run];
      sizes[ids[run]] += many[run];
      histogram.set(value, (histogram.get(value) ?? 0) + many[run]);
    }
    return new Groups(sizes, histograms, columns, joint.length ? joint : [[]]).withOwnReference();
  }

  // One group of one column, for suppressed records (section 8.4).
  static single(column, counts) {
    const histogram = new Map();
    counts.forEach((count, value) => { if (count > 0) histogram.set(value, count); });
    return new Groups([counts.reduce((sum, each) => sum + each, 0)], [histogram], [column], column.values.map((_, value) => [value]));
  }

  get rows() { return this.sizes.reduce((sum, each) => sum + each, 0); }

  // How many published rows have each value of a column.
  totals(place) {
    const counts = new Array(this.columns[place].values.length).fill(0);
    for (const histogram of this.histograms) for (const [value, count] of histogram) counts[this.joint[value][place]] += count;
    return counts;
  }

  // Without a histogram of the whole table, columns are compared with the published rows.
  withOwnReference() {
    this.columns = this.columns.map((column, place) => ({ ...column, counts: this.totals(place) }));
    return this;
  }

  // The same groups with the domains and histograms that the certificate declares, if any (section 8.3).
  boundTo(reference) {
    if (!this.columns.some((column) => reference.has(column.name))) return this;
    const places = [];
    const columns = this.columns.map((column, at) => {
      const declared = reference.get(column.name);
      if (!declared) {
        places[at] = null;
        return column;
      }
      places[at] = column.values.map((value) => declared.values.indexOf(value));
      need(!places[at].includes(-1), `A published value of column "${column.name}" is not in its histogram.`);
      return declared;
    });
    const joint = this.joint.map((values) => values.map((value, at) => (places[at] === null ? value : places[at][value])));
    return new Groups(this.sizes, this.histograms, columns, joint);
  }

  // The same groups with the number of matching people of a population (section 8.5).
  beside(people) { return Object.assign(new Groups(this.sizes, this.histograms, this.columns, this.joint), { people }); }

  // Groups merged by number.
  merged(ids, count) {
    const sizes = new Array(count).fill(0), histograms = Array.from({ length: count }, () => new Map());
    ids.forEach((id, group) => {
      sizes[id] += this.sizes[group];
      for (const [value, many] of this.histograms[group]) histograms[id].set(value, (histograms[id].get(value) ?? 0) + many);
    });
    return new Groups(sizes, histograms, this.columns, this.joint);
  }

  place(name) {
    const found = this.columns.findIndex((column) => column.name === name);
    need(found >= 0, `There is no sensitive column "${name}".`);
    return found;
  }

  // Section 8.2: the groups split by the values of the `known` sensitive columns; each slice is {group, size, counts}, counts by joint value of the `secret` ones.
  slices(known, secret) {
    const others = known.map((name) => this.place(name)), own = secret.map((name) => this.place(name));
    const single = own.length === 1 ? this.columns[own[0]] : null, numbers = new Map();
    const valueOf = (values) => {
      if (single) return values[own[0]];
      const key = own.map((place) => values[place]).join();
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    };
    const found = [];
    this.histograms.forEach((histogram, group) => {
      const parts = new Map();
      for (const [joint, count] of histogram) {
        const values = this.joint[joint], key = others.map((place) => values[place]).join();
        if (!parts.has(key)) parts.set(key, { group, size: 0, counts: new Map() });
        const part = parts.get(key), value = valueOf(values);
        part.size += count;
        part.counts.set(value, (part.counts.get(value) ?? 0) + count);
      }
      found.push(...parts.values());
    });
    return { slices: found, column: single };
  }
}

// The adversary view: groups, and, if rows show labels and sensitive values together, the labels of every group.
// `labels[c][g]` is the label of group g in column c; null if labels do not identify the groups (section 8.1).
export class View {
  constructor(names, groups, labels, { boxes = true } = {}) {
    Object.assign(this, { names, groups, labels, boxes });
  }

  // An adversary who knows only some of the columns: groups with the same labels in them are merged (section 8.1).
  known(columns) {
    for (const name of columns) need(this.names.includes(name), `There is no quasi column "${name}".`);
    if (this.labels === null || sameSet(columns, this.names)) return this;
    const { ids, count, firsts } = this.cells(columns);
    const labels = columns.map((name) => firsts.map((group) => this.labels[this.names.indexOf(name)][group]));
    return new View(columns, this.groups.merged(ids, count), labels, { boxes: this.boxes });
  }

  // The same labels over other groups, one for one.
  with(groups) { return new View(this.names, groups, this.labels, { boxes: this.boxes }); }

  // Groups numbered by their labels in some columns.
  cells(columns) {
    const chosen = columns.map((name) => this.labels[this.names.indexOf(name)]), known = new Map(), firsts = [];
    const ids = this.groups.sizes.map((_, group) => {
      const key = JSON.stringify(chosen.map((labels) => labels[group]));
      if (!known.has(key)) {
        known.set(key, known.size);
        firsts.push(group);
      }
      return known.get(key);
    });
    return { ids, count: known.size, firsts };
  }

  // Whether definitions that use labels column by column may be judged: cells are boxes of labels.
  get showsLabels() { return this.labels !== null && this.boxes && this.names.length > 0; }
}
