// Every allocation of one moment's time axis, as typed arrays, and what can be asked of them.

import { counted, duration, human, percent } from "./format.js";

/** The document in a script element: base64, gzip, JSON. */
export async function unpack(base64) {
  const text = atob(base64);
  const raw = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) raw[at] = text.charCodeAt(at);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** A packed column as a typed array: see _pack.py. */
export function column(packed, Type = Float64Array) {
  if (Array.isArray(packed)) return Type.from(packed);
  if ("v" in packed) return new Type(packed.n).fill(packed.v);
  const found = new Type(packed.d.length);
  let last = 0;
  for (let at = 0; at < found.length; at++) found[at] = last += packed.d[at];
  return found;
}

const NUMBERS = ["node", "op", "layer", "phase", "device", "shape", "dtype", "birth", "life", "error", "reader"];
const BYTES = ["kind", "grows", "exponent", "levers"];

export class Ledger {
  constructor(moment, names, kinds) {
    this.names = names;
    this.kinds = kinds;
    this.kindNames = kinds.map((kind) => kind.replaceAll("-", " "));
    this.balance = moment.balance;
    this.scaling = moment.scaling;
    this.request = moment.request;
    this.chunks = moment.chunks;
    this.phases = moment.phases ?? [];
    const rows = moment.rows;
    for (const name of NUMBERS) this[name] = column(rows[name], name === "error" ? Float64Array : Int32Array);
    for (const name of BYTES) this[name] = column(rows[name], Uint8Array);
    this.count = column(rows.count);
    this.each = column(rows.size);
    this.rows = this.each.length;
    this.size = this.each.map((size, row) => size * this.count[row]);
    this.death = this.life.map((life, row) => this.birth[row] + life);
    this._events(moment);
  }

  /** Times (µs after the first allocation) and the curve: bytes in use after each event. */
  _events(moment) {
    this.timed = Boolean(moment.times);
    const ticks = this.timed ? column(moment.times) : new Float64Array(0);
    this.events = ticks.length;
    this.times = ticks.map((tick) => tick * (moment.unit ?? 1));
    this.peak = this.timed ? moment.peak : -1;
    this.ordinal = moment.ordinal;
    this.place = moment.place;
    this.bound = moment.bound ?? "";
    this.predicted = Boolean(moment.predicted);
    this.rowOf = new Int32Array(this.events);
    let before = 0;
    for (let row = 0; row < this.rows; row++) {
      if (this.birth[row] < 0) before += this.size[row];
      else if (this.birth[row] < this.events) this.rowOf[this.birth[row]] = row;
      if (this.death[row] < this.events) this.rowOf[this.death[row]] = ~row;
    }
    this.before = before;
    this.curve = new Float64Array(this.events);
    for (let event = 0, held = before; event < this.events; event++) this.curve[event] = held += this.change(event, this.size);
  }

  /** What an event adds, with these bytes for each row. */
  change(event, size) {
    const row = this.rowOf[event];
    return row >= 0 ? size[row] : -size[~row];
  }

  /** Tells of a row whether it lives at any instant of a part of the step. */
  livesWithin(from, to) {
    const last = this.indexAt(to);
    return (row) => this.birth[row] <= last && (this.death[row] >= this.events || this.times[this.death[row]] > from);
  }

  /** Tells of a row whether it was born in a part of the step and is still held when the part ends: what a leak leaves. */
  leftBy(from, to) {
    const last = this.indexAt(to);
    return (row) => this.birth[row] >= 0 && this.birth[row] <= last && this.times[this.birth[row]] >= from && this.death[row] > last;
  }

  isAlive(row, index) {
    return this.timed ? this.birth[row] <= index && index < this.death[row] : true;
  }

  /** The last event at or before a time; -1 before the first. */
  indexAt(micros) {
    let low = 0;
    let high = this.events;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= micros) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The last event of the same instant. */
  settled(index) {
    while (index + 1 < this.events && index >= 0 && this.times[index + 1] === this.times[index]) index++;
    return index;
  }

  /** Bytes alive after an event. */
  total(index) {
    if (this.timed) return index < 0 ? this.before : this.curve[index];
    return this.before;
  }

  /** Bytes alive after an event, by group; `size` may hold other bytes than those measured. */
  sums(index, groupOf, groups, size = this.size) {
    const found = new Float64Array(groups);
    for (let row = 0; row < this.rows; row++) if (this.isAlive(row, index)) found[groupOf[row]] += size[row];
    return found;
  }

