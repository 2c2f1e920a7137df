// The pool at the chosen moment, by address, where the allocator told addresses; and how scattered its free memory was over the step.

import { colour, kindColours, prepared, telling } from "./canvas.js";
import { human, percent } from "./format.js";
import { column } from "./ledger.js";

const POOL_LINE = 18;
const LINES = 8;
const SCATTER_HEIGHT = 64;

/** Stretches of addresses that rows used at any time, joined where they touch: [{from, to, place}] in order; `place` is where a picture without the gaps begins them. */
export function stretches(address, size) {
  const order = [...address.keys()].filter((row) => address[row] >= 0 && size[row] > 0).sort((a, b) => address[a] - address[b]);
  const found = [];
  let place = 0;
  for (const row of order) {
    const last = found.at(-1);
    const end = address[row] + size[row];
    if (last && address[row] <= last.to) last.to = Math.max(last.to, end);
    else {
      if (last) place += last.to - last.from;
      found.push({ from: address[row], to: end, place });
    }
  }
  return found;
}

/** Where an address lies in a picture of the stretches. */
export function placed(found, address) {
  let low = 0;
  let high = found.length;
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (found[middle].from <= address) low = middle;
    else high = middle;
  }
  return found[low].place + address - found[low].from;
}

export class ReplayView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.pool = room.querySelector("canvas.pool");
    this.scatter = room.querySelector("canvas.scatter");
    const { ledger } = state;
    if (ledger.address) {
      this.stretches = stretches(ledger.address, ledger.size);
      const last = this.stretches.at(-1);
      this.whole = last ? last.place + last.to - last.from : 0;
      telling(this.pool, (event) => this._tell(event));
    }
    state.listen((changes) => ("index" in changes || "window" in changes || "theme" in changes) && this.draw());
  }

  draw() {
    const { ledger } = this.state;
    if (ledger.address) this._pool();
    if (ledger.fragmentation) this._scatter();
  }

  _pool() {
    const { ledger, index } = this.state;
    const { pen, width } = prepared(this.pool, LINES * POOL_LINE + 2);
    this.width = width;
    this.each = this.whole / (width * LINES) || 1;
    pen.fillStyle = colour("free");
    for (let line = 0; line < LINES; line++) pen.fillRect(0, line * POOL_LINE + 1, width, POOL_LINE - 3);
    const colours = kindColours(ledger.kinds);
    let held = 0;
    for (let row = 0; row < ledger.rows; row++) {
      if (ledger.address[row] < 0 || !ledger.isAlive(row, index)) continue;
      held += ledger.size[row];
      pen.fillStyle = colours[ledger.kind[row]];
      this._strip(pen, placed(this.stretches, ledger.address[row]) / this.each, ledger.size[row] / this.each);
    }
    this.room.querySelector(".pool-said").textContent = `${human(held)} of the ${human(this.whole)} of addresses that the step used are in use at this moment.`;
    this.pool.dataset.bytes = held;
  }

  /** A stretch of the picture, over as many lines as it takes. */
  _strip(pen, from, room) {
    for (let line = Math.floor(from / this.width); line * this.width < from + room; line++) {
      const left = Math.max(from - line * this.width, 0);
      const right = Math.min(from + room - line * this.width, this.width);
      pen.fillRect(left, line * POOL_LINE + 1, Math.max(right - left - (right - left > 3 ? 0.6 : 0), 0.4), POOL_LINE - 3);
    }
  }

  _tell(event) {
    const { ledger, index } = this.state;
    const box = this.pool.getBoundingClientRect();
    const at = (Math.floor((event.clientY - box.top) / POOL_LINE) * this.width + event.clientX - box.left) * this.each;
    for (let row = 0; row < ledger.rows; row++) {
      if (ledger.address[row] < 0 || !ledger.isAlive(row, index)) continue;
      const from = placed(this.stretches, ledger.address[row]);
      if (from <= at && at < from + ledger.size[row]) return ledger.told(row);
    }
    return ["not in use by this step at this moment"];
  }

  /** The share of free memory outside the largest free block, over the part that is shown. */
  _scatter() {
    const { ledger, window, time } = this.state;
    const { times, share } = ledger.fragmentation;
    const { pen, width } = prepared(this.scatter, SCATTER_HEIGHT);
    const x = (micros) => ((micros - window[0]) / (window[1] - window[0])) * width;
    const y = (part) => SCATTER_HEIGHT - 3 - (SCATTER_HEIGHT - 8) * part;
    pen.fillStyle = colour("edge");
    for (const part of [0, 0.5, 1]) pen.fillRect(0, Math.round(y(part)), width, 1);
    pen.fillStyle = colour("dim");
    pen.fillText("100 %", 3, y(1) + 8);
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (let at = 0; at < times.length; at++) {
      if (at) pen.lineTo(x(times[at]), y(share[at - 1]));
      pen.lineTo(x(times[at]), y(share[at]));
    }
    pen.stroke();
    pen.fillStyle = colour("ink");
    pen.fillRect(x(time), 0, 1.5, SCATTER_HEIGHT);
    const now = share[Math.max(times.findLastIndex((each) => each <= time), 0)];
    this.room.querySelector(".scatter-said").textContent = `Fragmentation as the allocator tells it: ${percent(now, 1)} of the pool's free memory lies outside its largest free block at this moment.`;
    this.scatter.dataset.share = now;
  }
}

/** What a moment tells for the replay, unpacked into its ledger: addresses by row, and fragmentation over time. */
export function unpackReplay(ledger, moment) {
  if (moment.address) ledger.address = column(moment.address);
  if (!moment.fragmentation) return;
  const { times, share } = moment.fragmentation;
  ledger.fragmentation = { times: column(times).map((tick) => tick * (moment.unit ?? 1)), share: column(share).map((part) => part / 1000) };
}
