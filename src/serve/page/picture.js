// The graph of a job as the server draws it, coloured by the states of the activities.
import { h } from "./dom.js";

const svg_space = "http://www.w3.org/2000/svg";
const elements = new Set(["svg", "g", "rect", "path", "polygon", "text", "title"]);
const attributes = new Set([
  "class",
  "x",
  "y",
  "width",
  "height",
  "rx",
  "d",
  "points",
  "transform",
  "viewBox",
  "data-activity",
  "stroke-linejoin",
]);

// Copies only shapes and texts: whatever else a picture had would stay outside of this page.
function copy(node) {
  const made = document.createElementNS(svg_space, node.localName);
  for (const { name, value } of node.attributes) if (attributes.has(name)) made.setAttribute(name, value);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE && elements.has(child.localName)) made.append(copy(child));
  }
  return made;
}

export function picture_of(svg_text) {
  const bare = svg_text.replace(/<style>[^<]*<\/style>/, ""); // its colours are of kinds, ours are of states
  const parsed = new DOMParser().parseFromString(bare, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg") throw new Error("the picture is no SVG");
  const picture = copy(parsed);
  picture.setAttribute("role", "group");
  return picture;
}

// How one activity stands, in a word that the style sheet knows.
export function state_of(activity) {
  if (activity.status !== "open") return activity.status;
  if (activity.effect === "unknown") return "unknown";
  if (activity.work?.failures) return "retrying";
  const wait = activity.waits_for;
  if (wait && !activity.work && (wait.topic || wait.wakes_at || wait.child || wait.of)) return "waiting";
  return "open";
}

// The last one wins.
const weights = ["cancelled", "skipped", "unfinished", "completed", "errored", "waiting", "open", "retrying", "unknown"];

// Every box gets its state; one of many activities (items of a map, rounds of a loop) shows how many.
export function colour(picture, activities, selected) {
  const by_name = new Map();
  for (const activity of activities) {
    const seen = by_name.get(activity.name) ?? { state: "cancelled", all: 0, done: 0 };
    const state = state_of(activity);
    if (weights.indexOf(state) >= weights.indexOf(seen.state)) seen.state = state;
    seen.all += 1;
    seen.done += activity.status !== "open";
    by_name.set(activity.name, seen);
  }
  for (const box of picture.querySelectorAll("[data-activity]")) {
    const found = by_name.get(box.dataset.activity);
    box.dataset.state = found?.state ?? "idle";
    box.setAttribute("aria-pressed", String(box.dataset.activity === selected));
    box.setAttribute("aria-label", `${box.dataset.activity}: ${found?.state ?? "not reached"}`);
    box.querySelector(".badge")?.remove();
    if (found?.all > 1) badge(box, found.done === found.all ? `${found.all}` : `${found.done}/${found.all}`);
  }
}

function badge(box, text) {
  const shape = box.querySelector(".shape:last-of-type") ?? box.querySelector(".shape");
  const around = shape.getBBox();
  const group = document.createElementNS(svg_space, "g");
  group.setAttribute("class", "badge");
  const width = 14 + 7 * text.length;
  const plate = document.createElementNS(svg_space, "rect");
  for (const [name, value] of Object.entries({
    x: around.x + around.width - width + 6,
    y: around.y - 9,
    width,
    height: 18,
    rx: 9,
  }))
    plate.setAttribute(name, value);
  const label = document.createElementNS(svg_space, "text");
  label.setAttribute("x", around.x + around.width - width / 2 + 6);
  label.setAttribute("y", around.y + 4);
  label.textContent = text;
  group.append(plate, label);
  box.append(group);
}

// Boxes can be clicked and reached with the keyboard.
export function make_choosable(picture, choose) {
  for (const box of picture.querySelectorAll("[data-activity]")) {
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.addEventListener("click", () => choose(box.dataset.activity));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      choose(box.dataset.activity);
    });
  }
}

const legend_states = [
  ["open", "running"],
  ["waiting", "waits"],
  ["retrying", "retries"],
  ["completed", "done"],
  ["errored", "error"],
  ["idle", "not reached"],
];
export const legend = () =>
  h(
    "div",
    { class: "legend", "aria-hidden": "true" },
    legend_states.map(([state, label]) => h("span", { "data-state": state }, label)),
  );
