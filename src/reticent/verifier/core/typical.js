// Typical values (docs/reference/release-format.md, section 7.4): a value that its label covers and, if that is a range, one on the range's grid.

import { need } from "./canonical.js";
import { covers, listed, place, stretch } from "./values.js";

export function checkTypical(column, value, label) {
  const type = column.type === "unsigned" ? "integer" : column.type, meaning = column.meanings.get(label);
  const range = type === "text" || type === "boolean" ? null : closedRange(meaning, type);
  const bare = type !== "text" && type !== "boolean" && range === null && listed(meaning) === null;
  const fits = covers(meaning, type, value) && !bare && (range === null || onGrid(type, range, place(type, value)));
  need(fits, `Column "${column.name}" shows the typical value ${value} for a group whose label is "${label}"; that value is not covered by the label, or not rounded as the label requires.`);
}

// The two inclusive ends of a range; null if an end is open or the label is not a range.
function closedRange(meaning, type) {
  const part = stretch(meaning, type);
  if (part === null || part.low === null || part.high === null) return null;
  const low = part.lowClosed ? part.low : neighbour(part.low, 1), high = part.highClosed ? part.high : neighbour(part.high, -1);
  return { low, high: high < low ? low : high };
}

// The next double above or below a number.
function neighbour(number, direction) {
  if (number === 0) return direction * 5e-324;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(number > 0 ? direction : -direction));
  return view.getFloat64(0);
}

const onGrid = (type, range, at) => at === (range.low === range.high ? range.low : type === "integer" ? nearestWhole(range, at) : type === "real" ? nearestReal(range, at) : nearestBeginning(type, range, at));

const floorDivide = (a, b) => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b);

// Integers are multiples of the largest of 1, 2, 5, 10, 20, 50 ... that is at most a quarter of the range; of two as near the even multiple.
function nearestWhole({ low, high }, at) {
  const quarter = (high - low) / 4n;
  let step = 1n;
  for (let power = 1n; power < 10n ** 18n; power *= 10n) for (const digit of [1n, 2n, 5n]) if (digit * power <= quarter) step = digit * power;
  const count = floorDivide(at, step), rest = at - count * step;
  let found = (count + (2n * rest > step || (2n * rest === step && count % 2n !== 0n) ? 1n : 0n)) * step;
  if (found > high) found -= step;
  if (found < low) found += step;
  return found >= low && found <= high ? found : low + (high - low) / 2n;
}

const LARGEST = 300;
const evenRound = (number) => {
  const down = Math.floor(number), rest = number - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 !== 0) ? down + 1 : down;
};

// Numbers with a fraction: the same with steps from 1e-300, whole steps between whole ends, in doubles.
function nearestReal({ low, high }, at) {
  const quarter = (high / 4 - low / 4) * (1 + 1e-12), whole = Math.floor(low) === low && Math.floor(high) === high;
  let [digit, power] = [1, -LARGEST];
  for (let p = -LARGEST; p <= LARGEST; p++) for (const d of [1, 2, 5]) if (Number(`${d}e${p}`) <= quarter) [digit, power] = [d, p];
  if (whole && power < 0) [digit, power] = [1, 0];
  const step = Number(`${digit}e${power}`);
  const multiple = (count) => {
    const found = count * step;
    if (Math.abs(power) >= 22) return found;
    const scale = Number(`1e${Math.abs(power)}`);
    return power <= 0 ? evenRound(found * scale) / scale : evenRound(found / scale) * scale;
  };
  let count = evenRound((at / 2 + at / 2) / step);
  if (multiple(count) > high) count -= 1;
  if (multiple(count) < low) count += 1;
  const found = multiple(count);
  return found >= low && found <= high ? found : low / 2 + high / 2;
}

const DAY = 86_400_000_000n;
const UNITS = [["year", 366n * DAY], ["month", 31n * DAY], ["day", DAY], ["hour", 3_600_000_000n], ["minute", 60_000_000n], ["second", 1_000_000n], ["microsecond", 1n]];

// Dates and timestamps are starts of the largest calendar unit that fits into a quarter of the range; of two the nearer one inside it.
function nearestBeginning(type, range, at) {
  const scale = type === "date" ? DAY : 1n, [low, high, moment] = [range.low, range.high, at].map((each) => each * scale);
  const quarter = floorDivide(high, 4n) - floorDivide(low, 4n), unit = UNITS.find(([, longest]) => quarter >= longest);
  if (unit === undefined) return at;
  const [before, after] = beginnings(moment, unit);
  const found = (after - moment < moment - before && after <= high) || before < low ? after : before;
  return floorDivide(found, scale);
}

function beginnings(moment, [unit, length]) {
  if (unit !== "year" && unit !== "month") {
    const before = floorDivide(moment, length) * length;
    return [before, before + length];
  }
  const day = new Date(Number(floorDivide(moment, 1000n))), year = day.getUTCFullYear(), month = unit === "year" ? 0 : day.getUTCMonth();
  const begin = (shift) => {
    const found = new Date(0);
    found.setUTCFullYear(year + (unit === "year" ? shift : 0), month + (unit === "month" ? shift : 0), 1);
    return BigInt(found.getTime()) * 1000n;
  };
  return [begin(0), begin(1)];
}
