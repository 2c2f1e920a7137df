// The rows of a ledger as a tree of scopes, layers, kinds or devices, and its rectangles.

/** What rows without a layer are called. */
export const NOBODY = "(no layer in the name)";

const PATHS = {
  scope: (ledger, row) => ledger.name("layer", row)?.split("/") ?? [NOBODY],
  layer: (ledger, row) => [ledger.name("layer", row) ?? NOBODY],
  kind: (ledger, row) => [ledger.kindNames[ledger.kind[row]], ledger.name("layer", row) ?? NOBODY],
  device: (ledger, row) => [ledger.name("device", row) ?? "(device unknown)", ledger.name("layer", row) ?? NOBODY],
};

export const MODES = Object.keys(PATHS);

/** Nodes as columns; a parent has a smaller number than its children, the root is 0. A leaf is one node's memory of one kind. */
export class Tree {
  constructor(ledger, mode) {
    this.ledger = ledger;
    this.parent = [0];
    this.label = ["all"];
    this.depth = [0];
    this.kind = [-1];
    this.leafOf = new Int32Array(ledger.rows);
    this.firstRow = [-1];
    const inner = new Map();
    const leaves = new Map();
    for (let row = 0; row < ledger.rows; row++) {
      const key = mode === "kind" ? `${ledger.kind[row]} ${ledger.layer[row]}` : mode === "device" ? `${ledger.device[row]} ${ledger.layer[row]}` : ledger.layer[row];
      let above = inner.get(key);
      if (above === undefined) inner.set(key, (above = this._path(PATHS[mode](ledger, row))));
      const name = ledger.node[row] || -row - 1;
      const leafKey = (above * 16 + ledger.kind[row]) * 67108864 + (name < 0 ? 33554432 - name : name);
      let leaf = leaves.get(leafKey);
      if (leaf === undefined) {
        leaves.set(leafKey, (leaf = this._add(above, this._leafLabel(row), ledger.kind[row])));
        this.firstRow[leaf] = row;
      }
      this.leafOf[row] = leaf;
    }
    this._arrange();
  }

  _leafLabel(row) {
    const name = this.ledger.label(row);
    const at = name.lastIndexOf("/", name.length - 2);
    return at < 0 ? name : name.slice(at + 1);
  }

  _path(parts) {
    this._known ??= new Map();
    let at = 0;
    for (const part of parts) {
      const key = `${at}\n${part}`;
      let next = this._known.get(key);
      if (next === undefined) this._known.set(key, (next = this._add(at, part, -1)));
      at = next;
    }
    return at;
  }

  _add(parent, label, kind) {
    this.parent.push(parent);
    this.label.push(label);
    this.depth.push(this.depth[parent] + 1);
    this.kind.push(kind);
    this.firstRow.push(-1);
    return this.parent.length - 1;
  }

  /** Children in a fixed order, the largest at the peak first, so that nothing jumps while a moment is dragged. */
  _arrange() {
    const nodes = this.parent.length;
    const weight = this.fill(this.ledger.peak);
    const whole = this.fill(NaN);
    this.children = Array.from({ length: nodes }, () => null);
    for (let node = 1; node < nodes; node++) (this.children[this.parent[node]] ??= []).push(node);
    for (const list of this.children) list?.sort((a, b) => weight[b] - weight[a] || whole[b] - whole[a] || a - b);
  }

  /** Bytes of each leaf after an event; NaN asks for all rows, whenever they live. */
  leafTotals(index, size = this.ledger.size) {
    const { ledger } = this;
    const found = new Float64Array(this.parent.length);
    const all = Number.isNaN(index);
    for (let row = 0; row < ledger.rows; row++) if (all || ledger.isAlive(row, index)) found[this.leafOf[row]] += size[row];
    return found;
  }

  /** Bytes of each node after an event: its leaves' sum. */
  fill(index, size = this.ledger.size) {
    const found = this.leafTotals(index, size);
    for (let node = found.length - 1; node > 0; node--) found[this.parent[node]] += found[node];
    return found;
  }

  /** Rectangles below a node, as wide as their bytes: {node, x, width, level}; what is narrower than a pixel is left out. */
  layout(root, sums, width, narrowest = 0.7) {
    const found = [];
    const scale = sums[root] > 0 ? width / sums[root] : 0;
    const open = [[root, 0, 0]];
    while (open.length) {
      const [node, x, level] = open.pop();
      found.push({ node, x, width: sums[node] * scale, level });
      let left = x;
      for (const child of this.children[node] ?? []) {
        if (sums[child] * scale >= narrowest) open.push([child, left, level + 1]);
        left += sums[child] * scale;
      }
    }
    return found;
  }

  /** For each node whether it lies at or below one. */
  within(root) {
    const found = new Uint8Array(this.parent.length);
    found[root] = 1;
    for (let node = 1; node < found.length; node++) if (node !== root) found[node] = found[this.parent[node]];
    if (root !== 0) found[0] = 0;
    return found;
  }

  /** From the root to a node. */
  path(node) {
    const found = [node];
    while (node) found.unshift((node = this.parent[node]));
    return found;
  }
}
