// The largest allocations, each as a band of its own that lasts as long as it: what lies on what over the step.

const SHADES = [1, 0.86, 0.94, 0.78];

/** The rows with a band of their own: the largest of those that live in a part of the step. */
export function largest(ledger, count, from, to) {
  const lives = ledger.livesWithin(from, to);
  const rows = [];
  for (let row = 0; row < ledger.rows; row++) if (ledger.size[row] > 0 && lives(row)) rows.push(row);
  rows.sort((a, b) => ledger.size[b] - ledger.size[a] || a - b);
  const own = new Uint8Array(ledger.rows);
  for (const row of rows.slice(0, count)) own[row] = 1;
  return own;
}

/** What stands at each of some events, which must not fall: `each(place, rows with a band, bytes of all others)`. Rows lie in the order of their births. */
export function walk(ledger, own, events, each, skip = () => false) {
  const standing = [];
  let rest = 0;
  for (let row = 0; row < ledger.rows; row++) {
    if (ledger.birth[row] >= 0 || skip(row)) continue;
    if (own[row]) standing.push(row);
    else rest += ledger.size[row];
  }
  let event = 0;
  for (let place = 0; place < events.length; place++) {
    for (; event <= events[place]; event++) {
      const change = ledger.rowOf[event];
      const row = change >= 0 ? change : ~change;
      if (skip(row)) continue;
      if (!own[row]) rest += change >= 0 ? ledger.size[row] : -ledger.size[row];
      else if (change >= 0) standing.push(row);
      else standing.splice(standing.indexOf(row), 1);
    }
    each(place, standing, rest);
  }
}

/** `#rrggbb` as a pixel, darker by a factor. */
function pixel(hex, factor) {
  const part = (at) => Math.round(parseInt(hex.slice(at, at + 2), 16) * factor);
  return (255 << 24) | (part(5) << 16) | (part(3) << 8) | part(1);
}

/** Paint the bands into an image: `y` gives the line of a number of bytes, colours are by kind. */
export function paint(image, ledger, own, events, y, colours, other, skip) {
  const pixels = new Uint32Array(image.data.buffer);
  const shades = colours.map((colour) => SHADES.map((factor) => pixel(colour, factor)));
  const rest = pixel(other, 1);
  const { width, height } = image;
  walk(ledger, own, events, (x, standing, others) => {
    let bytes = 0;
    let line = height;
    const fill = (size, ink) => {
      bytes += size;
      const end = Math.max(Math.round(y(bytes)), 0);
      for (; line > end; line--) pixels[(line - 1) * width + x] = ink;
    };
    for (const row of standing) fill(ledger.size[row], shades[ledger.kind[row]][row % SHADES.length]);
    fill(others, rest);
  }, skip);
}
