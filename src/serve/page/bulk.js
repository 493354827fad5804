import { post } from "./api.js";
import { ask, ask_and_do } from "./dialog.js";
import { number, toast } from "./dom.js";

const verbs = ["redrive", "pause", "resume", "cancel", "interrupt", "remove"];
const is_final = (verb) => ["cancel", "interrupt", "remove"].includes(verb);

// One thing for all jobs of the filter. The server counts them first: the operator sees how many before it is done.
export async function ask_bulk(filter) {
  const title = (verb) => verb[0].toUpperCase() + verb.slice(1);
  const words =
    Object.entries(filter)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ") || "none, so every job";
  const reasons = (refused) =>
    refused.map(({ why, jobs, example }) => `${number(jobs)} not (${example}): ${why}`).join("; ");
  const confirm = async (verb) => {
    const { done, refused } = await post(`v1/bulk/${verb}`, { filter, dry_run: true });
    if (!done) return toast(`There is no job to ${verb}. ${reasons(refused)}`, "bad");
    const jobs = `${number(done)} job${done === 1 ? "" : "s"}`;
    const question = {
      title: `${title(verb)} ${jobs}?`,
      text: `The filter: ${words}. ${reasons(refused)}`,
      action: `${title(verb)} ${jobs}`,
      danger: is_final(verb),
    };
    if (["cancel", "interrupt", "pause"].includes(verb))
      question.fields = [{ name: "reason", label: "Reason (kept with each job)" }];
    await ask_and_do(
      question,
      ({ reason }) => post(`v1/bulk/${verb}`, { filter, reason: reason || undefined }),
      (all) => `${number(all.done)} done. ${reasons(all.refused)}`,
    );
  };
  const answer = await ask({
    title: "All jobs of this filter",
    text: "The next step shows how many they are.",
    action: "Go on",
    fields: [{ name: "verb", label: "What to do", kind: "select", options: verbs }],
  });
  if (answer) await confirm(answer.verb);
}
