// The page: tabs, moments, theme, copy buttons; each moment's views are made when they are first seen.

import { BalanceView } from "./balance.js";
import { ChipsView } from "./chips.js";
import { ChunksView } from "./chunks.js";
import { hearDrops, illustrate } from "./compare.js";
import { CurveView } from "./curve.js";
import { IcicleView } from "./icicle.js";
import { Ledger, unpack } from "./ledger.js";
import { LivesView } from "./lives.js";
import { Place, words } from "./place.js";
import { ReplayView, unpackReplay } from "./replay.js";
import { State } from "./state.js";
import { TableView } from "./table.js";
import { hearTerms } from "./terms.js";
import { hearCopies, hearTheme } from "./theme.js";
import { WhatIfView } from "./whatif.js";

const states = [];
const drawn = [];
let place = null;

/** Make the views of one moment. */
function build(room, ledger) {
  const state = new State(ledger);
  const views = [];
  const add = (selector, View) => {
    for (const part of room.querySelectorAll(selector)) views.push(new View(part, state));
  };
  add(".balance-view", BalanceView);
  if (ledger.timed) {
    add(".when", CurveView);
    add(".when", LivesView);
    add(".replay", ReplayView);
  }
  if (ledger.rows) {
    add(".where", IcicleView);
    add(".table", TableView);
    add(".chips", ChipsView);
    add(".whatif", WhatIfView);
  }
  if (ledger.chunks) add(".chunk-map", ChunksView);
  const search = room.querySelector("input[type=search]");
  let waiting = 0;
  search?.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => state.set({ query: search.value }), 60);
  });
  state.listen((changes) => {
    if ("query" in changes && search && search !== document.activeElement) search.value = state.query;
    place?.note();
  });
  state.draw = () => views.forEach((view) => view.draw());
  state.views = views;
  state.room = room;
  states.push(state);
  state.draw();
  room.dataset.ready = "yes";
  return state;
}

/** The figures of a tab, unpacked once. */
function unpacked(tab) {
  tab.unpacked ??= unpack(tab.querySelector("script[type='application/json']").textContent.trim());
  return tab.unpacked;
}

/** Show one moment of a tab. */
async function showMoment(tab, number) {
  for (const room of tab.querySelectorAll(".moment")) room.hidden = Number(room.dataset.moment) !== number;
  place?.note();
  const room = tab.querySelector(`.moment[data-moment="${number}"]`);
  if (!room || room.dataset.ready) return room?.state?.draw();
  const found = await unpacked(tab);
  if (room.dataset.ready) return undefined;
  const ledger = new Ledger(found.moments[number], found.names, found.kinds);
  unpackReplay(ledger, found.moments[number]);
  room.state = build(room, ledger);
  return undefined;
}

const tabs = () => [...document.querySelectorAll("[role=tabpanel]")];
const shownTab = () => Math.max(tabs().findIndex((tab) => !tab.hidden), 0);

async function showTab(number) {
  const all = tabs();
  const before = shownTab();
  all.forEach((tab, at) => (tab.hidden = at !== number));
  document.querySelectorAll("[role=tab]").forEach((button, at) => {
    button.setAttribute("aria-selected", String(at === number));
    button.tabIndex = at === number ? 0 : -1;
  });
  if (before !== number) window.scrollTo(0, 0);
  place?.note();
  const picker = all[number].querySelector("select.moments");
  if (all[number].querySelector(".moment")) await showMoment(all[number], picker ? Number(picker.value) : 0);
  else await compareTabs(all[number]);
}

/** Draw the comparisons of the page, once; each is of the first tab with another. */
async function compareTabs(panel) {
  const sections = panel.dataset.ready ? [] : [...panel.querySelectorAll("section.comparison")];
  panel.dataset.ready = "yes";
  const with_figures = tabs().filter((tab) => tab.querySelector(".moment"));
  const ledgers = await Promise.all(with_figures.map(async (tab) => {
    const { moments, names, kinds } = await unpacked(tab);
    return new Ledger(moments[0], names, kinds);
  }));
  sections.forEach((section, at) => {
    const rows = [...section.querySelectorAll("tr[data-layer]")].map((row) => ({ name: row.dataset.layer, before: Number(row.dataset.before), after: Number(row.dataset.after) }));
    drawn.push(illustrate(section, rows, [ledgers[0], ledgers[at + 1]]));
  });
  for (const draw of drawn) draw();
}

/** What the address says of the page: the tab, the moment, and what is chosen there. */
function told() {
  const number = shownTab();
  const room = tabs()[number]?.querySelector(".moment:not([hidden])");
  const kept = {};
  if (number) kept.tab = number;
  if (room && Number(room.dataset.moment)) kept.moment = room.dataset.moment;
  return { ...kept, ...room?.state?.place };
}

/** Show what an address says. */
async function go(said) {
  const all = tabs();
  const number = Math.min(Math.max(Number.parseInt(said.tab ?? "0", 10) || 0, 0), all.length - 1);
  const picker = all[number].querySelector("select.moments");
  if (picker) picker.value = [...picker.options].some((option) => option.value === said.moment) ? said.moment : "0";
  await showTab(number);
  all[number].querySelector(".moment:not([hidden])")?.state?.go(said);
}

function hearTabs() {
  const buttons = [...document.querySelectorAll("[role=tab]")];
  buttons.forEach((button, at) => {
    button.addEventListener("click", () => showTab(at));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (at + step + buttons.length) % buttons.length;
      buttons[next].focus();
      showTab(next);
    });
  });
  for (const picker of document.querySelectorAll("select.moments")) picker.addEventListener("change", () => showMoment(picker.closest("[role=tabpanel]"), Number(picker.value)));
}

/** Draw all that can be seen again: after a change of theme, width or paper. */
function redraw() {
  for (const state of states) if (state.room.offsetParent !== null) state.set({ theme: true });
  for (const draw of drawn) draw();
}

/** The moment that a report dropped on the page is compared with. */
function current() {
  const tab = tabs()[shownTab()];
  const ledger = tab?.querySelector(".moment:not([hidden])")?.state?.ledger;
  return ledger ? { name: tab.querySelector(".source bdi").textContent, ledger } : null;
}

/** Show what the address asks for, else the tab that the page opens with. */
async function open() {
  const first = shownTab();
  if (window.location.hash.includes("=")) await go(words(window.location.hash));
  else await showTab(first);
  place = new Place(told, go);
}

function start() {
  hearTabs();
  hearTheme(redraw);
  hearCopies();
  hearTerms();
  hearDrops(document.querySelector("main"), current);
  let waiting = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 80);
  });
  const alone = document.querySelector("main > .tab:not([role])");
  const ready = alone ? compareTabs(alone) : open();
  window.tfmemlens = { states, ready };
  ready.then(() => (document.documentElement.dataset.ready = "yes"));
}

start();
