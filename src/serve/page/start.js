// Starts a job by hand: a graph of an active app, an id, its input.
import { get, post } from "./api.js";
import { ask_and_do } from "./dialog.js";
import { toast } from "./dom.js";

export async function start_job(link) {
  const { apps } = await get("v1/apps");
  const graphs = [...new Set(apps.filter((app) => app.active).flatMap((app) => app.topics))].sort();
  if (!graphs.length) return toast("No app is deployed yet.", "bad");
  await ask_and_do(
    {
      title: "Start a job",
      text: "Under an id that is taken nothing starts: you are shown the job that has it.",
      action: "Start",
      fields: [
        { name: "graph", label: "Graph", kind: "select", options: graphs },
        { name: "id", label: "Id (empty: one is made)" },
        { name: "input", label: "Input (JSON)", kind: "json", value: "{}" },
      ],
    },
    async ({ graph, id, input }) => {
      const started = await post("v1/jobs", { graph, id: id.trim() || undefined, input });
      location.hash = link(started);
      return started;
    },
    (started) => (started.created ? `${started.id} has started.` : `${started.id} was there already.`),
  );
}
