// The page about many jobs: causes are filtered and sorted, and an address that names one opens it.

import { hearCopies, hearTheme } from "./theme.js";

/** Let the field and the list above the causes choose which are shown, and in which order. */
function hearCauses(section) {
  const list = section.querySelector("ol.causes");
  const causes = [...list.querySelectorAll(":scope > li")];
  const field = section.querySelector("input[type=search]");
  const order = section.querySelector("select");
  const said = section.querySelector(".causes-said");
  const texts = causes.map((cause) => cause.textContent.toLowerCase());
  const show = () => {
    const sought = field.value.toLowerCase();
    let count = 0;
    causes.forEach((cause, at) => {
      cause.hidden = sought !== "" && !texts[at].includes(sought);
      count += cause.hidden ? 0 : 1;
    });
    said.textContent = sought === "" ? "" : `${count} of ${causes.length} causes on this page mention it`;
  };
  const sort = () => {
    const key = order.value;
    list.append(...[...causes].sort((a, b) => Number(b.dataset[key]) - Number(a.dataset[key]) || causes.indexOf(a) - causes.indexOf(b)));
  };
  field.addEventListener("input", show);
  order.addEventListener("change", sort);
  section.querySelector(".controls").hidden = false;
}

/** Open the cause that the address names. */
function openNamed() {
  const named = document.getElementById(window.location.hash.slice(1));
  const details = named?.querySelector("details");
  if (!details) return;
  details.open = true;
  named.scrollIntoView();
}

function start() {
  hearTheme(() => undefined);
  hearCopies();
  const section = document.querySelector("section.by-cause");
  if (section) hearCauses(section);
  window.addEventListener("hashchange", openNamed);
  openNamed();
  document.documentElement.dataset.ready = "yes";
}

start();
