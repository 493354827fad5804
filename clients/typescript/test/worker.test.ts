import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, Failure, JobHandle, LostWork, Worker, type Handler, type WorkerOptions } from "../src/index.js";
import { app, Server, sleep, until } from "./server.js";

for (const stream of [false, true]) {
  describe(stream ? "worker with a stream" : "worker with long polls", () => {
    let server: Server;
    let client: Client;

    before(async () => {
      server = await Server.start();
      client = server.client();
      await client.deploy(app);
    });
    after(() => server.stop());

    async function withWorker(
      topic: string,
      handler: Handler,
      options: WorkerOptions,
      body: (worker: Worker) => Promise<void>,
    ): Promise<void> {
      const worker = new Worker(client, { wait: 2, stream, drain: 3, onError: () => undefined, ...options }).serve(
        topic,
        handler,
      );
      const running = worker.run();
      try {
        await body(worker);
      } finally {
        await worker.stop();
        await running;
      }
    }

    it("runs handlers side by side up to the limit", async () => {
      let now = 0;
      let most = 0;
      await withWorker(
        "greet",
        async (input: { name: string }) => {
          most = Math.max(most, ++now);
          await sleep(60);
          now -= 1;
          return { text: input.name };
        },
        { concurrency: 4 },
        async (worker) => {
          const jobs = (await client.startMany(
            Array.from({ length: 40 }, (_, n) => ({ graph: "greet.asked", input: { name: String(n) } })),
          )) as JobHandle<{ text: string }>[];
          const texts = await Promise.all(jobs.map(async (job) => (await job.result(20)).text));
          assert.deepEqual(
            texts,
            jobs.map((_, n) => String(n)),
          );
          assert.equal(most, 4);
          await until(() => worker.stats.completed === 40);
          assert.equal(worker.stats.fenced, 0);
        },
      );
    });

    it("tries again, and hands on the progress", async () => {
      const seen: unknown[] = [];
      const keys = new Set<string>();
      await withWorker(
        "pay",
        async (_, work) => {
          seen.push(work.progress);
          keys.add(work.key);
          if (seen.length === 3) return { paid: true };
          await work.heartbeat({ step: seen.length });
          throw seen.length === 1 ? new Error("the line is down") : new Failure("again", { code: 503 });
        },
        {},
        async (worker) => {
          assert.deepEqual(await (await client.start("payment.due")).result(20), { paid: true });
          assert.deepEqual(seen, [null, { step: 1 }, { step: 2 }]);
          assert.equal(keys.size, 1);
          assert.equal(worker.stats.failed, 2);
        },
      );
    });

    it("gives interim answers", async () => {
      await withWorker(
        "encode",
        async (_, work) => {
          await work.pending({ percent: 10 }, 202);
          await work.pending({ percent: 60 }, 202);
          return { file: "film.mp4" };
        },
        {},
        () =>
          withWorker(
            "greet",
            () => ({ text: "" }),
            {},
            async () => {
              const job = await client.start<{ file: string }>("film.uploaded");
              assert.equal((await job.result(20)).file, "film.mp4");
              assert.equal((await job.get()).activities.filter((one) => one.name === "so_far").length, 2);
            },
          ),
      );
    });

    it("is told that an interrupted job needs it no more, and its answer changes nothing", async () => {
      const fenced: string[] = [];
      let began = false;
      await withWorker(
        "greet",
        async (_, work) => {
          began = true;
          await new Promise<void>((done) => work.signal.addEventListener("abort", () => done()));
          return { text: "late" };
        },
        { lease: 1.5, onFenced: (work, problem) => fenced.push(`${work.job} ${problem.code}`) },
        async (worker) => {
          const job = await client.start("greet.asked", { name: "x" }, { id: `gone-${stream}` });
          await until(() => began);
          await job.interrupt("no more");
          await until(() => worker.stats.fenced === 1);
          assert.deepEqual(fenced, [`gone-${stream} stale_token`]);
        },
      );
    });

    it("renews its lease while a handler runs", async () => {
      let attempts = 0;
      await withWorker(
        "greet",
        async () => {
          attempts += 1;
          await sleep(3500);
          return { text: "done" };
        },
        { lease: 1 },
        async () => {
          await (await client.start("greet.asked", { name: "x" })).result(20);
          assert.equal(attempts, 1);
        },
      );
    });

    it("gives back what does not end in time when it stops", async () => {
      let began = false;
      const job = await client.start<{ text: string }>("greet.asked", { name: "x" });
      await withWorker(
        "greet",
        async () => {
          began = true;
          await sleep(5000);
          return { text: "late" };
        },
        { drain: 0.3 },
        () => until(() => began).then(() => undefined),
      );
      await withWorker(
        "greet",
        () => ({ text: "by another" }),
        {},
        async () => {
          assert.equal((await job.result(4)).text, "by another"); // well before the lease of 30 s is over
        },
      );
    });

    it("goes on with a new server", async () => {
      await withWorker(
        "greet",
        () => ({ text: "hello" }),
        {},
        async (worker) => {
          await (await client.start("greet.asked", { name: "x" })).result(10);
          await server.kill();
          await sleep(300);
          await server.begin();
          await (await client.start("greet.asked", { name: "x" }, { id: `after-${stream}` })).result(20);
          // The first answer may have died with the server.
          await until(() => worker.stats.completed + worker.stats.fenced >= 2);
        },
      );
    });
  });
}

describe("work by hand", () => {
  it("answers several in one request and takes more with it", async () => {
    const server = await Server.start();
    try {
      const client = server.client();
      await client.deploy(app);
      await client.startMany(
        Array.from({ length: 4 }, (_, n) => ({ graph: "greet.asked", input: { name: String(n) } })),
      );
      const work = [];
      while (work.length < 3) work.push(...(await client.take({ topics: ["greet"], max: 3 - work.length, wait: 5 })));
      const answers = work.map((one) => ({ token: one.token, do: "complete" as const, data: { text: "x" } }));
      const { results, work: more } = await client.answer([...answers, { token: "no-such-token", do: "complete" }], {
        topics: ["greet"],
        max: 5,
        wait: 5,
      });
      assert.deepEqual(
        results.map((one) => one.ok),
        [true, true, true, false],
      );
      assert.equal(more.length, 1);
      const again = await client.answer([{ token: work[0]!.token, do: "fail", data: { message: "too late" } }]);
      assert.equal(again.results[0]?.ok, false);
      assert.equal(new LostWork(409, { code: "stale_token" }).code, again.results[0]?.problem?.code);
    } finally {
      await server.stop();
    }
  });
});
