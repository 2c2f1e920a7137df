// Tables as CSV files, and tables of the page's text that sort.

import { element, on } from "./canvas.js";

const FORMULA = /^[=+\-@\t\r]/;

/** A cell of a sheet that no program takes for a formula or breaks its line at. */
export function cell(value) {
  const text = typeof value === "number" ? String(value) : String(value ?? "").replace(FORMULA, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows of values as the text of a CSV file. */
export function csv(rows) {
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

/** Offer a text as a file. */
export function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** What a cell of the page's text is sorted by: its bytes where it has some. */
function weight(row, column) {
  const found = row.cells[column];
  const carrier = found?.matches("[data-bytes]") ? found : found?.querySelector("[data-bytes]");
  return carrier ? Number(carrier.dataset.bytes) : (found?.textContent.trim().toLowerCase() ?? "");
}

/** Let the heads of a table sort its rows, and a field narrow them. */
export function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = () => [...table.tBodies[0].rows];
  heads.forEach((head, column) => {
    const button = element("button", { type: "button", text: head.textContent });
    head.replaceChildren(button);
    on(button, "click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = rows().sort((a, b) => {
        const [one, other] = [weight(a, column), weight(b, column)];
        return (one < other ? -1 : one > other ? 1 : 0) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...order);
    });
  });
  const field = element("input", { type: "search", placeholder: "name or kind", autocomplete: "off", "aria-label": `Filter ${table.parentElement.getAttribute("aria-label")}` });
  on(field, "input", () => {
    const sought = field.value.toLowerCase();
    for (const row of rows()) row.hidden = !row.textContent.toLowerCase().includes(sought);
  });
  const saved = element("button", { type: "button", text: "Save as CSV", onclick: () => save("comparison.csv", csv([heads, ...rows().filter((row) => !row.hidden)].map((row) => [...(row.cells ?? row)].map((each) => each.dataset.bytes ?? each.textContent.trim())))) });
  table.parentElement.before(element("p", { class: "bar-of-controls" }, field, saved));
}
