// A handle on one job: its newest run, or the run that was given.
import type { Client } from "./client.js";
import { isPassing, JobNotCompleted, NotEnded } from "./errors.js";
import type { FollowOptions } from "./events.js";
import { durationText, sleep, type Call } from "./transport.js";
import type { Duration, Event, HistoryEvent, Job, JobDetail, SignalOptions, Started } from "./types.js";

const pollMax = 50; // seconds of one request that waits

export interface JobName {
  id: string;
  namespace?: string;
  run?: string;
}

export class JobHandle<Result = unknown> {
  readonly id: string;
  readonly namespace: string;
  readonly run: string | undefined;
  readonly created: boolean | undefined; // by start: false if the id was taken and this is the job that has it

  constructor(
    private readonly client: Client,
    name: JobName & { created?: boolean },
  ) {
    this.id = name.id;
    this.namespace = name.namespace ?? "default";
    this.run = name.run;
    this.created = name.created;
  }

  private call<T>(method: string, what: string, call: Call = {}): Promise<T> {
    const query = { namespace: this.namespace, run: this.run, ...call.query };
    return this.client.transport.json<T>(method, `/v1/jobs/${encodeURIComponent(this.id)}${what}`, {
      repeat: true,
      ...call,
      query,
    });
  }

  private async do(verb: string, body: unknown = {}): Promise<void> {
    await this.call("POST", `/${verb}`, { body });
  }

  // The job with its activities, attempts, waits and timers.
  get(): Promise<JobDetail> {
    return this.call("GET", "");
  }

  // How the job stands once it has ended or is parked. Goes on through a restart of the server.
  async wait(timeout = Infinity, signal?: AbortSignal): Promise<Job<Result>> {
    const end = Date.now() + 1000 * timeout;
    let pause = 100;
    for (;;) {
      const left = Math.max(0, Math.min(pollMax, (end - Date.now()) / 1000));
      try {
        const query = { namespace: this.namespace, run: this.run, timeout: durationText(left) };
        const path = `/v1/jobs/${encodeURIComponent(this.id)}/result`;
        const { status, body } = await this.client.transport.answer<Job<Result>>("GET", path, {
          query,
          signal,
          timeout: left + this.client.transport.timeout,
        });
        if (status === 200) return body;
        if (Date.now() >= end) throw new NotEnded(`job ${this.id} is ${body.status} after ${timeout} s`);
        pause = 100;
      } catch (error) {
        if (!isPassing(error) || signal?.aborted || Date.now() + pause > end) throw error;
        await sleep(pause, signal);
        pause = Math.min(2 * pause, 5000);
      }
    }
  }

  // The result of a completed job. Throws JobNotCompleted for any other end, NotEnded after `timeout` seconds.
  async result(timeout = Infinity, signal?: AbortSignal): Promise<Result> {
    const job = await this.wait(timeout, signal);
    if (job.status !== "completed") throw new JobNotCompleted(job);
    return job.result as Result;
  }

  // What happened, in order of time, with the last 20 failed attempts of each activity.
  async history(): Promise<HistoryEvent[]> {
    return (await this.call<{ events: HistoryEvent[] }>("GET", "/history")).events;
  }

  export(children = false): Promise<unknown> {
    return this.call("GET", "/export", { query: { children } });
  }

  // The graph as SVG, in the version that the job runs on.
  async picture(): Promise<string> {
    const query = { namespace: this.namespace, run: this.run };
    const path = `/v1/jobs/${encodeURIComponent(this.id)}/picture`;
    return (await this.client.transport.text("GET", path, { query, repeat: true })).text;
  }

  events(options: FollowOptions = {}): AsyncGenerator<Event> {
    return this.client.events({
      ...options,
      job: this.id,
      namespace: this.namespace,
      ...(this.run ? { run: this.run } : {}),
    });
  }

  // Sends a hook of this job what it waits for. Under the same `id` it counts once.
  async signal(topic: string, data?: unknown, options: SignalOptions = {}): Promise<void> {
    await this.call("POST", "/signal", { body: { topic, data, ...options }, repeat: options.id !== undefined });
  }

  interrupt(reason?: string): Promise<void> {
    return this.do("interrupt", { reason });
  }

  // Ends it after it has undone what it did (`compensate`); `interrupt` ends it as it is.
  cancel(reason?: string): Promise<void> {
    return this.do("cancel", { reason });
  }

  pause(reason?: string): Promise<void> {
    return this.do("pause", { reason });
  }

  resume(): Promise<void> {
    return this.do("resume");
  }

  // A parked job goes on where it stopped, a failed one in a new run under its id; attempts count afresh. The handle is
  // of the run that goes on. `answer`: of a job that refused what a worker answered, this counts instead.
  async redrive(options: { answer?: unknown; code?: number } = {}): Promise<JobHandle<Result>> {
    const { run } = await this.call<{ run: string }>("POST", "/redrive", { body: options, repeat: false });
    return new JobHandle<Result>(this.client, { id: this.id, namespace: this.namespace, run });
  }

  // Says what became of an effect that is unknown.
  settle(
    activity: string,
    outcome: "done" | "failed" | "not_done",
    more: { address?: string; code?: number; data?: unknown } = {},
  ): Promise<void> {
    return this.do("settle", { activity, outcome, ...more });
  }

  // A new job from the input of this one, or from another. `from`, an activity: what was answered before it counts.
  async rerun(options: { id?: string; input?: unknown; from?: string } = {}): Promise<JobHandle<Result>> {
    const started = await this.call<Started>("POST", "/rerun", { body: options, repeat: false });
    return new JobHandle<Result>(this.client, started);
  }

  // Takes an ended job out of the store; `keepId`: so long the id stays taken.
  async remove(keepId?: Duration): Promise<void> {
    await this.call("DELETE", "", { query: { keep_id: keepId === undefined ? undefined : durationText(keepId) } });
  }
}
