// One job: its graph coloured by state, what it waits for, its timeline, activities and data; live.
import { follow, get, get_text, look_again, name as encoded } from "./api.js";
import { ago, clock, duration, empty, h, json, pill, reason_of, replace, throttle } from "./dom.js";
import { actions_of } from "./actions.js";
import { activity_list, new_memory, waits_of } from "./activities.js";
import { colour, legend, make_choosable, picture_of } from "./picture.js";
import { task_list } from "./tasks.js";
import { event_list, timeline } from "./timeline.js";

const grows_max = 1000;
const tasks_max = 50;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export async function job_view({ main, name, params, signal, keys, set_live }) {
  const path = `v1/jobs/${encoded(name)}`;
  const which = { namespace: params.get("namespace"), run: params.get("run") };
  let job;
  let events = [];
  let tasks = [];
  let picture = null;
  let selected = "";
  let removed = false;

  const head = h("section", { class: "job-head" });
  const parts = {};
  const card = (id, title, extra) =>
    h(
      "section",
      { class: `card part-${id}`, "aria-label": title },
      h("header", null, h("h2", null, title), extra),
      (parts[id] = h("div", { class: "card-body" })),
    );
  const graph = card("graph", "Graph", legend());
  const people = card("people", "Waits for a person");
  const now = card("now", "Now");
  const times = card("times", "Timeline");
  const activities = card("activities", "Activities");
  const data = card("data", "Result, data, input");

  const choose = (activity) => {
    selected = selected === activity ? "" : activity;
    if (picture) colour(picture, job.activities, selected);
    draw_activities();
    if (selected) activities.scrollIntoView({ behavior: "smooth", block: "nearest" });
  };

  // A part is drawn anew only if what it shows has changed: an open text or a selection stays.
  const drawn = {};
  const draw = (id, shows, make) => {
    const text = JSON.stringify(shows);
    if (drawn[id] === text) return;
    drawn[id] = text;
    replace(id === "head" ? head : parts[id], make());
  };
  const memory = new_memory();
  const draw_activities = () =>
    draw("activities", [selected, memory.rows, job.activities], () =>
      activity_list(job, selected, choose, memory, draw_activities, read),
    );

  function draw_all() {
    draw("head", [job.status, job.reason, job.closed_at, job.redrives, job.obstacles, job.deadline], () =>
      head_of(job, actions_of(job, which, keys, read)),
    );
    people.hidden = tasks.length === 0;
    draw("people", tasks, () => task_list(tasks, read));
    draw(
      "now",
      job.activities.filter((activity) => activity.status === "open"),
      () => waits_of(job, which, read),
    );
    now.hidden = !job.activities.some((activity) => activity.status === "open");
    draw("times", [events, job.activities, job.closed_at ? 0 : Math.floor(Date.now() / 1000)], () => {
      const was_open = parts.times.querySelector("details")?.open;
      const list = event_list(events);
      list.open = was_open ?? false;
      return [timeline(job, events, choose), list];
    });
    draw_activities();
    draw("data", [job.input, job.data, job.result], () =>
      [
        ["Result", job.result],
        ["Data", same(job.data, job.result) ? null : job.data],
        ["Input", job.input],
      ]
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([title, value]) => [h("h3", null, title), json(value)]),
    );
    if (picture) colour(picture, job.activities, selected);
  }

  async function read() {
    [job, { events }] = await Promise.all([get(path, which, signal), get(`${path}/history`, which, signal)]);
    // A job that ended waits for nothing: what was open then stays as it was.
    if (job.closed_at)
      for (const activity of job.activities) if (activity.status === "open") activity.status = "unfinished";
    tasks = await tasks_of(job, signal);
    draw_all();
  }

  replace(main, h("p", { class: "hint" }, "…"));
  await read();
  replace(
    main,
    head,
    h(
      "div",
      { class: "job-grid" },
      h("div", { class: "column" }, graph),
      h("div", { class: "column" }, people, now, times, activities, data),
    ),
  );
  keys.Escape = () => (location.hash = "#/jobs");
  get_text(`${path}/picture`, which, signal)
    .then((text) => {
      picture = picture_of(text);
      make_choosable(picture, choose);
      replace(parts.graph, picture);
      colour(picture, job.activities, selected);
    })
    .catch((error) => signal.aborted || replace(parts.graph, h("p", { class: "hint" }, error.message)));

  const read_soon = throttle(
    () =>
      read().catch((error) => {
        if (signal.aborted || error.status !== 404) return; // the next event reads again
        const back = h("a", { href: "#/jobs" }, "All jobs");
        replace(main, empty(`Job ${name} was removed.`, back));
        removed = true;
        set_live("off");
      }),
    () => 300,
    signal,
  );
  look_again(signal, () => removed || read_soon());
  // Bars of open activities grow without an event. A job with very many is drawn anew by events alone.
  const grow = () => job.closed_at || document.hidden || job.activities.length > grows_max || draw_all();
  const growth = setInterval(grow, 1000);
  signal.addEventListener("abort", () => clearInterval(growth));
  follow({ job: job.id, namespace: job.namespace, run: which.run }, signal, (kind) => kind && read_soon(), set_live);
}

// Only a hook can be a task, and only of the newest run of an id: others need no request.
async function tasks_of(job, signal) {
  if (job.closed_at || !job.activities.some((one) => one.status === "open" && one.kind === "hook")) return [];
  const { tasks } = await get("v1/tasks", { job: job.id, namespace: job.namespace, limit: tasks_max }, signal);
  return tasks.filter((task) => task.run === job.run);
}

function head_of(job, buttons) {
  const took = job.closed_at ? duration(Date.parse(job.closed_at) - Date.parse(job.created_at)) : null;
  const fact = (title, ...value) => h("div", null, h("dt", null, title), h("dd", null, value));
  return [
    h(
      "div",
      { class: "title-row" },
      h("a", { class: "back", href: "#/jobs", "aria-label": "Back to the jobs" }, "←"),
      h("h1", { class: "mono" }, job.id),
      pill(job.status),
      h("span", { class: "grow" }),
      h("div", { class: "buttons" }, buttons),
    ),
    h(
      "dl",
      { class: "facts" },
      fact(
        "Graph",
        h("a", { href: `#/jobs?graph=${encoded(job.graph)}` }, job.graph),
        h("span", { class: "tag", title: "version" }, job.app_version),
      ),
      fact("Started", ago(job.created_at), h("small", null, ` ${clock(job.created_at)}`)),
      took && fact("Took", took),
      job.namespace !== "default" && fact("Namespace", job.namespace),
      job.deadline && !job.closed_at && fact("Must end", ago(job.deadline)),
      job.redrives > 0 && fact("Redriven", `${job.redrives} ×`),
      job.priority !== 0 && fact("Priority", job.priority),
      fact("Run", h("span", { class: "mono" }, job.run)),
    ),
    job.reason && h("p", { class: "banner", "data-state": job.status, title: job.reason }, reason_of(job.reason)),
    (job.earlier ?? []).map((run) =>
      h(
        "p",
        { class: "hint" },
        "An earlier run failed ",
        ago(run.ended_at),
        `${run.code ? ` with code ${run.code}` : ""}: ${reason_of(run.reason)}`,
      ),
    ),
    (job.obstacles ?? []).map((text) => h("p", { class: "banner", "data-state": "waiting" }, text)),
  ];
}
