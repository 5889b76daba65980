// Values and what labels mean (docs/reference/release-format.md, sections 2.3 and 3.3).
// Inside the verifier a value is its canonical text, or null if it is missing: two values are equal if their texts are.

import { exact, Fraction } from "./exact.js";
import { isObject, isWhole, need, Problem, same } from "./canonical.js";

export const TYPES = ["text", "integer", "unsigned", "real", "boolean", "date", "datetime"];
export const NULL_LABEL = "(missing)";

const isWholeType = (type) => type === "integer" || type === "unsigned";
export const isNumeric = (type) => isWholeType(type) || type === "real";
export const isTemporal = (type) => type === "date" || type === "datetime";

// Section 2.3: a value of a type from JSON; only the canonical spelling is accepted.
export function fromJson(type, json) {
  if (json === null) return null;
  if (type === "text" || type === "boolean") {
    need(typeof json === (type === "text" ? "string" : "boolean"), `${JSON.stringify(json)} is not of type ${type}.`);
    return String(json);
  }
  const read = typeof json === "string" ? fromText(type, json) : isNumeric(type) && typeof json === "number" ? (isWholeType(type) ? wholeText(String(json)) : realText(json)) : null;
  need(read !== null && same(toJson(type, read), json), `${JSON.stringify(json)} is not a value of type ${type}, or not written as such values are.`);
  return read;
}

// Section 2.3: integers of 2^53 and beyond are text, and so are infinities.
export function toJson(type, value) {
  if (value === null || type === "text" || type === "date") return value;
  if (type === "boolean") return value === "true";
  if (type === "datetime") return value.replace(/\.000000$/, "");
  const number = Number(value);
  if (isWholeType(type)) return Number.isSafeInteger(number) ? number : value;
  return Number.isFinite(number) ? number : value;
}

// A value of a type from the text of a CSV field (section 4.1); null if it is not a valid value.
export function fromText(type, text) {
  switch (type) {
    case "text": return text;
    case "boolean": return text === "true" || text === "false" ? text : null;
    case "integer": case "unsigned": return wholeText(text);
    case "real": return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?inf$/.test(text) ? realText(Number(text.replace("inf", "Infinity"))) : null;
    case "date": return /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text) ? text : null;
    default: {
      const found = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/.exec(text);
      if (!found || !isDay(found[1]) || found[2] > "23" || found[3] > "59" || found[4] > "59") return null;
      return `${found[1]}T${found[2]}:${found[3]}:${found[4]}.${(found[5] ?? "").padEnd(6, "0")}`;
    }
  }
}

