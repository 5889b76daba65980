// The page: takes files, calls the worker, and shows the result. Everything from a release is inserted as text, never as markup.

const $ = (id) => document.getElementById(id);
const TITLES = { holds: "Holds", "holds, but": "Holds, but", "does not hold": "Does not hold", "not shown": "Not shown to hold" };
const LOOKS = { holds: "holds", "holds, but": "but", "does not hold": "fails", "not shown": "unknown", fails: "fails", "not re-checked": "unknown" };
const MEANINGS = {
  holds: "Every claim was decided again from the published files, and all of them hold.",
  "holds, but": "Every claim was decided again from the published files, and all of them hold. They do not cover this:",
  "does not hold": "Do not rely on this release. Something in it is not as it claims:",
  "not shown": "Nothing was found wrong, but this page could not decide every claim:",
};
let worker = null;

function node(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function list(items, className) {
  const made = node("ul", undefined, className);
  made.append(...items.map((item) => node("li", item)));
  return made;
}

// The publisher's key as 64 hexadecimal digits: given so, or as the PEM of an Ed25519 key, whose last 32 bytes it is.
function keyDigits(text) {
  const plain = text.trim();
  if (plain === "") return undefined;
  if (/^[0-9a-fA-F]{64}$/.test(plain)) return plain.toLowerCase();
  const body = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(plain);
  const bytes = body && [...atob(body[1].replace(/\s/g, ""))].map((each) => each.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  if (bytes && bytes.length === 88 && bytes.startsWith("302a300506032b6570032100")) return bytes.slice(24);
  throw new Error("The key is neither 64 hexadecimal digits nor the text of a .pub file.");
}

// The releases among chosen files, by folder: those of public/, or of the folder itself if it is one; anything deeper is not part of a release. Each is a list of {name, file}.
function releasesIn(entries) {
  const inside = entries.filter(({ path }) => /(^|\/)public\/[^/]+$/.test(path));
  const chosen = inside.length ? inside : entries.filter(({ path }) => path.split("/").length <= 2), folders = new Map();
  for (const { path, file } of chosen) {
    const folder = path.split("/").slice(0, -1).join("/");
    folders.set(folder, [...(folders.get(folder) ?? []), { name: path.split("/").at(-1), file }]);
  }
  return [...folders.values()];
}

async function dropped(items) {
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) found.push({ path: path + entry.name, file: await new Promise((done, fail) => entry.file(done, fail)) });
    else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((done, fail) => reader.readEntries(done, fail));
        if (some.length === 0) break;
        for (const each of some) await walk(each, `${path}${entry.name}/`);
      }
    }
  };
  for (const entry of [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean)) await walk(entry, "");
  return found;
}

