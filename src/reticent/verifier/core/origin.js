// Where a certificate comes from (docs/reference/release-format.md, sections 6.3, 13 and 14), given what the recipient knows about the publisher: nothing, a key, or trust files; and whether a log contains it.

import { need, parsed, same } from "./canonical.js";
import { holdersOf, TrustFile } from "./trust.js";
import { ConsistencyProof, InclusionProof, readHead, ReleaseLog, wordsOf } from "./log.js";
import { hashOf, signersOf } from "./signatures.js";

const MOST_SIGNATURES = 100;
const MOST_NAMED = 10;
const check = (id, status, detail) => ({ id, name: id, status, detail, claim: false });
const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

// `known`: {key, documents, now}; `documents` is a Map from names to bytes: trust files, a log or a proof, a remembered head. Returns {checks, signed, refused}.
export async function judgeOrigin(certificate, { key = null, documents = new Map(), now = currentTime() }) {
  let known;
  try {
    known = await readKnown(documents, now);
    need(key === null || known.trust === null, "There is a key and a trust file. Use one: the trust file names the keys.");
  } catch (error) {
    return { checks: [check("origin", "fails", error.message)], signed: false, refused: true };
  }
  const { logged, checks: beside } = known.log === null ? { logged: null, checks: [] } : await judgeLog(certificate, known, key, now);
  const { signature, ...body } = certificate;
  const signatures = signature === undefined ? [] : Array.isArray(signature) ? signature : [signature];
  const keys = Array.isArray(signature) && (signature.length < 2 || signature.length > MOST_SIGNATURES) ? null : await signersOf(signatures, body);
  const origin = keys === null ? check("origin", "fails", "The signature does not belong to this certificate.")
    : known.trust !== null ? await judgeByTrust(certificate, body, signatures, known.trust, logged, now)
    : judgeByKey(keys, key);
  return { checks: [origin, ...beside], signed: keys !== null && keys.length > 0, refused: (key !== null || known.trust !== null) && origin.status === "fails" };
}

export const currentTime = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");

// Classifies documents by their content. Several trust files are versions of one: each must be signed by the root keys of the one before (section 13.4).
async function readKnown(documents, now) {
  const known = { trust: null, log: null, head: null, consistency: null }, trusted = [];
  for (const [name, bytes] of documents) {
    const json = parsed(bytes, name), type = json.type ?? json.signed?.type ?? json.log?.type;
    const only = (place, value) => { need(known[place] === null, `${name} is a second document of its kind.`); known[place] = value; };
    if (type === "reticent-trust") trusted.push(TrustFile.read(bytes, name));
    else if (type === "reticent-log") only("log", await ReleaseLog.read(bytes, name));
    else if (type === "reticent-log-inclusion") only("log", await InclusionProof.read(bytes, name));
    else if (type === "reticent-log-consistency") only("consistency", await ConsistencyProof.read(bytes, name));
    else if (type === "reticent-log-head") only("head", await readHead(bytes, name));
    else need(false, `${name} is no trust file, no log, no proof and no head of a log.`);
  }
  trusted.sort((one, other) => one.body.version - other.body.version);
  for (const each of trusted) known.trust = known.trust === null ? each : await known.trust.updated(each, now);
  need(known.log !== null || (known.head === null && known.consistency === null), "A remembered head is compared with a log: give the log too, or a proof that the release is in it.");
  return known;
}

// Section 6.3.
function judgeByKey(keys, key) {
  if (keys.length === 0)
    return key === null
      ? check("origin", "not re-checked", "The certificate is not signed: it can be checked for consistency, but who made it cannot be proven.")
      : check("origin", "fails", "The certificate is not signed, so the key cannot prove its origin.");
  if (key === null) return check("origin", "not re-checked", `Signed with the key ${keys.map((each) => `${each.slice(0, 16)}...`).join(" and ")}; give that publisher's key to prove the origin.`);
  return keys.includes(key) ? check("origin", "holds", "Signed with the key that was given.") : check("origin", "fails", "The certificate was signed with another key.");
}