function isDay(text) {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

function wholeText(text) {
  if (/^(0|-?[1-9]\d{0,14})$/.test(text)) return text;
  if (!/^[+-]?\d+$/.test(text)) return null;
  const number = BigInt(text.replace(/^\+/, ""));
  return number >= -(2n ** 63n) && number < 2n ** 64n ? String(number) : null;
}

// Section 2.3: the shortest digits that round-trip; with a point from 1e-5 up to 1e16, with an exponent elsewhere.
export function realText(number) {
  if (number === 0) return "0.0";
  if (!Number.isFinite(number)) return Number.isNaN(number) ? null : number > 0 ? "inf" : "-inf";
  const [digits, power] = number.toExponential().split("e");
  const sign = digits.startsWith("-") ? "-" : "";
  const plain = digits.replace(/[-.]/g, "");
  const exponent = Number(power);
  if (exponent < -5 || exponent > 15) return `${digits}e${power}`;
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${plain}`;
  const padded = plain.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

// How a value is written as a label (section 3.3).
export const labelText = (type, value) => (type === "datetime" ? value.replace("T", " ") : value);

export const toNumber = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : Number(value));

const DAY = 86_400_000_000n;

// The coordinate of a value on the scale of its type: days, microseconds, or the number itself (section 3.3).
export function place(type, value) {
  if (isWholeType(type)) return BigInt(value);
  if (type === "real") return toNumber(value);
  const day = BigInt(Date.parse(`${value.slice(0, 10)}T00:00:00Z`)) / 86_400_000n;
  if (type === "date") return day;
  const [hour, minute, second] = value.slice(11, 19).split(":").map(BigInt);
  return day * DAY + ((hour * 60n + minute) * 60n + second) * 1_000_000n + BigInt(value.slice(20) || 0);
}

// Section 4.3: text by code points, everything else by its coordinate.
export function compareValues(type, one, other) {
  if (one === other) return 0;
  if (type === "text") return compareText(one, other);
  if (type === "boolean" || isTemporal(type)) return one < other ? -1 : 1;
  const [a, b] = type === "real" ? [toNumber(one), toNumber(other)] : [BigInt(one), BigInt(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareText(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    let a = one.charCodeAt(at), b = other.charCodeAt(at);
    if (a === b) continue;
    // A surrogate encodes a character beyond U+FFFF, so it sorts after all others.
    if (a >= 0xd800 && a <= 0xdfff) a += 0x10000;
    if (b >= 0xd800 && b <= 0xdfff) b += 0x10000;
    return a < b ? -1 : 1;
  }
  return one.length - other.length;
}

// The exact number of a value, for definitions that measure distances: dates count as days (section 9.6).
export function exactNumber(type, value) {
  if (type === "date") return new Fraction(place("date", value));
  need(isNumeric(type), `A column of type ${type} has no numbers to measure distances between.`);
  need(value !== "inf" && value !== "-inf", "An infinite value has no distance.");
  return exact(value);
}

// ---- Meanings (section 3.3) ----

const CLOSED = ["left", "right", "both", "neither"];

// The meaning of a label, from the manifest: {kind, ...} with values as texts.
export function readMeaning(json, type, where) {
  try {
    return meaningOf(json, type);
  } catch (error) {
    throw new Problem(`${where} cannot be understood (${error.message}).`);
  }
}

function meaningOf(json, type) {
  need(isObject(json), "it is no object");
  const shape = Object.keys(json).sort().join(" ");
  switch (shape) {
    case "value": return { kind: "value", value: fromJson(type, json.value) };
    case "values":
      need(Array.isArray(json.values) && json.values.length > 0, "it lists no values");
      return { kind: "values", values: json.values.map((each) => fromJson(type, each)) };
    case "closed interval": case "closed interval null": {
      need(Array.isArray(json.interval) && json.interval.length === 2 && CLOSED.includes(json.closed), "it is no interval");
      need(!("null" in json) || json.null === true, "null must be true");
      need(type !== "text" && type !== "boolean", "such values have no intervals");
      const [low, high] = json.interval.map((end) => (end === null ? null : boundPlace(type, end)));
      need(low === null || high === null || below(low, high) || equal(low, high), "its ends are in the wrong order");
      return { kind: "interval", low, high, ends: json.interval, closed: json.closed, orMissing: "null" in json };
    }
    case "length prefix":
      need(typeof json.prefix === "string" && isWhole(json.length) && [...json.prefix].length <= json.length && json.length <= 10_000, "it is no prefix");
      return { kind: "prefix", prefix: json.prefix, length: json.length };
    case "weekday":
      need(isWhole(json.weekday) && json.weekday >= 1 && json.weekday <= 7, "it is no weekday");
      return { kind: "weekday", number: json.weekday };
    case "hour_of_day":
      need(isWhole(json.hour_of_day) && json.hour_of_day >= 0 && json.hour_of_day <= 23, "it is no hour");
      return { kind: "hour", number: json.hour_of_day };
    case "null": need(json.null === true, "null must be true"); return { kind: "missing" };
    case "all": need(json.all === true, "all must be true"); return { kind: "anything" };
    default: throw new Problem("it has none of the known shapes");
  }
}

// An end of an interval: for integers it may be between two of them, so it is a fraction.
function boundPlace(type, json) {
  if (isWholeType(type)) {
    need(typeof json === "number" || (typeof json === "string" && !Number.isSafeInteger(Number(json))), "an end is no number");
    return exact(json);
  }
  if (type === "datetime" && typeof json === "string" && /^\d{4}-\d\d-\d\d$/.test(json)) return place("datetime", `${json}T00:00:00.000000`);
  return place(type, fromJson(type, json));
}

const below = (a, b) => (a instanceof Fraction ? a.compare(b) < 0 : a < b);
const equal = (a, b) => (a instanceof Fraction ? a.compare(b) === 0 : a === b);

// The interval that a label covers, with closed ends for all types except reals; null if it is not an interval (section 3.3).
export function stretch(meaning, type) {
  if (meaning.kind === "prefix" && isWholeType(type)) {
    const unit = 10n ** BigInt(meaning.length - meaning.prefix.length), first = BigInt(meaning.prefix || "0") * unit;
    return { low: first, high: first + unit - 1n, lowClosed: true, highClosed: true };
  }
  if (meaning.kind !== "interval") return null;
  const lowClosed = meaning.closed === "left" || meaning.closed === "both";
  const highClosed = meaning.closed === "right" || meaning.closed === "both";
  let { low, high } = meaning;
  if (type === "real") return { low, high, lowClosed, highClosed };
  if (isWholeType(type)) {
    low = low === null ? null : lowClosed ? low.ceil() : low.floor() + 1n;
    high = high === null ? null : highClosed ? high.floor() : high.ceil() - 1n;
  } else {
    low = low === null || lowClosed ? low : low + 1n;
    high = high === null || highClosed ? high : high - 1n;
  }
  return { low, high, lowClosed: true, highClosed: true };
}

// Whether a label covers a value (null: a missing one).
export function covers(meaning, type, value) {
  if (meaning.kind === "anything") return true;
  if (value === null)
    return meaning.kind === "missing" || (meaning.kind === "interval" && meaning.orMissing) || (meaning.kind === "value" && meaning.value === null) || (meaning.kind === "values" && meaning.values.includes(null));
  switch (meaning.kind) {
    case "value": return meaning.value === value;
    case "values": return meaning.values.includes(value);
    case "missing": return false;
    case "weekday": return (Number((place("date", value.slice(0, 10)) + 3n) % 7n) + 7) % 7 + 1 === meaning.number;
    case "hour": return type === "datetime" && Number(value.slice(11, 13)) === meaning.number;
  }
  const part = stretch(meaning, type);
  if (part === null) return value.startsWith(meaning.prefix) && [...value].length === meaning.length;
  const at = place(type, value);
  return (part.low === null || at > part.low || (at === part.low && part.lowClosed)) && (part.high === null || at < part.high || (at === part.high && part.highClosed));
}

// The values that a meaning lists one by one, or null (section 3.3).
export const listed = (meaning) => (meaning.kind === "value" ? [meaning.value] : meaning.kind === "values" ? meaning.values : meaning.kind === "missing" ? [null] : null);

// Whether two labels certainly cover disjoint values; false if that is not known (section 9.9).
export function areDisjoint(one, other) {
  const missing = (meaning) => meaning.kind === "anything" || covers(meaning, "text", null);
  if (missing(one) && missing(other)) return false;
  if (one.kind === "missing" || other.kind === "missing") return true;
  const [few, others] = [one, other].map((meaning) => listed(meaning)?.filter((value) => value !== null) ?? null);
  if (few !== null && others !== null) return few.length + others.length > 0 && !few.some((value) => others.includes(value));
  if (one.kind === "interval" && other.kind === "interval" && !one.orMissing && !other.orMissing) return endsBefore(one, other) || endsBefore(other, one);
  if (one.kind === "prefix" && other.kind === "prefix" && one.length === other.length) return !one.prefix.startsWith(other.prefix) && !other.prefix.startsWith(one.prefix);
  return false;
}

function endsBefore(one, other) {
  if (one.high === null || other.low === null) return false;
  const touch = ["right", "both"].includes(one.closed) && ["left", "both"].includes(other.closed);
  return below(one.high, other.low) || (equal(one.high, other.low) && !touch);
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

// The unique text of a label with this meaning, or null if there are several (section 3.3).
function labelOf(meaning, type) {
  switch (meaning.kind) {
    case "value": return meaning.value === null ? null : labelText(type, meaning.value);
    case "prefix": return meaning.prefix + "*".repeat(meaning.length - [...meaning.prefix].length);
    case "weekday": return WEEKDAYS[meaning.number - 1];
    case "hour": return `${String(meaning.number).padStart(2, "0")}h`;
    case "interval": {
      if (!isWholeType(type)) return null;
      const [low, high] = meaning.ends;
      const text = low === null ? `< ${high}` : high === null ? `>= ${low}` : `[${low}, ${high}${meaning.closed === "both" ? "]" : ")"}`;
      return meaning.orMissing ? `${text} or missing` : text;
    }
    default: return null;
  }
}

// Labels of a column must be spelled according to their meanings, and no two have the same meaning (section 3.3).
export function checkLabels(column) {
  const unmarked = (text) => text.replace(/'+$/, "");
  const texts = Object.keys(column.labels);
  for (const label of texts) {
    const meaning = column.meanings.get(label);
    const expected = meaning.kind === "missing" ? NULL_LABEL + label.slice(unmarked(label).length) : labelOf(meaning, column.type);
    if (expected === null || expected === label) continue;
    need(column.meanings.has(expected) && unmarked(label) === unmarked(expected), `The label "${label}" of column "${column.name}" does not match its meaning in the manifest.`);
  }
  const written = texts.map((label) => JSON.stringify(column.labels[label]));
  need(new Set(written).size === texts.length, `The manifest gives two labels of column "${column.name}" the same meaning.`);
}

// The label under which missing values of a column are published.
export function nullLabel(column) {
  for (const [label, meaning] of column.meanings) if (meaning.kind === "missing") return label;
  return NULL_LABEL;
}
