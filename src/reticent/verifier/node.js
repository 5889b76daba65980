// The verifier under node: `node node.js FOLDER [FOLDER ...]` prints one line of JSON for each public folder; with --key HEX the signature must be that key's.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { webcrypto } from "node:crypto";
import { verify } from "./core/verify.js";
import { readParquet } from "./parquet.js";

globalThis.crypto ??= webcrypto;

const given = process.argv.slice(2), at = given.indexOf("--key");
const key = at < 0 ? undefined : given.splice(at, 2)[1];
for (const folder of given.length === 1 && given[0] === "-" ? readFileSync(0, "utf8").split("\n").filter(Boolean) : given) {
  const files = new Map(readdirSync(folder).map((name) => [name, { size: statSync(join(folder, name)).size, bytes: async () => new Uint8Array(readFileSync(join(folder, name))) }]));
  const { checks, headline } = await verify(files, { readParquet, key });
  console.log(JSON.stringify({ folder, headline, checks: checks.map(({ id, name, status, detail }) => ({ id, name, status, detail })) }));
}
