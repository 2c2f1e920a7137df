// The balance: limit, in use by kind, what is not in TensorFlow's list, free, the largest free block. One bar and its legend.

import { element, inkOn, kindColours, on, swatch, telling } from "./canvas.js";
import { counted, human, percent } from "./format.js";

/** A limit so many times what a step holds would leave its kinds no room in the bar. */
const FAR = 20;

/** The parts of the bar at an instant: {name, bytes, kind} with `kind` -1 for what is no row. */
export function parts(ledger, index, size = ledger.size) {
  const { balance } = ledger;
  const sums = ledger.sums(index, ledger.kind, ledger.kinds.length, size);
  const found = Array.from(sums, (bytes, kind) => ({ name: ledger.kindNames[kind], slug: ledger.kinds[kind], bytes, kind })).filter((part) => part.bytes > 0);
  found.sort((a, b) => b.bytes - a.bytes);
  if (balance.outside) found.push({ name: "not in TensorFlow's list", bytes: balance.outside, kind: -1 });
  if (balance.unlisted) found.push({ name: "in buffers that are not listed", bytes: balance.unlisted, kind: -1 });
  return found;
}

/** The bar alone; `whole` is what its full width stands for. */
export function bar(found, whole, kinds) {
  const colours = kindColours(kinds);
  const made = element("div", { class: "bar" });
  for (const part of found) {
    const share = (100 * part.bytes) / whole;
    const piece = element("div", { class: part.kind < 0 ? (part.free ? `piece free${part.one ? " one" : ""}` : "piece outside") : "piece" });
    piece.style.width = `${share}%`;
    if (part.kind >= 0) {
      piece.style.background = colours[part.kind];
      piece.style.color = inkOn(colours[part.kind]);
    }
    if (share > 12) piece.append(element("span", { text: `${part.name} ${human(part.bytes)}` }));
    telling(piece, () => [part.name, `${human(part.bytes)}, ${counted(part.bytes)} B`, `${percent(part.bytes, whole)} of ${human(whole)}`]);
    made.append(piece);
  }
  return made;
}

export class BalanceView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    state.listen((changes) => ("index" in changes || "onlyKind" in changes || "theme" in changes) && this.draw());
  }

  draw() {
    const { ledger, index } = this.state;
    const { balance } = ledger;
    const found = parts(ledger, index);
    const held = found.reduce((sum, part) => sum + part.bytes, 0);
    const free = ledger.timed ? (balance.limit ? Math.max(balance.limit - held, 0) : null) : balance.free;
    const highest = ledger.timed ? Math.max(ledger.total(ledger.peak), held) : held;
    const far = ledger.timed && FAR * highest < (balance.limit ?? 0);
    const whole = Math.max(far ? 0 : balance.limit ?? 0, highest, 1);
    const unused = { name: "free", bytes: free, kind: -1, free: true };
    const largest = ledger.timed ? 0 : Math.min(balance.largest ?? 0, free ?? 0);
    const gaps = free && !far ? [{ ...unused, name: "largest free block", bytes: largest, one: true }, { ...unused, name: largest ? "free in other blocks" : "free", bytes: free - largest }] : [];
    const drawn = [...found, ...gaps.filter((gap) => gap.bytes)];
    if (found.length === 1 && found[0].slug === "unattributed" && !ledger.timed) found[0].name = "in use";
    if (free) found.push(far ? { ...unused, name: "free (not drawn)" } : unused);
    const pictures = drawn.length ? [bar(drawn, whole, ledger.kinds), this._legend(found, held)] : [element("p", { text: "This input does not say what was in use." })];
    this.room.replaceChildren(this._head(held, free), ...pictures);
    this.room.dataset.bytes = ledger.total(index);
  }

  _head(held, free) {
    const { ledger } = this.state;
    const { balance } = ledger;
    const about = balance.rounded ? "about " : "";
    const here = ledger.total(this.state.index);
    const facts = ledger.timed || here ? [[ledger.timed ? "in use at this moment" : "listed here", about + human(here)]] : [];
    if (balance.in_use) facts.push(["in use", human(balance.in_use)]);
    if (balance.limit) facts.unshift(["limit", human(balance.limit)]);
    if (balance.peak) facts.push([ledger.timed ? "peak" : "peak so far", human(balance.peak)]);
    if (free !== null && free !== undefined) facts.push(["free", human(free)]);
    if (balance.largest !== null && !ledger.timed) facts.push(["largest free block", human(balance.largest)]);
    if (balance.waste && (!ledger.timed || this.state.index === ledger.peak)) facts.push(["lost to allocator rounding", human(balance.waste)]);
    if (balance.missing) facts.push(["more needed", human(balance.missing)]);
    if (!balance.limit) facts.push(["limit", "unknown"]);
    return element("dl", { class: "figures" }, ...facts.map(([name, text]) => element("div", {}, element("dt", { text: name }), element("dd", { text }))));
  }

  _legend(found, held) {
    const { ledger } = this.state;
    const colours = kindColours(ledger.kinds);
    return element(
      "ul",
      { class: "legend" },
      ...found.map((part) => {
        const text = [swatch(part.kind >= 0 ? "" : part.free ? "free" : "outside", colours[part.kind]), element("span", { text: part.name }), element("b", { text: human(part.bytes), "data-bytes": part.bytes }), element("span", { class: "dim", text: part.free ? "" : percent(part.bytes, held) })];
        if (part.kind < 0) return element("li", {}, element("span", { class: "entry" }, ...text));
        const chosen = this.state.onlyKind === part.kind;
        const button = element("button", { class: "entry", type: "button", "aria-pressed": String(chosen), "data-kind": part.slug ?? part.name, title: `${chosen ? "show all kinds" : "show only this kind"} in the picture and the table` }, ...text);
        on(button, "click", () => {
          this.state.set({ onlyKind: chosen ? undefined : part.kind });
          this.room.querySelector(`[data-kind="${part.slug ?? part.name}"]`)?.focus();
        });
        return element("li", {}, button);
      }),
    );
  }
}
