// Nested regions (docs/reference/release-format.md, section 7.8): every point belongs to the innermost region that contains it, and the table of regions must be consistent.

import { isObject, isWhole, need, same, sameSet } from "./canonical.js";
import { compareValues, fromJson, labelText, listed } from "./values.js";

const MOST_HALVINGS = 64;

export function checkRegions(manifest, tables, checkLabels) {
  const quasi = manifest.named("quasi"), data = tables.get("data"), table = tables.get("regions");
  const compact = checkDetails(manifest);
  const [number] = manifest.named("group"), [level] = manifest.named("level");
  const rows = expanded(table, table.names);
  for (const row of rows) {
    need(row.get(number) !== null && row.get(level) !== null && quasi.every((name) => row.get(name) !== null), 'The table "regions" has a region without a class, a level or a label.');
    need(BigInt(row.get(level)) >= 0n, 'The table "regions" has a level below 0.');
  }
  need(table.counted(quasi).length === rows.length, 'Two regions of the table "regions" show the same labels.');
  const classes = data.counted([number, ...quasi]);
  const own = classes.map(({ values }) => values[0]);
  need(!own.includes(null) && new Set(own).size === own.length, "Rows of one class show different labels.");
  need(sameSet(own, [...new Set(rows.map((row) => row.get(number)))]), 'The classes of the table "regions" are not those of the rows.');
  checkLabels();
  const columns = quasi.map((name, at) => checkBounds(manifest, tables.get("places"), rows, classes, name, at));
  const sizes = data.counted([number]).map((each) => each.rows);
  need(sizes.length <= 1 || Math.min(...sizes) >= manifest.details.k, "manifest.json: the details name a k that is greater than the smallest class.");
  checkNesting(columns.map((column) => column.regions), rows.map((row) => Number(row.get(level))), rows.map((row) => row.get(number)), columns.map((column) => column.steps));
  if (compact) columns.forEach(({ regions, extents }, at) => regions.forEach(([low, high], region) => {
    const [first, last] = extents[region];
    need(low <= first && first < last && last <= high, `The extents of column "${quasi[at]}" in the table "regions" do not lie in its bounds.`);
  }));
}

function expanded(table, names) {
  const found = [];
  table.times.forEach((many, run) => {
    for (let copy = 0; copy < many; copy++) found.push(new Map(names.map((name) => [name, table.value(name, run)])));
  });
  return found;
}

function checkDetails(manifest) {
  const { compact, series, ...details } = manifest.details, has = "compact" in manifest.details;
  need((!has || compact === true) && has === manifest.named("extent").length > 0, "manifest.json: regions with extents say so in the details, and others have none.");
  need(sameSet(Object.keys(details), ["guard", "k"]) && ["quasi", "raised", "sensitive"].includes(details.guard) && isWhole(details.k), "manifest.json: the details of regions must say how classes were guarded, and for which k.");
  need(series === undefined || (isObject(series) && same(Object.keys(series), ["number"]) && isWhole(series.number) && series.number >= 1), "manifest.json: the details of a series of regions must have the number of the release in it.");
  need(manifest.named("group").length === 1 && manifest.named("level").length === 1 && manifest.named("place").length === 3, "manifest.json: a release of regions has a column of class numbers, one of levels, and places.");
  const expected = [...manifest.named("group"), ...manifest.named("level"), ...manifest.named("quasi")];
  need(same(manifest.tables.get("regions").columns.slice(0, expected.length), expected), 'manifest.json: the table "regions" has the class, the level and the quasi columns first.');
  return has;
}

