// One attempt at some work, as a handler sees it.
import type { Client } from "./client.js";
import { LostWork, problemOf, type Problem } from "./errors.js";
import type { Answer, Duration, ProblemBody, Time, WorkItem } from "./types.js";

export class Work {
  readonly token: string;
  readonly topic: string;
  readonly key: string; // the same for every attempt: give it to services that must not act twice
  readonly job: string;
  readonly run: string;
  readonly namespace: string;
  readonly attempt: number;
  readonly input: unknown;
  readonly progress: unknown; // what an earlier attempt last reported
  readonly leaseUntil: Time;
  readonly traceparent: string | undefined; // the trace that the job belongs to (W3C Trace Context)
  readonly tracestate: string | undefined;
  answered = false; // by one of the methods below
  private pendings = 0;
  private readonly gone = new AbortController();

  constructor(
    private readonly client: Client,
    item: WorkItem,
    private readonly lease?: Duration, // as it was taken
  ) {
    this.token = item.token;
    this.topic = item.topic;
    this.key = item.key;
    this.job = item.job;
    this.run = item.run;
    this.namespace = item.namespace ?? "default";
    this.attempt = item.attempt;
    this.input = item.input;
    this.progress = item.progress ?? null;
    this.leaseUntil = item.lease_until;
    this.traceparent = item.traceparent;
    this.tracestate = item.tracestate;
  }

  // Aborted once the server said that this attempt does not count any more. Give it to `fetch` and the like.
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  get lost(): boolean {
    return this.gone.signal.aborted;
  }

  complete(data?: unknown, code?: number): Promise<void> {
    return this.answer({ token: this.token, do: "complete", data, ...(code === undefined ? {} : { code }) });
  }

  fail(data: unknown, options: { code?: number; retryable?: boolean } = {}): Promise<void> {
    return this.answer({
      token: this.token,
      do: "fail",
      data: typeof data === "string" ? { message: data } : data,
      ...options,
    });
  }

  // Gives the work back: another worker may take it at once.
  release(): Promise<void> {
    return this.answer({ token: this.token, do: "release" });
  }

  // Reports that it is alive and how far it came. Throws LostWork if the attempt does not count any more.
  heartbeat(progress?: unknown, lease: Duration | undefined = this.lease): Promise<void> {
    return this.answer({
      token: this.token,
      do: "heartbeat",
      data: progress,
      ...(lease === undefined ? {} : { lease }),
    });
  }

  // An interim answer: what follows it in the graph runs, the activity stays open.
  pending(data?: unknown, code?: number): Promise<void> {
    return this.answer({
      token: this.token,
      do: "pending",
      data,
      number: ++this.pendings,
      ...(code === undefined ? {} : { code }),
    });
  }

  private async answer(answer: Answer): Promise<void> {
    const { results } = await this.client.answer([answer]);
    if (answer.do !== "heartbeat" && answer.do !== "pending") this.answered = true;
    const problem = this.note(results[0]?.problem);
    if (problem) throw problem;
  }

  // The error of an answer, if it is one. The same answer given twice is none.
  note(body: ProblemBody | undefined): Problem | undefined {
    if (!body || body.code === "already_done") return undefined;
    const problem = problemOf(body.status ?? 409, body);
    if (problem instanceof LostWork) this.gone.abort();
    return problem;
  }
}
