// Logs of releases (docs/reference/release-format.md, section 14): certificates as leaves of an append-only Merkle tree, with signed heads and proofs.

import { canonical, isWhole, need, needKeys, same } from "./canonical.js";
import { hashOf, hex, isDigest, isName, isTime, readDocument, sha256, signersOf, unhex } from "./signatures.js";

// ---- The tree (section 14.3): hashes of leaves and of inner nodes begin with different bytes ----

const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const leafHash = (content) => sha256(joined([0], content));
const nodeHash = (left, right) => sha256(joined([1], left, right));
const isSame = (one, other) => hex(one) === hex(other);

async function rootOf(leaves) {
  if (leaves.length === 0) return sha256(new Uint8Array());
  let level = leaves;
  while (level.length > 1) {
    const next = [];
    // The last node of an odd level moves up unchanged.
    for (let at = 0; at < level.length; at += 2) next.push(at + 1 < level.length ? await nodeHash(level[at], level[at + 1]) : level[at]);
    level = next;
  }
  return level[0];
}

// Whether `path` leads from leaf number `index` of `size` to the root.
export async function isIncluded(leaf, index, size, path, root) {
  if (!(index >= 0 && index < size)) return false;
  let place = index, last = size - 1, found = leaf;
  for (const sibling of path) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      found = await nodeHash(sibling, found);
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)];
    } else found = await nodeHash(found, sibling);
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && isSame(found, root);
}

// Whether `path` proves that the tree of `size` leaves extends that of `oldSize`.
export async function isConsistent(oldSize, oldRoot, size, root, path) {
  if (oldSize === 0) return path.length === 0 && isSame(oldRoot, await rootOf([]));
  if (!(oldSize > 0 && oldSize <= size)) return false;
  if (oldSize === size) return path.length === 0 && isSame(oldRoot, root);
  // A complete old tree is a node of the new one, and its root is not repeated in the path.
  const isWholeTree = Number.isInteger(Math.log2(oldSize)), steps = isWholeTree ? [oldRoot, ...path] : path;
  if (steps.length === 0) return false;
  let place = oldSize - 1, last = size - 1, [before] = steps, after = before;
  while (place % 2 === 1) [place, last] = [half(place), half(last)];
  for (const sibling of steps.slice(1)) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      [before, after] = [await nodeHash(sibling, before), await nodeHash(sibling, after)];
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)];
    } else after = await nodeHash(after, sibling);
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && isSame(before, oldRoot) && isSame(after, root);
}

const half = (number) => Math.floor(number / 2);

// ---- Documents (sections 14.1, 14.2 and 14.4) ----

// The entry of a certificate that was added at a time.
async function entryOf({ signature, ...body }, added) {
  return { certificate: await hashOf(body), dataset: body.ledger.dataset, release: body.ledger.release, created: body.created, added };
}

export const wordsOf = ({ signed }) => `${signed.size} entries at ${signed.time}, root ${signed.root.slice(0, 16)}...`;

export class ReleaseLog {
  // Section 14.2: a log whose entries are those of its head.
  static async read(bytes, name) {
    const json = readDocument(bytes, name), log = Object.assign(new ReleaseLog(), { header: json.log, entries: json.entries, head: json.head });
    needKeys(json, ["log", "entries", "head"], name);
    needKeys(json.log, ["type", "layout", "name", "created"], `${name}, log`);
    need(json.log.type === "reticent-log" && json.log.layout === 1 && isName(json.log.name) && isTime(json.log.created), `${name}: this is no log of layout 1.`);
    need(Array.isArray(json.entries), `${name}: entries must be a list.`);
    for (const entry of json.entries) checkEntry(entry, `${name}, entries`);
    await checkHead(json.head, `${name}, head`);
    const { signed } = log.head;
    log.leaves = await Promise.all(log.entries.map((entry) => leafHash(canonical(entry))));
    need(signed.log === (await hashOf(log.header)), `${name}: the head belongs to another log.`);
    need(signed.size === log.entries.length && signed.root === hex(await rootOf(log.leaves)), `${name}: the head covers ${signed.size} entries with another root than the ${log.entries.length} entries that are there. Entries were removed, changed or put in another order.`);
    const times = [log.header.created, ...log.entries.map(({ added }) => added), signed.time];
    need(times.every((time, at) => at === 0 || times[at - 1] <= time), `${name}: the times of the entries are not in increasing order.`);
    return log;
  }

