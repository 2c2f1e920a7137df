// Two inputs side by side: their curves over one another, and as an icicle what grew and what shrank, as wide as the change.

import { colour, element, fitted, on, prepared, telling, widthOf } from "./canvas.js";
import { human, percent, readable } from "./format.js";
import { Ledger, unpack } from "./ledger.js";
import { label, ticks } from "./scale.js";
import { sortable } from "./sheet.js";
import { NOBODY } from "./tree.js";

const OVERLAY_HEIGHT = 200;
const CHANGE_LINE = 24;

/** Bytes by layer at both peaks: {name, before, after}, the largest change first. */
export function changes(before, after) {
  const found = new Map();
  for (const [side, ledger] of [["before", before], ["after", after]]) {
    const sums = ledger.sums(ledger.peak, ledger.layer, ledger.names.length);
    for (const layer of new Set(ledger.layer)) {
      const name = ledger.names[layer] ?? NOBODY;
      if (!found.has(name)) found.set(name, { name, before: 0, after: 0 });
      found.get(name)[side] += sums[layer];
    }
  }
  const size = (row) => Math.abs(row.after - row.before);
  return [...found.values()].sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
}

/** The changes as a tree of scopes: {label, change, moved, children}; `moved` is the sum of the changes below, whatever their sign. */
export function scopes(rows) {
  const root = { label: "all", change: 0, moved: 0, children: new Map() };
  for (const { name, before, after } of rows) {
    let node = root;
    for (const part of ["", ...name.split("/")]) {
      if (part || node !== root) {
        if (!node.children.has(part)) node.children.set(part, { label: part, change: 0, moved: 0, children: new Map() });
        node = node.children.get(part);
      }
      node.change += after - before;
      node.moved += Math.abs(after - before);
    }
  }
  return root;
}

/** A change with its sign. */
export function signed(bytes) {
  return bytes > 0 ? `+${human(bytes)}` : human(bytes);
}

export class DifferenceView {
  constructor(canvas, rows) {
    this.canvas = canvas;
    this.path = [scopes(rows)];
    on(canvas, "click", (event) => {
      const hit = this._hit(event);
      if (!hit) return;
      this.path = hit.path.length === this.path.length && this.path.length > 1 ? this.path.slice(0, -1) : hit.path;
      this.draw();
    });
    telling(canvas, (event) => {
      const hit = this._hit(event);
      return hit && [hit.path.slice(1).map((node) => node.label).join("/") || "all", `${signed(hit.node.change)}`, hit.node.moved > Math.abs(hit.node.change) ? `${human(hit.node.moved)} moved within` : ""];
    });
  }

  draw() {
    const width = widthOf(this.canvas);
    const root = this.path.at(-1);
    this.boxes = [];
    const place = (node, x, level, path) => {
      const room = (node.moved / (root.moved || 1)) * width;
      if (room < 1) return;
      this.boxes.push({ node, x, level, room, path });
      let left = x;
      for (const child of [...node.children.values()].sort((a, b) => b.moved - a.moved)) {
        place(child, left, level + 1, [...path, child]);
        left += (child.moved / (root.moved || 1)) * width;
      }
    };
    place(root, 0, 0, this.path);
    const levels = Math.max(...this.boxes.map((box) => box.level), 0) + 1;
    const { pen } = prepared(this.canvas, levels * CHANGE_LINE + 1);
    for (const { node, x, level, room } of this.boxes) {
      pen.fillStyle = colour(node.change > 0 ? "causeback" : node.change < 0 ? "goodback" : "panel");
      pen.fillRect(x, level * CHANGE_LINE, room - 1, CHANGE_LINE - 1);
      pen.fillStyle = colour(node.change > 0 ? "cause" : node.change < 0 ? "good" : "dim");
      pen.fillRect(x, level * CHANGE_LINE + CHANGE_LINE - 4, room - 1, 3);
      if (room > 40) pen.fillText(fitted(pen, `${node.label}  ${signed(node.change)}`, room - 8), x + 4, level * CHANGE_LINE + CHANGE_LINE / 2 - 2);
    }
    this.canvas.dataset.bytes = root.change;
  }

  _hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, level] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / CHANGE_LINE)];
    return this.boxes.find((each) => each.level === level && x >= each.x && x < each.x + each.room);
  }
}