// Section 13.5.
async function judgeByTrust(certificate, body, signatures, trust, logged, now) {
  try {
    await trust.check(now);
  } catch (error) {
    return check("origin", "fails", error.message);
  }
  const { certificates: role, publisher, version, expires } = trust.body, { holders, refusals } = await trust.judge("certificates", body, signatures, certificate.created, logged);
  const needed = `${role.threshold} of ${holdersOf(role).length}`;
  if (holders.length >= role.threshold) return check("origin", "holds", `Signed by ${listed(holders)}; ${needed} are needed (trust file of "${publisher}", version ${version}, expires ${expires}).`);
  return check("origin", "fails", `Signatures of ${needed} holders are needed, and ${holders.length} count.${refusals.length ? ` Not counted: ${refusals.join("; ")}.` : ""}`);
}

// Section 14.5: since when a log contains the certificate, if its keys are trusted, and what was checked.
async function judgeLog(certificate, known, key, now) {
  const { log, trust } = known;
  try {
    const found = await log.find(certificate);
    need(found !== null, `The certificate is not in ${log.name} (${wordsOf(log.head)}).`);
    const history = await judgeHistory(known), { words, trusted } = await headSigners(log.head, key, trust, now);
    const text = `The certificate is entry ${found.index + 1} of ${log.size} in ${log.name}, added at ${found.entry.added}. ${words}`;
    return { logged: trust !== null && trusted ? found.entry.added : null, checks: [check("log", trusted ? "holds" : "not re-checked", text), history, await otherReleases(log, certificate)] };
  } catch (error) {
    return { logged: null, checks: [check("log", "fails", error.message)] };
  }
}

// Whether the log is consistent with the head that the recipient remembers.
async function judgeHistory({ log, head, consistency }) {
  if (head === null) return check("log history", "not re-checked", "No head is remembered, so a changed history is not found: keep the head of the log, and give it next time.");
  if (log instanceof ReleaseLog) await log.checkBeside(head);
  else if (!same(head.signed, log.head.signed)) {
    need(head.signed.log === log.head.signed.log, "The remembered head belongs to another log.");
    if (consistency === null) return check("log history", "not re-checked", "A proof that the release is in the log does not show its history: give the log, or a proof that it continues the remembered head.");
    need(same(consistency.older.signed, head.signed) && same(consistency.head.signed, log.head.signed), "The proof of consistency is about other heads than these.");
  }
  return check("log history", "holds", `The log is consistent with the remembered head: ${wordsOf(head)}.`);
}

// Who signed the head of a log.
async function headSigners(head, key, trust, now) {
  const signers = await signersOf(head.signatures, head.signed);
  if (trust !== null && trust.body.log.keys.length) {
    await trust.check(now);
    const { holders, refusals } = await trust.judge("log", head.signed, head.signatures, head.signed.time, null);
    need(holders.length >= trust.body.log.threshold, `The head of the log is not signed with keys that the trust file names for it: ${refusals.join("; ")}.`);
    return { words: `Its head is signed by ${listed(holders)}.`, trusted: true };
  }
  if (key !== null) {
    need(signers.includes(key), "The head of the log was signed with another key than the one given.");
    return { words: "Its head is signed with the key that was given.", trusted: true };
  }
  return { words: `Its head is signed with the key ${signers[0].slice(0, 16)}...; a trust file with keys for the log proves whose it is.`, trusted: false };
}

// Other releases of the data set that the log lists, and those that it should list.
async function otherReleases(log, { signature, ...certificate }) {
  const { dataset, release } = certificate.ledger;
  const told = (status, detail) => check("other releases", status, detail);
  if (!(log instanceof ReleaseLog)) return told("not re-checked", "A proof is about one release: which others there are shows the log alone.");
  if (dataset === null) return told("not re-checked", "The data set has no name, so other releases of it cannot be found in the log.");
  const listedThere = log.releasesOf(dataset), numbers = listedThere.map((entry) => entry.release);
  const twice = numbers.find((number, at) => numbers.indexOf(number) !== at);
  if (twice !== undefined) return told("fails", `The log has several certificates that are each release ${twice} of "${dataset}": different recipients got different ones.`);
  const own = await hashOf(certificate), others = listedThere.filter((entry) => entry.certificate !== own).map((entry) => `release ${entry.release} (made ${entry.created})`);
  const absent = [];
  for (let number = 1; number < release && absent.length < MOST_NAMED; number++) if (!numbers.includes(number)) absent.push(number);
  const words = others.length ? `Other releases of "${dataset}" in the log: ${others.join(", ")}.` : `The log has no other release of "${dataset}".`;
  return absent.length ? told("not re-checked", `${words} Release ${absent.join(", ")} came before this one and is not in the log: ask the publisher.`) : told("holds", words);
}
