// Formats (docs/reference/release-format.md, section 7): the consistency of the tables of each kind of release, and the adversary view.

import { isObject, isWhole, need, same, sameSet } from "./canonical.js";
import { checkLabels, compareValues, covers, labelText, nullLabel, toNumber } from "./values.js";
import { Groups, View } from "./groups.js";
import { checkTypical } from "./typical.js";
import { checkRegions } from "./regions.js";

// The label of a value of a quasi column: its text, or the label of missing values.
const labelIn = (column, table) => {
  const missing = nullLabel(column), { type } = table.column(column.name);
  return (value) => (value === null ? missing : labelText(type, value));
};

// Labels that occur are exactly those that the manifest explains (section 3.3).
export function checkShownLabels(manifest, tables) {
  for (const column of manifest.columns.filter((each) => each.role === "quasi")) {
    const occurring = new Set(tables.flatMap((table) => table.column(column.name).distinct.map(labelIn(column, table))));
    for (const label of occurring) need(column.meanings.has(label), `Column "${column.name}" shows the label "${label}", which the manifest does not explain.`);
    for (const label of column.meanings.keys()) need(occurring.has(label), `The manifest explains the label "${label}" of column "${column.name}", which does not occur.`);
  }
}

const quasiColumns = (manifest) => manifest.columns.filter((column) => column.role === "quasi");
const checkAllLabels = (manifest) => quasiColumns(manifest).forEach(checkLabels);
export const needPublished = (manifest, as) => need(quasiColumns(manifest).every((column) => column.published === as), `manifest.json: the quasi columns of a release of format "${manifest.format}" are published as ${as}.`);
const typesOf = (manifest) => new Map(manifest.columns.map((column) => [column.name, column.type]));

// Rows that show labels and sensitive values together: rows with the same labels (and the same number, where there is one) are a group (section 8.1).
function rowView(manifest, table, { number = null, boxes = true } = {}) {
  const quasi = manifest.named("quasi");
  const { ids, count, firsts } = table.numbered(number === null ? quasi : [...quasi, number]);
  const groups = Groups.ofTable(table, ids, count, manifest.named("sensitive"), typesOf(manifest));
  const labels = quasi.map((name) => {
    const shown = labelIn(manifest.column(name), table);
    return [...firsts].map((run) => shown(table.value(name, run)));
  });
  return new View(quasi, groups, labels, { boxes });
}

export const only = (manifest, role) => {
  const names = manifest.named(role);
  need(names.length === 1, `manifest.json: a release of format "${manifest.format}" has one column of role "${role}".`);
  return names[0];
};

// Section 7.1.
const generalize = {
  tables: ["data"], roles: [], hidesIdentity: true,
  check(manifest, tables) {
    needPublished(manifest, "labels");
    checkShownLabels(manifest, [tables.get("data")]);
    checkAllLabels(manifest);
  },
  view: (manifest, tables) => rowView(manifest, tables.get("data")),
  classes: (manifest) => ["data", manifest.named("quasi")],
};

// Section 7.2: single cells are suppressed; a star is a separate symbol.
const cells = {
  ...generalize,
  check(manifest, tables) {
    need(same(manifest.details, { reading: "own symbol" }), "manifest.json: the details of a release of format cells say that a star is a symbol of its own.");
    for (const column of quasiColumns(manifest))
      for (const [label, meaning] of column.meanings) need(["value", "missing", "anything"].includes(meaning.kind), `manifest.json: the label "${label}" of column "${column.name}" is no value, no missing value and no star.`);
    generalize.check(manifest, tables);
  },
};

