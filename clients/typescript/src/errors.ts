// What can go wrong. Every error of the server is a `Problem` with a stable code.
import type { Job, ProblemBody } from "./types.js";

export class PawlError extends Error {
  override readonly name: string = "PawlError";
}

// No answer came. Whether the request was carried out is not known.
export class Unreachable extends PawlError {
  override readonly name = "Unreachable";
}

// The server refused. `detail` says what went wrong and what to do next.
export class Problem extends PawlError {
  override readonly name: string = "Problem";
  readonly code: string;
  readonly detail: string;
  readonly field: string | undefined;
  readonly request: string | undefined;
  readonly mistakes: unknown[];

  constructor(
    readonly status: number,
    body: ProblemBody,
  ) {
    const code = body.code ?? "failed";
    const detail = body.detail ?? body.title ?? `the server answered ${status}`;
    super(`${code}: ${detail}${body.field ? ` (field ${body.field})` : ""}`);
    this.code = code;
    this.detail = detail;
    this.field = body.field;
    this.request = body.request;
    this.mistakes = body.mistakes ?? [];
  }

  // The server cannot now: it stops, starts, or has too much to do.
  get mayRetry(): boolean {
    return [
      "retry_later",
      "no_room",
      "stopping",
      "too_many_connections",
      "too_many_streams",
      "too_many_bodies",
      "request_timeout",
    ].includes(this.code);
  }
}

// The lease was lost or the work was answered before. Nothing has changed; stop working on it.
export class LostWork extends Problem {
  override readonly name = "LostWork";
}

export const problemOf = (status: number, body: ProblemBody): Problem =>
  body.code === "stale_token" || body.code === "fenced" ? new LostWork(status, body) : new Problem(status, body);

// The job has not ended in the time that was given. It goes on.
export class NotEnded extends PawlError {
  override readonly name = "NotEnded";
}

// The job failed, was interrupted, or is parked: `job` says which and why.
export class JobNotCompleted extends PawlError {
  override readonly name = "JobNotCompleted";

  constructor(readonly job: Job) {
    super(`job ${job.id} is ${job.status}${job.reason ? `: ${job.reason}` : ""}`);
  }
}

// Throw it in a handler: the attempt failed. Not retryable: another attempt would not mend it.
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: number | undefined;
  readonly retryable: boolean;
  readonly data: unknown;

  constructor(message: string, options: { code?: number; retryable?: boolean; data?: unknown } = {}) {
    super(message);
    this.code = options.code;
    this.retryable = options.retryable ?? true;
    this.data = options.data ?? { message };
  }
}

// What a wait, and nothing else, can help.
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Problem && error.mayRetry);
