// Hierarchy editor of a column. It edits a description in policy notation and previews what remains at each level.
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  function drawn(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  // Parses a CSV file, including quoted cells; the delimiter is the candidate that occurs most often in the first line.
  function cells(text) {
    const first = text.split(/\r?\n/, 1)[0];
    const separator = (first.match(/;/g) || []).length >= (first.match(/,/g) || []).length ? ";" : ",";
    const rows = [[]];
    let cell = "", quoted = false;
    const end = () => { rows.at(-1).push(cell.trim()); cell = ""; };
    for (let place = 0; place < text.length; place += 1) {
      const letter = text[place];
      if (quoted) {
        if (letter !== '"') cell += letter;
        else if (text[place + 1] === '"') { cell += '"'; place += 1; } else quoted = false;
      } else if (letter === '"' && cell.trim() === "") { cell = ""; quoted = true; }
      else if (letter === separator) end();
      else if (letter === "\n") { end(); rows.push([]); }
      else if (letter !== "\r") cell += letter;
    }
    end();
    return rows.filter((row) => row.length > 1 || row[0] !== "");
  }
  function numbers(text) { return text.split(/[,;\s]+/).filter(Boolean).map(Number).filter((one) => Number.isFinite(one)); }

  class Editor {
    constructor(root) {
      this.root = root;
      this.start = JSON.parse(root.dataset.start);
      this.kind = this.start.kinds[this.start.description.kind] ? this.start.description.kind : "kept";
      this.given = this.start.description;
      this.limits = { min_level: this.given.min_level || 0, max_level: this.given.max_level };
      this.state = this.begin(this.kind);
      this.timer = null;
      this.draw();
      this.write();
    }

    // Initial state of an editor: from the policy, or a sensible default.
    begin(kind) {
      const own = this.given.kind === kind ? this.given : {};
      const low = this.start.chart.edges ? this.start.chart.edges[0] : 0;
      const high = this.start.chart.edges ? this.start.chart.edges.at(-1) : 100;
      if (kind === "intervals") {
        const unit = Math.pow(10, Math.max(Math.floor(Math.log10((high - low) / 8 || 1)), this.start.type === "integer" ? 0 : -6));
        return { widths: own.widths || [unit * 5, unit * 10, unit * 20, unit * 40], origin: own.origin ?? 0, domain: own.domain };
      }
      if (kind === "cuts") return { borders: this.borders(own.levels, low, high), domain: own.domain };
      if (kind === "masking") {
        const longest = Math.max(...this.start.values.map((one) => String(one.value ?? "").length), 1);
        return { digits: own.digits || longest, keep: own.keep || Array.from({ length: longest }, (_, place) => longest - place), domain: own.domain };
      }
      if (kind === "dates") return { levels: own.levels || ["month", "quarter", "year"], domain: own.domain, timezone: own.timezone };
      if (kind === "order") return { sizes: own.sizes || [2, 4], values: own.values || this.start.values.map((one) => one.value), labels: own.labels, from_data: own.values ? own.from_data : true };
      if (kind === "priority") {
        const sorted = [...this.start.values].sort((one, other) => other.rows - one.rows).map((one) => one.value);
        return { keep: own.keep || [Math.max(1, Math.min(5, sorted.length - 1))], values: own.values || sorted, other: own.other || "Other", from_data: own.values ? own.from_data : true };
      }
      if (kind === "taxonomy") return { tree: this.tree(), from_data: own.kind ? own.from_data : true };
      return {};
    }

    borders(levels, low, high) {
      if (levels && levels.length) return levels[0].map((value) => ({ value: Number(value), rank: levels.filter((level) => level.map(Number).includes(Number(value))).length }));
      const whole = this.start.type === "integer";
      return [1, 2, 3].map((part) => ({ value: whole ? Math.round(low + (high - low) * part / 4) : low + (high - low) * part / 4, rank: part === 2 ? 2 : 1 }));
    }

    // Midpoint of the widest interval: the default position of a new border.
    widest(low, high) {
      const values = [low, ...this.state.borders.map((one) => one.value).sort((one, other) => one - other), high];
      const place = values.slice(1).reduce((best, value, at) => value - values[at] > values[best + 1] - values[best] ? at : best, 0);
      return (values[place] + values[place + 1]) / 2;
    }

    // Builds a tree from the current labels of the values at each level.
    tree() {
      const top = { label: "", children: [] };
      const rows = new Map(this.start.values.map((one) => [String(one.value), one.rows]));
      for (const path of this.start.paths) {
        let place = top;
        const way = path.slice(1).reverse();
        for (let step = 0; step < way.length; step += 1) {
          if (way[step] === path[0] && way.slice(step).every((label) => label === path[0])) break;
          let next = place.children.find((one) => one.children && one.label === way[step]);
          if (!next) { next = { label: way[step], children: [] }; place.children.push(next); }
          place = next;
        }
        place.children.push({ value: path[0], rows: rows.get(path[0]) || 0 });
      }
      return top;
    }

    described() {
      const limits = {};
      if (this.limits.min_level) limits.min_level = this.limits.min_level;
      if (this.limits.max_level !== undefined && this.limits.max_level !== null && this.limits.max_level !== "") limits.max_level = this.limits.max_level;
      const kept = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== false));
      const state = this.state;
      if (this.kind === "kept") { const { min_level, max_level, ...rest } = this.given; return { ...rest, ...limits }; }
      if (this.kind === "cuts") {
        // Borders at the same value are merged and keep the higher level.
        const ranks = new Map();
        for (const one of state.borders) ranks.set(one.value, Math.max(one.rank, ranks.get(one.value) || 0));
        const sorted = [...ranks].sort((one, other) => one[0] - other[0]).map(([value, rank]) => ({ value, rank }));
        const high = Math.max(...sorted.map((one) => one.rank), 0);
        const levels = Array.from({ length: high }, (_, place) => sorted.filter((one) => one.rank > place).map((one) => one.value));
        return kept({ kind: "cuts", levels, domain: state.domain, ...limits });
      }
      if (this.kind === "taxonomy") return kept({ kind: "taxonomy", tree: this.plain(state.tree), from_data: state.from_data || undefined, ...limits });
      if (this.kind === "listed") return { kind: "listed", rows: state.rows, ...limits };
      return kept({ kind: this.kind, ...state, ...limits });
    }

    // Nested tables with lists of values; values beside groups get a group of their own name.
    plain(node) {
      const groups = node.children.filter((one) => one.children);
      const leaves = node.children.filter((one) => !one.children);
      if (!groups.length) return leaves.map((one) => one.value);
      const found = {};
      for (const group of groups) if (group.children.length) found[group.label] = this.plain(group);
      for (const leaf of leaves) found[leaf.value] = [leaf.value];
      return found;
    }

    write() {
      let described = this.described();
      if (this.kind === "taxonomy" && Array.isArray(described.tree)) described = { kind: "suppression" };
      document.getElementById("levels-description").value = JSON.stringify(described);
      return described;
    }

    changed() {
      const described = this.write();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        htmx.ajax("POST", this.root.dataset.try, { target: "#levels-effect", swap: "innerHTML", values: { place: this.start.place, description: JSON.stringify(described) } });
      }, 250);
    }

    draw() {
      const kinds = { ...(this.kind === "kept" ? { kept: `As it is (${this.given.kind})` } : {}), ...(this.kind === "listed" ? { listed: "Imported value by value" } : {}), ...this.start.kinds };
      const choice = make("select", { id: "levels-kind", on: { change: (event) => { this.kind = event.target.value; this.state = this.begin(this.kind); this.draw(); this.changed(); } } },
        ...Object.entries(kinds).map(([key, words]) => make("option", { value: key, selected: key === this.kind }, words)));
      this.root.replaceChildren(make("label", {}, "Kind of levels", choice), this[`draw_${this.kind}`] ? this[`draw_${this.kind}`]() : make("p", { class: "hint" }, this.kind === "suppression" ? "Each value is published as it is, or not at all." : "Choose another kind to edit the levels."), this.drawLimits());
    }

    field(label, value, take, attributes) {
      return make("label", {}, label, make("input", { value, autocomplete: "off", ...attributes, on: { input: (event) => { take(event.target.value); this.changed(); } } }));
    }

    drawLimits() {
      const low = this.field("Finest level that may be published", this.limits.min_level, (text) => { this.limits.min_level = Number(text) || 0; }, { type: "number", min: 0 });
      const high = this.field("Coarsest (empty: all)", this.limits.max_level ?? "", (text) => { this.limits.max_level = text === "" ? undefined : Number(text); }, { type: "number", min: 0 });
      return make("div", { class: "fields" }, low, high);
    }

    draw_intervals() {
      return make("div", { class: "fields" },
        this.field("Widths, each a multiple of the one before", this.state.widths.join(", "), (text) => { this.state.widths = numbers(text); }),
        this.field("Counted from", this.state.origin, (text) => { this.state.origin = Number(text) || 0; }));
    }

    draw_masking() {
      const keep = this.field("How many stay, level by level; first all of them", this.state.keep.join(", "), (text) => { this.state.keep = numbers(text); });
      const digits = this.field("Characters of a code", this.state.digits, (text) => {
        this.state.digits = Number(text) || 1;
        this.state.keep = [this.state.digits, ...this.state.keep.filter((one) => one < this.state.digits)];
        keep.querySelector("input").value = this.state.keep.join(", ");
      }, { type: "number", min: 1 });
      return make("div", { class: "fields" }, digits, keep);
    }

    draw_dates() {
      return make("fieldset", { class: "units" }, make("legend", {}, "Units, from fine to coarse"), ...this.start.units.map((unit) =>
        make("label", { class: "choice" }, make("input", { type: "checkbox", checked: this.state.levels.includes(unit), on: { change: (event) => {
          this.state.levels = this.start.units.filter((one) => one === unit ? event.target.checked : this.state.levels.includes(one));
          this.changed();
        } } }), make("span", {}, unit))));
    }

    draw_priority() {
      return make("div", {}, make("div", { class: "fields" },
        this.field("How many stay themselves, level by level", this.state.keep.join(", "), (text) => { this.state.keep = numbers(text); }),
        this.field("The others are called", this.state.other, (text) => { this.state.other = text; })), this.listOf(this.state.values));
    }

    draw_order() {
      return make("div", {}, make("div", { class: "fields" },
        this.field("How many neighbours together, level by level", this.state.sizes.join(", "), (text) => { this.state.sizes = numbers(text); })), this.listOf(this.state.values));
    }

    draw_listed() { return make("p", { class: "hint" }, `${this.state.rows.length} values with their labels were imported.`); }

    listOf(values) {
      const move = (place, step) => {
        const [one] = values.splice(place, 1);
        values.splice(place + step, 0, one);
        this.state.labels = undefined;
        this.draw();
        this.changed();
        this.root.querySelector(`[data-place="${place + step}"]`)?.focus();
      };
      return make("ol", { class: "order-list" }, ...values.map((value, place) => make("li", {}, make("span", {}, String(value)),
        make("button", { type: "button", class: "small quiet", "aria-label": `Move ${value} up`, "data-place": place, disabled: place === 0, on: { click: () => move(place, -1) } }, "↑"),
        make("button", { type: "button", class: "small quiet", "aria-label": `Move ${value} down`, disabled: place === values.length - 1, on: { click: () => move(place, 1) } }, "↓"))));
    }

    // Borders on the histogram: drag them or use the left and right keys; up and down set the number of levels that keep the border.
    draw_cuts() {
      const chart = this.start.chart;
      if (chart.kind !== "bins") {
        return this.field("Borders", this.state.borders.map((one) => one.value).join(", "), (text) => { this.state.borders = numbers(text).map((value) => ({ value, rank: 1 })); });
      }
      const width = 640, height = 190, base = 160, low = chart.edges[0], high = chart.edges.at(-1), whole = this.start.type === "integer";
      const x = (value) => ((value - low) / (high - low)) * width;
      const back = (place) => { const value = low + (Math.min(Math.max(place, 0), width) / width) * (high - low); return whole ? Math.round(value) : Number(value.toPrecision(4)); };
      const top = Math.max(...chart.counts, 1);
      const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart cuts", role: "group", "aria-label": "Borders on the histogram" });
      chart.counts.forEach((count, place) => svg.append(drawn("rect", { class: "bar faint", x: x(chart.edges[place]) + 0.5, y: base - (base - 20) * count / top, width: Math.max(x(chart.edges[place + 1]) - x(chart.edges[place]) - 1, 0.5), height: (base - 20) * count / top })));
      svg.append(drawn("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }));
      const place = (event) => { const box = svg.getBoundingClientRect(); return (event.clientX - box.left) * width / box.width; };
      const highest = () => Math.max(...this.state.borders.map((one) => one.rank), 1);
      const handle = (border) => {
        const line = drawn("line", { class: "border" }), grip = drawn("circle", { class: "grip", r: 8 }), words = drawn("text", { class: "tick", "text-anchor": "middle", y: base + 16 });
        const group = drawn("g", { tabindex: 0, role: "slider", class: "handle" }, line, grip, words);
        const show = () => {
          const at = x(border.value), up = 20 + (1 - border.rank / Math.max(highest(), 1)) * 90;
          line.setAttribute("x1", at); line.setAttribute("x2", at); line.setAttribute("y1", up); line.setAttribute("y2", base);
          grip.setAttribute("cx", at); grip.setAttribute("cy", up); words.setAttribute("x", at); words.textContent = border.value;
          group.setAttribute("aria-valuenow", border.value); group.setAttribute("aria-valuemin", low); group.setAttribute("aria-valuemax", high);
          group.setAttribute("aria-label", `Border at ${border.value}, on ${border.rank} level${border.rank === 1 ? "" : "s"}`);
        };
        group.addEventListener("pointerdown", (event) => {
          event.preventDefault(); event.stopPropagation();
          group.setPointerCapture(event.pointerId);
          const move = (moved) => { border.value = back(place(moved)); show(); };
          const done = () => { group.removeEventListener("pointermove", move); this.draw(); this.changed(); };
          group.addEventListener("pointermove", move);
          group.addEventListener("pointerup", done, { once: true });
        });
        group.addEventListener("keydown", (event) => {
          const step = whole ? 1 : (high - low) / 100;
          if (event.key === "ArrowLeft") border.value = back(x(border.value - step));
          else if (event.key === "ArrowRight") border.value = back(x(border.value + step));
          else if (event.key === "ArrowUp") border.rank += 1;
          else if (event.key === "ArrowDown") border.rank = Math.max(1, border.rank - 1);
          else if (event.key === "Delete" || event.key === "Backspace") this.state.borders.splice(this.state.borders.indexOf(border), 1);
          else return;
          event.preventDefault();
          const kept = this.state.borders.indexOf(border);
          this.draw(); this.changed();
          this.root.querySelectorAll(".handle")[kept]?.focus();
        });
        show();
        return group;
      };
      for (const border of this.state.borders) svg.append(handle(border));
      svg.addEventListener("dblclick", (event) => { this.state.borders.push({ value: back(place(event)), rank: 1 }); this.draw(); this.changed(); });
      const more = make("button", { type: "button", class: "small quiet", on: { click: () => { this.state.borders.push({ value: back(x(this.widest(low, high))), rank: 1 }); this.draw(); this.changed(); } } }, "Add a border");
      return make("div", {}, svg, make("p", { class: "hint" }, "Drag a border, or move it with the arrow keys. Up and down say on how many levels it stays; Delete removes it; a double click adds one."), more);
    }

    draw_taxonomy() {
      const picked = new Set();
      const redraw = () => { this.draw(); this.changed(); };
      const parentOf = (node, within) => within.children.includes(node) ? within : within.children.filter((one) => one.children).map((one) => parentOf(node, one)).find(Boolean);
      const inside = (node, within) => node === within || (within.children || []).some((one) => inside(node, one));
      const move = (nodes, target) => {
        for (const node of nodes) {
          if (inside(target, node)) continue;
          const parent = parentOf(node, this.state.tree);
          parent.children.splice(parent.children.indexOf(node), 1);
          target.children.push(node);
        }
      };
      let dragged = null;
      const item = (node) => {
        const label = node.children ? node.label : String(node.value);
        const tick = make("input", { type: "checkbox", "aria-label": `Choose ${label}`, on: { change: (event) => { if (event.target.checked) picked.add(node); else picked.delete(node); } } });
        const shown = node.children
          ? make("input", { class: "group-name", value: label, "aria-label": `Name of the group ${label}`, on: { change: (event) => { node.label = event.target.value.trim() || node.label; redraw(); } } })
          : make("span", {}, label, " ", make("span", { class: "hint" }, node.rows.toLocaleString("en")));
        const line = make("div", { class: node.children ? "tree-line group" : "tree-line", draggable: "true", on: {
          dragstart: (event) => { dragged = node; event.dataTransfer.setData("text/plain", ""); event.stopPropagation(); },
          dragover: (event) => { if (node.children && dragged) { event.preventDefault(); event.stopPropagation(); line.classList.add("over"); } },
          dragleave: () => line.classList.remove("over"),
          drop: (event) => { event.preventDefault(); event.stopPropagation(); if (dragged && node.children) { move([dragged], node); dragged = null; redraw(); } },
        } }, tick, shown);
        return make("li", {}, line, node.children ? make("ul", {}, ...node.children.map(item)) : null);
      };
      const act = (words, run) => make("button", { type: "button", class: "small quiet", on: { click: () => { if (run()) redraw(); } } }, words);
      const buttons = make("div", { class: "row" },
        act("Group", () => { if (!picked.size) return false; const nodes = [...picked]; const parent = parentOf(nodes[0], this.state.tree); const group = { label: "New group", children: [] }; parent.children.push(group); move(nodes, group); return true; }),
        act("Merge groups", () => { const groups = [...picked].filter((one) => one.children); if (groups.length < 2) return false; for (const other of groups.slice(1)) { move([...other.children], groups[0]); const parent = parentOf(other, this.state.tree); parent.children.splice(parent.children.indexOf(other), 1); } return true; }),
        act("Dissolve", () => { const groups = [...picked].filter((one) => one.children); for (const group of groups) { const parent = parentOf(group, this.state.tree); parent.children.splice(parent.children.indexOf(group), 1, ...group.children); } return groups.length > 0; }),
        act("Move to the top", () => { move([...picked], this.state.tree); return picked.size > 0; }));
      return make("div", {}, make("p", { class: "hint" }, "Drag values and groups into a group, rename a group in place, or choose some and use the buttons."), buttons, make("ul", { class: "tree" }, ...this.state.tree.children.map(item)));
    }

    imported(text) {
      const rows = cells(text.replace(/^\ufeff/, ""));
      while (rows.length && rows[0].length > 2 && rows.every((row) => row.at(-1) === "*")) rows.forEach((row) => row.pop());
      this.kind = "listed";
      this.state = { rows };
      this.draw();
      this.changed();
    }
  }

  function begin(within) {
    const root = within.querySelector?.("#levels-editor");
    if (!root || root.editor) return;
    root.editor = new Editor(root);
    document.getElementById("levels-import").addEventListener("change", async (event) => { if (event.target.files.length) root.editor.imported(await event.target.files[0].text()); });
  }
  document.addEventListener("DOMContentLoaded", () => begin(document));
  document.addEventListener("htmx:load", (event) => begin(document));
  if (document.readyState !== "loading") begin(document);
})();
