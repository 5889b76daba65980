// Page behaviour beyond htmx swaps: file upload by drag and drop, keyboard shortcuts, the drawer, the filter, synchronized scrolling.
(function () {
  "use strict";
  const root = document;

  function say(message) {
    const notice = root.getElementById("notice");
    notice.textContent = "";
    const toast = root.createElement("div");
    toast.className = "toast";
    const words = root.createElement("p");
    words.textContent = message;
    const close = root.createElement("button");
    close.type = "button";
    close.className = "small quiet";
    close.textContent = "Close";
    close.addEventListener("click", () => toast.remove());
    toast.append(words, close);
    notice.append(toast);
  }

  // Files are uploaded as raw bodies; their name is sent in a header, not in the URL.
  function upload(file, address, bar) {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.setRequestHeader("HX-Request", "true");
    request.upload.addEventListener("progress", (event) => {
      if (bar && event.lengthComputable) { bar.hidden = false; bar.value = event.loaded / event.total; }
    });
    request.addEventListener("load", () => {
      if (bar) bar.hidden = true;
      if (request.getResponseHeader("content-type")?.includes("json")) location.assign(JSON.parse(request.responseText).address);
      else {
        const told = new DOMParser().parseFromString(request.responseText, "text/html").body.textContent.trim();
        say(told || "The file could not be taken over.");
      }
    });
    request.addEventListener("error", () => say("The workbench does not answer. Is it still running?"));
    request.send(file);
  }

  root.addEventListener("change", (event) => {
    const input = event.target.closest("[data-upload]");
    if (input && input.files.length) upload(input.files[0], input.dataset.upload, input.closest(".card")?.querySelector("progress"));
  });
  root.addEventListener("dragover", (event) => {
    const zone = event.target.closest?.("[data-drop]");
    event.preventDefault();
    if (zone) zone.classList.add("over");
  });
  root.addEventListener("dragleave", (event) => event.target.closest?.("[data-drop]")?.classList.remove("over"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.target.closest?.("[data-drop-folder]")) { verifyDropped(event.dataTransfer); return; }
    const zone = event.target.closest?.("[data-drop]") || root.querySelector("[data-drop]");
    if (!zone || !event.dataTransfer.files.length) return;
    zone.classList.remove("over");
    upload(event.dataTransfer.files[0], zone.dataset.drop, zone.querySelector("progress"));
  });

  root.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) root.getElementById("notice").textContent = "";
    if (event.target.closest("[data-theme-toggle]")) {
      const dark = root.documentElement.dataset.theme
        ? root.documentElement.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.documentElement.dataset.theme = dark ? "light" : "dark";
      localStorage.setItem("reticent-theme", root.documentElement.dataset.theme);
    }
    const opener = event.target.closest("[data-drawer]");
    if (opener) {
      const drawer = root.getElementById("drawer");
      htmx.ajax("GET", opener.dataset.drawer, { target: "#drawer-content", swap: "innerHTML" }).then(() => drawer.showModal());
    }
    if (event.target.closest("[data-close]") || event.target.id === "drawer") root.getElementById("drawer")?.close();
    const copied = event.target.closest("[data-copy]");
    if (copied) navigator.clipboard?.writeText(root.querySelector(copied.dataset.copy).textContent);
  });

  root.addEventListener("input", (event) => {
    if (event.target.type === "range") {
      const shown = event.target.closest("label")?.querySelector("output");
      if (shown) shown.textContent = event.target.value;
    }
    const field = event.target.closest("[data-filter]");
    if (!field) return;
    const words = field.value.trim().toLowerCase();
    for (const card of root.querySelectorAll(field.dataset.filter)) card.hidden = words !== "" && !card.dataset.name.includes(words);
  });

  root.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select");
    if (!typing && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      root.querySelector(`[data-key="${event.shiftKey ? "redo" : "undo"}"]:not(:disabled)`)?.click();
    }
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const card = event.target.closest(".column-card");
      const choice = card?.querySelector(`[data-letter="${CSS.escape(event.key.toLowerCase())}"]`);
      if (choice && !choice.checked) { choice.checked = true; choice.dispatchEvent(new Event("change", { bubbles: true })); choice.focus(); }
    }
  });

  // Synchronizes the scrolling of two grids.
  root.addEventListener("scroll", (event) => {
    const twin = event.target.closest?.("[data-twin]");
    if (!twin) return;
    for (const other of twin.querySelectorAll(".scroll")) {
      if (other !== event.target) { other.scrollTop = event.target.scrollTop; other.scrollLeft = event.target.scrollLeft; }
    }
  }, true);

  function choose(tab) {
    for (const each of tab.closest("[role=tablist]").querySelectorAll("[role=tab]")) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      root.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    }
    tab.focus();
  }
  root.addEventListener("click", (event) => { const tab = event.target.closest("[role=tab]"); if (tab) choose(tab); });
  root.addEventListener("keydown", (event) => {
    const tab = event.target.closest?.("[role=tab]");
    if (!tab || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const all = [...tab.closest("[role=tablist]").querySelectorAll("[role=tab]")];
    choose(all[(all.indexOf(tab) + (event.key === "ArrowRight" ? 1 : all.length - 1)) % all.length]);
  });

  // Uploads a folder file by file, then requests its verification.
  async function verify(files) {
    const token = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    for (const [path, file] of files) {
      await fetch(`/verify/file/${token}`, { method: "POST", body: file, headers: { "X-File-Name": encodeURIComponent(path) } });
    }
    htmx.ajax("POST", `/verify/dropped/${token}`, { target: "#verified", swap: "innerHTML" });
  }
  root.addEventListener("change", (event) => {
    const input = event.target.closest("[data-verify]");
    if (input && input.files.length) verify([...input.files].map((file) => [file.webkitRelativePath || file.name, file]));
  });
  async function filesOf(entry, path) {
    if (entry.isFile) return [[path + entry.name, await new Promise((found, failed) => entry.file(found, failed))]];
    const reader = entry.createReader(), found = [];
    for (;;) {
      const some = await new Promise((read, failed) => reader.readEntries(read, failed));
      if (!some.length) return found;
      for (const each of some) found.push(...await filesOf(each, `${path}${entry.name}/`));
    }
  }
  async function verifyDropped(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    verify((await Promise.all(entries.map((entry) => filesOf(entry, "")))).flat());
  }

  // Makes horizontally scrolling tables focusable, so that they scroll by keyboard.
  function reachable() {
    for (const table of root.querySelectorAll("table.plain")) {
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
      else table.removeAttribute("tabindex");
    }
  }
  root.addEventListener("htmx:load", reachable);
  root.addEventListener("toggle", reachable, true);
  addEventListener("resize", reachable);

  // On a phone the steps scroll horizontally: scrolls the current one into view.
  root.addEventListener("htmx:load", () => {
    const steps = root.querySelector(".steps"), step = steps?.querySelector("[aria-current]");
    if (step && steps.scrollWidth > steps.clientWidth) steps.scrollLeft = step.offsetLeft - (steps.clientWidth - step.offsetWidth) / 2;
  });

  // On a phone the state panel is collapsed at first, so that the page starts with its content.
  let unfolded = false;
  root.addEventListener("htmx:load", (event) => {
    const facts = event.detail.elt.querySelector?.(".facts");
    if (!facts || !matchMedia("(max-width: 860px)").matches) return;
    facts.open = unfolded;
    facts.addEventListener("toggle", () => { unfolded = facts.open; });
  });

  // A poll of the state that began before a change would find the page out of date and load it a second time, and with it what was typed
  // meanwhile: polls end when a change is posted, and begin again when the page shows it.
  let changing = false;
  root.addEventListener("htmx:beforeRequest", (event) => {
    const state = root.getElementById("rail-state");
    if (event.detail.requestConfig.verb === "post") {
      changing = true;
      if (state) htmx.trigger(state, "htmx:abort");
    } else if (changing && event.detail.elt === state) event.preventDefault();
  });
  root.addEventListener("htmx:afterRequest", (event) => {
    const goesOn = event.detail.successful && event.detail.xhr.getResponseHeader("HX-Location");
    if (event.detail.requestConfig.verb === "post" && !goesOn) changing = false;
  });
  root.addEventListener("htmx:load", (event) => { if (event.detail.elt.id === "app") changing = false; });
  for (const failure of ["htmx:sendError", "htmx:responseError", "htmx:sendAbort", "htmx:timeout"]) root.addEventListener(failure, (event) => {
    if (event.detail.elt.id !== "rail-state") changing = false;
  });

  root.addEventListener("htmx:sendError", () => say("The workbench does not answer. If it was stopped, start it again: this page goes on where it was."));
})();
