// When: what was in use over the step, stacked by kind, layer or allocation. A click or a drag chooses the moment that all other views show.

import { largest, paint, walk } from "./bands.js";
import { colour, element, fitted, kindColours, on, palette, prepared, swatch, telling } from "./canvas.js";
import { human, readable } from "./format.js";
import { label, ticks } from "./scale.js";

const CURVE_HEIGHT = 240;
const FOOT = 38;
const BAND = 19;
const OTHERS = 9;
const DETAILS = [10, 25, 50, 100, 250, 500, 1000, 2500];
const TOLD = 5;
const LABEL = 56; // letters of a name under the pointer: a line of it
// What stands during the whole step lies below, what comes and goes above.
const STACK = "parameter optimizer-slot unknown constant held-by-python input transfer activation kept-by-a-loop layout-copy gradient temporary-buffer".split(" ");

export class CurveView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.hidden = new Set();
    this.canvas = room.querySelector("canvas.curve");
    this.front = room.querySelector("canvas.cursor");
    this.said = room.querySelector(".moment-said");
    this.detail = room.querySelector("[data-detail]");
    this.legend = room.querySelector(".curve-legend");
    this._hear();
    state.listen((changes) => {
      if ("stack" in changes) this.hidden.clear();
      if ("theme" in changes || "window" in changes || "stack" in changes) this.draw();
      else if ("index" in changes) this.mark();
    });
  }

  /** Group of each row, names and colours of the groups, bottom first. */
  _groups() {
    const { ledger } = this.state;
    if (this.state.stack !== "layer") return { of: ledger.kind, names: ledger.kindNames, colours: kindColours(ledger.kinds), order: STACK.map((kind) => ledger.kinds.indexOf(kind)) };
    if (this._layers) return { ...this._layers, colours: [...palette(OTHERS), colour("kind-unknown")] };
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
    const { pen, width } = prepared(this.canvas, CURVE_HEIGHT);
    this.width = width;
    const groups = this._groups();
    const { stack } = this.state;
    const key = `${stack} ${width} ${this.state.window}`;
    if (this._key !== key) this._stack = ledger.stacked(width, groups.of, groups.names.length, ...this.state.window);
    this._key = key;
    const limit = ledger.balance.limit;
    const highest = ledger.total(ledger.peak);
    this.top = Math.max(highest * 1.08, limit && limit < highest * 1.6 ? limit * 1.04 : 0, 1);
    for (const each of this.room.querySelectorAll("[data-stack]")) each.setAttribute("aria-pressed", String(each.dataset.stack === stack));
    this.detail.parentElement.hidden = stack !== "allocation";
    if (stack === "allocation") this._bands(pen, width, groups);
    else this._areas(pen, width, groups);
    this._grid(pen, width);
    this._marks(pen, width, limit);
    this._phases(pen, width);
    this._axis(pen, width);
    this._legend(groups);
    this._tellSpan();
    this.mark();
  }

  y(bytes) {
    return 8 + (CURVE_HEIGHT - FOOT - 8) * (1 - bytes / this.top);
  }

  _areas(pen, width, groups) {
    const count = groups.names.length;
    const base = new Float64Array(width);
    for (const group of groups.order ?? groups.names.keys()) {
      if (this.hidden.has(group)) continue;
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

  /** Rows whose kind the legend hides. */
  _skipped(groups) {
    return (row) => this.hidden.has(groups.of[row]);
  }

  /** Each of the largest allocations as a band; what is smaller lies on top as one. */
  _bands(pen, width, groups) {
    const { ledger, window } = this.state;
    const count = DETAILS[this.detail.valueAsNumber];
    this.own = largest(ledger, count, ...window);
    this.room.querySelector(".detail-said").textContent = `the ${Math.min(count, ledger.rows)} largest`;
    const ratio = pen.getTransform().a;
    const [columns, lines] = [Math.round(width * ratio), Math.round((CURVE_HEIGHT - FOOT) * ratio)];
    const image = pen.createImageData(columns, lines);
    paint(image, ledger, this.own, ledger.highest(columns, ...window), (bytes) => this.y(bytes) * ratio, groups.colours, colour("edge"), this._skipped(groups));
    pen.putImageData(image, 0, 0);
  }

  /** Lines at round values, with their labels at the left. */
  _grid(pen, width) {
    pen.lineWidth = 1;
    for (const bytes of ticks(this.top)) {
      const y = Math.round(this.y(bytes)) + 0.5;
      pen.strokeStyle = colour("ink");
      pen.globalAlpha = 0.16;
      pen.beginPath();
      pen.moveTo(0, y);
      pen.lineTo(width, y);
      pen.stroke();
      pen.globalAlpha = 1;
      this._haloed(pen, label(bytes), 3, y - 7);
    }
  }

  /** A text that is read on whatever it lies. */
  _haloed(pen, text, x, y) {
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = colour("page");
    pen.strokeText(text, x, y);
    pen.lineWidth = 1;
    pen.fillStyle = colour("ink");
    pen.fillText(text, x, y);
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
      const text = `limit ${human(limit)}`;
      this._haloed(pen, text, width - pen.measureText(text).width - 6, this.y(limit) + 9);
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
    this._haloed(pen, text, x + room > width ? Math.max(x - room, 2) : x + 9, Math.max(y - 3, 8));
  }

  _phases(pen, width) {
    const { ledger } = this.state;
    const shades = ["phase-a", "phase-b", "phase-c"].map(colour);
    ledger.phases.forEach(([name, start, end], at) => {
      const x = Math.max(this.x(start), 0);
      const room = Math.max(Math.min(this.x(end), width) - x, 1);
      if (this.x(end) < 0 || x > width) return;
      pen.fillStyle = shades[at % 3];
      pen.fillRect(x, CURVE_HEIGHT - FOOT + 3, room, BAND);
      pen.fillStyle = colour("ink");
      pen.fillText(fitted(pen, name, room - 8), x + 4, CURVE_HEIGHT - FOOT + 4 + BAND / 2);
    });
  }

  /** Times below the picture: at its ends and, where there is room, between them. */
  _axis(pen, width) {
    const parts = width > 640 ? 4 : width > 360 ? 2 : 1;
    pen.fillStyle = colour("dim");
    for (let at = 0; at <= parts; at++) {
      const text = this.state.ledger.tick(this.timeAt((at * width) / parts));
      const room = pen.measureText(text).width;
      pen.fillText(text, Math.min(Math.max((at * width) / parts - room / 2, 0), width - room), CURVE_HEIGHT - 7);
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

  /** A button for each group that the part shows: it hides the group, and tells its bytes at the moment. */
  _legend(groups) {
    const used = groups.names.map((name, at) => ({ name, at })).filter(({ name, at }) => name && this._stack.some((bytes, place) => bytes > 0 && place % groups.names.length === at));
    this.legend.replaceChildren(
      ...used.map(({ name, at }) => {
        const button = element("button", { type: "button", class: "entry", "aria-pressed": String(!this.hidden.has(at)), "data-group": at, title: "show or hide it in the curve" }, swatch("", groups.colours[at]), element("bdi", { text: readable(name, 60) }), element("b", { "data-value": at }));
        on(button, "click", () => {
          if (!this.hidden.delete(at)) this.hidden.add(at);
          this.draw();
          this.legend.querySelector(`[data-group="${at}"]`)?.focus();
        });
        return element("li", {}, button);
      }),
    );
  }

  /** The bytes of each group at the moment. */
  _values() {
    const { ledger, index } = this.state;
    const { of, names } = this._groups();
    const sums = ledger.sums(index, of, names.length);
    for (const each of this.legend.querySelectorAll("[data-value]")) {
      const bytes = sums[each.dataset.value];
      each.textContent = bytes ? human(bytes) : "0";
      each.dataset.bytes = bytes;
    }
  }

  /** The line at the chosen moment. */
  mark() {
    const { ledger, index, time } = this.state;
    const { pen, width } = prepared(this.front, CURVE_HEIGHT);
    const x = Math.min(Math.max(this.x(time), 1), width - 1);
    if (this._chosen) {
      pen.fillStyle = colour("accent");
      pen.globalAlpha = 0.2;
      pen.fillRect(Math.min(...this._chosen), 0, Math.abs(this._chosen[1] - this._chosen[0]), CURVE_HEIGHT - FOOT);
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, CURVE_HEIGHT - FOOT);
    pen.stroke();
    const words = `${index < 0 ? "before the first allocation" : ledger.moment(time)}: ${human(ledger.total(index))} in use${index === ledger.peak ? " (the peak)" : ""}`;
    this.said.textContent = words;
    this._values();
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
    on(front, "pointerdown", (event) => {
      held = true;
      front.setPointerCapture?.(event.pointerId);
      if (event.shiftKey) this._chosen = [place(event), place(event)];
      else this.state.set(this.at(place(event)));
    });
    on(front, "pointermove", (event) => {
      if (held && this._chosen) {
        this._chosen[1] = place(event);
        this.mark();
      } else if (held) this.state.set(this.at(place(event)));
    });
    on(front, "pointerup", () => {
      const ends = this._chosen?.toSorted((a, b) => a - b);
      this._chosen = null;
      if (ends && ends[1] - ends[0] > 3) this.state.zoom(...ends.map((x) => this.timeAt(x)));
      else if (ends) this.mark();
    });
    on(front, "dblclick", () => this._zoom("all"));
    for (const button of this.room.querySelectorAll("[data-zoom]")) on(button, "click", () => this._zoom(button.dataset.zoom));
    telling(front, (event) => this._tell(place(event), event.clientY - front.getBoundingClientRect().top));
    for (const name of ["pointerup", "pointercancel"]) on(front, name, () => (held = false));
    on(front, "keydown", (event) => this._key_(event));
    for (const button of this.room.querySelectorAll("[data-stack]")) on(button, "click", () => this.state.set({ stack: button.dataset.stack }));
    this.detail.max = DETAILS.length - 1;
    on(this.detail, "input", () => this.draw());
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

  /** What lies under the pointer: the groups at that instant, or one allocation; and what was born and freed there. */
  _tell(x, y) {
    const { ledger, stack } = this.state;
    const { index } = this.at(x);
    const lines = [`${ledger.moment(this.timeAt(x))}: ${human(ledger.total(index))} in use`];
    if (stack === "allocation") lines.push(...this._told(index, y));
    else lines.push(...this._largest(index));
    return [...lines, ...this._changes(x)];
  }

  /** The largest groups at an instant. */
  _largest(index) {
    const { of, names } = this._groups();
    const sums = this.state.ledger.sums(index, of, names.length);
    const order = [...names.keys()].filter((group) => sums[group] > 0 && !this.hidden.has(group)).sort((a, b) => sums[b] - sums[a]);
    return order.slice(0, TOLD).map((group) => `${human(sums[group])}  ${readable(names[group], LABEL)}`);
  }

  /** The allocation whose band lies at a height. */
  _told(index, y) {
    const { ledger } = this.state;
    const found = [];
    if (y < this.y(ledger.total(index))) return found;
    walk(ledger, this.own, [index], (_, standing) => {
      let bytes = 0;
      for (const row of standing) {
        bytes += ledger.size[row];
        if (this.y(bytes) <= y) return found.push(...ledger.told(row));
      }
      return found.push("smaller allocations");
    }, this._skipped(this._groups()));
    return found;
  }

  /** What was born and freed under a column. */
  _changes(x) {
    const { ledger } = this.state;
    const end = this.timeAt(Math.floor(x) + 1);
    const from = ledger.indexAt(this.timeAt(Math.floor(x)) - 1e-9);
    const rows = { born: [], freed: [] };
    for (let at = from + 1; at < ledger.events && ledger.times[at] < end; at++) {
      const row = ledger.rowOf[at];
      if (row >= 0) rows.born.push(row);
      else rows.freed.push(~row);
    }
    const lines = [];
    for (const [sign, name] of [["+", "born"], ["−", "freed"]]) {
      if (!rows[name].length) continue;
      const bytes = rows[name].reduce((sum, row) => sum + ledger.size[row], 0);
      lines.push(`${sign} ${human(bytes)} ${name} in ${rows[name].length}:`);
      const order = rows[name].sort((a, b) => ledger.size[b] - ledger.size[a]).slice(0, 3);
      lines.push(...order.map((row) => `   ${human(ledger.size[row])} ${readable(ledger.label(row), LABEL)}`));
    }
    return lines;
  }
}
