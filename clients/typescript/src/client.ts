// The HTTP API of `pawl serve`.
import { problemOf, type Problem } from "./errors.js";
import { follow, type FollowOptions } from "./events.js";
import { JobHandle, type JobName } from "./job.js";
import { StoreCalls } from "./store.js";
import { durationText, Transport, type Call, type ClientOptions } from "./transport.js";
import type {
  Announcement,
  Answer,
  AnswerResult,
  AppVersion,
  BulkOptions,
  BulkResult,
  BulkVerb,
  Counts,
  Event,
  Filter,
  Job,
  JobPage,
  ProblemBody,
  SignalOptions,
  Start,
  Started,
  Take,
  Topic,
  WorkerInfo,
  WorkItem,
} from "./types.js";

const name = encodeURIComponent;
const batchLines = 1000; // jobs that one request of startMany starts

export type AppSource = string | Record<string, string>; // its YAML, or its files (name to text, the main one first)

export interface PageOptions {
  order?: "newest" | "oldest";
  after?: string;
  limit?: number;
}

function filterFields(filter: Filter): Record<string, string | number | string[] | undefined> {
  const { status, where, older_than, younger_than, ...rest } = filter;
  const fields: Record<string, string | number | string[] | undefined> = {
    status: status === undefined ? undefined : [status].flat(),
    where: where && Object.entries(where).map(([activity, state]) => `${activity}=${state}`),
    older_than: older_than === undefined ? undefined : durationText(older_than),
    younger_than: younger_than === undefined ? undefined : durationText(younger_than),
  };
  for (const [field, value] of Object.entries(rest))
    fields[field] = value instanceof Date ? value.toISOString() : value;
  return fields;
}

function startBody(start: Start): Start {
  const body = { ...start };
  for (const field of ["delay", "end_within", "keep"] as const) {
    const value = body[field];
    if (value !== undefined) body[field] = durationText(value);
  }
  return body;
}

function appCall(app: AppSource): Call {
  if (typeof app === "string") return { text: app, kind: "application/yaml", repeat: true };
  return { body: { files: Object.entries(app).map(([file, text]) => ({ name: file, text })) }, repeat: true };
}

// Every method throws a Problem if the server refuses, Unreachable if no answer came.
export class Client extends StoreCalls {
  constructor(options: ClientOptions = {}) {
    super(new Transport(options));
  }

  // Apps. StoreCalls has what concerns the store as a whole.

  async apps(): Promise<AppVersion[]> {
    return (await this.get<{ apps: AppVersion[] }>("/v1/apps")).apps;
  }

  // Checks an app and keeps it in the store.
  deploy(app: AppSource, options: { activate?: boolean; development?: boolean } = {}): Promise<AppVersion> {
    return this.transport.json("POST", "/v1/apps", { ...appCall(app), query: { ...options } });
  }

  // Every mistake of an app; nothing is kept.
  check(app: AppSource): Promise<Record<string, unknown>> {
    return this.transport.json("POST", "/v1/apps/check", appCall(app));
  }

  // The files of a version (none: the active one), name to text, the main one first.
  async appFiles(app: string, version?: string): Promise<Record<string, string>> {
    type Stored = { files: { name: string; text: string }[] };
    const { files } = await this.get<Stored>(`/v1/apps/${name(app)}`, { version });
    return Object.fromEntries(files.map((file) => [file.name, file.text]));
  }

  // Its graphs, or the one of a topic.
  async appPicture(
    app: string,
    options: { version?: string; topic?: string; format?: "svg" | "mermaid" | "text" } = {},
  ): Promise<string> {
    const call = { query: { ...options }, repeat: true };
    return (await this.transport.text("GET", `/v1/apps/${name(app)}/picture`, call)).text;
  }

  async activate(app: string, version: string): Promise<void> {
    await this.transport.json("POST", `/v1/apps/${name(app)}/activate`, { body: { version }, repeat: true });
  }

  // Jobs.

  // Starts a job; it is durable when this resolves. With an `id` a lost answer is asked for again, and it counts once.
  async start<Result = unknown>(
    graph: string,
    input?: unknown,
    options: Omit<Start, "graph" | "input"> & { traceparent?: string; tracestate?: string } = {},
  ): Promise<JobHandle<Result>> {
    const { traceparent, tracestate, ...start } = options;
    const repeat = start.id !== undefined && (start.reuse ?? "attach") === "attach";
    const headers: Record<string, string> = traceparent ? { traceparent } : {};
    if (traceparent && tracestate) headers["tracestate"] = tracestate;
    const started = await this.transport.json<Started>("POST", "/v1/jobs", {
      body: startBody({ graph, input, ...start }),
      headers,
      repeat,
    });
    return new JobHandle<Result>(this, started);
  }

  // Starts many with few requests. The answers are in order; one that was refused is its Problem.
  async startMany(starts: Start[]): Promise<(JobHandle | Problem)[]> {
    const all: (JobHandle | Problem)[] = [];
    for (let at = 0; at < starts.length; at += batchLines) {
      const text = starts
        .slice(at, at + batchLines)
        .map((start) => `${JSON.stringify(startBody(start))}\n`)
        .join("");
      const answer = await this.transport.text("POST", "/v1/jobs/batch", { text, kind: "application/x-ndjson" });
      for (const line of answer.text.split("\n")) {
        if (!line.trim()) continue;
        const one = JSON.parse(line) as Started | { problem: ProblemBody };
        all.push("problem" in one ? problemOf(one.problem.status ?? 400, one.problem) : new JobHandle(this, one));
      }
    }
    return all;
  }