  get name() { return `the log "${this.header.name}"`; }
  get size() { return this.entries.length; }

  // The entry of a certificate with its index, or null.
  async find(certificate) {
    for (const [index, entry] of this.entries.entries()) if (same(entry, await entryOf(certificate, entry.added))) return { index, entry };
    return null;
  }

  // Section 14.5: the log is consistent with an older head.
  async checkBeside(older) {
    const [old, now] = [older.signed, this.head.signed];
    need(old.log === now.log, "The remembered head belongs to another log.");
    need(old.size <= now.size, `The log has ${now.size} entries, and had ${old.size} at ${old.time}: entries were removed, or this is an older copy.`);
    need(old.root === hex(await rootOf(this.leaves.slice(0, old.size))), `The log does not begin with the ${old.size} entries that it had at ${old.time}: its history was changed, or different readers are shown different logs. Keep both signed heads: together they prove it.`);
  }

  releasesOf(dataset) { return this.entries.filter((entry) => entry.dataset === dataset); }
}

// Section 14.4: an inclusion proof: one entry, and the path from it to the root of a head.
export class InclusionProof {
  static async read(bytes, name) {
    const json = readDocument(bytes, name);
    needKeys(json, ["type", "layout", "entry", "index", "path", "head"], name);
    need(json.type === "reticent-log-inclusion" && json.layout === 1 && isWhole(json.index) && isPath(json.path, 64), `${name}: this is no proof of inclusion of layout 1.`);
    checkEntry(json.entry, `${name}, entry`);
    await checkHead(json.head, `${name}, head`);
    const { size, root } = json.head.signed;
    need(await isIncluded(await leafHash(canonical(json.entry)), json.index, size, json.path.map(bytesOf), bytesOf(root)), "The proof does not show that its entry is in the log of its head.");
    return Object.assign(new InclusionProof(), json);
  }

  get name() { return "the log of the proof"; }
  get size() { return this.head.signed.size; }

  async find(certificate) { return same(this.entry, await entryOf(certificate, this.entry.added)) ? { index: this.index, entry: this.entry } : null; }
}

// Section 14.4: a consistency proof: the log of an older head is a prefix of that of a newer one.
export class ConsistencyProof {
  static async read(bytes, name) {
    const json = readDocument(bytes, name);
    needKeys(json, ["type", "layout", "older", "head", "path"], name);
    need(json.type === "reticent-log-consistency" && json.layout === 1 && isPath(json.path, 128), `${name}: this is no proof of consistency of layout 1.`);
    await checkHead(json.older, `${name}, older`);
    await checkHead(json.head, `${name}, head`);
    const [old, now] = [json.older.signed, json.head.signed];
    need(old.log === now.log, "The two heads are of different logs.");
    need(await isConsistent(old.size, bytesOf(old.root), now.size, bytesOf(now.root), json.path.map(bytesOf)), `The proof does not show that the log of ${old.size} entries is the beginning of that of ${now.size}.`);
    return Object.assign(new ConsistencyProof(), json);
  }
}

export async function readHead(bytes, name) {
  const head = readDocument(bytes, name);
  await checkHead(head, name);
  return head;
}

const bytesOf = (digest) => unhex(digest, 32);
const isPath = (path, most) => Array.isArray(path) && path.length <= most && path.every(isDigest);

function checkEntry(entry, where) {
  needKeys(entry, ["certificate", "dataset", "release", "created", "added"], where);
  const named = (entry.dataset === null || typeof entry.dataset === "string") && (entry.release === null || isWhole(entry.release));
  need(isDigest(entry.certificate) && named && isTime(entry.created) && isTime(entry.added), `${where}: an entry is wrong.`);
}

async function checkHead(head, where) {
  needKeys(head, ["signed", "signatures"], where);
  needKeys(head.signed, ["type", "layout", "log", "size", "root", "time"], `${where}, signed`);
  const { type, layout, log, size, root, time } = head.signed;
  need(type === "reticent-log-head" && layout === 1 && isDigest(log) && isWhole(size) && size >= 0 && isDigest(root) && isTime(time), `${where}: this is no head of layout 1.`);
  need(Array.isArray(head.signatures) && head.signatures.length > 0 && head.signatures.length <= 100, `${where}: a head has 1 to 100 signatures.`);
  need((await signersOf(head.signatures, head.signed)) !== null, "A signature of the log's head is invalid: the head was changed.");
}
