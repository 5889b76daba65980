// Signatures and hashes (docs/reference/release-format.md, sections 5.5 and 13.1): the browser's own Ed25519 and SHA-256, over canonical JSON.

import { canonical, isObject, isWrittenSo, need, parsed, Problem, same } from "./canonical.js";

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export const unhex = (text, length) => (typeof text === "string" && text.length === 2 * length && /^[0-9a-f]*$/.test(text) ? Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)) : null);
export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
export const hashOf = async (json) => hex(await sha256(canonical(json)));

// The keys that signed a body, in hexadecimal digits; null unless every signature is one of this body, by rising keys, each key once.
export async function signersOf(signatures, body) {
  for (const each of signatures) if (!(await isSignature(each, body))) return null;
  const keys = signatures.map((each) => each.public_key);
  return keys.every((key, at) => at === 0 || keys[at - 1] < key) ? keys : null;
}

async function isSignature(signature, body) {
  if (!isObject(signature) || !same(Object.keys(signature).sort(), ["algorithm", "public_key", "value"]) || signature.algorithm !== "Ed25519") return false;
  const [key, value] = [unhex(signature.public_key, 32), unhex(signature.value, 64)];
  if (key === null || value === null) return false;
  try {
    const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, imported, value, canonical(body));
  } catch (error) {
    if (error.name === "NotSupportedError") throw new Problem("This browser cannot check Ed25519 signatures. Use a current one.");
    return false;
  }
}

// Section 13.1: a signed document in serialized form. Its contents are checked by the caller.
export function readDocument(bytes, name) {
  const document = parsed(bytes, name);
  need(isWrittenSo(document, bytes), `${name} is not in the form that Reticent writes: it was changed.`);
  return document;
}

// Times have a canonical spelling, so that their texts sort by time.
export const isTime = (text) => typeof text === "string" && /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text.replace("Z", ".000Z");
export const isDigest = (text) => unhex(text, 32) !== null;
export const isName = (text) => typeof text === "string" && text.length > 0 && [...text].length <= 200;
