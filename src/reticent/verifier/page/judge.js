// The worker of the page: reads files, judges, and reports progress, so that the page itself never waits.

import { verify } from "../core/verify.js";
import { readParquet } from "../parquet.js";
import { ALWAYS, guarantee, leftOpen } from "./words.js";

self.onmessage = async ({ data: { files, key } }) => {
  const started = performance.now();
  let last = 0;
  const progress = (what, done, of) => {
    if (performance.now() - last < 50) return;
    last = performance.now();
    self.postMessage({ progress: { what, done, of } });
  };
  const opened = new Map(files.map(({ name, file }) => [name, { size: file.size, bytes: async () => new Uint8Array(await file.arrayBuffer()) }]));
  try {
    const { checks, headline, certificate, manifest, signed } = await verify(opened, { readParquet, progress, key });
    const told = checks.map(({ definition, ...check }) => check);
    const facts = manifest && { format: manifest.format, unit: manifest.unit, quasi: manifest.named("quasi"), sensitive: manifest.named("sensitive"), declared: manifest.named("declared"), sets: manifest.quasiSets };
    const decided = checks.filter((check) => check.definition && check.status === "holds").map((check) => check.definition);
    const words = facts && { guaranteed: [...new Set(decided.flatMap((each) => guarantee(each, facts)))], open: [...new Set([...decided.flatMap(leftOpen), ...ALWAYS])] };
    self.postMessage({ answer: { checks: told, words, headline, certificate, facts, signed, seconds: (performance.now() - started) / 1000 } });
  } catch (error) {
    self.postMessage({ answer: { checks: [{ id: "files", name: "files", status: "fails", detail: `The files cannot be understood (${error.message}).` }], headline: { state: "does not hold", reasons: [`The files cannot be understood (${error.message}).`] }, certificate: null, facts: null, seconds: 0 } });
  }
};
