// The web worker of the page: reads files, verifies, and reports progress, so that the page stays responsive.

import { parsed } from "../core/canonical.js";
import { verify, verifySeries } from "../core/verify.js";
import { readParquet } from "../parquet.js";
import { ALWAYS, guarantee, leftOpen } from "./words.js";

const opened = (file) => ({ name: file.name, size: file.size, bytes: async () => new Uint8Array(await file.arrayBuffer()) });

// Releases of a series in the order of their numbers, or of the times that they state if they have none; the verification checks this order.
async function inOrder(releases) {
  const stated = await Promise.all(releases.map(async (files) => {
    try {
      const { ledger, created } = parsed(await files.get("certificate.json").bytes(), "certificate.json");
      return { files, number: ledger.release, created };
    } catch {
      return { files, number: null, created: "" };
    }
  }));
  const numbered = stated.every(({ number }) => Number.isSafeInteger(number));
  return stated.sort((one, other) => (numbered ? one.number - other.number : one.created < other.created ? -1 : 1)).map(({ files }) => files);
}

self.onmessage = async ({ data: { releases, key, documents, population } }) => {
  const started = performance.now();
  let last = 0;
  const progress = (what, done, of) => {
    if (performance.now() - last < 50) return;
    last = performance.now();
    self.postMessage({ progress: { what, done, of } });
  };
  try {
    const known = new Map(await Promise.all(documents.map(async (file) => [file.name, await opened(file).bytes()])));
    const surroundings = { readParquet, progress, key, documents: known, population: population && opened(population) };
    const listed = releases.map((files) => new Map(files.map(({ name, file }) => [name, opened(file)])));
    const { checks, headline, certificate, manifest, signed } = listed.length > 1 ? await verifySeries(await inOrder(listed), surroundings) : await verify(listed[0], surroundings);
    const told = checks.map(({ definition, ...check }) => check);
    const facts = manifest && { format: manifest.format, unit: manifest.unit, quasi: manifest.named("quasi"), sensitive: manifest.named("sensitive"), declared: manifest.named("declared"), sets: manifest.quasiSets };
    const decided = checks.filter((check) => check.definition && check.status === "holds").map((check) => check.definition);
    const words = facts && { guaranteed: [...new Set(decided.flatMap((each) => guarantee(each, facts)))], open: [...new Set([...decided.flatMap(leftOpen), ...ALWAYS])] };
    self.postMessage({ answer: { checks: told, words, headline, certificate, facts, signed, releases: listed.length, seconds: (performance.now() - started) / 1000 } });
  } catch (error) {
    self.postMessage({ answer: { checks: [{ id: "files", name: "files", status: "fails", detail: `The files cannot be parsed (${error.message}).` }], headline: { state: "does not hold", reasons: [`The files cannot be parsed (${error.message}).`] }, certificate: null, facts: null, seconds: 0 } });
  }
};
