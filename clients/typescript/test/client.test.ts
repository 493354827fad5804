import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, Failure, JobNotCompleted, NotEnded, Problem, Unreachable, Worker, type Event } from "../src/index.js";
import { app, Server, until } from "./server.js";

describe("client", () => {
  let server: Server;
  let client: Client;
  let worker: Worker;
  let running: Promise<void>;
  let broken = false;
  let declines = true;

  before(async () => {
    server = await Server.start();
    client = server.client();
    await client.deploy(app);
    worker = new Worker(client, { wait: 2, concurrency: 16, name: "tests" });
    worker.serve<{ name: string }>("greet", (input) => ({ text: `hello ${input.name}` }));
    worker.serve("ship", () => ({}));
    worker.serve("charge", (_, work) => {
      if (broken) throw new Failure("the bank is closed", { code: 503 });
      return { payment: work.key };
    });
    worker.serve("pay", () => {
      if (declines) throw new Failure("declined", { code: 402, retryable: false });
      return { paid: true };
    });
    running = worker.run();
  });

  after(async () => {
    await worker.stop();
    await running;
    await server.stop();
  });

  it("runs a job to its result", async () => {
    const job = await client.start<{ text: string }>("greet.asked", { name: "Ann" }, { id: "greet-1" });
    assert.equal(job.created, true);
    assert.equal((await job.result(10)).text, "hello Ann");
    const again = await client.start("greet.asked", { name: "Bob" }, { id: "greet-1" });
    assert.deepEqual([again.created, again.run], [false, job.run]);
    const detail = await job.get();
    assert.deepEqual(
      detail.activities.map((one) => [one.name, one.status]),
      [
        ["asked", "completed"],
        ["greet", "completed"],
      ],
    );
    const history = await job.history();
    assert.equal(history[0]?.what, "job_started");
    assert.equal(history[history.length - 1]?.what, "job_closed");
    assert.equal(((await job.export()) as { id: string }).id, "greet-1");
  });

  it("takes every character that is allowed in a name", async () => {
    const id = "a/b.c_d-e:f@g+h=i$j,k//";
    await (await client.start("greet.asked", { name: "x" }, { id })).result(10);
    assert.equal((await client.job(id).get()).id, id);
  });

  it("names what is wrong", async () => {
    await assert.rejects(
      client.start("greet.asked", {}, { priority: 1e12 }),
      (error: Problem) => error.code === "invalid" && error.field === "priority",
    );
    await assert.rejects(
      client.start("greet.asked", {}, { id: "greet-1", reuse: "reject" }),
      (error: Problem) => error.status === 409,
    );
    await assert.rejects(client.job("nowhere").get(), (error: Problem) => error.code === "not_found");
    await assert.rejects(
      client.deploy("app: {id: x, version: '1', graphs: [{subscribes: t, activities: {a: {type: nonsense}}}]}"),
      (error: Problem) => error.code === "app_mistakes" && error.mistakes.length > 0,
    );
    const slow = await client.start("order.placed", { cents: 1 }, { id: "slow-1" });
    await assert.rejects(slow.result(0.2), (error) => error instanceof NotEnded);
    await assert.rejects(new Client({ url: "http://127.0.0.1:9" }).health(), (error) => error instanceof Unreachable);
  });

  it("lists jobs by pages and counts them by state", async () => {
    const starts = Array.from({ length: 25 }, (_, n) => ({
      graph: "greet.asked",
      input: { name: String(n) },
      id: `many-${n}`,
      namespace: "pages",
    }));
    const started = await client.startMany([...starts, { graph: "no.such.graph", namespace: "pages" }]);
    assert(started[25] instanceof Problem);
    for (const job of started) if (!(job instanceof Problem)) await job.result(10);
    const filter = {
      namespace: "pages",
      status: "completed" as const,
      graph: "shop/greet.asked",
      where: { greet: "completed" },
    };
    const ids: string[] = [];
    for await (const job of client.jobs(filter, { order: "oldest", limit: 7 })) ids.push(job.id);
    assert.deepEqual(ids.sort(), starts.map((one) => one.id).sort());
    assert.deepEqual(await client.count({ namespace: "pages" }), { total: 25, states: { completed: 25 } });
  });

  it("lets a failed job go on in a new run, and finds jobs by their error", async () => {
    const job = await client.start<{ paid: boolean }>("payment.due", {}, { id: "goes-on", namespace: "found" });
    assert.equal((await job.wait(10)).status, "failed");
    const found: string[] = [];
    const filter = { namespace: "found", error: "DECLINED", code: 402, since: new Date(Date.now() - 3_600_000) };
    for await (const one of client.jobs(filter)) found.push(one.id);
    assert.deepEqual(found, ["goes-on"]);
    assert.equal((await client.count({ namespace: "found", older_than: 3600 })).total, 0);
    declines = false;
    const again = await job.redrive();
    assert.notEqual(again.run, job.run);
    assert.equal((await again.result(10)).paid, true);
    declines = true;
    assert.equal((await again.get()).earlier[0]?.code, 402);
  });

  it("signals, also with a start", async () => {
    const job = await client.start<{ by: string }>("order.placed", { cents: 1 }, { id: "signal-1" });
    await job.signal("order.approved", { order: "signal-1", by: "Ann" }, { id: "once" });
    assert.equal((await job.result(10)).by, "Ann");
    const other = await client.signalWithStart<{ by: string }>(
      "order.approved",
      { order: "signal-2", by: "Eve" },
      { graph: "order.placed", input: { cents: 5 }, id: "signal-2" },
    );
    assert.equal((await other.result(10)).by, "Eve");
    const third = await client.start<{ by: string }>("order.placed", { cents: 1 }, { id: "signal-3" });
    await until(async () => (await third.get()).activities.some((one) => one.name === "approval" && one.waits_for));
    await client.signal("order.approved", { order: "signal-3", by: "Joe" });
    assert.equal((await third.result(10)).by, "Joe");
  });

  it("does what an operator asks, in bulk too", async () => {
    broken = true;
    const job = await client.start<{ by: string }>(
      "order.placed",
      { cents: 13 },
      { id: "parked-1", namespace: "parks" },
    );
    assert.equal((await job.wait(10)).status, "parked");
    broken = false;
    assert.equal(
      (await client.bulk("redrive", { namespace: "parks", status: "parked" }, { dry_run: true })).matched,
      1,
    );
    assert.deepEqual((await client.bulk("redrive", { namespace: "parks", status: "parked" })).done, 1);
    await until(async () => (await job.get()).activities.some((one) => one.name === "approval"));
    await job.pause("lunch");
    await until(async () => (await job.get()).status === "paused");
    await job.resume();
    await until(async () => (await job.get()).status === "running");
    await job.interrupt("enough");
    await assert.rejects(
      job.result(10),
      (error) => error instanceof JobNotCompleted && error.job.status === "interrupted",
    );
    const again = await job.rerun({ id: "parked-2", input: { cents: 7 } });
    assert.deepEqual((await again.get()).input, { cents: 7 });
    await again.interrupt();
    await again.wait(10);
    await again.remove();
    await until(() =>
      again.get().then(
        () => false,
        (error: Problem) => error.code === "not_found",
      ),
    );
  });

  it("does not try again what is not retryable", async () => {
    const job = await client.start("payment.due");
    await assert.rejects(
      job.result(10),
      (error: JobNotCompleted) => error.job.status === "failed" && error.job.reason.includes("declined"),
    );
    const pay = (await job.get()).activities.find((one) => one.name === "pay");
    assert.deepEqual([pay?.status, pay?.code], ["errored", 402]);
  });

  it("shows topics and workers", async () => {
    assert((await client.topics()).some((one) => one.topic === "greet"));
    assert((await client.workers()).some((one) => one.worker === "tests"));
    await client.pauseTopic("ship");
    assert.equal((await client.topics()).find((one) => one.topic === "ship")?.paused, true);
    await client.resumeTopic("ship");
    assert((await client.apps()).some((one) => one.app === "shop" && one.active));
    assert.equal((await client.health()).status, "ok");
  });

  it("follows the events of a job, in order", async () => {
    const stop = new AbortController();
    const seen: Event[] = [];
    const reading = (async () => {
      for await (const event of client.events({ job: "e-1", signal: stop.signal })) {
        seen.push(event);
        if (event.kind === "job_closed") return;
      }
    })();
    await new Promise((done) => setTimeout(done, 300));
    await client.start("greet.asked", { name: "x" }, { id: "other" });
    await client.start("greet.asked", { name: "x" }, { id: "e-1" });
    await reading;
    stop.abort();
    assert(seen.every((event) => event.job === "e-1"));
    assert.equal(seen[0]?.kind, "job_started");
    const kinds = seen.map((event) => `${event.kind} ${event.activity ?? ""}`);
    assert(kinds.indexOf("activity_opened greet") < kinds.indexOf("activity_closed greet"));
  });

  it("goes on behind the last event that was seen", async () => {
    const first = (async () => {
      for await (const event of client.events({ job: "e-2" })) return event;
      return undefined;
    })();
    await new Promise((done) => setTimeout(done, 300));
    await (await client.start("greet.asked", { name: "x" }, { id: "e-2" })).result(10);
    const seen = [await first];
    assert.equal(seen[0]?.kind, "job_started");
    for await (const event of client.events({ job: "e-2", lastId: seen[0]?.id ?? "" })) {
      seen.push(event);
      if (event.kind === "job_closed") break;
    }
    assert.equal(new Set(seen.map((event) => event?.id)).size, seen.length);
    assert(seen.some((event) => event?.kind === "activity_closed" && event.activity === "greet"));
  });

  it("lists, claims and resolves tasks", async () => {
    const job = await client.start("leave.asked", { text: "a week?" }, { id: "leave-1" });
    const tasks = async () => {
      const all = [];
      for await (const task of client.tasks({ job: "leave-1" })) all.push(task);
      return all;
    };
    const task = await until(async () => (await tasks())[0]);
    assert.deepEqual([task.role, task.description, task.claimed_by], ["boss", "a week?", null]);
    await client.claimTask(task.id, "ann", 60);
    await assert.rejects(client.claimTask(task.id, "bob"), (error) => error instanceof Problem);
    await client.releaseTask(task.id, "ann");
    await client.resolveTask(task.id, { granted: true }, { who: "bob" });
    assert.deepEqual((await job.wait(10)).data, { granted: true });
    assert.deepEqual(await tasks(), []);
    assert.equal((await job.get()).app_version, "1");
    assert.equal((await job.picture()).includes('data-activity="decide"'), true);
    assert.equal((await job.rerun({ id: "leave-2" })).namespace, "default");
  });

  it("lists and drops kept signals", async () => {
    assert.equal((await client.signalFate("leave.decided", { job: "nobody" })).kept, true);
    for (const job of ["nobody-1", "nobody-2"]) await client.signal("leave.decided", { job, granted: true });
    const kept = [];
    for await (const one of client.keptSignals({ topic: "leave.decided" })) kept.push(one);
    assert.equal(kept.length, 2);
    await client.dropKeptSignal(kept[0]?.id ?? "");
    assert.equal(await client.dropKeptSignals({ topic: "leave.decided" }), 1);
  });

  it("sets, applies and drops retention rules", async () => {
    await client.setRetention("1ms", { status: "completed", graph: "shop/film.uploaded" });
    await client.setRetention(null, { status: "failed" });
    const rules = (await client.retention()).map((one) => [one.status, one.graph, one.keep_seconds]);
    assert.deepEqual(rules.sort(), [
      ["completed", "shop/film.uploaded", 0.001],
      ["failed", null, null],
    ]);
    assert.equal((await client.applyRetention({ dry_run: true })).removed, 0);
    await client.dropRetention({ status: "completed", graph: "shop/film.uploaded" });
    await client.dropRetention({ status: "failed" });
    assert.deepEqual(await client.retention(), []);
  });

  it("reads files and pictures of apps", async () => {
    assert.deepEqual(Object.values(await client.appFiles("shop")), [app]);
    assert.equal((await client.appPicture("shop", { topic: "leave.asked", format: "mermaid" })).includes("decide"), true);
  });
});
