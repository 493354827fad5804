// Questions to the operator. Nothing is changed without one of these being answered.
import { h, toast } from "./dom.js";

let inside = 0;
export const dialog_is_open = () => inside > 0;

// Shows a form; the promise is an object of its fields' values, or null if it was left.
// fields: [{name, label, kind: "text" | "json" | "select" | "password", value, hint, required,
//           options: [value or [value, label]]}]
export function ask({ title, text, fields = [], action, danger = false }) {
  return new Promise((done) => {
    const inputs = {};
    const problem = h("p", { class: "field-problem", role: "alert" });
    const rows = fields.map((field) => {
      const id = `field-${field.name}`;
      const common = { id, name: field.name, required: field.required, spellcheck: "false", autocomplete: "off" };
      let input;
      if (field.kind === "json") input = h("textarea", { ...common, rows: 5, class: "mono", value: field.value ?? "" });
      else if (field.kind === "select")
        input = h(
          "select",
          common,
          field.options.map((option) => {
            const [value, label = value] = [option].flat();
            return h("option", { value }, label);
          }),
        );
      else input = h("input", { ...common, type: field.kind ?? "text", value: field.value ?? "" });
      inputs[field.name] = { input, field };
      return h(
        "label",
        { for: id, class: "field" },
        h("span", null, field.label),
        input,
        field.hint && h("small", null, field.hint),
      );
    });
    const leave = h("button", { type: "button", onclick: () => dialog.close() }, "Leave");
    const go = h("button", { type: "submit", class: danger ? "danger" : "primary" }, action);
    const form = h(
      "form",
      { method: "dialog" },
      h("h2", null, title),
      text && h("p", { class: "dialog-text" }, text),
      rows,
      problem,
      h("div", { class: "buttons end" }, leave, go),
    );
    const dialog = h("dialog", { "aria-label": title }, form);
    let answer = null;
    form.addEventListener("submit", (event) => {
      const values = {};
      for (const [name, { input, field }] of Object.entries(inputs)) {
        values[name] = input.value;
        if (field.kind !== "json") continue;
        try {
          values[name] = input.value.trim() === "" ? undefined : JSON.parse(input.value);
        } catch (error) {
          event.preventDefault();
          problem.textContent = `${field.label} is not JSON: ${error.message}`;
          input.focus();
          return;
        }
      }
      answer = values;
    });
    dialog.addEventListener("close", () => (--inside, dialog.remove(), done(answer)));
    document.body.append(dialog);
    ++inside;
    dialog.showModal();
    const first = fields.find((field) => !field.value || field.kind === "json"); // what is filled in needs no typing
    (first ? inputs[first.name].input : go).focus();
  });
}

// Asks, then does it, and reports how it went. True if it was done.
export async function ask_and_do(question, deed, done_text) {
  const values = await ask(question);
  if (!values) return false;
  try {
    const result = await deed(values);
    toast(typeof done_text === "function" ? done_text(result) : done_text);
    return true;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  }
}

export const ask_for_token = async () =>
  (
    await ask({
      title: "This server asks for a token",
      text: "It is kept in this tab only, until you close it.",
      fields: [{ name: "token", label: "Bearer token", kind: "password", required: true }],
      action: "Go on",
    })
  )?.token;

const shortcuts = [
  ["/", "Search for a job"],
  ["g j", "Jobs"],
  ["g t", "Topics"],
  ["g a", "Apps"],
  ["j  k", "Next row, row before"],
  ["Enter", "Open the row"],
  ["n  p", "Next page, page before"],
  ["r", "Read again"],
  ["s", "Job: signal"],
  ["u", "Job: pause or resume"],
  ["d", "Job: redrive"],
  ["i", "Job: interrupt"],
  ["Esc", "Close, or back to the jobs"],
  ["?", "This list"],
];

export function show_shortcuts() {
  const dialog = h(
    "dialog",
    { "aria-label": "Keyboard shortcuts" },
    h("h2", null, "Keyboard"),
    h(
      "dl",
      { class: "keys" },
      shortcuts.map(([keys, what]) =>
        h(
          "div",
          null,
          h(
            "dt",
            null,
            keys.split(/ +/).map((key) => h("kbd", null, key)),
          ),
          h("dd", null, what),
        ),
      ),
    ),
    h("form", { method: "dialog", class: "buttons end" }, h("button", { class: "primary" }, "Close")),
  );
  dialog.addEventListener("close", () => (--inside, dialog.remove()));
  document.body.append(dialog);
  ++inside;
  dialog.showModal();
}
