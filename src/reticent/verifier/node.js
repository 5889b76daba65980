// The verifier under node: `node node.js [OPTIONS] FOLDER [FOLDER ...]` prints one line of JSON for each public folder; `-` reads the folders from the standard input.
// --series: the folders are releases of one series, first to last, and there is one result.
// --key HEX: the required signing key; --document FILE (several): trust files, a log or a proof, a remembered head; --population FILE; --now TIME, instead of the clock.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { webcrypto } from "node:crypto";
import { parseArgs } from "node:util";
import { verify, verifySeries } from "./core/verify.js";
import { readParquet } from "./parquet.js";

globalThis.crypto ??= webcrypto;

const text = { type: "string" };
const { values: given, positionals } = parseArgs({ allowPositionals: true, options: { key: text, document: { ...text, multiple: true }, population: text, now: text, series: { type: "boolean" } } });
const opened = (path) => ({ name: basename(path), size: statSync(path).size, bytes: async () => new Uint8Array(readFileSync(path)) });
const documents = new Map(await Promise.all((given.document ?? []).map(async (path) => [basename(path), await opened(path).bytes()])));
const surroundings = { readParquet, documents, key: given.key, now: given.now, population: given.population && opened(given.population) };
const folders = positionals[0] === "-" ? readFileSync(0, "utf8").split("\n").filter(Boolean) : positionals;
const filesOf = (folder) => new Map(readdirSync(folder).map((name) => [name, opened(join(folder, name))]));
const print = (folder, { checks, headline }) => console.log(JSON.stringify({ folder, headline, checks: checks.map(({ id, name, status, detail }) => ({ id, name, status, detail })) }));
if (given.series) print(folders.at(-1), await verifySeries(folders.map(filesOf), surroundings));
else for (const folder of folders) print(folder, await verify(filesOf(folder), surroundings));