// The columns of plain bounds of a quasi column: two, and a third where values may be missing; extents follow all bounds in the same order.
function boundColumns(manifest, at) {
  const bounds = manifest.named("bound"), missing = manifest.named("missing"), columns = manifest.tables.get("regions").columns;
  need(bounds.length === 2 * manifest.named("quasi").length, 'manifest.json: the table "regions" has two columns of bounds for each quasi column.');
  const widths = manifest.named("quasi").map((_, place) => (missing.includes(columns[columns.indexOf(bounds[2 * place + 1]) + 1]) ? 3 : 2));
  const [low, high] = bounds.slice(2 * at, 2 * at + 2), third = columns[columns.indexOf(high) + 1];
  const extents = manifest.named("extent"), total = widths.reduce((sum, each) => sum + each, 0);
  need(extents.length === 0 || extents.length === total, 'manifest.json: every column of bounds of the table "regions" has one of extents.');
  const start = widths.slice(0, at).reduce((sum, each) => sum + each, 0);
  return { bounds: widths[at] === 3 ? [low, high, third] : [low, high], extents: extents.slice(start, start + widths[at]) };
}

// Plain bounds must agree with labels, and rows show the range from the first to the last region of their class. Returns ranges of steps (section 7.8).
function checkBounds(manifest, places, rows, classes, name, at) {
  const column = manifest.column(name), [owner, value, place] = manifest.named("place");
  const mine = expanded(places, [owner, value, place]).filter((row) => row.get(owner) === name).sort((a, b) => Number(a.get(place)) - Number(b.get(place)));
  need(mine.every((row, rank) => row.get(place) === String(rank)), `The table "places" does not give every value of column "${name}" a place of its own.`);
  const order = mine.length ? mine.map((row) => row.get(value)) : null, { bounds, extents } = boundColumns(manifest, at);
  const told = new Map([...column.meanings].map(([label, meaning]) => [label, boundsOf(column, meaning, order)]));
  for (const row of rows) {
    const expected = told.get(row.get(name)).slice(0, bounds.length), shown = bounds.map((each) => row.get(each));
    need(expected.every((each, place) => each === shown[place]), `The plain bounds of column "${name}" in the table "regions" do not say what its labels say.`);
  }
  const shownBy = classes.map(({ values }) => told.get(values[at + 1]).slice(0, bounds.length));
  const filled = extents.length ? rows.map((row) => extents.map((each) => row.get(each))) : [];
  const plain = rows.map((row) => bounds.map((each) => row.get(each)));
  const first = stepped(column.type, order, [...plain, ...shownBy]);
  classes.forEach(({ values: [number] }, which) => {
    const parts = rows.flatMap((row, region) => (row.get(manifest.named("group")[0]) === number ? [first.ranges[region]] : []));
    const [low, high] = first.ranges[rows.length + which];
    need(Math.min(...parts.map((part) => part[0])) === low && Math.max(...parts.map((part) => part[1])) === high, `The rows of a class do not show in column "${name}" between which labels its regions lie.`);
  });
  const { ranges, steps } = stepped(column.type, order, [...plain, ...filled]);
  return { regions: ranges.slice(0, rows.length), extents: ranges.slice(rows.length), steps };
}

// The start and the exclusive end of a label (null: no end), and whether it covers missing values.
function boundsOf(column, meaning, order) {
  if (order !== null) {
    const values = listed(meaning);
    if (values === null) return ["0", String(order.length), "too"];
    const ranks = values.map((each) => order.indexOf(each === null ? null : labelText(column.type, each))).sort((a, b) => a - b);
    need(ranks[0] >= 0 && ranks.every((rank, at) => rank === ranks[0] + at), `A label of column "${column.name}" stands for values that do not follow each other in the table "places".`);
    return [String(ranks[0]), String(ranks.at(-1) + 1), "no"];
  }
  const end = (json) => (json === null ? null : endText(column.type, json));
  if (meaning.kind === "interval" && meaning.closed === "left" && !meaning.orMissing) return [...meaning.ends.map(end), "no"];
  if (meaning.kind === "interval" && meaning.closed === "left" && meaning.ends[0] === null) return [null, end(meaning.ends[1]), "too"];
  const whole = column.type === "integer" || column.type === "unsigned";
  if (meaning.kind === "value" && whole && meaning.value !== null) return [meaning.value, String(BigInt(meaning.value) + 1n), "no"];
  if (meaning.kind === "missing") return [null, null, "only"];
  need(meaning.kind === "anything", `A label of column "${column.name}" is not a range of neighbouring cells.`);
  return [null, null, "too"];
}

