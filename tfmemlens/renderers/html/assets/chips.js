// What narrows the picture and the table, each with a button that ends it.

import { element } from "./canvas.js";
import { readable } from "./format.js";

const ROWS = { lived: "all tensors that lived in the part shown", left: "allocated in the part shown and still held at its end" };

/** What narrows a moment's views: a text and the change that ends it. */
export function narrowings(state) {
  const { ledger, tree } = state;
  const found = [];
  if (state.zoomed) found.push([`part of the step: ${ledger.part(state.window)}`, { window: [0, ledger.span], shown: "alive" }]);
  if (state.shown !== "alive") found.push([`rows: ${ROWS[state.shown]}`, { shown: "alive" }]);
  if (state.onlyKind !== undefined) found.push([`kind: ${ledger.kindNames[state.onlyKind]}`, { onlyKind: undefined }]);
  if (state.query) found.push([`search: ${state.query}`, { query: "" }]);
  if (state.root) found.push([`within: ${tree.path(state.root).slice(1).map((node) => tree.label[node]).join("/")}`, { root: 0 }]);
  return found;
}

export class ChipsView {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    state.listen((changes) => "theme" in changes || this.draw());
  }

  draw() {
    const found = narrowings(this.state);
    this.room.hidden = !found.length;
    this.room.replaceChildren(
      element("span", { class: "dim", text: "Shows only " }),
      ...found.map(([text, end]) => element("button", { type: "button", class: "chip", "aria-label": `Show all again, not only ${readable(text, 80)}`, onclick: () => this.state.set(end) }, element("bdi", { text: readable(text, 80) }), " ✕")),
    );
  }
}
