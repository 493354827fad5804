// The frame of the page: which view is shown, the state of the event stream, and the keyboard.
import { get, on_unauthorized } from "./api.js";
import { h, replace, empty, tick } from "./dom.js";
import { ask_for_token, dialog_is_open, show_shortcuts } from "./dialog.js";
import { jobs_view } from "./jobs.js";

// A view is mounted into `main` and ends when its signal is aborted. What the first paint does not need comes later.
const views = {
  jobs: async () => jobs_view,
  job: async () => (await import("./job.js")).job_view,
  topics: async () => (await import("./topics.js")).topics_view,
  apps: async () => (await import("./apps.js")).apps_view,
};
const parents = { job: "jobs" };

const main = document.getElementById("main");
const live = document.getElementById("live");
let current = { stop: new AbortController(), keys: {} };

function set_live(state) {
  live.dataset.state = state;
  live.textContent = state === "live" ? "live" : state === "off" ? "not live" : "connecting";
}

// #/job/ID?run=1 as {view: "job", name: "ID", params}
function place() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return {
    view: views[view] ? view : "jobs",
    name: rest.map(decodeURIComponent).join("/"),
    params: new URLSearchParams(search),
  };
}

async function show() {
  current.stop.abort();
  const mine = { stop: new AbortController(), keys: {} };
  current = mine;
  const { view, name, params } = place();
  for (const link of document.querySelectorAll("nav [data-view]"))
    if (link.dataset.view === (parents[view] ?? view)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  document.title = name ? `${name} · Pawl` : "Pawl";
  const mount = await views[view]();
  if (mine.stop.signal.aborted) return;
  main.className = `view-${view}`;
  const context = { main, name, params, signal: mine.stop.signal, keys: mine.keys, set_live };
  try {
    await mount(context);
  } catch (error) {
    if (mine.stop.signal.aborted) return;
    set_live("off");
    replace(main, empty(error.message, h("button", { onclick: show }, "Try again")));
  }
}

let first_key = ""; // of two: g j
function on_key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog_is_open()) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (typing) return void (event.key === "Escape" && event.target.blur());
  const both = first_key + event.key;
  first_key = "";
  const go = { gj: "#/jobs", gt: "#/topics", ga: "#/apps" }[both];
  const own = current.keys[event.key];
  if (go) location.hash = go;
  else if (event.key === "g") first_key = "g";
  else if (event.key === "?") show_shortcuts();
  else if (event.key === "r") show();
  else if (own) own(event);
  else if (event.key === "/") {
    location.hash = "#/jobs";
    setTimeout(() => document.getElementById("find")?.focus(), 50);
  } else return;
  event.preventDefault();
}

async function show_store() {
  const health = await get("health");
  document.getElementById("store").title = `${health.store.name ?? ""} ${health.store.promise ?? ""}`.trim();
  replace(
    document.getElementById("store"),
    `${health.store.kind}`,
    !health.runs_jobs && h("em", { title: "Another process owns the store" }, " looks on"),
  );
}

on_unauthorized(ask_for_token);
document.getElementById("help").addEventListener("click", show_shortcuts);
document.querySelector(".skip").addEventListener("click", (event) => (event.preventDefault(), main.focus()));
addEventListener("hashchange", show);
addEventListener("keydown", on_key);
setInterval(tick, 1000);
show();
show_store().catch(() => {});
