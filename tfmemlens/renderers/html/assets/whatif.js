// What if: another batch, another input size, other settings. Measured bytes scaled by what is known of each row.

import { bar, parts } from "./balance.js";
import { element, on } from "./canvas.js";
import { human, percent } from "./format.js";

const SURE = { exact: "exact", bound: "at most", estimate: "estimate" };

/** Bytes of each row under a choice: {batch: factor, axis: factor, levers: bit set}. */
export function scaled(ledger, { batch = 1, axis = 1, levers = 0 }) {
  const factors = ledger.scaling.levers.map((lever) => lever.factor);
  return ledger.size.map((size, row) => {
    let bytes = size * (ledger.grows[row] ? batch : 1) * axis ** ledger.exponent[row];
    for (let bit = 0; bit < factors.length; bit++) if (levers & ledger.levers[row] & (1 << bit)) bytes *= factors[bit];
    return bytes;
  });
}

/** The memory as the rows alone tell it: at the peak of a step, or of what was listed at a failure. */
function walked(ledger, choice) {
  const size = scaled(ledger, choice);
  const extra = (ledger.balance.outside ?? 0) + (ledger.balance.unlisted ?? 0);
  if (!ledger.timed) return { size, index: -1, bytes: size.reduce((sum, bytes) => sum + bytes, 0) + extra };
  const peak = ledger.peakWith(size);
  return { size, index: peak.index, bytes: peak.bytes };
}

/** What one control alone saves, as the what-if engine says; between the sizes it was asked about a straight line. */
export function saved(points, factor) {
  const known = [...points.filter(([share]) => share !== 1), [1, 0]].sort((a, b) => a[0] - b[0]);
  const exact = known.find(([share]) => Math.abs(share - factor) < 1e-9);
  if (exact) return exact[1];
  if (known.length < 2) return null;
  const next = Math.min(Math.max(known.findIndex(([share]) => share > factor), 1), known.length - 1);
  const [[low, less], [high, more]] = factor > known.at(-1)[0] ? known.slice(-2) : [known[next - 1], known[next]];
  return less + ((more - less) * (factor - low)) / (high - low);
}

/** The controls that are moved, each alone, with what it saves alone. */
function* single(ledger, { batch = 1, axis = 1, levers = 0 }) {
  const { batches, axes } = ledger.scaling;
  if (batch !== 1) yield [{ batch }, saved(batches, batch)];
  if (axis !== 1) yield [{ axis }, saved(axes, axis)];
  for (const [bit, lever] of ledger.scaling.levers.entries()) if (levers & (1 << bit)) yield [{ levers: 1 << bit }, lever.saves];
}

/** The memory under a choice: one control as the engine says it, several as the rows combine, each corrected by the engine. */
export function outcome(ledger, choice) {
  const now = walked(ledger, {}).bytes;
  const found = walked(ledger, choice);
  const moved = [...single(ledger, choice)].filter(([, saves]) => saves !== null);
  if (moved.length === 1 && [...single(ledger, choice)].length === 1) return { ...found, bytes: now - moved[0][1] };
  const bytes = moved.reduce((held, [alone, saves]) => (held * (now - saves)) / (walked(ledger, alone).bytes || 1), found.bytes);
  return { ...found, bytes };
}

