// The jobs: counts by state, filters, one page of rows at a time, live while the newest are shown.
import { follow, get, look_again, name as encoded, query_text } from "./api.js";
import { ago, duration, empty, h, number, pill, reason_of, replace, throttle, toast } from "./dom.js";
import { filter_form } from "./filters.js";

const states = ["running", "parked", "failed", "paused", "completed", "interrupted"];
const filters = "status graph error activity code where since until namespace label key".split(" ");
const changing = ["job_started", "job_closed", "job_parked", "job_paused", "job_resumed"]; // events that change a row
const page_rows = 50;
const slow_ms = 400;
const share = 20; // a slow question is asked again after 20 times as long as it took

export function job_link({ id, namespace, run }) {
  return `#/job/${encoded(id)}${query_text({ namespace: namespace === "default" ? "" : namespace, run })}`;
}

export async function jobs_view({ main, params, signal, keys, set_live }) {
  const chosen = (leave = [], from = params) =>
    Object.fromEntries(
      filters.filter((name) => !leave.includes(name) && from.get(name)).map((name) => [name, from.get(name)]),
    );
  // The address is read again: of two quick choices, the second comes before the first is drawn.
  const go = (changes) => {
    const now = new URLSearchParams(location.hash.split("?")[1]);
    const next = { ...chosen([], now), order: now.get("order"), ...changes };
    location.hash = `#/jobs${query_text(next)}`;
  };
  // The cursors of the pages before this one: a page is never counted from the start.
  const before = (params.get("before") ?? "").split(" ").filter(Boolean);
  const after = params.get("after") ?? "";

  const chips = h("div", { class: "chips", role: "group", "aria-label": "States" });
  const body = h("tbody");
  const table = h(
    "table",
    { class: "jobs" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["State", "Job", "Graph", "Started", "Took", "Reason"].map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    body,
  );
  const news = h(
    "button",
    { class: "news", hidden: true, onclick: () => read(true) },
    "There are newer jobs. Show them",
  );
  const pager = h("div", { class: "pager" });
  const list = h("div", { class: "card list", "aria-busy": "true" }, table);
  replace(main, chips, filter_form(params, go), news, list, pager);

  // The chips stay the same elements when the counts change: a click is a press and a release on one element.
  const chip_of = new Map(
    ["", ...states].map((state) => [
      state,
      h(
        "button",
        {
          class: "chip",
          "data-state": state || "all",
          "aria-pressed": String((params.get("status") ?? "") === state),
          onclick: () => go({ status: state }),
        },
        h("span", null, state ? state[0].toUpperCase() + state.slice(1) : "All"),
        h("b"),
      ),
    ]),
  );
  chips.append(...chip_of.values());
  function draw_counts({ total, states: counts }) {
    for (const [state, chip] of chip_of) chip.lastChild.textContent = number(state ? (counts[state] ?? 0) : total);
  }

  // What is seldom needed is loaded when it is.
  const later = (label, what) =>
    h("button", { onclick: () => what().catch((error) => toast(error.message, "bad")) }, label);
  const start_button = () => later("Start a job …", async () => (await import("./start.js")).start_job(job_link));

  let rows = new Map(); // by run: what is drawn
  const held = () => body.contains(document.activeElement) || body.matches(":hover");

  function row_of(job) {
    const text = JSON.stringify([job.status, job.closed_at, job.reason]);
    const old = rows.get(job.run);
    if (old?.text === text) return old;
    const took = job.closed_at ? Date.parse(job.closed_at) - Date.parse(job.created_at) : undefined;
    const open = () => (location.hash = job_link(job));
    const node = h(
      "tr",
      { onclick: (event) => event.target.tagName !== "A" && !getSelection().toString() && open() },
      h("td", null, pill(job.status)),
      h(
        "td",
        { class: "id" },
        h("a", { href: job_link(job) }, job.id),
        job.namespace !== "default" && h("span", { class: "tag" }, job.namespace),
      ),
      h("td", { class: "graph" }, job.graph),
      h("td", { class: "when" }, ago(job.created_at)),
      h("td", { class: "took" }, took === undefined ? "" : duration(took)),
      h("td", { class: "reason", title: job.reason || undefined }, reason_of(job.reason).slice(0, 300)),
    );
    return { text, node };
  }

  function draw_rows(jobs, next, forced) {
    const keep = !forced && rows.size > 0 && held();
    const fresh = new Map(jobs.map((job) => [job.run, row_of(job)]));
    if (keep) {
      // rows do not move below a pointer or a focus; their states change all the same
      for (const [run, row] of fresh) {
        const old = rows.get(run);
        if (!old || old === row) continue;
        const focused = old.node.contains(document.activeElement);
        old.node.replaceWith(row.node);
        rows.set(run, row);
        if (focused) row.node.querySelector("a").focus();
      }
      news.hidden = jobs.every((job) => rows.has(job.run));
      return;
    }
    rows = fresh;
    news.hidden = true;
    body.replaceChildren(...[...rows.values()].map((row) => row.node));
    list.removeAttribute("aria-busy");
    const any = Object.keys(chosen()).length > 0;
    const oldest_first = params.get("order") === "oldest";
    list.replaceChildren(
      jobs.length
        ? table
        : after
          ? empty("There are no more.")
          : any
            ? empty("No job is like this.", h("button", { onclick: () => (location.hash = "#/jobs") }, "Show all jobs"))
            : empty(
                "There is no job yet.",
                h("p", null, start_button(), " or, from a shell:"),
                h("pre", null, `curl -d '{"graph": "TOPIC", "input": {}}' ${location.origin}/v1/jobs`),
              ),
    );
    replace(
      pager,
      later("All of these …", async () => (await import("./bulk.js")).ask_bulk(chosen())),
      start_button(),
      h("span", { class: "grow" }),
      h("button", { disabled: !after, onclick: page_before }, oldest_first ? "← Older" : "← Newer"),
      h("button", { disabled: !next, onclick: () => page_after(next) }, oldest_first ? "Newer →" : "Older →"),
    );
    keys.n = () => next && page_after(next);
    keys.p = () => after && page_before();
  }
  const page_after = (next) => go({ after: next, before: after ? [...before, after].join(" ") : "-" });
  const page_before = () => {
    const last = before[before.length - 1];
    go({ after: last === "-" ? "" : last, before: before.slice(0, -1).join(" ") });
  };

  let read_took = 0;
  async function read(forced) {
    const query = { ...chosen(), order: params.get("order"), after, limit: page_rows, brief: true };
    const began = performance.now();
    const slow = forced && setTimeout(() => replace(list, empty("Looking through the jobs …")), slow_ms);
    try {
      const page = await get("v1/jobs", query, signal);
      clearTimeout(slow);
      draw_rows(page.jobs, page.next, forced);
      read_took = performance.now() - began;
    } catch (error) {
      clearTimeout(slow);
      if (error.status !== 400) throw error;
      replace(list, empty("This filter cannot be read.", h("p", { class: "error-text" }, error.message)));
    }
  }
  let count_took = 0;
  async function count() {
    const began = performance.now();
    draw_counts(await get("v1/jobs/count", chosen(["status"]), signal));
    count_took = performance.now() - began;
  }

  const move = (step) => {
    const links = [...body.querySelectorAll("td.id a")];
    const at = links.indexOf(document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  Object.assign(keys, {
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    "/": () => document.getElementById("find").focus(),
  });

  count().catch(() => {});
  await read(true);
  const quiet = (what) => () => what().catch(() => {}); // the next event reads again
  const read_soon = throttle(
    quiet(() => read(false)),
    () => Math.max(1000, share * read_took),
    signal,
  );
  const count_soon = throttle(quiet(count), () => Math.max(1500, share * count_took), signal);
  look_again(signal, () => (after || read_soon(), count_soon()));
  follow(
    { graph: params.get("graph"), kind: changing },
    signal,
    () => {
      if (!after) read_soon();
      count_soon();
    },
    set_live,
  );
}
