// Drawing on a canvas at the screen's own resolution, the page's colours, and the tip that follows the pointer.

import { readable } from "./format.js";

/** A colour of the style sheet. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** The colours of all kinds, in the order of their numbers. */
export function kindColours(kinds) {
  return kinds.map((kind) => colour(`kind-${kind}`));
}

/** Distinct colours for layers. */
export function palette(count) {
  return Array.from({ length: count }, (_, at) => colour(`layer-${at % 9}`));
}

/** Black or white, whichever is read better on a colour such as #4269d0. */
export function inkOn(hex) {
  const part = (at) => parseInt(hex.slice(at, at + 2), 16) / 255;
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5));
  return light > 0.179 ? "#000" : "#fff";
}

/** Let something hear an event. */
export function on(target, name, heard) {
  target.addEventListener(name, heard);
}

/** How wide a canvas may be (CSS pixels). */
export function widthOf(canvas) {
  return Math.max(canvas.parentElement.clientWidth, 100);
}

/** A canvas made as wide as its room and as high as asked, cleared; returns its pen and its width in CSS pixels. */
export function prepared(canvas, height) {
  const width = widthOf(canvas);
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return { pen, width };
}

/** Letters of which two pieces tell something: a size, the name behind it. */
const TWO_PIECES = 20;

/** As much of a text as fits; where `both` ends tell something, as a path's, its middle goes. */
export function fitted(pen, text, room, both = false) {
  const plain = readable(text, 300);
  if (pen.measureText(plain).width <= room) return plain;
  const cut = (keep) => (both && keep >= TWO_PIECES ? readable(plain, keep) : plain.slice(0, keep) + "…");
  let keep = Math.floor((plain.length * room) / pen.measureText(plain).width);
  while (keep > 0 && pen.measureText(cut(keep)).width > room) keep--;
  return keep > 0 ? cut(keep) : "";
}

let tip = null;

/** Show lines of text beside the pointer; the first is bold. */
function showTip(event, lines) {
  if (!tip) {
    tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("aria-hidden", "true");
    document.body.append(tip);
  }
  tip.replaceChildren(...lines.map((line, at) => Object.assign(document.createElement(at ? "div" : "strong"), { textContent: readable(line, 400) })));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const top = event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 12 : event.clientY + 18;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

/** Let an element tell what is under the pointer: `lines` gives texts, or nothing. */
export function telling(target, lines) {
  const hide = () => tip && (tip.hidden = true);
  on(target, "pointermove", (event) => {
    const told = lines(event);
    if (told) showTip(event, told.filter(Boolean));
    else hide();
  });
  on(target, "pointerleave", hide);
}

/** The square of colour before a name. */
export function swatch(name, background) {
  const made = element("span", { class: `swatch ${name}` });
  if (background) made.style.background = background;
  return made;
}

/** An element with attributes, a text and children; text is never read as HTML. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) on(made, name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}
