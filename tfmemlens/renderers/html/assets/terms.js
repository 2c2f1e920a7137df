// Words explained where they stand: a click opens the glossary's entry beside the word.

import { element, on } from "./canvas.js";

let shown = null;

/** The note that all words share; null where the browser has no popovers. */
function note() {
  if (!("popover" in HTMLElement.prototype)) return null;
  if (!shown) {
    shown = element("div", { class: "explained", popover: "auto", role: "note" });
    document.body.append(shown);
  }
  return shown;
}

/** Open an entry beside a link. */
function explain(link, entry) {
  const made = note();
  made.replaceChildren(...[...entry.children].map((part) => element(part.matches("dt, summary") ? "strong" : "p", {}, ...[...part.cloneNode(true).childNodes])));
  made.showPopover();
  const [at, room] = [link.getBoundingClientRect(), made.getBoundingClientRect()];
  const below = at.bottom + 8 + room.height < window.innerHeight;
  made.style.left = `${Math.max(Math.min(at.left, window.innerWidth - room.width - 8), 8)}px`;
  made.style.top = `${Math.max(below ? at.bottom + 6 : at.top - room.height - 6, 8)}px`;
}

/** Let all words of the page explain themselves; without popovers a word leads to the glossary. */
export function hearTerms() {
  on(document, "click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a.term") : null;
    const entry = link && document.getElementById(link.hash.slice(1));
    if (!entry) return;
    if (!note()) return entry.parentElement.closest("details")?.setAttribute("open", "");
    event.preventDefault();
    explain(link, entry);
  });
}
