// When each activity of a job was open, as bars; below it every event in order of time.
import { clock, duration, h, message_of, number } from "./dom.js";
import { state_of } from "./picture.js";

const lanes_max = 60;
const bars_max = 200; // of one lane
const events_max = 200;

const time = (at) => Date.parse(at);
const percent = (part) => `${Math.max(0, Math.min(100, 100 * part)).toFixed(2)}%`;

// One lane per name: items of a map and rounds of a loop share one.
function lanes_of(activities) {
  const lanes = new Map();
  for (const activity of activities) {
    if (!activity.opened_at) continue;
    if (!lanes.has(activity.name)) lanes.set(activity.name, []);
    lanes.get(activity.name).push(activity);
  }
  return [...lanes];
}

export function timeline(job, events, choose, now = Date.now()) {
  const from = time(job.created_at);
  const ended = job.closed_at ? time(job.closed_at) : now;
  const lanes = lanes_of(job.activities);
  const span = Math.max(1, ended - from);
  const failures = events.filter((event) => event.what === "attempt_failed");

  const lane = ([name, all]) => {
    const bars = all.slice(-bars_max).map((activity) => {
      const start = time(activity.opened_at);
      const end = activity.closed_at ? time(activity.closed_at) : ended;
      const bar = h("span", {
        class: "bar-time",
        "data-state": state_of(activity),
        title: `${activity.address}: ${duration(end - start)}`,
      });
      bar.style.left = percent((start - from) / span);
      bar.style.width = percent((end - start) / span);
      return bar;
    });
    const ticks = failures
      .filter((event) => event.activity === name)
      .slice(-bars_max)
      .map((event) => {
        const tick = h("span", { class: "tick", title: `attempt failed: ${message_of(event.detail)}` });
        tick.style.left = percent((time(event.at) - from) / span);
        return tick;
      });
    const open = all.some((activity) => !activity.closed_at);
    const took =
      Math.max(...all.map((activity) => time(activity.closed_at))) -
      Math.min(...all.map((activity) => time(activity.opened_at)));
    return h(
      "button",
      { class: "lane", onclick: () => choose(name) },
      h("span", { class: "lane-name" }, name, all.length > 1 && h("small", null, ` × ${number(all.length)}`)),
      h("span", { class: "track" }, bars, ticks),
      h("span", { class: "lane-took" }, !open ? duration(took) : job.closed_at ? "unfinished" : "open"),
    );
  };
  const axis = h(
    "div",
    { class: "lane axis", "aria-hidden": "true" },
    h("span"),
    h("span", { class: "track" }, h("span", null, clock(job.created_at)), h("span", null, `+${duration(span)}`)),
    h("span"),
  );
  return h(
    "div",
    null,
    lanes.length ? [axis, lanes.slice(0, lanes_max).map(lane)] : h("p", { class: "hint" }, "Nothing has begun."),
    lanes.length > lanes_max &&
      h("p", { class: "hint" }, `${number(lanes.length - lanes_max)} more are in the list of activities.`),
  );
}

const words = {
  run_failed: "An earlier run failed",
  announced: "announced",
  job_started: "Job started",
  activity_opened: "opened",
  activity_closed: "closed",
  attempt_failed: "attempt failed",
  job_closed: "Job ended",
};

export function event_list(events) {
  const cut = events.length > events_max;
  const row = (event) =>
    h(
      "li",
      { "data-what": event.what },
      h("time", { datetime: event.at, title: event.at }, event.at ? clock(event.at) : ""),
      h(
        "span",
        null,
        event.activity && h("b", null, event.activity),
        event.activity && " ",
        words[event.what] ?? event.what.replace(/_/g, " "),
        event.code ? ` with code ${event.code}` : "",
        event.detail && h("span", { class: "detail" }, message_of(event.detail).slice(0, 500)),
      ),
    );
  return h(
    "details",
    { class: "events" },
    h("summary", null, `${number(events.length)} events`),
    h(
      "ol",
      null,
      cut && h("li", null, `… ${number(events.length - events_max)} earlier ones are in the export`),
      events.slice(-events_max).map(row),
    ),
  );
}