export class WhatIfView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.choice = { batch: 1, axis: 1, levers: 0 };
    this.controls = room.querySelector(".whatif-controls");
    this.result = room.querySelector(".whatif-result");
    this._build();
    state.listen((changes) => "theme" in changes && this.draw());
  }

  _build() {
    const { scaling } = this.state.ledger;
    const made = [];
    if (this.state.ledger.grows.some(Boolean)) made.push(this._slider("batch", scaling.batch, "batch size"));
    if (scaling.axis) made.push(this._slider("axis", scaling.size, scaling.axis === "side" ? "height and width of the input" : "sequence length"));
    scaling.levers.forEach((lever, bit) => made.push(this._switch(lever, bit)));
    this.controls.replaceChildren(...made);
    this.room.hidden = !made.length;
  }

  /** From a quarter to four times what was measured, or in whole numbers where that is known. */
  _slider(key, known, text) {
    const id = `${this.room.id}-${key}`;
    const whole = known && known > 1;
    const input = element("input", { type: "range", id, min: whole ? 1 : -8, max: whole ? Math.max(4 * known, 4) : 8, step: 1, value: whole ? known : 0, "data-lever": key });
    const shown = element("output", { for: id, text: whole ? known : "× 1" });
    on(input, "input", () => {
      this.choice[key] = whole ? input.valueAsNumber / known : 2 ** (input.valueAsNumber / 4);
      shown.textContent = whole ? `${input.value}${input.valueAsNumber === known ? "" : ` (was ${known})`}` : `× ${this.choice[key].toFixed(2)}`;
      this.draw();
    });
    return element("div", { class: "control" }, element("label", { for: id, text }), input, shown);
  }

  _switch(lever, bit) {
    const input = element("input", { type: "checkbox", "data-lever": lever.slug });
    on(input, "change", () => {
      this.choice.levers = input.checked ? this.choice.levers | (1 << bit) : this.choice.levers & ~(1 << bit);
      this.draw();
    });
    return element("label", { class: "control" }, input, ` ${lever.text} `, element("span", { class: "badge", text: SURE[lever.certainty] }));
  }

  draw() {
    const { ledger } = this.state;
    const before = outcome(ledger, {});
    const after = outcome(ledger, this.choice);
    const limit = ledger.balance.limit ?? 0;
    const whole = Math.max(before.bytes, after.bytes, limit, 1);
    const changed = this.choice.batch !== 1 || this.choice.axis !== 1 || this.choice.levers;
    const less = before.bytes - after.bytes;
    const what = ledger.timed ? "peak" : "need of what is listed";
    const words = changed ? `${less >= 0 ? "saves" : "adds"} ${this._sure()}${human(Math.abs(less))} (${percent(Math.abs(less), before.bytes)}): the ${what} would be ${this._sure()}${human(after.bytes)} rather than ${human(before.bytes)}.` : `Move a slider or a switch. Now: ${human(before.bytes)}.`;
    this.result.replaceChildren(
      element("p", { class: "whatif-said", text: words[0].toUpperCase() + words.slice(1), "data-bytes": Math.round(after.bytes) }),
      this._row("now", parts(ledger, before.index), whole),
      this._row("then", parts(ledger, after.index, after.size), whole),
      element("p", { class: "dim", text: this._fits(after.bytes, limit) }),
    );
  }

  _row(name, found, whole) {
    return element("div", { class: "whatif-row" }, element("span", { text: name }), bar(found, whole, this.state.ledger.kinds));
  }

  /** The weakest word among the choices made. */
  _sure() {
    const used = this.state.ledger.scaling.levers.filter((_, bit) => this.choice.levers & (1 << bit)).map((lever) => lever.certainty);
    if (this.choice.batch !== 1 || this.choice.axis !== 1) used.push("estimate");
    return used.includes("estimate") ? "about " : used.includes("bound") ? "up to " : "";
  }

  _fits(bytes, limit) {
    const { request, balance } = this.state.ledger;
    if (!limit) return "";
    const wanted = request ? request.bytes * (request.grows ? this.choice.batch : 1) : 0;
    const free = limit - bytes;
    const about = this._sure() || balance.rounded ? "about " : "";
    if (free < wanted) return `The limit is ${human(limit)}: ${about}${human(wanted - free)} would still be needed${request ? ` for the request of ${human(wanted)}` : ""}.`;
    return `The limit is ${human(limit)}: ${about}${human(free)} would be free${request ? `, enough for the request of ${human(wanted)} if it is in one piece` : ""}.`;
  }
}
