// Bytes, shares and durations as words, the same words as units.py writes.

const LETTERS = "KMGTPE";

/** Digits after the point; a tie goes to the even digit, as in Python. */
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const low = Math.floor(scaled);
  return ((scaled - low === 0.5 ? low + (low % 2) : Math.round(scaled)) / 10 ** digits).toFixed(digits);
}

/** A byte count for people: `512 B`, `3.0 KiB`, `450.14 MiB`. */
export function human(count) {
  if (count < 0) return "-" + human(-count);
  if (count < 1024) return `${Math.round(count)} B`;
  let power = Math.min(Math.floor(Math.log(count) / Math.log(1024) + 1e-12), LETTERS.length);
  const shown = () => fixed(count / 1024 ** power, power > 1 ? 2 : 1);
  if (Number(shown()) >= 1024 && power < LETTERS.length) power += 1;
  return `${shown()} ${LETTERS[power - 1]}iB`;
}

/** A share for people: `60 %`, `<1 %` rather than a false zero. */
export function percent(part, whole) {
  if (!(whole > 0)) return "-";
  const share = (100 * part) / whole;
  return share > 0 && share < 1 ? "<1 %" : `${fixed(share, 0)} %`;
}

/** A duration given in microseconds. */
export function duration(micros) {
  if (micros < 1000) return `${Number(micros.toFixed(micros < 10 ? 3 : 1))} µs`;
  return micros < 1e6 ? `${(micros / 1e3).toFixed(1)} ms` : `${(micros / 1e6).toFixed(2)} s`;
}

/** A whole number with thousands apart. */
export function counted(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// As escaping.py writes them out.
const COMMANDS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef]|\p{Surrogate}/gu;

function writtenOut(letter) {
  const code = letter.charCodeAt(0);
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** A name whose control and direction marks are written out, cut to a length. */
export function readable(text, length = 4000) {
  const plain = String(text).replace(COMMANDS, writtenOut);
  return plain.length > length ? plain.slice(0, Math.ceil(length * 0.6)) + "…" + plain.slice(-Math.floor(length * 0.4)) : plain;
}
