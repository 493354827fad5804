// Every operation of openapi.json has a method, or stands in left_out.json with a reason; and the reverse.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { Client, JobHandle, Worker } from "../src/index.js";
import { until } from "./server.js";

const read = (path: string): string => readFileSync(`${process.env["PAWL_ROOT"] ?? "../.."}/${path}`, "utf8");
const { paths } = JSON.parse(read("src/serve/openapi.json")) as {
  paths: Record<string, Record<string, { operationId: string }>>;
};
const leftOut = JSON.parse(read("clients/left_out.json")) as Record<string, string>;

const operations = Object.entries(paths).flatMap(([pattern, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({ method: method.toUpperCase(), pattern, operationId })),
);

// The one whose path fits; one that is written out goes before one with a {name}.
function operationOf(method: string, path: string): string | undefined {
  const names = (pattern: string): number => pattern.split("{").length;
  return operations
    .filter((one) => one.method === method && new RegExp(`^${one.pattern.replace(/\{\w+\}/g, "[^/]+")}$`).test(path))
    .sort((a, b) => names(a.pattern) - names(b.pattern))[0]?.operationId;
}

const enough = new AbortController(); // a stream that is not ended keeps the process alive
// What stands for arguments that are no text.
const samples: Record<string, unknown[]> = {
  startMany: [[{ graph: "g" }]],
  take: [{ topics: ["t"] }],
  answer: [[{ token: "t", do: "complete" }]],
  bulk: ["pause", {}],
  signalWithStart: ["t", {}, { graph: "g" }],
  events: [{ signal: enough.signal }],
  announcements: [{ signal: enough.signal }],
  wait: [0.01],
  result: [0.01],
};
const passes = ["constructor", "job", "get", "pages"]; // of Client: they ask for nothing by themselves

describe("operations", () => {
  const sent: { method: string; path: string }[] = [];
  const client = new Client({
    fetch: (url, init) => {
      sent.push({ method: init?.method ?? "GET", path: new URL(String(url)).pathname });
      return Promise.reject(new Error("nothing is sent"));
    },
  });

  async function call(thing: object, name: string): Promise<void> {
    const method = (thing as Record<string, (...all: unknown[]) => unknown>)[name];
    if (typeof method !== "function") return;
    try {
      const made = method.apply(thing, samples[name] ?? Array.from({ length: method.length }, () => "x"));
      // A stream tries again until it is told to stop: the first request is enough.
      const before = sent.length;
      if (made !== null && typeof made === "object" && "next" in made) {
        const first = (made as AsyncGenerator<unknown>).next().catch(() => undefined);
        await Promise.race([first, until(() => sent.length > before)]);
      } else await made;
    } catch {
      // what was sent is known
    }
  }

  before(async () => {
    const job = new JobHandle(client, { id: "x", run: "7" });
    const things: [object, string[]][] = [
      [client, passes],
      [job, ["constructor", "call", "do"]],
    ];
    for (const [thing, skipped] of things)
      for (let at = Object.getPrototypeOf(thing) as object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
        for (const name of Object.getOwnPropertyNames(at)) if (!skipped.includes(name)) await call(thing, name);
    const worker = new Worker(client, { stream: true }); // by long poll it uses take()
    worker.serve("t", () => ({}));
    const running = worker.run();
    await until(() => sent.some(({ path }) => path === "/v1/work/stream"));
    await worker.stop();
    await running;
    enough.abort();
  });

  it("have a method each, or a reason", () => {
    const asked = new Set(sent.map(({ method, path }) => operationOf(method, path)));
    const all = operations.map((one) => one.operationId);
    const without = all.filter((id) => !asked.has(id) && !leftOut[id]);
    assert.deepEqual(without, [], "neither a method nor a reason");
    const both = Object.keys(leftOut).filter((id) => asked.has(id));
    assert.deepEqual(both, [], "it has a method: take it out of left_out.json");
    const unknown = Object.keys(leftOut).filter((id) => !all.includes(id));
    assert.deepEqual(unknown, [], "there is no such operation");
  });

  it("are all that methods ask for", () => {
    const unknown = sent.filter(({ method, path }) => !operationOf(method, path));
    assert.deepEqual(unknown, []);
  });
});
