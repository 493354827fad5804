// The activities of a job: what the open ones wait for, and each with attempts, errors, input, output and ledger.
import { name as encoded, post } from "./api.js";
import { ago, duration, h, json, message_of, number } from "./dom.js";
import { ask_and_do } from "./dialog.js";
import { signal_job } from "./actions.js";
import { state_of } from "./picture.js";

const rows_first = 30;
const rows_more = 200;
const waits_max = 20;
const dot = (state) => h("span", { class: "dot", "data-state": state, title: state });
const child_link = (job, id) =>
  h(
    "a",
    {
      class: "mono",
      href: `#/job/${encoded(id)}${job.namespace === "default" ? "" : `?namespace=${encoded(job.namespace)}`}`,
    },
    id,
  );

function wait_lines(job, activity) {
  const wait = activity.waits_for ?? {};
  const work = activity.work;
  const lines = [];
  if (work) {
    if (work.worker) lines.push(["worker ", h("b", null, work.worker), " has it"]);
    else if (work.held) lines.push(`is not handed out: its job is ${job.status}`);
    else lines.push(["waits for a worker of ", h("code", null, wait.topic ?? "")]);
    if (work.failures)
      lines.push([
        `${number(work.failures)} of ${number(work.attempts)} attempts failed, last with code ${work.failure_code}: `,
        h("span", { class: "error-text" }, message_of(work.failure)),
      ]);
    if (work.next_try_at && !work.held) lines.push(["next attempt ", ago(work.next_try_at)]);
    if (work.attempt_by) lines.push(["this attempt must answer ", ago(work.attempt_by)]);
    if (work.deadline) lines.push(["gives up ", ago(work.deadline)]);
    if (work.progress !== null && work.progress !== undefined)
      lines.push(["progress ", h("code", null, JSON.stringify(work.progress).slice(0, 300))]);
  } else if (wait.topic) {
    lines.push([
      "waits for signal ",
      h("code", null, wait.topic),
      wait.key !== undefined && [" with ", h("code", null, JSON.stringify(wait.key))],
    ]);
  }
  if (wait.child) lines.push(["waits for job ", child_link(job, wait.child)]);
  if (wait.of) lines.push(`${number(wait.done)} of ${number(wait.of)} have come`);
  if (wait.wakes_at) lines.push(["wakes ", ago(wait.wakes_at)]);
  if (wait.times_out_at) lines.push(["times out ", ago(wait.times_out_at)]);
  return lines;
}

export function waits_of(job, which, then) {
  const open = job.activities.filter((activity) => activity.status === "open");
  const target = { namespace: job.namespace, run: which.run || job.run };
  return [
    h(
      "ul",
      { class: "waits" },
      open.slice(0, waits_max).map((activity) => {
        const hook = activity.kind === "hook" && activity.waits_for?.topic;
        return h(
          "li",
          null,
          dot(state_of(activity)),
          h(
            "div",
            null,
            h("b", null, activity.name),
            wait_lines(job, activity).map((line) => h("div", null, line)),
          ),
          hook &&
            h(
              "button",
              {
                onclick: () =>
                  signal_job(
                    job,
                    target,
                    then,
                    hook,
                    activity.waits_for.key === undefined
                      ? ""
                      : `The hook waits for the key ${JSON.stringify(activity.waits_for.key)}.`,
                  ),
              },
              "Signal",
            ),
        );
      }),
    ),
    open.length > waits_max && h("p", { class: "hint" }, `and ${number(open.length - waits_max)} more`),
  ];
}

// `memory` lasts while the list is drawn anew: which rows are open, and how many are shown.
export const new_memory = () => ({ open: new Set(), rows: rows_first });

