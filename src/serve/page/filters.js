// The form above the list of jobs. What is chosen stands in the address, so that a filter can be sent as a link.
import { get, name as encoded, query_text } from "./api.js";
import { h, replace } from "./dom.js";

export function filter_form(params, go) {
  const input = (name, label, hint) =>
    h(
      "label",
      { class: "filter" },
      h("span", null, label),
      h("input", { name, value: params.get(name) ?? "", placeholder: hint, spellcheck: "false", autocomplete: "off" }),
    );
  const graphs = h("datalist", { id: "graphs" });
  const fill_graphs = async () => {
    if (graphs.childElementCount) return;
    const { apps } = await get("v1/apps");
    const all = new Set(apps.flatMap((app) => app.topics.map((topic) => `${app.app}/${topic}`)));
    replace(
      graphs,
      [...all].sort().map((value) => h("option", { value })),
    );
  };
  const graph = input("graph", "Graph", "Graph: app/topic");
  graph.lastChild.setAttribute("list", "graphs");
  graph.lastChild.addEventListener("focus", () => fill_graphs().catch(() => {}));
  const order = h(
    "select",
    { name: "order" },
    h("option", { value: "" }, "Newest first"),
    h("option", { value: "oldest" }, "Oldest first"),
  );
  order.value = params.get("order") ?? "";
  const more = ["activity", "code", "where", "since", "until", "namespace", "label", "key"];
  const form = h(
    "form",
    { class: "filters", role: "search" },
    h(
      "label",
      { class: "filter find" },
      h("span", null, "Job"),
      h("input", {
        id: "find",
        name: "find",
        type: "search",
        placeholder: "Job id, then Enter",
        spellcheck: "false",
        autocomplete: "off",
      }),
    ),
    graph,
    graphs,
    input("error", "Error", "Text of the error"),
    h("label", { class: "filter" }, h("span", null, "Order"), order),
    h(
      "details",
      { open: more.some((name) => params.get(name)) },
      h("summary", null, "More filters"),
      h(
        "div",
        { class: "filters" },
        input("activity", "Stands at", "an activity"),
        input("code", "Code", "503"),
        input("where", "Activity is", "charge=errored"),
        input("since", "Made since", "2h, 03:00, 2026-11-17"),
        input("until", "Made before", "15m"),
        input("namespace", "Namespace", "all"),
        input("label", "Label", "side=north"),
        input("key", "Key", "of the graph's stats"),
        h("button", { type: "submit" }, "Apply"),
      ),
    ),
  );
  const apply = () => {
    const values = new FormData(form);
    const id = values.get("find").trim();
    if (id) return void (location.hash = `#/job/${encoded(id)}${query_text({ namespace: values.get("namespace") })}`);
    go(Object.fromEntries(["graph", "error", "order", ...more].map((name) => [name, values.get(name).trim()])));
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), apply()));
  for (const field of [graph.lastChild, order]) field.addEventListener("change", apply);
  return form;
}
