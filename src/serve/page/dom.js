// Elements, times and JSON as DOM nodes. Text of jobs only ever becomes a text node: nothing here parses HTML.

// h("a", {href, class, onclick, "aria-label"}, "text", node, [more], null)
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, children);
}

export function fill(node, children) {
  for (const child of [children].flat(Infinity))
    if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

export const replace = (node, ...children) => (node.replaceChildren(), fill(node, children));

export const number = (value) => (value ?? 0).toLocaleString("en");

// 0 ms, 840 ms, 12.4 s, 5 min 3 s, 2 h 10 min, 3 d 4 h
export function duration(ms) {
  if (!(ms >= 0)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  const two = (a, big, b, small) => (b ? `${a} ${big} ${b} ${small}` : `${a} ${big}`);
  if (s < 3600) return two(Math.floor(s / 60), "min", Math.floor(s % 60), "s");
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "min");
  return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
}

function age(at) {
  const ms = Date.now() - Date.parse(at);
  const text =
    Math.abs(ms) < 1000
      ? "now"
      : duration(Math.abs(ms))
          .replace(/(\d+)\.\d+ s/, "$1 s")
          .split(" ")
          .slice(0, 2)
          .join(" ");
  return text === "now" ? text : ms > 0 ? `${text} ago` : `in ${text}`;
}

// A time that keeps itself current: see `tick`.
export const ago = (at) =>
  at ? h("time", { datetime: at, title: new Date(at).toLocaleString(), "data-ago": "" }, age(at)) : null;

export function tick() {
  for (const node of document.querySelectorAll("time[data-ago]")) {
    const text = age(node.dateTime);
    if (node.textContent !== text) node.textContent = text;
  }
}

export const clock = (at) => {
  const d = new Date(at);
  return `${d.toLocaleTimeString("en-GB")}.${String(d.getMilliseconds()).padStart(3, "0")}`;
};

export const pill = (status) => h("span", { class: "pill", "data-state": status }, status);

const shown_max = 20_000; // characters of a value that are shown before somebody asks for all

// A value as indented JSON; a long one is cut until asked for.
export function json(value) {
  const text = typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 2);
  const block = h("pre", { tabindex: "0" }, text.slice(0, shown_max));
  if (text.length <= shown_max) return block;
  const more = h(
    "button",
    { class: "quiet", onclick: () => ((block.textContent = text), more.remove()) },
    `Show all ${number(text.length)} characters`,
  );
  return h("div", null, block, more);
}

// The words of an error that is JSON by custom: {"message": ...}.
export function message_of(error) {
  let value = error;
  if (typeof value === "string") {
    try {
      value = JSON.parse(value);
    } catch {
      return value;
    }
  }
  if (value && typeof value === "object") return String(value.message ?? JSON.stringify(value));
  return String(value ?? "");
}

// A reason that ends with such an error, in words: `activity pay failed with code 402: declined`.
// The error of an awaited job is such a reason again.
export function reason_of(text) {
  const [, before, error] = /^(.*?): ([{"].*)$/s.exec(text ?? "") ?? [];
  if (!error) return text ?? "";
  try {
    const value = JSON.parse(error);
    return `${before}: ${typeof value === "string" ? reason_of(value) : message_of(value)}`;
  } catch {
    return text;
  }
}

let toasts;
export function toast(text, kind = "ok") {
  toasts ??= document.getElementById("toasts");
  const node = h("div", { class: "toast", "data-kind": kind }, text);
  toasts.append(node);
  setTimeout(() => node.remove(), kind === "bad" ? 9000 : 4000);
}

export const empty = (title, ...more) => h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), more);

// Calls `what` at most once per `gap_ms()`; a call that comes too early is made up for at the end of the gap.
export function throttle(what, gap_ms, signal) {
  let timer = 0;
  let last = 0;
  const fire = async () => {
    timer = -1; // runs
    await what();
    last = performance.now();
    timer = again && !signal.aborted ? setTimeout(fire, gap_ms()) : 0;
    again = false;
  };
  let again = false;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    if (timer) return void (again = again || timer === -1);
    timer = setTimeout(fire, Math.max(0, last + gap_ms() - performance.now()));
  };
}
