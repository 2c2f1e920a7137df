// Where the reader is, in the page's address: a link shows the same, and Back goes back.

const STILL = 300;

/** The words of an address such as `#tab=1&at=7`. */
export function words(hash) {
  return Object.fromEntries(new URLSearchParams(hash.slice(1)));
}

/** The address of words. */
export function address(told) {
  return `#${new URLSearchParams(Object.entries(told).map(([name, value]) => [name, String(value)]))}`;
}

/** Writes the place once it stands still, so that a drag or a word typed is one step back; shows the place that an address names. */
export class Place {
  constructor(read, show) {
    this._read = read;
    this._show = show;
    this._now = window.location.hash || "#";
    this._waiting = 0;
    window.addEventListener("popstate", () => this._went());
  }

  /** Something may have changed. */
  note() {
    clearTimeout(this._waiting);
    this._waiting = setTimeout(() => this._write(), STILL);
  }

  _write() {
    const now = address(this._read());
    if (now === this._now) return;
    this._now = now;
    window.history.pushState(null, "", now);
  }

  async _went() {
    const { hash } = window.location;
    if (hash && !hash.includes("=")) return; // a link within the page
    this._now = hash || "#";
    await this._show(words(hash));
    clearTimeout(this._waiting);
  }
}