// Section 7.3: people at waves, with the number of their group.
const panel = {
  tables: ["data"], roles: ["group"], hidesIdentity: true, judgesLinks: true,
  check(manifest, tables) {
    const group = only(manifest, "group"), { wave } = manifest.details, table = tables.get("data");
    need(manifest.details.group === group && manifest.named("quasi").includes(wave), "manifest.json: a panel names the column that numbers its groups, and a quasi column that is its wave.");
    generalize.check(manifest, tables);
    const waves = new Map();
    for (const { values: [number, ...labels], rows } of table.counted([group, ...manifest.named("quasi")])) {
      const at = labels[manifest.named("quasi").indexOf(wave)], known = waves.get(number) ?? { waves: new Set(), rows };
      need(!known.waves.has(at) && known.rows === rows, "A group of the panel does not show one set of labels, of as many rows, at each of its waves.");
      known.waves.add(at);
      waves.set(number, known);
    }
    const [pseudonym] = manifest.named("pseudonym");
    if (pseudonym === undefined) return;
    const people = new Map();
    for (const { values: [person, number], rows } of table.counted([pseudonym, group, wave])) {
      const known = people.get(person) ?? { number, waves: 0 };
      need(rows === 1 && known.number === number, `Rows of one ${pseudonym} are not one at each wave of one group.`);
      known.waves++;
      people.set(person, known);
    }
    for (const { number, waves: many } of people.values()) need(many === waves.get(number).waves.size, `Rows of one ${pseudonym} are not one at each wave of one group.`);
  },
  view: (manifest, tables) => rowView(manifest, tables.get("data"), { number: only(manifest, "group") }),
  classes: (manifest) => ["data", [...manifest.named("quasi"), ...manifest.named("group")]],
};

// Section 7.4: one typical value per group, and its labels in a table of groups.
const typical = {
  tables: ["data", "groups"], roles: ["group"], hidesIdentity: true, refusesPopulations: true,
  check(manifest, tables) {
    const number = only(manifest, "group"), quasi = manifest.named("quasi"), data = tables.get("data"), groups = tables.get("groups");
    need(sameSet(groups.names, [number, ...quasi]) && sameSet(data.names, manifest.columns.map((column) => column.name)), 'manifest.json: the table "groups" has the number of the group and the quasi columns, and "data" every column.');
    const listed = groups.counted([number]), shown = data.counted([number, ...quasi]);
    need(listed.every(({ values, rows }) => values[0] !== null && rows === 1), 'The table "groups" does not give every group a number of its own.');
    need(groups.counted(quasi).length === groups.rows, 'Two groups of the table "groups" show the same labels.');
    need(new Set(shown.map(({ values }) => values[0])).size === shown.length, "Rows of one group have different typical values.");
    need(sameSet(shown.map(({ values }) => values[0]), listed.map(({ values }) => values[0])), 'The groups of the table "groups" are not those of the rows.');
    needPublished(manifest, "typical");
    checkShownLabels(manifest, [groups]);
    checkAllLabels(manifest);
    const behind = new Map(groups.counted([number, ...quasi]).map(({ values }) => [values[0], values.slice(1)]));
    quasi.forEach((name, at) => {
      const column = manifest.column(name), text = labelIn(column, groups);
      for (const { values } of shown) if (values[at + 1] !== null) checkTypical(column, values[at + 1], text(behind.get(values[0])[at]));
    });
  },
  view(manifest, tables) {
    const number = only(manifest, "group"), quasi = manifest.named("quasi"), data = tables.get("data");
    const behind = new Map(tables.get("groups").counted([number, ...quasi]).map(({ values }) => [values[0], values.slice(1)]));
    const { ids, count, firsts } = data.numbered([number]);
    const groups = Groups.ofTable(data, ids, count, manifest.named("sensitive"), typesOf(manifest));
    const labels = quasi.map((name, at) => {
      const text = labelIn(manifest.column(name), tables.get("groups"));
      return [...firsts].map((run) => text(behind.get(data.value(number, run))[at]));
    });
    return new View(quasi, groups, labels);
  },
  classes: (manifest) => ["data", manifest.named("group")],
};

// Labels of buckets, where people of a bucket share all of them and buckets are numbered in the order of their labels: then rows show labels and values together (section 7.5). Else null.
function labelsOfBuckets(manifest, main, bucket, numbers) {
  const quasi = manifest.named("quasi"), kinds = main.counted([...quasi, bucket]);
  if (kinds.length !== numbers.size) return null;
  const types = [...quasi, bucket].map((name) => main.column(name).type);
  const compare = (type, one, other) => (one === other ? 0 : one === null ? 1 : other === null ? -1 : compareValues(type, one, other));
  kinds.sort((a, b) => types.reduce((found, type, at) => found || compare(type, a.values[at], b.values[at]), 0));
  const order = kinds.map(({ values }) => values.at(-1));
  if (order.some((number, at) => at > 0 && compare(types.at(-1), order[at - 1], number) >= 0)) return null;
  return quasi.map((name, at) => {
    const shown = labelIn(manifest.column(name), main), labels = new Array(numbers.size);
    for (const { values } of kinds) labels[numbers.get(values.at(-1))] = shown(values[at]);
    return labels;
  });
}