  /** The highest total over all instants with other bytes for each row: {bytes, index}. */
  peakWith(size) {
    let held = 0;
    for (let row = 0; row < this.rows; row++) if (this.birth[row] < 0) held += size[row];
    let best = { bytes: held, index: -1 };
    for (let event = 0; event < this.events; event++) {
      held += this.change(event, size);
      if (held > best.bytes) best = { bytes: held, index: event };
    }
    return best;
  }

  /** A moment in words: a time, or the line of a log that has no clock. */
  moment(micros) {
    return this.predicted ? `${this.tick(micros)} of the step` : this.tick(micros);
  }

  /** The same as short as an axis wants it: a prediction orders ops and times none. */
  tick(micros) {
    if (this.predicted) return micros > 0 ? percent(micros, this.span) : "0 %";
    return this.ordinal === undefined ? duration(micros) : `${this.place} ${counted(this.ordinal + micros)}`;
  }

  /** A part of the step in words. */
  part([from, to]) {
    return `${this.tick(from)} to ${this.tick(to)} of ${this.predicted ? "the step" : this.tick(this.span)}`;
  }

  get span() {
    return this.events ? Math.max(this.times[this.events - 1], 1e-3) : 1;
  }

  /** For each pixel column of a part of the step the event of its highest total; an event before the column counts where it still holds. */
  highest(width, from = 0, to = this.span) {
    const best = new Int32Array(width);
    const scale = width / (to - from);
    let event = from > 0 ? this.indexAt(from) + 1 : 0;
    for (let x = 0; x < width; x++) {
      let top = event - 1;
      while (event < this.events && this.times[event] <= to && Math.min(Math.floor((this.times[event] - from) * scale), width - 1) <= x) {
        if (top < 0 || this.curve[event] > this.curve[top]) top = event;
        event++;
      }
      best[x] = top;
    }
    return best;
  }

  /** The stacked curve: bytes by column and group at each column's highest instant, column after column. */
  stacked(width, groupOf, groups, from = 0, to = this.span) {
    const best = this.highest(width, from, to);
    const found = new Float64Array(width * groups);
    const held = this.sums(-1, groupOf, groups);
    let event = 0;
    for (let x = 0; x < width; x++) {
      for (; event <= best[x]; event++) {
        const row = this.rowOf[event];
        if (row >= 0) held[groupOf[row]] += this.size[row];
        else held[groupOf[~row]] -= this.size[~row];
      }
      found.set(held, x * groups);
    }
    return found;
  }

  /** The settled instant with the most in use between two times: what a click on a pixel means. */
  snapped(from, to) {
    let best = this.indexAt(from);
    for (let event = best + 1; event < this.events && this.times[event] < to; event++) {
      const end = this.settled(event);
      if (best < 0 || this.curve[end] > this.total(best)) best = end;
      event = end;
    }
    return this.settled(best);
  }

  /** What a row has in a column of names, null for nothing. */
  name(which, row) {
    return this.names[this[which][row]];
  }

  /** When a row was allocated, in words. */
  start(row) {
    if (!this.timed) return "";
    return this.birth[row] < 0 ? (this.place === "instruction" ? "at any time" : "before the step") : this.tick(this.times[this.birth[row]]);
  }

  /** How long a row was held (µs); without end where it outlives the step. */
  held(row) {
    if (this.death[row] >= this.events) return Infinity;
    return this.times[this.death[row]] - (this.birth[row] < 0 ? 0 : this.times[this.birth[row]]);
  }

  /** The same in words. */
  duration(row) {
    if (!this.timed) return "";
    const micros = this.held(row);
    if (micros === Infinity) return this.birth[row] < 0 ? "all of it" : "to the end";
    if (this.predicted) return percent(micros, this.span);
    return this.ordinal === undefined ? duration(micros) : `${counted(micros)} ${this.place}${micros === 1 ? "" : "s"}`;
  }

  /** Both in one phrase. */
  lifetime(row) {
    if (!this.timed) return "";
    const held = this.held(row) === Infinity ? "held to the end" : `held for ${this.duration(row)}`;
    return `${this.birth[row] < 0 ? "there before the step" : `allocated at ${this.start(row)}`}, ${held}`;
  }

  /** A row in a few lines. */
  told(row) {
    const tensor = `${this.name("shape", row) ?? ""} ${this.name("dtype", row) ?? ""}`.trim();
    return [this.label(row), `${human(this.size[row])}, ${this.kindNames[this.kind[row]]}`, tensor, this.lifetime(row), this.reader[row] ? `kept for ${this.name("reader", row)}` : ""];
  }

  /** What a row is called where it has no node: its size in a dump without names. */
  label(row) {
    return this.name("node", row) ?? (this.count[row] > 1 ? `${this.count[row]} × ${human(this.each[row])}` : this.timed ? "in use before the step" : human(this.each[row]));
  }
}
