// When: what was in use over the step, stacked by kind or layer. A click or a drag chooses the moment that all other views show.

import { colour, element, fitted, kindColours, palette, prepared, swatch, telling } from "./canvas.js";
import { human, readable } from "./format.js";

const HEIGHT = 240;
const FOOT = 22;
const OTHERS = 9;
// What stands during the whole step lies below, what comes and goes above.
const STACK = "parameter optimizer-slot unattributed constant input transfer activation loop-stack layout-transpose gradient workspace".split(" ");

export class CurveView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.by = "kind";
    this.canvas = room.querySelector("canvas.curve");
    this.front = room.querySelector("canvas.cursor");
    this.said = room.querySelector(".moment-said");
    this._hear();
    state.listen((changes) => {
      if ("theme" in changes) this.draw();
      else if ("index" in changes) this.mark();
    });
  }

  /** Group of each row, names and colours of the groups, bottom first. */
  _groups() {
    const { ledger } = this.state;
    if (this.by === "kind") return { of: ledger.kind, names: ledger.kinds, colours: kindColours(ledger.kinds), order: STACK.map((kind) => ledger.kinds.indexOf(kind)) };
    if (this._layers) return { ...this._layers, colours: [...palette(OTHERS), colour("kind-unattributed")] };
    const sums = ledger.sums(ledger.peak, ledger.layer, ledger.names.length);
    const top = [...new Set(ledger.layer)].sort((a, b) => sums[b] - sums[a]).slice(0, OTHERS);
    const place = new Int32Array(ledger.names.length).fill(OTHERS);
    top.forEach((layer, at) => (place[layer] = at));
    const names = [...top.map((layer) => ledger.names[layer] ?? "(no layer)"), ...Array(OTHERS - top.length).fill(""), "all other layers"];
    const of = ledger.layer.map((layer) => place[layer]);
    const before = ledger.sums(-1, of, names.length);
    this._layers = { of, names, order: [...names.keys()].sort((a, b) => before[b] - before[a]) };
    return this._groups();
  }

  draw() {
    const { ledger } = this.state;
    const { pen, width } = prepared(this.canvas, HEIGHT);
    this.width = width;
    const groups = this._groups();
    const key = `${this.by} ${width}`;
    if (this._key !== key) this._stack = ledger.stacked(width, groups.of, groups.names.length);
    this._key = key;
    const limit = ledger.balance.limit;
    const highest = ledger.total(ledger.peak);
    this.top = Math.max(highest * 1.08, limit && limit < highest * 1.6 ? limit * 1.04 : 0, 1);
    this._areas(pen, width, groups);
    this._marks(pen, width, limit);
    this._phases(pen, width);
    this._legend(groups);
    this.mark();
  }

  y(bytes) {
    return 8 + (HEIGHT - FOOT - 8) * (1 - bytes / this.top);
  }

  _areas(pen, width, groups) {
    const count = groups.names.length;
    const base = new Float64Array(width);
    for (const group of groups.order ?? groups.names.keys()) {
      let any = false;
      pen.beginPath();
      pen.moveTo(0, this.y(base[0]));
      for (let x = 0; x < width; x++) pen.lineTo(x + 0.5, this.y(base[x]));
      for (let x = width - 1; x >= 0; x--) {
        const bytes = this._stack[x * count + group];
        any ||= bytes > 0;
        base[x] += bytes;
        pen.lineTo(x + 0.5, this.y(base[x]));
      }
      if (!any) continue;
      pen.closePath();
      pen.fillStyle = groups.colours[group];
      pen.fill();
    }
  }

  _marks(pen, width, limit) {
    const { ledger } = this.state;
    pen.fillStyle = pen.strokeStyle = colour("ink");
    if (limit && limit <= this.top) {
      pen.setLineDash([6, 4]);
      pen.beginPath();
      pen.moveTo(0, this.y(limit));
      pen.lineTo(width, this.y(limit));
      pen.stroke();
      pen.setLineDash([]);
      pen.fillText(`limit ${human(limit)}`, 6, this.y(limit) + 9);
    }
    if (ledger.peak < 0) return;
    const x = (ledger.times[ledger.peak] / ledger.span) * width;
    const y = this.y(ledger.total(ledger.peak));
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x - 5, y - 7);
    pen.lineTo(x + 5, y - 7);
    pen.fill();
    const text = `peak ${ledger.bound}${human(ledger.total(ledger.peak))} at ${ledger.moment(ledger.times[ledger.peak])}`;
    const room = pen.measureText(text).width + 12;
    pen.fillText(text, x + room > width ? Math.max(x - room, 2) : x + 9, Math.max(y - 3, 8));
  }

  _phases(pen, width) {
    const { ledger } = this.state;
    const shades = ["phase-a", "phase-b", "phase-c"].map(colour);
    ledger.phases.forEach(([name, start, end], at) => {
      const x = Math.max((start / ledger.span) * width, 0);
      const room = Math.max(Math.min((end / ledger.span) * width, width) - x, 1);
      pen.fillStyle = shades[at % 3];
      pen.fillRect(x, HEIGHT - FOOT + 3, room, FOOT - 3);
      pen.fillStyle = colour("ink");
      pen.fillText(fitted(pen, name, room - 8), x + 4, HEIGHT - FOOT / 2 + 2);
    });
  }

  _legend(groups) {
    const room = this.room.querySelector(".curve-legend");
    const used = groups.names.map((name, at) => ({ name, at })).filter(({ name, at }) => name && this._stack.some((bytes, place) => bytes > 0 && place % groups.names.length === at));
    room.replaceChildren(
      ...used.map(({ name, at }) => element("li", {}, swatch("", groups.colours[at]), element("bdi", { text: readable(name, 60) }))),
    );
  }

  /** The line at the chosen moment. */
  mark() {
    const { ledger, index, time } = this.state;
    const { pen, width } = prepared(this.front, HEIGHT);
    const x = Math.min(Math.max((time / ledger.span) * width, 1), width - 1);
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, HEIGHT - FOOT);
    pen.stroke();
    const words = `${index < 0 ? "before the first allocation" : ledger.moment(time)}: ${human(ledger.total(index))} in use${index === ledger.peak ? " (the peak)" : ""}`;
    this.said.textContent = words;
    this.said.dataset.micros = time;
    this.said.dataset.bytes = ledger.total(index);
    this.front.setAttribute("aria-valuenow", time.toFixed(3));
    this.front.setAttribute("aria-valuemax", ledger.span.toFixed(3));
    this.front.setAttribute("aria-valuetext", words);
  }

  /** The moment of a place on the canvas: the settled instant with the most in use under that pixel, or what still holds there. */
  at(x) {
    const { ledger } = this.state;
    const from = (Math.floor(x) * ledger.span) / this.width;
    const index = ledger.snapped(from, from + ledger.span / this.width);
    return { index, time: Math.max(ledger.times[index] ?? 0, from) };
  }

  _hear() {
    const { front } = this;
    let held = false;
    const place = (event) => Math.min(Math.max(event.clientX - front.getBoundingClientRect().left, 0), this.width - 1);
    front.addEventListener("pointerdown", (event) => {
      held = true;
      front.setPointerCapture?.(event.pointerId);
      this.state.set(this.at(place(event)));
    });
    front.addEventListener("pointermove", (event) => {
      if (held) this.state.set(this.at(place(event)));
    });
    telling(front, (event) => this._tell(place(event)));
    for (const name of ["pointerup", "pointercancel"]) front.addEventListener(name, () => (held = false));
    front.addEventListener("keydown", (event) => this._key_(event));
    for (const button of this.room.querySelectorAll("[data-curve-by]")) {
      button.addEventListener("click", () => {
        this.by = button.dataset.curveBy;
        for (const each of this.room.querySelectorAll("[data-curve-by]")) each.setAttribute("aria-pressed", String(each === button));
        this.draw();
      });
    }
    this.room.querySelector("[data-go=peak]").addEventListener("click", () => this.choose(this.state.ledger.peak));
  }

  choose(index) {
    this.state.set({ index });
  }

  _key_(event) {
    const { ledger, index } = this.state;
    const step = event.shiftKey ? Math.max(Math.round(ledger.events / 50), 1) : 1;
    const back = (from) => {
      let at = from - 1;
      while (at > 0 && ledger.times[at] === ledger.times[from]) at--;
      return at;
    };
    const moves = {
      ArrowRight: () => ledger.settled(Math.min(index + step, ledger.events - 1)),
      ArrowLeft: () => (index < 0 ? -1 : step > 1 ? Math.max(index - step, -1) : back(index)),
      Home: () => -1,
      End: () => ledger.events - 1,
      p: () => ledger.peak,
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    this.choose(moves[event.key]());
  }

  /** What was born and freed under the pointer. */
  _tell(x) {
    const { ledger } = this.state;
    const each = ledger.span / this.width;
    const from = ledger.indexAt(Math.floor(x) * each - 1e-9);
    const born = [];
    const freed = [];
    let bornBytes = 0;
    let freedBytes = 0;
    let at = from + 1;
    for (; at < ledger.events && ledger.times[at] < (Math.floor(x) + 1) * each; at++) {
      const row = ledger.rowOf[at];
      if (row >= 0) bornBytes += ledger.size[born.push(row) && row];
      else freedBytes += ledger.size[freed.push(~row) && ~row];
    }
    const largest = (rows) => rows.sort((a, b) => ledger.size[b] - ledger.size[a]).slice(0, 3).map((row) => `   ${human(ledger.size[row])} ${ledger.label(row)}`);
    const lines = [`${ledger.moment(x * each)}: ${human(ledger.total(this.at(x).index))} in use`];
    if (born.length) lines.push(`+ ${human(bornBytes)} born in ${born.length}:`, ...largest(born));
    if (freed.length) lines.push(`− ${human(freedBytes)} freed in ${freed.length}:`, ...largest(freed));
    return lines;
  }
}
