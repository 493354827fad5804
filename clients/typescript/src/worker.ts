// Serves topics: takes work, runs handlers side by side, answers in batches, renews leases.
import type { Client } from "./client.js";
import { Failure, isPassing, LostWork, Problem, Unreachable } from "./errors.js";
import { linesOf, sleep } from "./transport.js";
import type { Answer, Take, WorkItem } from "./types.js";
import { Work } from "./work.js";

const batchMax = 200; // answers of one request
const retryFirst = 100; // ms
const retryMax = 5000;
const silenceMax = 45_000; // ms without a line; the server sends an empty one every 15 s

export type Handler<Input = any, Result = unknown> = (input: Input, work: Work) => Result | Promise<Result>;

export interface WorkerOptions {
  name?: string; // for people
  concurrency?: number; // handlers side by side, 1 to 256; default 4
  lease?: number; // seconds that work stays with a worker without a heartbeat; default 30
  wait?: number; // seconds of one request that waits for work; default 20
  stream?: boolean; // one stream of work instead of repeated requests
  drain?: number; // seconds that stop() waits for handlers; default 30
  onFenced?: (work: Work, problem: Problem) => void; // an answer came too late and changed nothing
  onError?: (error: unknown, work?: Work) => void; // a handler threw, or no server answered; default: console.warn
}

export class Worker {
  readonly stats = { taken: 0, completed: 0, failed: 0, released: 0, fenced: 0 };
  private readonly handlers = new Map<string, Handler>();
  private readonly running = new Map<string, Work>(); // by token
  private readonly stopping = new AbortController();
  private readonly outbox: { work: Work; answer: Answer }[] = [];
  private readonly concurrency: number;
  private readonly lease: number;
  private readonly wait: number;
  private free: number; // handlers that may begin; in stream mode the server counts
  private sending: Promise<void> | undefined;
  private waiters: (() => void)[] = []; // for a change of `free` or `running`
  private loops: Promise<void>[] = [];

  constructor(
    private readonly client: Client,
    private readonly options: WorkerOptions = {},
  ) {
    this.concurrency = options.concurrency ?? 4;
    if (!(this.concurrency >= 1 && this.concurrency <= 256)) throw new RangeError("concurrency: 1 to 256");
    this.lease = options.lease ?? 30;
    this.wait = options.wait ?? 20;
    this.free = this.concurrency;
  }

  // What the handler returns completes the work. A Failure fails it with a code, retryable or not; anything else that
  // is thrown fails it, retryable. The lease is renewed meanwhile; if it is lost nevertheless, work.signal is aborted.
  serve<Input = any, Result = unknown>(topic: string, handler: Handler<Input, Result>): this {
    this.handlers.set(topic, handler as Handler);
    return this;
  }

  // Works until stop(). Rejects if the server refuses the worker, for example its token.
  async run(): Promise<void> {
    if (!this.handlers.size) throw new Error("run: no topic is served");
    const guard = (loop: Promise<void>): Promise<void> =>
      loop.catch((error) => {
        this.stopping.abort();
        this.changed();
        throw error;
      });
    this.loops = [guard(this.options.stream ? this.streamLoop() : this.takeLoop()), guard(this.renewLoop())];
    await Promise.all(this.loops);
    await this.sending;
  }

  // Takes no more, waits for what runs, gives the rest back, and sends every answer.
  async stop(): Promise<void> {
    this.stopping.abort();
    this.changed();
    const end = Date.now() + 1000 * (this.options.drain ?? 30);
    while (this.running.size && Date.now() < end) await this.changeWithin(end - Date.now());
    for (const work of this.running.values()) {
      work.answered = true; // what its handler returns later is not sent
      this.send(work, { token: work.token, do: "release" });
    }
    await this.sending;
    await Promise.allSettled(this.loops);
  }

  private change(): Promise<void> {
    return new Promise((done) => this.waiters.push(done));
  }

