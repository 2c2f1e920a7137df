// The allocator's pool in the order of its addresses: chunks in use and the gaps between them.

import { colour, kindColours, prepared, telling } from "./canvas.js";
import { counted, human } from "./format.js";
import { column } from "./ledger.js";

const CHUNK_LINE = 18;

export class ChunksView {
  constructor(room, state) {
    this.canvas = room.querySelector("canvas.chunks");
    this.room = room;
    this.state = state;
    const packed = state.ledger.chunks;
    for (const name of ["address", "size", "used", "region", "op", "kind"]) this[name] = column(packed[name]);
    telling(this.canvas, (event) => this._tell(event));
    state.listen((changes) => "theme" in changes && this.draw());
  }

  draw() {
    const total = this.size.reduce((sum, size) => sum + size, 0);
    const lines = Math.min(Math.max(Math.ceil(this.size.length / 40), 6), 24);
    const { pen, width } = prepared(this.canvas, lines * CHUNK_LINE + 2);
    this.each = total / (width * lines) || 1;
    this.width = width;
    this.starts = new Float64Array(this.size.length);
    const kinds = kindColours(this.state.ledger.kinds);
    const shades = [colour("used-a"), colour("used-b")];
    let at = 0;
    let largest = -1;
    for (let chunk = 0; chunk < this.size.length; chunk++) {
      this.starts[chunk] = at;
      if (!this.used[chunk] && (largest < 0 || this.size[chunk] > this.size[largest])) largest = chunk;
      pen.fillStyle = !this.used[chunk] ? colour("free") : this.kind[chunk] >= 0 ? kinds[this.kind[chunk]] : shades[chunk % 2];
      this._strip(pen, at / this.each, (at + this.size[chunk]) / this.each);
      at += this.size[chunk];
    }
    pen.fillStyle = colour("ink");
    for (let chunk = 1; chunk < this.size.length; chunk++) {
      const x = this.starts[chunk] / this.each;
      if (this.region[chunk] !== this.region[chunk - 1]) pen.fillRect((x % width) - 1, Math.floor(x / width) * CHUNK_LINE, 2, CHUNK_LINE - 1);
    }
    if (largest >= 0) {
      pen.fillStyle = colour("accent");
      const from = this.starts[largest] / this.each;
      this._strip(pen, from, Math.max(from + 2, (this.starts[largest] + this.size[largest]) / this.each), CHUNK_LINE - 6);
    }
    this._said(total, largest);
  }

  /** A stretch of the pool, from pixel to pixel over as many lines as it takes. */
  _strip(pen, from, to, inset = 0) {
    for (let line = Math.floor(from / this.width); line * this.width < to; line++) {
      const left = Math.max(from - line * this.width, 0);
      const right = Math.min(to - line * this.width, this.width);
      pen.fillRect(left, line * CHUNK_LINE + 1 + inset, Math.max(right - left - (right - left > 3 ? 0.6 : 0), 0.4), CHUNK_LINE - 3 - inset);
    }
  }

  _said(total, largest) {
    let free = 0;
    let pieces = 0;
    for (let chunk = 0; chunk < this.size.length; chunk++) {
      if (this.used[chunk]) continue;
      free += this.size[chunk];
      pieces++;
    }
    const { chunks } = this.state.ledger;
    const words = [`${counted(this.size.length)} chunks, ${human(total)}; ${human(free)} free in ${counted(pieces)} pieces`];
    if (largest >= 0) words.push(`the largest free piece, underlined, has ${human(this.size[largest])}`);
    if (chunks.left_out) words.push(`${counted(chunks.left_out)} more chunks are not drawn`);
    if (!chunks.complete) words.push("part of the list is missing from the input");
    this.room.querySelector(".chunks-said").textContent = words.join("; ") + ".";
  }

  _tell(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = (Math.floor((event.clientY - box.top) / CHUNK_LINE) * this.width + event.clientX - box.left) * this.each;
    let low = 0;
    let high = this.starts.length;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= place) low = middle;
      else high = middle;
    }
    const name = this.state.ledger.names[this.op[low]];
    return [`${this.used[low] ? "in use" : "free"}: ${human(this.size[low])}`, name ?? "", `region ${this.region[low]}, ${counted(this.address[low])} B from the first chunk`];
  }
}
