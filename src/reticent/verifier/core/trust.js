// Trust files (docs/reference/release-format.md, section 13): which keys may sign, from when to when, and how many holders must.

import { isObject, isWhole, need, needKeys, same } from "./canonical.js";
import { isDigest, isName, isTime, readDocument, signersOf } from "./signatures.js";

const MOST_KEYS = 200;

export class TrustFile {
  constructor(body, signatures) { Object.assign(this, { body, signatures }); }

  // Section 13.2: the file, with every entry checked.
  static read(bytes, name) {
    const json = readDocument(bytes, name);
    needKeys(json, ["signed", "signatures"], name);
    need(Array.isArray(json.signatures), `${name}: signatures must be a list.`);
    checkBody(json.signed, `${name}, signed`);
    return new TrustFile(json.signed, json.signatures);
  }

  get name() { return `The trust file of "${this.body.publisher}", version ${this.body.version},`; }

  // Section 13.3: enough root keys have signed it, including the previous ones if it replaces them, and it has not expired.
  async check(now) {
    const roots = [this.body.root, ...(this.body.former_root === null ? [] : [this.body.former_root])];
    let missing = 0;
    for (const role of roots) missing += await this.lacks(role);
    need(missing === 0, `${this.name} lacks ${missing} signatures of root keys.`);
    need(now < this.body.expires, `${this.name} expired at ${this.body.expires}: revocations may have been withheld from you since. Get a newer one from the publisher.`);
  }

  async lacks(role) {
    const signers = await signersOf(this.signatures, this.body);
    need(signers !== null, "A signature of the trust file is invalid: the file was changed.");
    return Math.max(role.threshold - role.keys.filter(({ key }) => signers.includes(key)).length, 0);
  }

  // Section 13.4: `newer`, if the root keys of this version signed it.
  async updated(newer, now) {
    await newer.check(now);
    const [mine, theirs] = [this.body, newer.body];
    need(theirs.version >= mine.version, `The new trust file has version ${theirs.version}, but version ${mine.version} is already known: an older file may hide revocations.`);
    need(theirs.version > mine.version || same(theirs, mine), `There are two different trust files of version ${mine.version}. Ask the publisher through another channel which one is genuine.`);
    need((await newer.lacks(mine.root)) === 0, `Version ${theirs.version} is not signed by the root keys of version ${mine.version}.`);
    return newer;
  }

  // Section 13.5: whose signatures of `body` count, for what states the time `stated` and was in a log at `logged` (null: in none): {holders, refusals}; null if a signature is not of this body.
  async judge(role, body, signatures, stated, logged) {
    const signers = await signersOf(signatures, body);
    if (signers === null) return null;
    const { keys } = this.body[role], counted = new Set(), refusals = [];
    for (const key of signers) {
      const known = keys.find((each) => each.key === key);
      const why = known ? refusal(known, stated, logged) : `the key ${key.slice(0, 16)}... is not in the trust file`;
      if (why === null) counted.add(known.holder);
      else refusals.push(why);
    }
    return { holders: holdersOf(this.body[role]).filter((holder) => counted.has(holder)), refusals };
  }
}

// Section 13.5. The times signed by a compromised key prove nothing: only a log, signed with other keys, shows what existed before.
function refusal({ holder, valid_from, valid_until, revoked }, stated, logged) {
  if (stated < valid_from) return `the key of ${holder} is valid from ${valid_from} on, and the certificate states ${stated}`;
  if (stated >= valid_until) return `the key of ${holder} expired at ${valid_until}, and the certificate states ${stated}`;
  if (revoked === null) return null;
  const said = `the key of ${holder} was revoked as ${revoked.reason} from ${revoked.on} on`;
  if (revoked.reason === "retired") return stated < revoked.on ? null : `${said}, and the certificate states ${stated}`;
  if (logged === null) return `${said}: the time that the certificate states proves nothing, and no log shows that it existed before`;
  return logged < revoked.on ? null : `${said}, and the certificate was logged at ${logged}`;
}

export const holdersOf = (role) => [...new Set(role.keys.map(({ holder }) => holder))];

function checkBody(body, where) {
  needKeys(body, ["type", "layout", "publisher", "version", "issued", "expires", "root", "former_root", "certificates", "log"], where);
  need(body.type === "reticent-trust" && body.layout === 1, `${where}: this is no trust file of layout 1.`);
  need(isName(body.publisher) && isWhole(body.version) && body.version >= 1 && isTime(body.issued) && isTime(body.expires), `${where}: publisher, version, issued or expires are wrong.`);
  need(body.expires > body.issued, `${where}: it expires before it is issued.`);
  checkRole(body.root, isRootKey, `${where}, root`);
  if (body.former_root !== null) checkRole(body.former_root, isRootKey, `${where}, former_root`);
  for (const name of ["certificates", "log"]) checkRole(body[name], isSigningKey, `${where}, ${name}`);
  const roots = body.root.keys, every = [body.root, body.certificates, body.log].flatMap((role) => role.keys.map(({ key }) => key));
  need(roots.length > 0 && (body.former_root === null || body.former_root.keys.length > 0), `${where}: there is no root key.`);
  need(new Set(every).size === every.length, `${where}: a key occurs twice. Each key has one holder and one purpose.`);
  need(holdersOf(body.root).length === roots.length, `${where}: a holder has two root keys and would count twice.`);
  for (const [name, many] of [["root", roots.length], ["certificates", holdersOf(body.certificates).length], ["log", Math.max(holdersOf(body.log).length, 1)]])
    need(body[name].threshold <= many, `${where}: ${name} needs more signatures than holders have keys.`);
}

function checkRole(role, isKey, where) {
  needKeys(role, ["keys", "threshold"], where);
  need(Array.isArray(role.keys) && role.keys.length <= MOST_KEYS && role.keys.every(isKey) && isWhole(role.threshold) && role.threshold >= 1, `${where}: keys or threshold are wrong.`);
}

const hasKeys = (value, ...keys) => isObject(value) && same(Object.keys(value).sort(), keys.sort());
const isRootKey = (each) => hasKeys(each, "holder", "key") && isName(each.holder) && isDigest(each.key);
const isSigningKey = (each) =>
  hasKeys(each, "holder", "key", "valid_from", "valid_until", "revoked") && isName(each.holder) && isDigest(each.key) && isTime(each.valid_from) && isTime(each.valid_until) &&
  each.valid_from <= each.valid_until && (each.revoked === null || (hasKeys(each.revoked, "on", "reason") && isTime(each.revoked.on) && ["retired", "compromised"].includes(each.revoked.reason)));
