// What a reader has chosen in one moment: an instant, a search, a part of the tree. Views listen to it.

import { Tree } from "./tree.js";

export class State {
  constructor(ledger) {
    this.ledger = ledger;
    this.index = ledger.peak;
    this.time = ledger.times[ledger.peak] ?? 0;
    this.window = [0, ledger.span];
    this.throughout = false;
    this.mode = "scope";
    this.root = 0;
    this.query = "";
    this.onlyKind = undefined;
    this._trees = {};
    this._listeners = [];
  }

  /** Whether only a part of the step is shown. */
  get zoomed() {
    return this.window[1] - this.window[0] < this.ledger.span;
  }

  /** Show a part of the step (µs); without a moment of its own its highest instant is chosen. */
  zoom(from, to, index) {
    const { span } = this.ledger;
    const width = Math.min(Math.max(to - from, span / 1e5, 1e-3), span);
    const start = Math.min(Math.max(from, 0), span - width);
    const chosen = index ?? this.ledger.snapped(start, start + width);
    const time = chosen === this.index ? this.time : (this.ledger.times[chosen] ?? 0);
    this.set({ window: [start, start + width], index: chosen, time: Math.min(Math.max(time, start), start + width), throughout: this.throughout && width < span });
  }

  get tree() {
    return (this._trees[this.mode] ??= new Tree(this.ledger, this.mode));
  }

  listen(view) {
    this._listeners.push(view);
  }

  set(changes) {
    if ("index" in changes) this.time = this.ledger.times[changes.index] ?? 0;
    Object.assign(this, changes);
    if ("mode" in changes) this.root = 0;
    if ("query" in changes || "onlyKind" in changes) this._matched = null;
    for (const view of this._listeners) view(changes);
  }

  /** For each row 1 where the search finds it in one of its names; null when nothing is sought. */
  get matched() {
    if (this._matched !== undefined && this._matched !== null) return this._matched;
    const words = this.query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length && this.onlyKind === undefined) return null;
    const { ledger } = this;
    const found = new Uint8Array(ledger.rows).fill(1);
    for (const word of words) {
      const inName = ledger.names.map((name) => name !== null && name.toLowerCase().includes(word));
      const inKind = ledger.kinds.map((kind) => kind.includes(word));
      for (let row = 0; row < ledger.rows; row++) {
        found[row] &= inKind[ledger.kind[row]] || inName[ledger.node[row]] || inName[ledger.layer[row]] || inName[ledger.op[row]] || inName[ledger.shape[row]] || inName[ledger.dtype[row]];
      }
    }
    if (this.onlyKind !== undefined) for (let row = 0; row < ledger.rows; row++) found[row] &= ledger.kind[row] === this.onlyKind;
    return (this._matched = found);
  }
}
