// What an operator can do with a job; each asks first.
import { name as encoded, post, remove } from "./api.js";
import { h } from "./dom.js";
import { ask_and_do } from "./dialog.js";
import { job_link } from "./jobs.js";

const is_open = (job) => ["running", "paused", "parked"].includes(job.status);
const reason_field = { name: "reason", label: "Reason (kept with the job)" };

export const signal_job = (job, which, then, topic = "", hint = "") =>
  ask_and_do(
    {
      title: `Signal ${job.id}`,
      action: "Send the signal",
      text: hint,
      fields: [
        { name: "topic", label: "Topic", value: topic, required: true },
        { name: "data", label: "Data (JSON)", kind: "json", value: "{}" },
      ],
    },
    ({ topic: to, data }) => post(`v1/jobs/${encoded(job.id)}/signal`, { topic: to.trim(), data }, which),
    "The signal is stored.",
  ).then((done) => done && then());

export function actions_of(job, which, keys, then) {
  const path = `v1/jobs/${encoded(job.id)}`;
  const target = { namespace: job.namespace, run: which.run || job.run };
  const plain = (verb, label, question, options = {}) => ({
    key: options.key,
    label,
    danger: options.danger,
    primary: options.primary,
    run: () =>
      ask_and_do(
        { title: question, text: options.text, action: label, danger: options.danger, fields: options.fields ?? [] },
        ({ reason } = {}) => post(`${path}/${verb}`, reason ? { reason } : {}, target),
        `${label}: stored.`,
      ).then((done) => done && then()),
  });
  const whole = "the beginning";
  const later = job.activities.filter((activity) => activity.kind !== "trigger").map((activity) => activity.name);
  const input_text = JSON.stringify(job.input ?? {}, null, 2);
  const redrive = async () => {
    let goes_on;
    const done = await ask_and_do(
      {
        title: `Redrive ${job.id}?`,
        text:
          job.status === "parked"
            ? "It goes on where it stopped. Every attempt and limit counts afresh."
            : "It goes on in a new run, beginning with what failed. What was answered before counts.",
        action: "Redrive",
      },
      async () => (goes_on = await post(`${path}/redrive`, {}, target)),
      "It goes on.",
    );
    if (!done) return;
    if (goes_on.run === job.run) return then();
    location.hash = job_link({ ...job, run: goes_on.run });
  };
  const all = [
    ["parked", "failed"].includes(job.status) && { key: "d", label: "Redrive", primary: true, run: redrive },
    job.status === "paused" && plain("resume", "Resume", `Resume ${job.id}?`, { key: "u", primary: true }),
    is_open(job) && { key: "s", label: "Signal", run: () => signal_job(job, target, then, first_hook(job)) },
    job.status === "running" &&
      plain("pause", "Pause", `Pause ${job.id}?`, {
        key: "u",
        text: "It hands out no work until it is resumed. What runs may answer.",
        fields: [reason_field],
      }),
    is_open(job) &&
      plain("cancel", "Cancel job", `Cancel ${job.id}?`, {
        danger: true,
        text: "This ends the job, after it has undone what it did.",
        fields: [reason_field],
      }),
    is_open(job) &&
      plain("interrupt", "Interrupt", `Interrupt ${job.id}?`, {
        key: "i",
        danger: true,
        text: "This ends the job as it is, and undoes nothing. Its running workers are told.",
        fields: [reason_field],
      }),
    !is_open(job) && {
      label: "Run again",
      run: () =>
        ask_and_do(
          {
            title: `Start a new job like ${job.id}?`,
            text: "Same graph, same input unless you change it. From an activity: what was answered before it counts.",
            action: "Start",
            fields: [
              { name: "id", label: "New id (empty: one is made)" },
              { name: "from", label: "From", kind: "select", options: [whole, ...new Set(later)] },
              { name: "input", label: "Input (JSON)", kind: "json", value: input_text },
            ],
          },
          ({ id, from, input }) =>
            post(
              `${path}/rerun`,
              {
                id: id.trim() || undefined,
                from: from === whole ? undefined : from,
                input: JSON.stringify(input, null, 2) === input_text ? undefined : input,
              },
              target,
            ).then(
              (started) => ((location.hash = job_link(started)), started),
            ),
          (started) => `${started.id} has started.`,
        ),
    },
    !is_open(job) && {
      label: "Remove",
      danger: true,
      run: () =>
        ask_and_do(
          {
            title: `Remove ${job.id}?`,
            text: "The job and its history are taken out of the store.",
            action: "Remove",
            danger: true,
          },
          () => remove(path, target),
          "Removed.",
        ).then((done) => done && (location.hash = "#/jobs")),
    },
  ].filter(Boolean);
  for (const key of ["s", "u", "d", "i"]) delete keys[key];
  for (const action of all) if (action.key) keys[action.key] = action.run;
  return all.map((action) =>
    h(
      "button",
      {
        class: action.danger ? "danger-quiet" : action.primary ? "primary" : "",
        title: action.key && `Shortcut: ${action.key}`,
        onclick: action.run,
      },
      action.label,
    ),
  );
}

const first_hook = (job) =>
  job.activities.find((activity) => activity.status === "open" && activity.kind === "hook")?.waits_for?.topic ?? "";
