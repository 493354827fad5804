// The apps of the store, and the picture of one.
import { get, get_text, name as encoded, query_text } from "./api.js";
import { ago, empty, h, replace } from "./dom.js";
import { picture_of } from "./picture.js";

export async function apps_view({ main, name, params, signal, set_live }) {
  const { apps } = await get("v1/apps", {}, signal);
  set_live("live");
  if (!apps.length)
    return replace(main, empty("No app is deployed.", h("pre", null, `pawl deploy app.yaml --url ${location.origin}`)));
  const version = params.get("version");
  const row = (app) =>
    h(
      "tr",
      { "data-chosen": app.app === name && (version ?? "") === (app.active ? "" : app.version) },
      h(
        "td",
        { class: "id" },
        h(
          "a",
          { href: `#/apps/${encoded(app.app)}${query_text({ version: app.active ? "" : app.version })}` },
          app.app,
        ),
        h("span", { class: "tag" }, `v${app.version}`),
        app.active && h("span", { class: "pill", "data-state": "completed" }, "active"),
      ),
      h(
        "td",
        { "data-label": "Graphs" },
        app.topics.map((topic) =>
          h("a", { class: "tag", href: `#/jobs?graph=${encoded(`${app.app}/${topic}`)}`, title: "Its jobs" }, topic),
        ),
      ),
      h("td", { "data-label": "Deployed" }, ago(app.deployed_at)),
    );
  const picture = h("div", { class: "card-body" });
  replace(
    main,
    h("h1", null, "Apps"),
    h(
      "section",
      { class: "card list" },
      h(
        "table",
        { class: "cards" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["App", "Graphs", "Deployed"].map((title) => h("th", { scope: "col" }, title)),
          ),
        ),
        h("tbody", null, apps.map(row)),
      ),
    ),
    name &&
      h(
        "section",
        { class: "card part-graph", "aria-label": "Picture" },
        h("header", null, h("h2", null, version ? `${name} v${version}` : name)),
        picture,
      ),
  );
  if (name) replace(picture, picture_of(await get_text(`v1/apps/${encoded(name)}/picture`, { version }, signal)));
}
