// The allocations of the moment as a table: sorted, searched, and only those of the part that the icicle shows.

import { element, on, swatch } from "./canvas.js";
import { counted, human, percent, readable } from "./format.js";
import { csv, save } from "./sheet.js";

const TEXTS = new Set(["layer", "node", "op", "kind", "shape", "dtype"]);
const TIMES = new Set(["start", "duration"]);
const PAGE = 50;
const NAMED = ["layer", "node", "op", "shape", "dtype"];

/** All rows in the order of a column; the same column's order is kept. */
export function sorted(ledger, key) {
  const order = Uint32Array.from({ length: ledger.rows }, (_, row) => row);
  if (key === "kind") return order.sort((a, b) => ledger.kind[a] - ledger.kind[b] || ledger.size[b] - ledger.size[a] || a - b);
  if (TEXTS.has(key)) {
    const ranks = new Uint32Array(ledger.names.length);
    const names = ledger.names.map((_, at) => at).sort((a, b) => ((ledger.names[a] ?? "\uffff") < (ledger.names[b] ?? "\uffff") ? -1 : 1));
    names.forEach((name, rank) => (ranks[name] = rank));
    const numbers = ledger[key];
    return order.sort((a, b) => ranks[numbers[a]] - ranks[numbers[b]] || ledger.size[b] - ledger.size[a] || a - b);
  }
  if (key === "start") return order.sort((a, b) => ledger.birth[a] - ledger.birth[b] || a - b);
  if (key === "duration") {
    const held = Float64Array.from({ length: ledger.rows }, (_, row) => Math.min(ledger.held(row), Number.MAX_VALUE));
    return order.sort((a, b) => held[b] - held[a] || ledger.size[b] - ledger.size[a] || a - b);
  }
  const numbers = key === "count" ? ledger.count : ledger.size;
  return order.sort((a, b) => numbers[b] - numbers[a] || ledger.size[b] - ledger.size[a] || a - b);
}