  // A handle; nothing is asked of the server.
  job<Result = unknown>(job: string | JobName): JobHandle<Result> {
    return new JobHandle<Result>(this, typeof job === "string" ? { id: job } : job);
  }

  page(filter: Filter = {}, options: PageOptions = {}): Promise<JobPage> {
    return this.get("/v1/jobs", { ...filterFields(filter), ...options });
  }

  // All jobs of the filter; a page is read when the one before is used up.
  async *jobs(filter: Filter = {}, options: PageOptions = {}): AsyncGenerator<Job> {
    for (let after = options.after; ;) {
      const page = await this.page(filter, { ...options, ...(after === undefined ? {} : { after }) });
      for (const job of page.jobs) yield job;
      if (page.next === null) return;
      after = page.next;
    }
  }

  count(filter: Filter = {}): Promise<Counts> {
    return this.get("/v1/jobs/count", filterFields(filter));
  }

  // One thing for every job of a filter; `dry_run` only checks them. Without a status in the filter, jobs in a state for
  // it are meant. `timeout`: seconds, for very many.
  bulk(
    verb: BulkVerb,
    filter: Filter,
    options: BulkOptions = {},
    timeout = this.transport.timeout,
  ): Promise<BulkResult> {
    const { keep_id, ...rest } = options;
    const body = { filter: filterFields(filter), keep_id: keep_id && durationText(keep_id), ...rest };
    return this.transport.json("POST", `/v1/bulk/${name(verb)}`, { body, timeout });
  }

  // Sends it to the hook that waits for it, or to the first that will.
  async signal(topic: string, data?: unknown, options: SignalOptions & { namespace?: string } = {}): Promise<void> {
    await this.transport.json("POST", "/v1/signals", {
      body: { topic, data, ...options },
      repeat: options.id !== undefined,
    });
  }

  // Starts the job first if its id is free; the signal is for that job.
  async signalWithStart<Result = unknown>(
    topic: string,
    data: unknown,
    start: Start,
    options: SignalOptions = {},
  ): Promise<JobHandle<Result>> {
    const body = { topic, data, ...options, start: startBody(start) };
    return new JobHandle<Result>(
      this,
      await this.transport.json<Started>("POST", "/v1/signals", { body, repeat: options.id !== undefined }),
    );
  }

  // Topics, events, announcements.

  async topics(): Promise<Topic[]> {
    return (await this.get<{ topics: Topic[] }>("/v1/topics")).topics;
  }

  async pauseTopic(topic: string): Promise<void> {
    await this.transport.json("POST", `/v1/topics/${name(topic)}/pause`, { repeat: true });
  }

  async resumeTopic(topic: string): Promise<void> {
    await this.transport.json("POST", `/v1/topics/${name(topic)}/resume`, { repeat: true });
  }

  async workers(): Promise<WorkerInfo[]> {
    return (await this.get<{ workers: WorkerInfo[] }>("/v1/workers")).workers;
  }

  // What happens from now on, or behind `lastId`: of a job, a graph, or everything; all kinds, or only these.
  events(
    options: FollowOptions & { job?: string; namespace?: string; run?: string; graph?: string; kinds?: string[] } = {},
  ): AsyncGenerator<Event> {
    const { job, namespace, run, graph, kinds: kind } = options;
    return follow(this.transport, "/v1/events", { job, namespace, run, graph, kind }, options, (name, data) =>
      name === "hello" ? undefined : { ...(data as Event), kind: name },
    );
  }

  // What jobs announce, behind `lastId` (a cursor). Nothing is missed across restarts.
  announcements(options: FollowOptions & { topic?: string; namespace?: string } = {}): AsyncGenerator<Announcement> {
    const { topic, namespace } = options;
    return follow(this.transport, "/v1/announcements/stream", { topic, namespace }, options, (kind, data) =>
      kind === "announcement" ? (data as Announcement) : undefined,
    );
  }

  // What jobs have announced so far, by time; `announcements` follows what comes.
  announced(filter: { topic?: string; namespace?: string; run?: string } = {}): AsyncGenerator<Announcement> {
    return this.pages("/v1/announcements", "announcements", { ...filter });
  }

  // What was measured of the jobs of the graph that subscribes to the topic.
  async measures(
    topic: string,
    query: { namespace?: string; key?: string; from?: string; to?: string } = {},
  ): Promise<Record<string, unknown>[]> {
    return (await this.get<{ measures: Record<string, unknown>[] }>("/v1/measures", { topic, ...query })).measures;
  }

  // Work. `Worker` does all of this for you.

  async take(take: Take, signal?: AbortSignal): Promise<WorkItem[]> {
    const wait = typeof take.wait === "number" ? take.wait : 60;
    return (
      await this.transport.json<{ work: WorkItem[] }>("POST", "/v1/work/take", {
        body: takeBody(take),
        signal,
        timeout: wait + this.transport.timeout,
      })
    ).work;
  }

  // Answers several attempts in one request; an answer that is refused fails no other. `take` also takes new work.
  async answer(answers: Answer[], take?: Take): Promise<{ results: AnswerResult[]; work: WorkItem[] }> {
    const body = {
      answers: answers.map((one) => (one.lease === undefined ? one : { ...one, lease: durationText(one.lease) })),
      take: take && takeBody(take),
    };
    const done = await this.transport.json<{ results: AnswerResult[]; work?: WorkItem[] }>("POST", "/v1/work/answers", {
      body,
      repeat: take === undefined,
    });
    return { results: done.results, work: done.work ?? [] };
  }
}

function takeBody(take: Take): Take {
  const body = { ...take };
  if (body.lease !== undefined) body.lease = durationText(body.lease);
  if (body.wait !== undefined) body.wait = durationText(body.wait);
  return body;
}
