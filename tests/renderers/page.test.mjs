// The page's modules without a browser: run by tests/renderers/test_html_modules.py with `node --test`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const at = (name) => import(`${process.env.PAGE}/${name}.js`);
const { human, percent, duration, counted, readable } = await at("format");
const { column, Ledger, unpack } = await at("ledger");
const { Tree, MODES } = await at("tree");
const { State } = await at("state");
const { sorted } = await at("table");
const { saved, scaled, outcome } = await at("whatif");

const cases = JSON.parse(readFileSync(process.env.CASES, "utf8"));

test("sizes and shares are written as Python writes them", () => {
  for (const [bytes, text] of cases.human) assert.equal(human(bytes), text, String(bytes));
  for (const [part, whole, text] of cases.percent) assert.equal(percent(part, whole), text, `${part} of ${whole}`);
});

test("durations, counts and names", () => {
  assert.equal(duration(12), "12 µs");
  assert.equal(duration(12500), "12.5 ms");
  assert.equal(duration(2.5e6), "2.50 s");
  assert.equal(counted(1234567), "1,234,567");
  for (const [text, plain] of cases.readable) assert.equal(readable(text), plain);
  assert.equal(readable("x".repeat(9000)).length, 4001);
});

test("columns in their three forms", () => {
  assert.deepEqual([...column([3, 1, 2])], [3, 1, 2]);
  assert.deepEqual([...column({ v: 7, n: 3 })], [7, 7, 7]);
  assert.deepEqual([...column({ d: [5, -2, 4] })], [5, 3, 7]);
});

for (const [name, text] of Object.entries(cases.pages)) {
  const { moments, names, kinds } = await unpack(text.packed);
  const ledger = new Ledger(moments[0], names, kinds);

  test(`${name}: the curve is Python's`, () => {
    assert.deepEqual([...ledger.curve], text.curve);
    assert.equal(ledger.total(ledger.peak), text.peak);
    for (const [micros, bytes] of text.at) assert.equal(ledger.total(ledger.indexAt(micros)), bytes, `${micros} µs`);
  });

  test(`${name}: sums by kind add up at every instant`, () => {
    for (let index = -1; index < ledger.events; index++) {
      const sums = ledger.sums(index, ledger.kind, kinds.length);
      assert.equal(sums.reduce((a, b) => a + b, 0), ledger.total(index));
    }
  });

  test(`${name}: each column of the stacked curve is its highest instant`, () => {
    const width = 97;
    const stack = ledger.stacked(width, ledger.kind, kinds.length);
    const best = ledger.highest(width);
    let highest = 0;
    for (let x = 0; x < width; x++) {
      const sum = stack.slice(x * kinds.length, (x + 1) * kinds.length).reduce((a, b) => a + b, 0);
      assert.equal(sum, ledger.total(best[x]));
      highest = Math.max(highest, sum);
    }
    assert.equal(highest, text.peak);
  });

  test(`${name}: every tree holds every byte, and its rectangles fit`, () => {
    for (const mode of MODES) {
      const tree = new Tree(ledger, mode);
      const sums = tree.fill(ledger.peak);
      assert.equal(sums[0], text.peak);
      for (const box of tree.layout(0, sums, 800)) {
        assert.ok(box.x >= -1e-6 && box.x + box.width <= 800 + 1e-6);
        assert.ok(Math.abs(box.width - (800 * sums[box.node]) / sums[0]) < 1e-6);
      }
      for (let node = 1; node < sums.length; node++) assert.ok(tree.parent[node] < node);
    }
  });

  test(`${name}: the search finds rows by any of their names`, () => {
    const state = new State(ledger);
    assert.equal(state.matched, null);
    state.set({ query: "GRADIENT" });
    for (let row = 0; row < ledger.rows; row++) {
      const words = ["node", "layer", "op", "shape", "dtype"].map((column) => ledger.name(column, row) ?? "").join("\n") + kinds[ledger.kind[row]];
      assert.equal(Boolean(state.matched[row]), words.toLowerCase().includes("gradient"));
    }
    state.set({ query: "gradient float32" });
    assert.ok(state.matched.some(Boolean));
    state.set({ query: "" });
    assert.equal(state.matched, null);
  });

  test(`${name}: every order is a permutation`, () => {
    for (const key of ["bytes", "count", "layer", "node", "op", "kind", "shape", "dtype", "lifetime"]) {
      const order = sorted(ledger, key);
      assert.equal(new Set(order).size, ledger.rows);
      if (key === "bytes") for (let at = 1; at < order.length; at++) assert.ok(ledger.size[order[at - 1]] >= ledger.size[order[at]]);
    }
  });

  test(`${name}: nothing changed costs nothing, half the batch halves what grows`, () => {
    assert.equal(outcome(ledger, {}).bytes, text.peak);
    const size = scaled(ledger, { batch: 0.5 });
    for (let row = 0; row < ledger.rows; row++) assert.equal(size[row], ledger.size[row] * (ledger.grows[row] ? 0.5 : 1));
    for (const [batch, saves] of ledger.scaling.batches) assert.equal(outcome(ledger, { batch }).bytes, text.peak - saves);
    for (const [bit, lever] of ledger.scaling.levers.entries()) assert.equal(outcome(ledger, { levers: 1 << bit }).bytes, text.peak - lever.saves);
  });
}

test("between the sizes that the engine was asked about there is a straight line", () => {
  const points = [[0.5, 100], [2, -200]];
  assert.equal(saved(points, 0.5), 100);
  assert.equal(saved(points, 1), 0);
  assert.equal(saved(points, 0.75), 50);
  assert.equal(saved(points, 1.5), -100);
  assert.equal(saved(points, 4), -600);
  assert.equal(saved([], 0.5), null);
});