export class TableView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.key = "bytes";
    this.reversed = false;
    this.shown = PAGE;
    this.body = room.querySelector("tbody");
    this.foot = room.querySelector(".table-said");
    this.more = room.querySelector("[data-more]");
    this.choices = [...room.querySelectorAll("[data-rows]")];
    for (const button of this.choices) on(button, "click", () => state.set({ shown: state.shown === button.dataset.rows ? "alive" : button.dataset.rows }));
    this.filters = {};
    const { ledger } = state;
    this.empty = new Set(NAMED.filter((key) => !(key === "node" && ledger.timed) && !ledger[key].some((name) => ledger.names[name])));
    if (!ledger.timed) for (const key of TIMES) this.empty.add(key);
    this._fields();
    room.querySelector("[data-save]").addEventListener("click", () => this.save());
    for (const button of room.querySelectorAll("th button")) button.parentElement.hidden = this.empty.has(button.dataset.key);
    this._orders = {};
    for (const button of room.querySelectorAll("th button")) on(button, "click", () => this.sort(button.dataset.key));
    on(this.more, "click", () => {
      this.shown += 4 * PAGE;
      this.draw();
    });
    state.listen((changes) => {
      if ("theme" in changes) return;
      this.shown = PAGE;
      this.draw();
    });
  }

  /** A field under each head of names, which narrows the table alone. */
  _fields() {
    const line = this.room.querySelector("tr.filters");
    for (const head of this.room.querySelectorAll("thead tr:first-child th")) {
      const { key } = head.querySelector("button").dataset;
      const place = element("td", { hidden: this.empty.has(key) });
      if (TEXTS.has(key)) {
        const field = element("input", { type: "search", autocomplete: "off", spellcheck: "false", "aria-label": `Filter by ${key}`, placeholder: "filter" });
        on(field, "input", () => {
          this.filters[key] = field.value.toLowerCase();
          this.shown = PAGE;
          this.draw();
        });
        place.append(field);
      }
      line.append(place);
    }
    line.hidden = false;
  }

  /** Tells of a row whether the fields under the heads let it stand. */
  _passes() {
    const { ledger } = this.state;
    const asked = Object.entries(this.filters).filter(([, sought]) => sought);
    const fits = asked.map(([key, sought]) => {
      const texts = key === "kind" ? ledger.kindNames : ledger.names;
      const found = texts.map((text) => (text ?? "").toLowerCase().includes(sought));
      return (row) => found[ledger[key][row]];
    });
    return (row) => fits.every((each) => each(row));
  }

  /** All rows of the table, not only those that are drawn, as a file. */
  save() {
    const { ledger } = this.state;
    const heads = ["bytes", "count", ...NAMED, "kind", "start_micros", "duration_micros"];
    const lines = this.rows().map((row) => [
      ledger.size[row],
      ledger.count[row],
      ...NAMED.map((key) => ledger.name(key, row)),
      ledger.kinds[ledger.kind[row]],
      ledger.timed && ledger.birth[row] >= 0 ? ledger.times[ledger.birth[row]] : "",
      ledger.timed && ledger.held(row) < Infinity ? ledger.held(row) : "",
    ]);
    save("allocations.csv", csv([heads, ...lines]));
  }

  sort(key) {
    this.reversed = this.key === key ? !this.reversed : false;
    this.key = key;
    for (const head of this.room.querySelectorAll("th")) {
      const ours = head.querySelector("button").dataset.key === key;
      const down = (TEXTS.has(key) || key === "start") === this.reversed;
      if (ours) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.draw();
  }

  /** The rows of the moment, search and part of the tree, in the table's order. */
  rows() {
    const { ledger, matched, tree, root, shows } = this.state;
    const passes = this._passes();
    const order = (this._orders[this.key === "share" ? "bytes" : this.key] ??= sorted(ledger, this.key));
    const within = root ? tree.within(root) : null;
    const found = [];
    for (let at = 0; at < order.length; at++) {
      const row = order[this.reversed ? order.length - 1 - at : at];
      if (shows(row) && passes(row) && (!matched || matched[row]) && (!within || within[tree.leafOf[row]])) found.push(row);
    }
    return found;
  }

  draw() {
    const { ledger, index, shown, window } = this.state;
    const rows = this.rows();
    for (const button of this.choices) {
      button.hidden = !this.state.zoomed;
      button.setAttribute("aria-pressed", String(shown === button.dataset.rows));
    }
    const whole = ledger.total(index);
    let sum = 0;
    for (const row of rows) sum += ledger.size[row];
    this.body.replaceChildren(...rows.slice(0, this.shown).map((row) => this._line(row, whole)));
    const left = rows.length - Math.min(rows.length, this.shown);
    const what = {
      lived: `that lived in ${ledger.part(window)}, ${human(sum)} one after another`,
      left: `with ${human(sum)}, allocated in ${ledger.part(window)} and still held at its end`,
      alive: `with ${human(sum)}, ${percent(sum, whole)} of what is ${ledger.timed ? "in use at this moment" : "listed"}`,
    }[shown];
    this.foot.textContent = `${counted(rows.length)} allocation${rows.length === 1 ? "" : "s"} ${what}${left ? `; the first ${counted(this.shown)} are shown` : ""}`;
    this.foot.dataset.bytes = sum;
    this.foot.dataset.rows = rows.length;
    this.more.hidden = left === 0;
  }

  _line(row, whole) {
    const { ledger } = this.state;
    const kind = ledger.kinds[ledger.kind[row]];
    const long = (text, column) => element("td", { class: "name", "data-column": column, title: readable(text ?? "") }, element("bdi", { text: readable(text ?? "", 120) }));
    const about = ledger.error[row] ? "about " : "";
    const cells = [
      element("td", { class: "number", text: about + human(ledger.size[row]), "data-bytes": ledger.size[row], title: `${about}${counted(ledger.size[row])} B` }),
      element("td", { class: "number", text: percent(ledger.size[row], whole) }),
      element("td", { class: "number", text: counted(ledger.count[row]) }),
      long(ledger.name("layer", row), "layer"),
      long(ledger.name("node", row) ?? (ledger.timed ? ledger.label(row) : ""), "node"),
      element("td", { "data-column": "op" }, element("bdi", { text: readable(ledger.name("op", row) ?? "", 60) })),
      element("td", { class: "kind" }, swatch(`kind-${kind}`), element("a", { class: "term", href: `#term-${kind}`, text: ledger.kindNames[ledger.kind[row]] })),
      element("td", { "data-column": "shape", text: ledger.name("shape", row) ?? "" }),
      element("td", { "data-column": "dtype", text: ledger.name("dtype", row) ?? "" }),
      element("td", { class: "number", "data-column": "start", text: ledger.start(row) }),
      element("td", { class: "number", "data-column": "duration", text: ledger.duration(row), title: ledger.reader[row] ? `kept for ${readable(ledger.name("reader", row))}` : undefined }),
    ];
    return element("tr", {}, ...cells.filter((cell) => !this.empty.has(cell.dataset.column)));
  }
}
