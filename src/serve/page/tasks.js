// What waits for a person in a job: hooks with `escalation`, with who has claimed them.
import { name as encoded, post } from "./api.js";
import { ago, h } from "./dom.js";
import { ask_and_do } from "./dialog.js";

const who_name = "pawl-who"; // asked once per tab
const who_field = (label, required) => ({ name: "who", label, required, value: sessionStorage.getItem(who_name) ?? "" });

const act = (task, verb, question, then, body) =>
  ask_and_do(
    question,
    (values) => {
      if (values.who) sessionStorage.setItem(who_name, values.who);
      return post(`v1/tasks/${encoded(task.id)}/${verb}`, body(values));
    },
    `${question.action}: stored.`,
  ).then((done) => done && then());

const resolve = (task, then) =>
  act(
    task,
    "resolve",
    {
      title: `Resolve ${task.activity}`,
      text: task.claimed_by
        ? `${task.claimed_by} has claimed it: only they can resolve it until then.`
        : "The job goes on with this data. The first one who resolves it counts.",
      action: "Resolve",
      fields: [
        { name: "data", label: "Data (JSON)", kind: "json", value: "{}" },
        who_field(task.claimed_by ? "Your name" : "Your name (may be empty)", Boolean(task.claimed_by)),
      ],
    },
    then,
    ({ data, who }) => ({ data, who: who.trim() || undefined }),
  );

const claim = (task, then) =>
  act(
    task,
    "claim",
    {
      title: `Claim ${task.activity}`,
      text: "Others cannot resolve it for this time.",
      action: "Claim",
      fields: [who_field("Your name", true), { name: "time", label: "For", value: "30m", required: true }],
    },
    then,
    ({ who, time }) => ({ who: who.trim(), time: time.trim() }),
  );

export function task_list(tasks, then) {
  return h(
    "ul",
    { class: "waits tasks" },
    tasks.map((task) =>
      h(
        "li",
        { "data-task": task.activity },
        h("span", { class: "dot", "data-state": "waiting", title: "waits for a person" }),
        h(
          "div",
          null,
          h("b", null, task.activity),
          task.role && [" ", h("span", { class: "tag" }, task.role)],
          task.description && h("div", null, task.description),
          task.claimed_by && h("div", null, `claimed by ${task.claimed_by}, ends `, ago(task.claimed_until)),
          task.times_out_at && h("div", null, "times out ", ago(task.times_out_at)),
        ),
        h(
          "div",
          { class: "buttons" },
          !task.claimed_by && h("button", { onclick: () => claim(task, then) }, "Claim"),
          h("button", { class: "primary", onclick: () => resolve(task, then) }, "Resolve"),
        ),
      ),
    ),
  );
}
