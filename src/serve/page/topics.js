// Topics of work: what waits, how long, who serves; and the workers. Read again every two seconds while somebody looks.
import { get, name as encoded, post } from "./api.js";
import { ago, empty, h, number, replace } from "./dom.js";
import { ask_and_do } from "./dialog.js";

const gap_ms = 2000;

export async function topics_view({ main, signal, set_live }) {
  const topics_card = h("section", { class: "card list", "aria-label": "Topics" });
  const workers_card = h("section", { class: "card list", "aria-label": "Workers" });

  const columns = (titles) =>
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        titles.map((title) => h("th", { scope: "col" }, title)),
      ),
    );
  const cell = (label, ...content) => h("td", { "data-label": label }, content);

  function topic_row(topic, most) {
    const idle = !topic.local && !topic.workers && !topic.waiting && !topic.servers;
    const meter = h("span", { class: "meter" }, h("span"));
    meter.firstChild.style.width = `${most ? (100 * topic.backlog) / most : 0}%`;
    const turn = topic.paused ? "resume" : "pause";
    const label = topic.paused ? "Resume" : "Pause";
    const flip = () =>
      ask_and_do(
        {
          title: `${label} ${topic.topic}?`,
          action: label,
          danger: !topic.paused,
          text: topic.paused
            ? "Its work is handed out again."
            : "No process on this store hands out its work until it is resumed.",
        },
        () => post(`v1/topics/${encoded(topic.topic)}/${turn}`),
        `${topic.topic}: ${turn}d.`,
      ).then((done) => done && read());
    return h(
      "tr",
      { "data-key": topic.topic },
      h("td", { class: "id mono" }, topic.topic),
      cell("Backlog", h("b", null, number(topic.backlog)), meter),
      cell("Oldest waits", topic.oldest_waiting_at ? ago(topic.oldest_waiting_at) : "–"),
      cell("With workers", number(topic.with_workers)),
      cell("Later", h("span", { title: "wait for the time of their next attempt" }, number(topic.later))),
      cell("Held", h("span", { title: "their job is parked or paused" }, number(topic.held))),
      cell(
        "Served by",
        topic.local && h("span", { class: "tag" }, "this server"),
        topic.workers
          ? `${number(topic.workers)} worker${topic.workers === 1 ? "" : "s"}`
          : idle
            ? h("span", { class: topic.backlog ? "error-text" : "muted" }, "nobody")
            : topic.servers
              ? `${number(topic.servers)} process${topic.servers === 1 ? "" : "es"}`
              : "",
      ),
      cell("Taken", number(topic.taken), topic.rate ? ` (${topic.rate.toFixed(1)}/s)` : ""),
      h(
        "td",
        { class: "act" },
        topic.paused && h("span", { class: "pill", "data-state": "paused" }, "paused"),
        topic.stuck &&
          h("span", { class: "pill", "data-state": "failed", title: "work waits, and nobody takes it" }, "stuck"),
        h("button", { onclick: flip }, label),
      ),
    );
  }

  const worker_row = (worker) =>
    h(
      "tr",
      null,
      h("td", { class: "id mono" }, worker.worker),
      cell(
        "Topics",
        (worker.topics ?? []).map((topic) => h("span", { class: "tag" }, topic)),
      ),
      cell("Out", number(worker.out)),
      cell("Completed", number(worker.completed)),
      cell("Failed", worker.failed ? h("span", { class: "error-text" }, number(worker.failed)) : "0"),
      cell("Seen", ago(worker.seen_at)),
    );

  let drawn = "";
  async function read() {
    const [{ topics }, { workers }] = await Promise.all([get("v1/topics", {}, signal), get("v1/workers", {}, signal)]);
    const text = JSON.stringify([topics, workers]);
    if (text === drawn) return;
    drawn = text;
    const focus = document.activeElement?.closest?.("tr[data-key]")?.dataset.key;
    topics.sort((a, b) => b.backlog - a.backlog || a.topic.localeCompare(b.topic));
    const most = Math.max(0, ...topics.map((topic) => topic.backlog));
    replace(
      topics_card,
      topics.length
        ? h(
            "table",
            { class: "cards" },
            columns(["Topic", "Backlog", "Oldest waits", "With workers", "Later", "Held", "Served by", "Taken", ""]),
            h(
              "tbody",
              null,
              topics.map((topic) => topic_row(topic, most)),
            ),
          )
        : empty("No topic has work or a worker."),
    );
    replace(
      workers_card,
      workers.length
        ? h(
            "table",
            { class: "cards" },
            columns(["Worker", "Topics", "Out", "Completed", "Failed", "Seen"]),
            h("tbody", null, workers.map(worker_row)),
          )
        : empty(
            "No worker was heard of in the last minute.",
            h("pre", null, `pawl worker --url ${location.origin} --topic TOPIC -- COMMAND`),
          ),
    );
    if (focus) topics_card.querySelector(`tr[data-key="${CSS.escape(focus)}"] button`)?.focus();
  }

  await read();
  set_live("live");
  replace(main, h("h1", null, "Topics"), topics_card, h("h1", null, "Workers"), workers_card);
  const timer = setInterval(
    () =>
      document.hidden ||
      read().then(
        () => set_live("live"),
        () => signal.aborted || set_live("connecting"),
      ),
    gap_ms,
  );
  signal.addEventListener("abort", () => clearInterval(timer));
}