/** The curves of two steps, each from its begin to its end, over one another. */
export function overlay(canvas, ledgers) {
  const { pen, width } = prepared(canvas, OVERLAY_HEIGHT);
  const top = Math.max(...ledgers.map((ledger) => ledger.total(ledger.peak)), 1) * 1.08;
  const y = (bytes) => OVERLAY_HEIGHT - 4 - (OVERLAY_HEIGHT - 12) * (bytes / top);
  for (const bytes of ticks(top)) {
    pen.fillStyle = colour("edge");
    pen.fillRect(0, Math.round(y(bytes)), width, 1);
    pen.fillStyle = colour("dim");
    pen.fillText(label(bytes), 3, y(bytes) - 7);
  }
  ledgers.forEach((ledger, side) => {
    pen.strokeStyle = colour(side ? "cause" : "accent");
    pen.lineWidth = side ? 2.2 : 1.6;
    pen.setLineDash(side ? [] : [5, 3]);
    pen.beginPath();
    ledger.highest(width).forEach((event, x) => (x ? pen.lineTo(x, y(ledger.total(event))) : pen.moveTo(x, y(ledger.total(event)))));
    pen.stroke();
  });
  pen.setLineDash([]);
  canvas.dataset.peaks = ledgers.map((ledger) => ledger.total(ledger.peak));
}

/** A picture with what it shows in words, in a figure of its own. */
function pictured(canvas, text) {
  return element("figure", { class: "pictured" }, element("figcaption", { class: "dim", text }), element("div", { class: "canvas-room" }, canvas));
}

/** Draw a comparison that the page's text tells: its curves, where both have one, and its icicle. */
export function illustrate(section, rows, ledgers) {
  const room = section.querySelector(".compared");
  const icicle = element("canvas", { class: "difference", role: "img", "aria-label": "What grew and what shrank by scope, as wide as the change; the tables below have the same figures" });
  const curves = ledgers.every((ledger) => ledger?.timed) ? element("canvas", { class: "overlay", role: "img", "aria-label": "Bytes in use over both steps" }) : null;
  if (curves) room.append(pictured(curves, "Bytes in use, each step from its beginning to its end: dashed before, solid after."));
  const view = new DifferenceView(icicle, rows);
  if (view.path[0].moved) room.append(pictured(icicle, "What changed, as wide as the change: red grew, green shrank. A click shows a scope alone."));
  for (const table of section.querySelectorAll("table")) sortable(table);
  return () => {
    if (curves) overlay(curves, ledgers);
    if (icicle.parentElement) view.draw();
  };
}

/** The section on a ledger and another one from a file. */
function dropped(names, before, after) {
  const rows = changes(before, after);
  const [from, to] = [before, after].map((ledger) => ledger.total(ledger.peak));
  const cells = (row) => [
    element("td", { class: "name" }, element("bdi", { text: readable(row.name, 140) })),
    ...["before", "after"].map((side) => element("td", { class: "number", text: human(row[side]), "data-bytes": row[side] })),
    element("td", { class: `number ${row.after > row.before ? "grew" : "shrank"}`, text: signed(row.after - row.before), "data-bytes": row.after - row.before }),
  ];
  const heads = ["layer", "before", "after", "change"].map((text, at) => element("th", { scope: "col", class: at ? "number" : "", text }));
  const shown = rows.filter((row) => row.before !== row.after).slice(0, 200);
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...shown.map((row) => element("tr", {}, ...cells(row)))));
  const section = element(
    "section",
    { class: "comparison dropped" },
    element("p", { class: "source" }, element("bdi", { text: readable(names[0], 200) }), " → ", element("bdi", { text: readable(names[1], 200) })),
    element("h2", { class: "says", text: `${signed(to - from)} (${percent(Math.abs(to - from), from)}): from ${human(from)} to ${human(to)}` }),
    element("div", { class: "compared" }),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "By layer" }, table),
    element("p", {}, element("button", { type: "button", text: "Close the comparison", onclick: () => section.remove() })),
  );
  return [section, illustrate(section, rows, [before, after])];
}

/** The first moment of a report in a file: its name and its ledger; null for any other file. */
async function reported(file) {
  const page = new DOMParser().parseFromString(await file.text(), "text/html");
  const packed = page.querySelector("script[type='application/json']");
  try {
    const { moments, names, kinds } = await unpack(packed.textContent.trim());
    return { name: page.querySelector(".source bdi")?.textContent ?? file.name, ledger: new Ledger(moments[0], names, kinds) };
  } catch {
    return null;
  }
}

/** Let another report be dropped on this one; `current` gives the name and ledger that it is compared with. */
export function hearDrops(main, current) {
  on(document, "dragover", (event) => event.preventDefault());
  on(document, "drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    const here = current();
    if (!file || !here) return;
    const other = await reported(file);
    for (const old of main.querySelectorAll(".dropped")) old.remove();
    if (!other) {
      main.prepend(element("p", { class: "warning dropped", role: "status", text: `${readable(file.name, 120)} is not a report of tfmemlens with memory figures.` }));
      return;
    }
    const [section, draw] = dropped([here.name, other.name], here.ledger, other.ledger);
    main.prepend(section);
    draw();
    window.scrollTo(0, 0);
  });
}
