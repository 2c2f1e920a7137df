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
const { address, words } = await at("place");
const { cell, csv } = await at("sheet");
const { label, ticks } = await at("scale");
const { largest, walk } = await at("bands");
const { narrowings } = await at("chips");
const { changes, scopes, signed } = await at("compare");
const { fitted } = await at("canvas");
const { placed, stretches } = await at("replay");
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

test("a text that fits its room, in letters of one width", () => {
  const pen = { measureText: (text) => ({ width: 10 * text.length }) };
  const path = "5.00 MiB net/block_1/conv/kernel/Relu";
  assert.equal(fitted(pen, path, 370), path);
  assert.equal(fitted(pen, path, 369), "5.00 MiB net/block_1/conv/kernel/Re…");
  assert.equal(fitted(pen, path, 369, true), "5.00 MiB net/block_1/…nv/kernel/Relu");
  assert.equal(fitted(pen, path, 210, true), "5.00 MiB net…nel/Relu");
  assert.equal(fitted(pen, path, 200, true), "5.00 MiB net/block_…");
  assert.equal(fitted(pen, path, 15), "");
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
    for (const key of ["bytes", "count", "layer", "node", "op", "kind", "shape", "dtype", "start", "duration"]) {
      const order = sorted(ledger, key);
      assert.equal(new Set(order).size, ledger.rows);
      if (key === "bytes") for (let at = 1; at < order.length; at++) assert.ok(ledger.size[order[at - 1]] >= ledger.size[order[at]]);
    }
  });

  test(`${name}: an address keeps what is chosen, and nothing else`, () => {
    const state = new State(ledger);
    assert.deepEqual(state.place, {});
    const leaf = state.tree.children[0][0];
    state.zoom(ledger.span * 0.2, ledger.span * 0.8);
    state.set({ query: "a=b&c #é", onlyKind: ledger.kind[0], stack: "allocation", mode: "layer", shown: "left" });
    state.set({ root: state.tree.children[0][0] });
    assert.ok(leaf > 0);
    const other = new State(ledger);
    other.go(words(address(state.place)));
    assert.deepEqual(other.place, state.place);
    assert.equal(narrowings(other).length, 5);
    other.go({});
    assert.deepEqual(other.place, {});
    for (const odd of [{ at: "1e9" }, { at: "-7" }, { at: "x" }, { part: "9~1" }, { part: "a" }, { by: "constructor" }, { within: "{" }, { within: '["no"]' }, { within: "null" }, { kind: "no" }, { rows: "left" }, { stack: "x" }]) {
      other.go(odd);
      assert.deepEqual(other.place, {}, JSON.stringify(odd));
    }
  });

  test(`${name}: the bands of a column are what lives there`, () => {
    const events = [-1, ...Array.from({ length: ledger.events }, (_, event) => event)];
    for (const count of [0, 5, ledger.rows]) {
      const own = largest(ledger, count, 0, ledger.span);
      assert.equal(own.reduce((sum, one) => sum + one, 0), Math.min(count, [...ledger.size].filter((size) => size > 0).length));
      walk(ledger, own, events, (place, standing, rest) => {
        assert.equal(standing.reduce((sum, row) => sum + ledger.size[row], rest), ledger.total(events[place]));
        for (const row of standing) assert.ok(ledger.isAlive(row, events[place]) && own[row]);
      });
    }
    const kind = ledger.kind[0];
    walk(ledger, new Uint8Array(ledger.rows), [ledger.peak], (_, standing, rest) => assert.equal(rest, text.peak - ledger.sums(ledger.peak, ledger.kind, kinds.length)[kind]), (row) => ledger.kind[row] === kind);
  });

  test(`${name}: what a part leaves behind was born in it and outlives it`, () => {
    const [from, to] = [ledger.span * 0.3, ledger.span * 0.7];
    const left = ledger.leftBy(from, to);
    for (let row = 0; row < ledger.rows; row++) {
      const born = ledger.birth[row] < 0 ? -1 : ledger.times[ledger.birth[row]];
      const died = ledger.death[row] < ledger.events ? ledger.times[ledger.death[row]] : Infinity;
      assert.equal(left(row), born >= from && born <= to && died > to);
    }
  });

  test(`${name}: a report compared with itself shows no change`, () => {
    const rows = changes(ledger, ledger);
    assert.equal(rows.reduce((sum, row) => sum + row.before, 0), text.peak);
    assert.ok(rows.every((row) => row.before === row.after));
    assert.equal(scopes(rows).moved, 0);
  });

  test(`${name}: nothing changed costs nothing, half the batch halves what grows`, () => {
    assert.equal(outcome(ledger, {}).bytes, text.peak);
    const size = scaled(ledger, { batch: 0.5 });
    for (let row = 0; row < ledger.rows; row++) assert.equal(size[row], ledger.size[row] * (ledger.grows[row] ? 0.5 : 1));
    for (const [batch, saves] of ledger.scaling.batches) assert.equal(outcome(ledger, { batch }).bytes, text.peak - saves);
    for (const [bit, lever] of ledger.scaling.levers.entries()) assert.equal(outcome(ledger, { levers: 1 << bit }).bytes, text.peak - lever.saves);
  });
}