// Buckets by their number: `main` has people with their labels, `hidden` the sensitive values, `times[r]` of them in run r.
export function bucketView(manifest, main, hidden, bucket, times = hidden.times) {
  const { ids, count } = hidden.numbered([bucket]), groups = Groups.ofTable(hidden, ids, count, manifest.named("sensitive"), typesOf(manifest), times);
  const numbers = new Map(hidden.counted([bucket]).map(({ values: [number] }, group) => [number, group]));
  return new View(manifest.named("quasi"), groups, labelsOfBuckets(manifest, main, bucket, numbers));
}

// Equivalence classes by labels alone, without sensitive values.
export function labelView(manifest, table) {
  const quasi = manifest.named("quasi"), { ids, count, firsts } = table.numbered(quasi);
  const labels = quasi.map((name) => [...firsts].map((run) => labelIn(manifest.column(name), table)(table.value(name, run))));
  return new View(quasi, Groups.ofTable(table, ids, count, [], typesOf(manifest)), labels);
}

// Section 7.5: exact quasi values in one table, sensitive values in another, joined by a bucket.
const bucketize = {
  tables: ["quasi", "sensitive"], roles: ["bucket", "count"], hidesIdentity: false, shows: "values",
  check(manifest, tables) {
    need(same(manifest.details, {}) || same(manifest.details, { people: "drawn" }), "manifest.json: the details of a bucketized release are empty or say that buckets were drawn.");
    const bucket = only(manifest, "bucket"), count = manifest.named("count"), [main, hidden] = this.tables.map((name) => tables.get(name));
    need(count.length <= 1 && main.has(bucket) && hidden.has(bucket), "manifest.json: both tables need the bucket column, and there is at most one count column.");
    need(sameSet(hidden.names, [bucket, ...manifest.named("sensitive"), ...count]) && main.names.filter((name) => hidden.has(name)).length === 1, `manifest.json: the table "${this.tables[1]}" must have exactly the sensitive columns.`);
    const people = new Map(), values = new Map();
    for (const { values: [number], rows } of main.counted([bucket])) people.set(number, rows);
    for (const { values: [number, times = "1"], rows } of hidden.counted([bucket, ...count])) {
      need(times !== null && Number(times) >= 1, "The sensitive table has a row with a count below 1.");
      values.set(number, (values.get(number) ?? 0) + Number(times) * rows);
    }
    need(!people.has(null) && !values.has(null), "A row of a bucketized release has no bucket.");
    for (const number of new Set([...people.keys(), ...values.keys()])) need(people.get(number) === values.get(number), `Bucket ${number} has ${people.get(number) ?? 0} rows in one table and ${values.get(number) ?? 0} in the other.`);
    needPublished(manifest, this.shows);
    checkShownLabels(manifest, [main]);
    checkAllLabels(manifest);
  },
  view(manifest, tables) {
    const [main, hidden] = this.tables.map((name) => tables.get(name)), [count] = manifest.named("count");
    return bucketView(manifest, main, hidden, manifest.named("bucket")[0], count && hidden.times.map((rows, run) => rows * Number(hidden.value(count, run))));
  },
  classes(manifest) { return [this.tables[0], manifest.named("quasi")]; },
  attested: (manifest) => (same(manifest.details, {}) ? null : "Mechanism attested, not checkable from files: how people were drawn into their buckets or batches."),
};

// Section 7.6: generalized rows with a batch, and sensitive values by batch. Equivalence classes are judged by labels, the rest by batches.
const angelize = {
  ...bucketize, tables: ["generalized", "sensitive"], hidesIdentity: true, shows: "labels",
  alike: (manifest, tables) => labelView(manifest, tables.get("generalized")),
  refuses: (definition) => !(definition.hidesIdentity ? !definition.needsSensitive : definition.needsSensitive && definition.isConvex),
};

