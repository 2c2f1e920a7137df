// What a reader has chosen in one moment: an instant, a search, a part of the tree. Views listen to it.

import { MODES, Tree } from "./tree.js";

/** Which rows the table can show, and what the curve can be stacked by. */
export const SHOWN = ["alive", "lived", "left"];
export const STACKS = ["kind", "layer", "allocation"];

export class State {
  constructor(ledger) {
    this.ledger = ledger;
    this.index = ledger.peak;
    this.time = ledger.times[ledger.peak] ?? 0;
    this.window = [0, ledger.span];
    this.shown = "alive";
    this.stack = "kind";
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
    this.set({ window: [start, start + width], index: chosen, time: Math.min(Math.max(time, start), start + width), shown: width < span ? this.shown : "alive" });
  }

  /** Tells of a row whether the table shows it: what is alive at the moment, what lived in the part that is shown, or what that part left behind. */
  get shows() {
    const { ledger, index, window } = this;
    if (this.shown === "lived") return ledger.livesWithin(...window);
    if (this.shown === "left") return ledger.leftBy(...window);
    return (row) => ledger.isAlive(row, index);
  }

  /** What differs from a page just opened, as words for its address. */
  get place() {
    const { ledger } = this;
    const kept = {};
    if (this.index !== ledger.peak) kept.at = this.index;
    if (this.time > (ledger.times[this.index] ?? 0)) kept.time = Number(this.time.toFixed(3));
    if (this.zoomed) kept.part = this.window.join("~");
    if (this.shown !== "alive") kept.rows = this.shown;
    if (this.query) kept.find = this.query;
    if (this.onlyKind !== undefined) kept.kind = ledger.kinds[this.onlyKind];
    if (this.stack !== "kind") kept.stack = this.stack;
    if (this.mode !== "scope") kept.by = this.mode;
    if (this.root) kept.within = JSON.stringify(this.tree.path(this.root).slice(1).map((node) => this.tree.label[node]));
    return kept;
  }

  /** Show what words of an address say; what they do not say is as on a page just opened. */
  go(words) {
    const { ledger } = this;
    const whole = (text, most) => (/^-?\d{1,9}$/.test(text ?? "") && Number(text) >= -1 && Number(text) < most ? Number(text) : undefined);
    const [from, to] = (words.part ?? "").split("~").map(Number);
    const part = ledger.timed && from >= 0 && from < to && to <= ledger.span ? [from, to] : [0, ledger.span];
    const mode = MODES.includes(words.by) ? words.by : "scope";
    const kind = ledger.kinds.indexOf(words.kind);
    const index = whole(words.at, ledger.events) ?? ledger.peak;
    const time = Number(words.time);
    this.set({
      window: part,
      index,
      ...(time <= ledger.span && ledger.settled(ledger.indexAt(time)) === index ? { time } : {}),
      shown: "alive",
      query: words.find ?? "",
      onlyKind: kind < 0 ? undefined : kind,
      stack: STACKS.includes(words.stack) ? words.stack : "kind",
      mode,
    });
    this.set({ shown: this.zoomed && SHOWN.includes(words.rows) ? words.rows : "alive", root: this._found(words.within) });
  }

  /** The node of the tree at the end of a path of labels; the root where there is none. */
  _found(text) {
    let labels = [];
    try {
      labels = JSON.parse(text ?? "[]");
    } catch {
      return 0;
    }
    let node = 0;
    for (const label of Array.isArray(labels) ? labels : []) {
      node = (this.tree.children[node] ?? []).find((child) => this.tree.label[child] === label) ?? 0;
      if (!node) return 0;
    }
    return node;
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
      const inKind = ledger.kindNames.map((name, kind) => name.includes(word) || ledger.kinds[kind].includes(word));
      for (let row = 0; row < ledger.rows; row++) {
        found[row] &= inKind[ledger.kind[row]] || inName[ledger.node[row]] || inName[ledger.layer[row]] || inName[ledger.op[row]] || inName[ledger.shape[row]] || inName[ledger.dtype[row]];
      }
    }
    if (this.onlyKind !== undefined) for (let row = 0; row < ledger.rows; row++) found[row] &= ledger.kind[row] === this.onlyKind;
    return (this._matched = found);
  }
}