function judge(entries) {
  worker?.terminate();
  $("answer").hidden = true;
  let key;
  try {
    key = keyDigits($("key").value);
  } catch (error) {
    return show({ checks: [], headline: { state: "not shown", reasons: [error.message] }, certificate: null, facts: null });
  }
  const releases = releasesIn(entries).filter((files) => files.some(({ name }) => name === "certificate.json"));
  if (releases.length === 0) return show({ checks: [], headline: { state: "not shown", reasons: [] }, foreign: true, count: entries.length, certificate: null, facts: null });
  $("working").hidden = false;
  $("step").textContent = "Reading …";
  $("progress").removeAttribute("value");
  worker = new Worker(URL.createObjectURL(new Blob([$("judge").textContent], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => {
    if (data.progress) {
      const { what, done, of } = data.progress;
      $("step").textContent = `${what[0].toUpperCase()}${what.slice(1)} …`;
      if (of) Object.assign($("progress"), { max: of, value: done });
      else $("progress").removeAttribute("value");
      return;
    }
    $("working").hidden = true;
    show(data.answer);
  };
  worker.onerror = (event) => {
    $("working").hidden = true;
    show({ checks: [], headline: { state: "not shown", reasons: [`This browser could not run the verifier: ${event.message ?? "its worker did not start"}.`] }, certificate: null, facts: null });
  };
  worker.postMessage({ releases, key, documents: [...$("documents").files], population: $("population").files[0] ?? null });
}

function verdict({ headline, foreign, count }) {
  const box = node("div", undefined, `verdict ${LOOKS[headline.state]}`);
  if (foreign) {
    box.append(node("h2", "This is not a release"), node("p", `There is no certificate.json among what was chosen (${count} ${count === 1 ? "file" : "files"}). Choose the folder "public" of a release, with all of its files.`));
    return box;
  }
  box.append(node("h2", TITLES[headline.state]), node("p", MEANINGS[headline.state]));
  if (headline.reasons.length) box.append(list(headline.reasons));
  return box;
}

function facts({ certificate, facts: described, signed, checks, seconds, releases }) {
  const made = node("dl", undefined, "facts");
  const add = (name, value) => made.append(node("dt", name), node("dd", value));
  const origin = checks.findLast((check) => check.id.endsWith("origin"));
  add("Made", `${certificate.created.replace("T", " ").replace("Z", " UTC")}, by Reticent ${certificate.reticent}`);
  add("Origin", origin?.status === "holds" ? origin.detail : signed ? "Signed; give the publisher's key to prove whose signature it is" : "Not signed: who made it cannot be proven");
  if (described) {
    add("An adversary may know", described.sets ? described.sets.map((set) => set.join(", ")).join("; or ") : described.quasi.join(", ") || "nothing of a person");
    if (described.sensitive.length) add("Confidential", described.sensitive.join(", "));
    if (described.declared.length) add("Declared unknown", described.declared.join(", "));
  }
  if (releases > 1) add("Releases", `${releases}, judged in their order, each beside those before it; the facts here are those of the last`);
  if (seconds) add("Decided in", `${seconds.toFixed(2)} seconds on this computer`);
  return made;
}

function show(answer) {
  const { checks, headline, certificate } = answer, place = $("answer");
  place.replaceChildren(verdict(answer));
  if (certificate) {
    place.append(facts(answer));
    const decided = checks.filter((check) => check.claim);
    if (headline.state.startsWith("holds")) {
      place.append(node("h3", "What is guaranteed"), list(answer.words.guaranteed, "promises"));
      place.append(node("h3", "What is not"), list(answer.words.open, "gaps"));
      place.append(node("p", "These words are this page's own, made from what it decided. The publisher's words are in STATEMENT.txt; reticent verify compares them.", "small"));
    } else if (decided.length === 0) place.append(node("p", "No claim was decided.", "small"));
  }
  if (checks.length) {
    const table = node("table"), head = node("thead"), body = node("tbody"), row = node("tr");
    row.append(node("th", "Check"), node("th", "Result"), node("th", "Why"));
    head.append(row);
    for (const { name, status, detail } of checks) {
      const line = node("tr"), result = node("td");
      result.append(node("span", status, `mark ${LOOKS[status]}`));
      line.append(node("td", name[0].toUpperCase() + name.slice(1)), result, node("td", detail));
      body.append(line);
    }
    table.append(head, body);
    place.append(node("h3", "Every check"), table);
  }
  place.hidden = false;
  place.dataset.state = headline.state;
  place.dataset.seconds = answer.seconds ?? "";
  place.scrollIntoView({ block: "start" });
}

for (const id of ["documents", "population"]) $(id).addEventListener("change", ({ target }) => { $(`${id}-chosen`).textContent = [...target.files].map((file) => file.name).join(", ") || "None chosen"; });
const chosen = (input) => [...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
for (const id of ["folder", "single"]) $(id).addEventListener("change", (event) => { judge(chosen(event.target)); event.target.value = ""; });
const drop = $("drop");
for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.remove("over"); });
document.addEventListener("drop", async (event) => judge(await dropped(event.dataTransfer.items)));