// Section 7.7: clusters with centres, radii and counts.
const clusters = {
  tables: ["data", "groups"], roles: ["centre", "radius", "members"], hidesIdentity: true,
  check(manifest, tables) {
    const quasi = manifest.named("quasi"), { details } = manifest;
    const statistics = ["mean", "median", "mode"];
    need(sameSet(Object.keys(details), ["norm", "scales", "places", "grid", "numbers", "centres", "aggregated"]) && isObject(details.scales) && isObject(details.grid) && Array.isArray(details.places) && Array.isArray(details.aggregated), "manifest.json: the details of clusters must say how distances were measured and what is shown.");
    need(["L1", "L2"].includes(details.norm) && ["ranges", ...statistics].includes(details.numbers) && ["synthetic", "records"].includes(details.centres), "manifest.json: the details of clusters have an entry that is not known.");
    const named = [...Object.keys(details.scales), ...Object.keys(details.grid), ...details.places.flat()];
    need(named.every((name) => quasi.includes(name)) && details.aggregated.every((name) => manifest.named("sensitive").includes(name)), "manifest.json: the details of clusters name columns that are not published in this form.");
    need(Object.values(details.scales).every((scale) => typeof scale === "number" && scale > 0), "manifest.json: every scale of a distance must be a number above 0.");
    const expected = [...quasi, ...manifest.named("centre"), ...manifest.named("radius"), ...manifest.named("members")];
    need(manifest.named("centre").length === quasi.length && same(manifest.tables.get("groups").columns, expected), "manifest.json: the table of clusters has the quasi columns, a centre for each, a radius and the number of rows.");
    for (const column of quasiColumns(manifest)) {
      const numbers = statistics.includes(details.numbers) && Object.hasOwn(details.grid, column.name);
      need((column.published === "values") === numbers && column.published !== "typical", `manifest.json: column "${column.name}" is not published as the details state.`);
    }
    const data = tables.get("data"), groups = tables.get("groups"), radius = only(manifest, "radius"), members = only(manifest, "members");
    checkShownLabels(manifest, [data]);
    for (const column of quasiColumns(manifest)) {
      if (column.published === "labels") checkLabels(column);
      else for (const value of data.column(column.name).distinct) {
        const meaning = column.meanings.get(labelIn(column, data)(value));
        need(value === null || meaning.kind !== "interval" || covers(meaning, column.type, value), `The number ${value} of column "${column.name}" is outside its range.`);
      }
    }
    const sizes = new Map(data.counted(quasi).map(({ values, rows }) => [JSON.stringify(values), rows]));
    const listed = groups.counted([...quasi, members]);
    need(groups.rows === sizes.size && listed.length === sizes.size && listed.every(({ values }) => String(sizes.get(JSON.stringify(values.slice(0, -1)))) === values.at(-1)), "The table of clusters does not list the clusters of the rows, each once, with the number of their rows.");
    for (const value of groups.column(radius).distinct) need(value !== null && Number.isFinite(toNumber(value)) && toNumber(value) >= 0, "The table of clusters has a radius that is not a number of at least 0.");
  },
  view: (manifest, tables) => rowView(manifest, tables.get("data"), { boxes: false }),
  classes: (manifest) => ["data", manifest.named("quasi")],
};

// Section 7.8: classes of nested regions.
const regions = {
  tables: ["data", "places", "regions"], roles: ["group", "level", "bound", "missing", "place", "extent"], hidesIdentity: true,
  check(manifest, tables) {
    need(isWhole(manifest.details.k), "manifest.json: the details of regions must say for which k classes were made.");
    checkRegions(manifest, tables, () => {
      needPublished(manifest, "labels");
      checkShownLabels(manifest, [tables.get("data"), tables.get("regions")]);
      checkAllLabels(manifest);
    });
  },
  view: (manifest, tables) => rowView(manifest, tables.get("data"), { number: only(manifest, "group"), boxes: false }),
  classes: (manifest) => ["data", manifest.named("group")],
  attested: (manifest) => ((manifest.details.series?.number ?? 1) > 1 ? "This is a later release of a table that grows: that people who are new in it satisfy what is promised on their own shows only beside the releases before." : null),
};

export const GROUP_FORMATS = { generalize, cells, panel, typical, bucketize, angelize, clusters, regions };
