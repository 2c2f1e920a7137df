// The lives of the largest tensors as bars under the curve.

import { colour, fitted, inkOn, kindColours, on, prepared, telling } from "./canvas.js";
import { human } from "./format.js";

const LIFE_LINE = 16;
const MOST = 40;

export class LivesView {
  constructor(room, state) {
    this.canvas = room.querySelector("canvas.lives");
    this.state = state;
    telling(this.canvas, (event) => this._tell(event));
    on(this.canvas, "click", (event) => this._choose(event));
    state.listen((changes) => ("index" in changes || "window" in changes || "theme" in changes || "query" in changes || "onlyKind" in changes) && this.draw());
  }

  /** The largest rows of the part that is shown and the search allows, in the order of their births. */
  _rows() {
    const { ledger, matched, window } = this.state;
    if (this._for === matched && this._window === window && this._kept) return this._kept;
    const rows = [];
    const lives = ledger.livesWithin(...window);
    for (let row = 0; row < ledger.rows; row++) if (ledger.birth[row] >= 0 && ledger.birth[row] < ledger.events && (!matched || matched[row]) && lives(row)) rows.push(row);
    rows.sort((a, b) => ledger.size[b] - ledger.size[a] || a - b);
    this._for = matched;
    this._window = window;
    return (this._kept = rows.slice(0, MOST).sort((a, b) => ledger.birth[a] - ledger.birth[b] || a - b));
  }

  draw() {
    const { ledger, index, time, window } = this.state;
    const rows = this._rows();
    const { pen, width } = prepared(this.canvas, Math.max(rows.length, 1) * LIFE_LINE + 4);
    const colours = kindColours(ledger.kinds);
    const place = (micros) => Math.min(Math.max(((micros - window[0]) / (window[1] - window[0])) * width, 0), width);
    pen.font = "11px system-ui, sans-serif";
    rows.forEach((row, at) => {
      const x = place(ledger.times[ledger.birth[row]]);
      const end = ledger.death[row] < ledger.events ? place(ledger.times[ledger.death[row]]) : width;
      const room = Math.max(end - x, 2);
      pen.globalAlpha = ledger.isAlive(row, index) ? 1 : 0.45;
      pen.fillStyle = colours[ledger.kind[row]];
      pen.fillRect(x, at * LIFE_LINE + 2, room, LIFE_LINE - 3);
      const text = `${human(ledger.size[row])} ${ledger.label(row)}`;
      const inside = room > 120;
      pen.globalAlpha = 1;
      pen.fillStyle = inside ? (ledger.isAlive(row, index) ? inkOn(colours[ledger.kind[row]]) : colour("ink")) : colour("dim");
      const before = !inside && x > width * 0.6;
      const free = inside ? room - 8 : before ? x - 8 : width - end - 8;
      const shown = fitted(pen, text, free, true);
      pen.fillText(shown, inside ? x + 4 : before ? x - 4 - pen.measureText(shown).width : end + 4, at * LIFE_LINE + LIFE_LINE / 2 + 1);
    });
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 2;
    const x = Math.max(place(time), 1);
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, rows.length * LIFE_LINE + 4);
    pen.stroke();
  }

  _row(event) {
    return this._rows()[Math.floor((event.clientY - this.canvas.getBoundingClientRect().top - 2) / LIFE_LINE)];
  }

  _tell(event) {
    const { ledger } = this.state;
    const row = this._row(event);
    return row === undefined ? null : ledger.told(row);
  }

  _choose(event) {
    const row = this._row(event);
    if (row !== undefined) this.state.set({ index: this.state.ledger.settled(this.state.ledger.birth[row]) });
  }
}