test("an axis has few round values", () => {
  assert.deepEqual(ticks(126e6), [32, 64, 96].map((mebibytes) => mebibytes * 1048576));
  assert.deepEqual(ticks(1), [1]);
  for (const top of [1, 7, 1000, 3e5, 8e8, 5e12]) assert.ok(ticks(top).length >= 1 && ticks(top).length <= 5 && ticks(top).at(-1) <= top);
  assert.deepEqual([1, 512, 2048, 1.5 * 2 ** 30, 96 * 2 ** 20, 2 ** 40].map(label), ["1 B", "512 B", "2 KiB", "1.5 GiB", "96 MiB", "1 TiB"]);
});

test("cells of a sheet are no formulas and break no line", () => {
  assert.deepEqual(["=1+1", "@x", "-a", "+a", "a,b", 'a"b', "a\nb", -5, null].map(cell), ["'=1+1", "'@x", "'-a", "'+a", '"a,b"', '"a""b"', '"a\nb"', "-5", ""]);
  assert.equal(csv([["a", 1], ["b", 2]]), "a,1\r\nb,2\r\n");
});

test("addresses that were never used take no room", () => {
  const found = stretches([4096, 0, 256, -1, 9000, 9100], [100, 256, 256, 7, 200, 50]);
  assert.deepEqual(found, [{ from: 0, to: 512, place: 0 }, { from: 4096, to: 4196, place: 512 }, { from: 9000, to: 9200, place: 612 }]);
  assert.deepEqual([0, 300, 4096, 4195, 9100].map((address) => placed(found, address)), [0, 300, 512, 611, 712]);
  assert.deepEqual(stretches([-1], [5]), []);
});

test("changes are summed by scope with their sign and without", () => {
  const root = scopes([{ name: "net/a", before: 10, after: 0 }, { name: "net/b", before: 0, after: 4 }, { name: "(no layer in the name)", before: 1, after: 2 }]);
  assert.deepEqual([root.change, root.moved, root.children.size], [-5, 15, 2]);
  assert.deepEqual([root.children.get("net").change, root.children.get("net").moved], [-6, 14]);
  assert.deepEqual([1536, -1536, 0].map(signed), ["+1.5 KiB", "-1.5 KiB", "0 B"]);
});

test("between the sizes that the engine was asked about there is a straight line", () => {
  const points = [[0.5, 100], [2, -200]];
  assert.equal(saved(points, 0.5), 100);
  assert.equal(saved(points, 1), 0);
  assert.equal(saved(points, 0.75), 50);
  assert.equal(saved(points, 1.5), -100);
  assert.equal(saved(points, 4), -600);
  assert.equal(saved([], 0.5), null);
});
