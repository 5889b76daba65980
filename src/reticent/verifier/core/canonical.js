// Canonical JSON (docs/reference/release-format.md, section 2): the bytes that are hashed and signed, and the bytes of the JSON files.

const ENCODER = new TextEncoder();

// Section 2.1: RFC 8785. JavaScript's own order of strings is that of UTF-16 code units, and its number format is that of the RFC.
export function canonical(value) {
  return ENCODER.encode(written(value, null));
}

// Section 2.2: the same tokens with one entry per line, two spaces per level, and a newline at the end.
export function readable(value) {
  return ENCODER.encode(`${written(value, "\n")}\n`);
}

function written(value, newline) {
  if (value === null || typeof value !== "object") {
    if (typeof value === "number" && !Number.isFinite(value)) throw new Problem("A number is beyond those of JSON.");
    if (typeof value === "string" && !value.isWellFormed()) throw new Problem("A text is not valid Unicode.");
    return JSON.stringify(value);
  }
  const inner = newline === null ? null : `${newline}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const entries = Array.isArray(value)
    ? value.map((item) => written(item, inner))
    : Object.keys(value).sort().map((key) => `${written(key, inner)}:${newline === null ? "" : " "}${written(value[key], inner)}`);
  if (entries.length === 0) return open + close;
  return newline === null ? open + entries.join(",") + close : `${open}${inner}${entries.join(`,${inner}`)}${newline}${close}`;
}

// Parses a JSON file, which must be in the format of section 2.2.
export function parsed(bytes, name) {
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new Problem(`${name} is not JSON in UTF-8 (${error.message}).`);
  }
  if (!isObject(value)) throw new Problem(`${name} must hold one JSON object.`);
  return value;
}

export function isWrittenSo(value, bytes) {
  const expected = readable(value);
  return expected.length === bytes.length && expected.every((byte, place) => byte === bytes[place]);
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const isWhole = (value) => typeof value === "number" && Number.isSafeInteger(value);
export const same = (one, other) => written(one, null) === written(other, null);
export const sameSet = (one, other) => one.length === other.length && one.every((each) => other.includes(each));

// A defect of a release, in words. Any other exception is also a defect of the files, and never a reason to trust them.
export class Problem extends Error {}

export function need(condition, text) {
  if (!condition) throw new Problem(text);
}

export function needKeys(value, keys, where) {
  need(isObject(value), `${where} must be an object.`);
  for (const key of keys) need(Object.hasOwn(value, key), `${where}: the entry "${key}" is missing.`);
  for (const key of Object.keys(value)) need(keys.includes(key), `${where}: the entry "${key}" does not belong there.`);
}
