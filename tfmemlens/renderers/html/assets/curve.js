// When: what was in use over the step, stacked by kind or layer. A click or a drag chooses the moment that all other views show.

import { colour, element, fitted, kindColours, palette, prepared, swatch, telling } from "./canvas.js";
import { human, readable } from "./format.js";

const HEIGHT = 240;
const FOOT = 38;
const BAND = 19;
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
      if ("theme" in changes || "window" in changes) this.draw();
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

  /** Where a time lies on the canvas. */
  x(micros) {
    const [from, to] = this.state.window;
    return ((micros - from) / (to - from)) * this.width;
  }

  /** The time at a place on the canvas. */
  timeAt(x) {
    const [from, to] = this.state.window;
    return from + (x * (to - from)) / this.width;
  }

  draw() {
    const { ledger } = this.state;
    const { pen, width } = prepared(this.canvas, HEIGHT);
    this.width = width;
    const groups = this._groups();
    const key = `${this.by} ${width} ${this.state.window}`;
    if (this._key !== key) this._stack = ledger.stacked(width, groups.of, groups.names.length, ...this.state.window);
    this._key = key;
    const limit = ledger.balance.limit;
    const highest = ledger.total(ledger.peak);
    this.top = Math.max(highest * 1.08, limit && limit < highest * 1.6 ? limit * 1.04 : 0, 1);
    this._areas(pen, width, groups);
    this._marks(pen, width, limit);
    this._phases(pen, width);
    this._axis(pen, width);
    this._legend(groups);
    this._tellSpan();
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
    const x = this.x(ledger.times[ledger.peak]);
    if (x < 0 || x > width) return;
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
      const x = Math.max(this.x(start), 0);
      const room = Math.max(Math.min(this.x(end), width) - x, 1);
      if (this.x(end) < 0 || x > width) return;
      pen.fillStyle = shades[at % 3];
      pen.fillRect(x, HEIGHT - FOOT + 3, room, BAND);
      pen.fillStyle = colour("ink");
      pen.fillText(fitted(pen, name, room - 8), x + 4, HEIGHT - FOOT + 4 + BAND / 2);
    });
  }

  /** Times below the picture: at its ends and, where there is room, between them. */
  _axis(pen, width) {
    const parts = width > 640 ? 4 : width > 360 ? 2 : 1;
    pen.fillStyle = colour("dim");
    for (let at = 0; at <= parts; at++) {
      const text = this.state.ledger.tick(this.timeAt((at * width) / parts));
      const room = pen.measureText(text).width;
      pen.fillText(text, Math.min(Math.max((at * width) / parts - room / 2, 0), width - room), HEIGHT - 7);
    }
  }

  /** What part of the step is shown, and which buttons make sense. */
  _tellSpan() {
    const { state } = this;
    const [from, to] = state.window;
    const said = this.room.querySelector(".span-said");
    said.hidden = !state.zoomed;
    said.textContent = state.zoomed ? state.ledger.part(state.window) : "";
    said.dataset.from = from;
    said.dataset.to = to;
    for (const name of ["out", "all"]) this.room.querySelector(`[data-zoom=${name}]`).disabled = !state.zoomed;
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
    const x = Math.min(Math.max(this.x(time), 1), width - 1);
    if (this._chosen) {
      pen.fillStyle = colour("accent");
      pen.globalAlpha = 0.2;
      pen.fillRect(Math.min(...this._chosen), 0, Math.abs(this._chosen[1] - this._chosen[0]), HEIGHT - FOOT);
      pen.globalAlpha = 1;
    }
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
    const from = this.timeAt(Math.floor(x));
    const index = ledger.snapped(from, this.timeAt(Math.floor(x) + 1));
    return { index, time: Math.max(ledger.times[index] ?? 0, from) };
  }

  _hear() {
    const { front } = this;
    let held = false;
    const place = (event) => Math.min(Math.max(event.clientX - front.getBoundingClientRect().left, 0), this.width - 1);
    front.addEventListener("pointerdown", (event) => {
      held = true;
      front.setPointerCapture?.(event.pointerId);
      if (event.shiftKey) this._chosen = [place(event), place(event)];
      else this.state.set(this.at(place(event)));
    });
    front.addEventListener("pointermove", (event) => {
      if (held && this._chosen) {
        this._chosen[1] = place(event);
        this.mark();
      } else if (held) this.state.set(this.at(place(event)));
    });
    front.addEventListener("pointerup", () => {
      const ends = this._chosen?.toSorted((a, b) => a - b);
      this._chosen = null;
      if (ends && ends[1] - ends[0] > 3) this.state.zoom(...ends.map((x) => this.timeAt(x)));
      else if (ends) this.mark();
    });
    front.addEventListener("dblclick", () => this._zoom("all"));
    for (const button of this.room.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => this._zoom(button.dataset.zoom));
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

  /** Choose an instant; the part that is shown follows it. */
  choose(index) {
    const [from, to] = this.state.window;
    const time = this.state.ledger.times[index] ?? 0;
    if (time >= from && time <= to) this.state.set({ index });
    else this.state.zoom(time - (to - from) / 2, time + (to - from) / 2, index);
  }

  /** Half the part that is shown, twice as much, or the whole step; the chosen moment stays in sight. */
  _zoom(how) {
    const { ledger, index, time, window } = this.state;
    const room = (window[1] - window[0]) * { in: 0.5, out: 2, all: Infinity }[how];
    if (room >= ledger.span) this.state.zoom(0, ledger.span, index);
    else this.state.zoom(time - room / 2, time + room / 2, index);
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
    const zooms = { "+": "in", "=": "in", "-": "out", 0: "all" };
    if (zooms[event.key]) {
      event.preventDefault();
      this._zoom(zooms[event.key]);
    }
    if (!moves[event.key]) return;
    event.preventDefault();
    this.choose(moves[event.key]());
  }

  /** What was born and freed under the pointer. */
  _tell(x) {
    const { ledger } = this.state;
    const end = this.timeAt(Math.floor(x) + 1);
    const from = ledger.indexAt(this.timeAt(Math.floor(x)) - 1e-9);
    const born = [];
    const freed = [];
    let bornBytes = 0;
    let freedBytes = 0;
    let at = from + 1;
    for (; at < ledger.events && ledger.times[at] < end; at++) {
      const row = ledger.rowOf[at];
      if (row >= 0) bornBytes += ledger.size[born.push(row) && row];
      else freedBytes += ledger.size[freed.push(~row) && ~row];
    }
    const largest = (rows) => rows.sort((a, b) => ledger.size[b] - ledger.size[a]).slice(0, 3).map((row) => `   ${human(ledger.size[row])} ${ledger.label(row)}`);
    const lines = [`${ledger.moment(this.timeAt(x))}: ${human(ledger.total(this.at(x).index))} in use`];
    if (born.length) lines.push(`+ ${human(bornBytes)} born in ${born.length}:`, ...largest(born));
    if (freed.length) lines.push(`− ${human(freedBytes)} freed in ${freed.length}:`, ...largest(freed));
    return lines;
  }
}
