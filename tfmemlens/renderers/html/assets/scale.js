// Round values for the axis of bytes.

import { human } from "./format.js";

/** The values of an axis up to `top`: multiples of a power of two, at most so many. */
export function ticks(top, most = 5) {
  let step = 1;
  while (top / step > most) step *= 2;
  return Array.from({ length: Math.floor(top / step) }, (_, at) => (at + 1) * step);
}

/** A round value without digits that say nothing: `1 GiB`, `1.5 GiB`. */
export function label(bytes) {
  return human(bytes).replace(/\.(\d*?)0+ /, (_, kept) => (kept ? `.${kept} ` : " "));
}