const endText = (type, json) => fromJson(type, type === "datetime" && /^\d{4}-\d\d-\d\d$/.test(json) ? `${json}T00:00:00` : json);

// The ends of all ranges split a column into steps; a range of values becomes a range of steps. Missing values are a separate step, the first.
function stepped(type, order, ranges) {
  if (order !== null) return { ranges: ranges.map(([low, high]) => [Number(low), Number(high)]), steps: order.length };
  const cuts = [...new Set(ranges.flatMap(([low, high]) => [low, high]).filter((each) => each !== null))].sort((a, b) => compareValues(type, a, b));
  const spared = ranges.length && ranges[0].length > 2 ? 1 : 0, rank = new Map(cuts.map((cut, at) => [cut, at + 1]));
  const found = ranges.map(([low, high, missing = "no"]) => [
    missing === "no" ? (low === null ? 0 : rank.get(low)) + spared : 0,
    missing === "only" ? 1 : (high === null ? cuts.length + 1 : rank.get(high)) + spared,
  ]);
  return { ranges: found, steps: cuts.length + 1 + spared };
}

// Of two intersecting regions one is inside the other and has the greater level; together they cover everything; a region of level l has 2^-l of the space.
function checkNesting(columns, levels, groups, steps) {
  const many = levels.length;
  need(levels.every((level) => level <= MOST_HALVINGS * columns.length), 'The table "regions" has a level that no region has.');
  need(columns.every((ranges) => ranges.slice(0, many).every(([low, high]) => low < high)), 'The table "regions" has a region that holds no value.');
  const inside = (a, b) => columns.every((ranges) => ranges[a][0] >= ranges[b][0] && ranges[a][1] <= ranges[b][1]);
  const meet = (a, b) => columns.every((ranges) => Math.max(ranges[a][0], ranges[b][0]) < Math.min(ranges[a][1], ranges[b][1]));
  const around = new Array(many).fill(-1);
  for (let a = 0; a < many; a++) {
    for (let b = 0; b < many; b++) {
      if (a === b || !meet(a, b)) continue;
      need((inside(a, b) && levels[a] > levels[b]) || (inside(b, a) && levels[b] > levels[a]), 'Regions of the table "regions" overlap. Of two intersecting regions, one must be inside the other and have the higher level.');
      if (inside(a, b) && (around[a] < 0 || levels[b] > levels[around[a]])) around[a] = b;
    }
  }
  const volume = (region) => columns.reduce((product, ranges) => product * BigInt(ranges[region][1] - ranges[region][0]), 1n);
  const blocks = levels.map((_, region) => volume(region)), deepest = Math.max(...levels);
  const shares = levels.map((level) => 1n << BigInt(deepest - level)), left = [...shares];
  around.forEach((outer, region) => {
    if (outer < 0) return;
    blocks[outer] -= volume(region);
    left[outer] -= shares[region];
    need(groups[outer] !== groups[region], 'The table "regions" has a region directly inside another one of its own class.');
  });
  const everything = steps.reduce((product, each) => product * BigInt(each), 1n);
  need(blocks.reduce((sum, each) => sum + each, 0n) === everything, 'The regions of the table "regions" do not cover everything: some points are in no region.');
  need(blocks.every((each) => each > 0n), 'The table "regions" has a region that is fully covered by the regions inside it.');
  const outermost = shares.reduce((sum, each, region) => (around[region] < 0 ? sum + each : sum), 0n);
  need(outermost === 1n << BigInt(deepest) && left.every((each) => each > 0n), 'The levels of the table "regions" cannot be right: a region of level l has 2^-l of the space.');
}
