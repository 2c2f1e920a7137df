// The page: tabs, moments, theme, copy buttons; each moment's views are made when they are first seen.

import { BalanceView } from "./balance.js";
import { ChunksView } from "./chunks.js";
import { CurveView } from "./curve.js";
import { IcicleView } from "./icicle.js";
import { Ledger, unpack } from "./ledger.js";
import { LivesView } from "./lives.js";
import { State } from "./state.js";
import { TableView } from "./table.js";
import { WhatIfView } from "./whatif.js";

const states = [];

/** Make the views of one moment. */
function build(room, ledger) {
  const state = new State(ledger);
  const views = [];
  const add = (selector, View) => {
    const part = room.querySelector(selector);
    if (part) views.push(new View(part, state));
  };
  add(".balance-view", BalanceView);
  if (ledger.timed) {
    add(".when", CurveView);
    add(".when", LivesView);
  }
  if (ledger.rows) {
    add(".where", IcicleView);
    add(".table", TableView);
    add(".whatif", WhatIfView);
  }
  if (ledger.chunks) add(".chunk-map", ChunksView);
  const search = room.querySelector("input[type=search]");
  let waiting = 0;
  search?.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => state.set({ query: search.value }), 60);
  });
  state.draw = () => views.forEach((view) => view.draw());
  state.views = views;
  state.room = room;
  states.push(state);
  state.draw();
  room.dataset.ready = "yes";
  return state;
}

/** Show one moment of a tab. */
async function showMoment(tab, number) {
  for (const room of tab.querySelectorAll(".moment")) room.hidden = Number(room.dataset.moment) !== number;
  const room = tab.querySelector(`.moment[data-moment="${number}"]`);
  if (!room || room.dataset.ready) return room?.state?.draw();
  const source = tab.querySelector("script[type='application/json']");
  tab.unpacked ??= unpack(source.textContent.trim());
  const found = await tab.unpacked;
  if (!room.dataset.ready) room.state = build(room, new Ledger(found.moments[number], found.names, found.kinds));
}

function showTab(number) {
  const tabs = [...document.querySelectorAll("[role=tabpanel]")];
  tabs.forEach((tab, at) => (tab.hidden = at !== number));
  document.querySelectorAll("[role=tab]").forEach((button, at) => {
    button.setAttribute("aria-selected", String(at === number));
    button.tabIndex = at === number ? 0 : -1;
  });
  const picker = tabs[number].querySelector("select.moments");
  if (tabs[number].querySelector(".moment")) return showMoment(tabs[number], picker ? Number(picker.value) : 0);
  return Promise.resolve();
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
}

function hearTheme() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = document.querySelector("#theme");
  const shown = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light"));
  const tell = () => (button.textContent = shown() === "dark" ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    tell();
    redraw();
  });
  dark.addEventListener("change", () => (tell(), redraw()));
  tell();
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    redraw();
  });
}

function hearCopies() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code").textContent;
      await copied(code);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 3000);
    });
  }
}

/** Into the clipboard, also where a page from a file may not ask for it. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const room = document.createElement("textarea");
    room.value = text;
    document.body.append(room);
    room.select();
    document.execCommand("copy");
    room.remove();
  }
}

function start() {
  hearTabs();
  hearTheme();
  hearCopies();
  let waiting = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 80);
  });
  for (const link of document.querySelectorAll("a.term")) {
    link.addEventListener("click", () => document.querySelector(link.getAttribute("href"))?.closest("details")?.setAttribute("open", ""));
  }
  if (document.querySelector("[role=tabpanel]")) {
    window.tfmemlens = { states, ready: showTab(0) };
    window.tfmemlens.ready.then(() => (document.documentElement.dataset.ready = "yes"));
  } else {
    document.documentElement.dataset.ready = "yes";
  }
}

start();
