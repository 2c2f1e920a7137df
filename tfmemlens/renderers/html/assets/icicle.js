// Where: scopes, layers and ops as an icicle; as wide as their bytes, coloured by kind, zoomable by pointer and keys.

import { colour, element, fitted, inkOn, kindColours, on, prepared, telling, widthOf } from "./canvas.js";
import { counted, human, percent, readable } from "./format.js";

const SCOPE_LINE = 24;

export class IcicleView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.canvas = room.querySelector("canvas.icicle");
    this.crumbs = room.querySelector(".crumbs");
    this.said = room.querySelector(".icicle-said");
    this.chosen = 0;
    this._hear();
    state.listen(() => this.draw());
  }

  draw() {
    const { tree, root, index, matched } = this.state;
    this.sums = tree.fill(index);
    this.found = matched ? tree.fill(index, this.state.ledger.size.map((size, row) => (matched[row] ? size : 0))) : null;
    const width = widthOf(this.canvas);
    this.boxes = tree.layout(root, this.sums, width);
    const levels = this.boxes.reduce((most, box) => Math.max(most, box.level), 0) + 1;
    const { pen } = prepared(this.canvas, Math.max(levels, 2) * SCOPE_LINE + 1);
    this._kinds = this._kindSums();
    const colours = kindColours(this.state.ledger.kinds);
    for (const box of this.boxes) this._box(pen, box, colours);
    this._crumb();
    this.canvas.dataset.bytes = this.sums[root];
  }

  /** Bytes of each kind in the scopes that are wide enough to be seen. */
  _kindSums() {
    const { tree, ledger, index } = this.state;
    const kinds = ledger.kinds.length;
    const slots = new Map(this.boxes.filter((box) => tree.kind[box.node] < 0 && box.width > 3).map((box, at) => [box.node, at]));
    const sums = new Float64Array(slots.size * kinds);
    const slotOf = new Int32Array(tree.parent.length).fill(-2);
    for (const [node, slot] of slots) slotOf[node] = slot;
    const fill = tree.leafTotals(index);
    for (let leaf = 1; leaf < fill.length; leaf++) {
      if (tree.kind[leaf] < 0 || !fill[leaf]) continue;
      for (let node = tree.parent[leaf]; ; node = tree.parent[node]) {
        if (slotOf[node] >= 0) sums[slotOf[node] * kinds + tree.kind[leaf]] += fill[leaf];
        if (node === 0) break;
      }
    }
    return { slots, sums };
  }

  _box(pen, { node, x, width, level }, colours) {
    const { tree, ledger } = this.state;
    const kind = tree.kind[node];
    const y = level * SCOPE_LINE;
    const sought = !this.found || this.found[node] > 0;
    pen.globalAlpha = sought ? 1 : 0.18;
    if (kind >= 0) {
      pen.fillStyle = colours[kind];
      pen.fillRect(x, y, width, SCOPE_LINE - 1);
    } else {
      pen.fillStyle = colour("panel");
      pen.fillRect(x, y, width, SCOPE_LINE - 1);
      const slot = this._kinds.slots.get(node);
      if (slot !== undefined) {
        const count = ledger.kinds.length;
        let left = x;
        for (let at = 0; at < count; at++) {
          const room = (this._kinds.sums[slot * count + at] / this.sums[node]) * width;
          pen.fillStyle = colours[at];
          pen.fillRect(left, y + SCOPE_LINE - 6, room, 5);
          left += room;
        }
      }
    }
    if (width > 2) {
      pen.strokeStyle = colour("page");
      pen.lineWidth = 1;
      pen.strokeRect(x + 0.5, y - 0.5, width, SCOPE_LINE);
    }
    if (width > 28) {
      pen.fillStyle = kind >= 0 ? inkOn(colours[kind]) : colour("ink");
      const bytes = human(this.sums[node]);
      const name = node === 0 ? `all ${bytes}` : tree.label[node] === bytes ? bytes : `${tree.label[node]}  ${bytes}`;
      pen.fillText(fitted(pen, name, width - 8), x + 4, y + SCOPE_LINE / 2 - (kind < 0 ? 2.5 : 0));
    }
    pen.globalAlpha = 1;
    if (node === this.chosen && document.activeElement === this.canvas) {
      pen.strokeStyle = colour("accent");
      pen.lineWidth = 3;
      pen.strokeRect(x + 1.5, y + 1.5, Math.max(width - 3, 1), SCOPE_LINE - 4);
    }
  }

  _crumb() {
    const { tree, root } = this.state;
    if (this._shown?.tree === tree && this._shown.root === root) return; // a crumb must not vanish between press and release
    this._shown = { tree, root };
    this.crumbs.replaceChildren(
      ...tree.path(root).map((node) => {
        const button = element("button", { type: "button", class: "crumb", text: readable(node === 0 ? "all" : tree.label[node], 60), "aria-current": node === root ? "true" : undefined });
        on(button, "click", () => this.zoom(node));
        return element("li", {}, button);
      }),
    );
  }

  /** Show a node over the whole width; the table follows. A leaf is shown with its parent's name above it. */
  zoom(node) {
    this.chosen = node;
    this.state.set({ root: node });
    this._say(node);
  }

  _say(node) {
    const { tree } = this.state;
    this.said.textContent = `${tree.path(node).slice(1).map((each) => readable(tree.label[each], 200)).join(" / ") || "all"}: ${human(this.sums[node])}, ${percent(this.sums[node], this.sums[0])} of all${tree.kind[node] >= 0 ? `, ${this.state.ledger.kinds[tree.kind[node]]}` : ""}`;
  }

  _hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const level = Math.floor((event.clientY - box.top) / SCOPE_LINE);
    return this.boxes.find((each) => each.level === level && x >= each.x && x < each.x + each.width);
  }

  _hear() {
    const { canvas } = this;
    on(canvas, "click", (event) => {
      const hit = this._hit(event);
      if (!hit) return;
      this.zoom(hit.node === this.state.root && hit.node ? this.state.tree.parent[hit.node] : hit.node);
    });
    telling(canvas, (event) => {
      const hit = this._hit(event);
      if (!hit) return null;
      const { tree, ledger } = this.state;
      const row = tree.firstRow[hit.node];
      const lines = row >= 0 ? ledger.told(row) : [tree.path(hit.node).slice(1).map((node) => tree.label[node]).join("/") || "all"];
      lines.push(`${human(this.sums[hit.node])} (${counted(this.sums[hit.node])} B), ${percent(this.sums[hit.node], this.sums[0])} of all`);
      if (this.found) lines.push(`found by the search: ${human(this.found[hit.node])}`);
      return lines;
    });
    for (const name of ["focus", "blur"]) on(canvas, name, () => this.draw());
    on(canvas, "keydown", (event) => this._key(event));
    for (const button of this.room.querySelectorAll("[data-mode]")) {
      on(button, "click", () => {
        for (const each of this.room.querySelectorAll("[data-mode]")) each.setAttribute("aria-pressed", String(each === button));
        this.chosen = 0;
        this.state.set({ mode: button.dataset.mode });
      });
    }
  }

  _key(event) {
    const { tree, root } = this.state;
    const now = this.chosen;
    const beside = (step) => {
      const level = this.boxes.find((box) => box.node === now)?.level;
      const row = this.boxes.filter((box) => box.level === level).sort((a, b) => a.x - b.x);
      return row[row.findIndex((box) => box.node === now) + step]?.node;
    };
    const below = () => this.boxes.filter((box) => tree.parent[box.node] === now && box.node !== now).sort((a, b) => a.x - b.x)[0]?.node;
    const moves = {
      ArrowDown: below,
      ArrowUp: () => (now === root ? undefined : tree.parent[now]),
      ArrowRight: () => beside(1),
      ArrowLeft: () => beside(-1),
    };
    if (event.key === "Enter") this.zoom(now);
    else if (event.key === "Escape" || event.key === "Backspace") this.zoom(tree.parent[root]);
    else if (moves[event.key]) {
      const next = moves[event.key]();
      if (next !== undefined) this.chosen = next;
      this.draw();
      this._say(this.chosen);
    } else return;
    event.preventDefault();
  }
}