  // No timer is left behind: it would keep a program alive that is done.
  private async changeWithin(ms: number): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.change(), sleep(ms, over.signal)]);
    over.abort();
  }

  private changed(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  private report(error: unknown, work?: Work): void {
    if (this.options.onError) this.options.onError(error, work);
    else console.warn(work ? `pawl: ${work.topic}, job ${work.job}:` : "pawl:", error);
  }

  private takeOf(max: number, wait: number): Take {
    return { topics: [...this.handlers.keys()], max, worker: this.options.name ?? "node", lease: this.lease, wait };
  }

  // Taking work.

  // Repeats until stopped. No answer of the server is a reason to wait, a refusal is a reason to end.
  private async patiently(attempt: () => Promise<void>): Promise<void> {
    const signal = this.stopping.signal;
    for (let pause = retryFirst; !signal.aborted;) {
      try {
        await attempt();
        pause = retryFirst;
      } catch (error) {
        if (signal.aborted) return;
        if (!isPassing(error)) throw error;
        this.report(error);
        await sleep(pause * (0.7 + 0.6 * Math.random()), signal);
        pause = Math.min(2 * pause, retryMax);
      }
    }
  }

  private takeLoop(): Promise<void> {
    return this.patiently(async () => {
      while (this.free === 0 && !this.stopping.signal.aborted) await this.change();
      if (this.stopping.signal.aborted) return;
      const room = this.free;
      this.free = 0;
      let got: WorkItem[] = [];
      try {
        got = await this.client.take(this.takeOf(room, this.wait), this.stopping.signal);
      } finally {
        this.free += room - got.length;
      }
      this.begin(got);
    });
  }

  private streamLoop(): Promise<void> {
    return this.patiently(async () => {
      const stop = new AbortController();
      const end = (): void => stop.abort();
      this.stopping.signal.addEventListener("abort", end);
      let silence = setTimeout(end, silenceMax);
      try {
        const body = {
          topics: [...this.handlers.keys()],
          worker: this.options.name ?? "node",
          lease: `${Math.round(this.lease * 1000)}ms`,
          concurrency: this.concurrency,
        };
        const stream = await this.client.transport.stream("POST", "/v1/work/stream", { body, signal: stop.signal });
        for await (const line of linesOf(stream)) {
          clearTimeout(silence);
          silence = setTimeout(end, silenceMax);
          if (line.trim()) this.begin([JSON.parse(line) as WorkItem]);
        }
        throw new Unreachable("the stream has ended");
      } finally {
        clearTimeout(silence);
        this.stopping.signal.removeEventListener("abort", end);
        stop.abort();
      }
    });
  }

  private begin(items: WorkItem[]): void {
    if (this.stopping.signal.aborted && items.length) {
      const answers = items.map((item): Answer => ({ token: item.token, do: "release" }));
      this.client.answer(answers).catch((error) => this.report(error));
      return;
    }
    for (const item of items) {
      const work = new Work(this.client, item, this.lease);
      this.stats.taken += 1;
      this.running.set(work.token, work);
      void this.handle(work);
    }
  }

  // Handlers and their answers.

  private async handle(work: Work): Promise<void> {
    let answer: Answer;
    try {
      const data = await this.handlers.get(work.topic)!(work.input, work);
      JSON.stringify(data); // here, so that what is not JSON fails this attempt and no other
      answer = { token: work.token, do: "complete", data };
    } catch (error) {
      if (error instanceof Failure) {
        answer = {
          token: work.token,
          do: "fail",
          data: error.data,
          retryable: error.retryable,
          ...(error.code === undefined ? {} : { code: error.code }),
        };
      } else if (work.lost) {
        this.fenced(work, error instanceof LostWork ? error : lostWhileItRan());
        return this.forget([work]);
      } else {
        this.report(error, work);
        answer = { token: work.token, do: "fail", data: { message: String(error) } };
      }
    }
    if (work.answered) return this.forget([work]);
    if (work.lost) {
      this.fenced(work, lostWhileItRan());
      return this.forget([work]);
    }
    this.send(work, answer);
  }

  private forget(works: Work[]): void {
    for (const work of works) if (this.running.delete(work.token) && !this.options.stream) this.free += 1;
    this.changed();
  }

  private send(work: Work, answer: Answer): void {
    this.outbox.push({ work, answer });
    this.sending ??= this.sendAll().finally(() => (this.sending = undefined));
  }

  private async sendAll(): Promise<void> {
    await Promise.resolve(); // answers of handlers that end together go together
    while (this.outbox.length) await this.sendBatch(this.outbox.splice(0, batchMax));
  }

  // Sends answers, and takes new work into the places that they leave. Gives up when every lease is over.
  private async sendBatch(batch: { work: Work; answer: Answer }[]): Promise<void> {
    const works = batch.map((one) => one.work);
    const end = Date.now() + 1000 * this.lease;
    for (let pause = retryFirst; ; pause = Math.min(2 * pause, retryMax)) {
      try {
        const more = this.options.stream || this.stopping.signal.aborted ? undefined : this.takeOf(batch.length, 0);
        const { results, work: got } = await this.client.answer(
          batch.map((one) => one.answer),
          more,
        );
        batch.forEach(({ work, answer }, at) => {
          const problem = work.note(results[at]?.problem);
          if (problem) this.fenced(work, problem);
          else this.stats[answer.do === "complete" ? "completed" : answer.do === "fail" ? "failed" : "released"] += 1;
        });
        if (!this.options.stream) this.free -= got.length; // the new ones have these places before the loop can
        this.forget(works);
        return this.begin(got);
      } catch (error) {
        if (isPassing(error) && Date.now() < end) {
          await sleep(pause);
          continue;
        }
        if (error instanceof Problem && !isPassing(error) && batch.length > 1) {
          for (const one of batch) await this.sendBatch([one]); // one that cannot be read spoils the request
          return;
        }
        this.report(error, works[0]);
        return this.forget(works);
      }
    }
  }

  private fenced(work: Work, problem: Problem): void {
    this.stats.fenced += 1;
    if (this.options.onFenced) this.options.onFenced(work, problem);
    else this.report(problem, work);
  }

  private async renewLoop(): Promise<void> {
    const signal = this.stopping.signal;
    while (!signal.aborted || this.running.size) {
      if (signal.aborted) await this.changeWithin(1000 * Math.min(1, this.lease / 3));
      else await sleep((1000 * this.lease) / 3, signal);
      const works = [...this.running.values()].filter((work) => !work.lost && !work.answered);
      for (let at = 0; at < works.length; at += batchMax) {
        const part = works.slice(at, at + batchMax);
        try {
          const renewals = part.map((work): Answer => ({ token: work.token, do: "heartbeat", lease: this.lease }));
          const { results } = await this.client.answer(renewals);
          part.forEach((work, index) => this.running.has(work.token) && work.note(results[index]?.problem));
        } catch (error) {
          this.report(error);
        }
      }
    }
  }
}

const lostWhileItRan = (): LostWork =>
  new LostWork(409, { code: "stale_token", detail: "the lease was lost while the handler ran" });