export function activity_list(job, selected, choose, memory, draw, then) {
  const weight = { errored: 0, open: 1 };
  const wanted = job.activities.filter((activity) => !selected || activity.name === selected);
  const left = wanted.length - memory.rows;
  // Errors are never among those that are left out.
  if (left > 0) wanted.sort((a, b) => (weight[a.status] ?? 2) - (weight[b.status] ?? 2));
  return [
    selected &&
      h(
        "p",
        { class: "hint" },
        "Only ",
        h("b", null, selected),
        ". ",
        h("button", { class: "link", onclick: () => choose(selected) }, "Show all"),
      ),
    wanted.length === 0 && h("p", { class: "hint" }, selected ? "It was not reached." : "None yet."),
    wanted
      .slice(0, memory.rows)
      .map((activity) => row(job, activity, memory.open, then, selected && wanted.length === 1)),
    left > 0 &&
      h(
        "button",
        { class: "more", onclick: () => ((memory.rows += rows_more), draw()) },
        `Show ${number(Math.min(left, rows_more))} of ${number(left)} more`,
      ),
  ];
}

function row(job, activity, open_rows, then, open) {
  const key = `${activity.name} ${activity.address}`;
  const took =
    activity.opened_at && activity.closed_at
      ? duration(Date.parse(activity.closed_at) - Date.parse(activity.opened_at))
      : "";
  const body = h("div", { class: "activity-body" });
  const fill_body = () => body.childElementCount || body.append(...body_of(job, activity, then));
  const details = h(
    "details",
    { class: "activity", open: open || open_rows.has(key) },
    h(
      "summary",
      null,
      dot(state_of(activity)),
      h("b", null, activity.name),
      h("span", { class: "tag" }, activity.kind ?? "?"),
      h("span", { class: "address mono" }, activity.address),
      h("span", { class: "grow" }),
      activity.code !== 0 && h("span", { class: "mono", "data-bad": activity.status === "errored" }, activity.code),
      h("span", { class: "took" }, took),
    ),
    body,
  );
  details.addEventListener("toggle", () => {
    if (details.open) fill_body();
    open_rows[details.open ? "add" : "delete"](key);
  });
  if (details.open) fill_body();
  return details;
}

function body_of(job, activity, then) {
  const lines = activity.status === "open" ? wait_lines(job, activity) : [];
  const work = activity.work;
  if (activity.status !== "open" && work?.attempts > 1)
    lines.push(`${number(work.attempts)} attempts, ${number(work.failures)} failed`);
  if (activity.status !== "open" && work?.failure)
    lines.push(["last failure: ", h("span", { class: "error-text" }, message_of(work.failure))]);
  for (const { at, code, error } of activity.attempts ?? [])
    lines.push([
      ago(at),
      ` an attempt failed with code ${code}: `,
      h("span", { class: "error-text" }, message_of(error).slice(0, 500)),
    ]);
  if (activity.child) lines.push(["started job ", child_link(job, activity.child)]);
  if (activity.refused)
    lines.push(
      h(
        "span",
        { class: "error-text" },
        `an answer with code ${activity.refused.code} was refused: ${activity.refused.error}`,
      ),
    );
  const value = (title, what, note) =>
    what !== null && what !== undefined && [h("h3", null, title, note && h("small", null, ` ${note}`)), json(what)];
  const parts = [
    lines.map((line) => h("div", null, line)),
    activity.effect === "unknown" &&
      h(
        "p",
        null,
        "Nobody knows whether its work was done. ",
        h("button", { onclick: () => settle(job, activity, then) }, "Say what became of it"),
      ),
    value("Output", activity.output),
    value("Input", activity.input, activity.input_sure === false && "(as it would be now)"),
    h("p", { class: "ledger" }, h("code", null, activity.ledger), " ", activity.explanation),
  ];
  return parts.flat(Infinity).filter(Boolean);
}

const settle = (job, activity, then) =>
  ask_and_do(
    {
      title: `What became of ${activity.name}?`,
      text: "Find out from whoever did the work, then say it here.",
      action: "Settle",
      fields: [
        { name: "outcome", label: "It was", kind: "select", options: ["done", "failed", ["not_done", "not done"]] },
        { name: "data", label: "Its result (JSON)", kind: "json", value: "" },
      ],
    },
    ({ outcome, data }) =>
      post(
        `v1/jobs/${encoded(job.id)}/settle`,
        { activity: activity.name, address: activity.address, outcome, data },
        { namespace: job.namespace, run: job.run },
      ),
    "Stored.",
  ).then((done) => done && then());
