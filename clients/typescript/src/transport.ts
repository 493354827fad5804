// HTTP by `fetch`: of Node 18 and later, and of browsers.
import { Problem, problemOf, Unreachable } from "./errors.js";
import type { ProblemBody } from "./types.js";

export interface ClientOptions {
  url?: string; // default: http://127.0.0.1:8210
  token?: string;
  timeout?: number; // seconds of a request that does not wait for work or a job; default 30
  fetch?: typeof fetch;
}

type QueryValue = string | number | boolean | undefined | null;

export interface Call {
  query?: Record<string, QueryValue | string[]>;
  body?: unknown; // sent as JSON
  text?: string; // sent as it is, with `kind`
  kind?: string;
  headers?: Record<string, string>;
  timeout?: number; // seconds
  signal?: AbortSignal | undefined;
  repeat?: boolean; // sent once more when no answer came; it then counts once
}

export const durationText = (value: string | number): string =>
  typeof value === "number" ? `${Math.round(value * 1000)}ms` : value;

export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal?.aborted) return done();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });

export class Transport {
  readonly timeout: number;
  private readonly url: string;
  private readonly token: string | undefined;
  private readonly fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.url = (options.url ?? "http://127.0.0.1:8210").replace(/\/+$/, "");
    this.token = options.token;
    this.timeout = options.timeout ?? 30;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    return (await this.answer<T>(method, path, call)).body;
  }

  async answer<T>(method: string, path: string, call: Call = {}): Promise<{ status: number; body: T }> {
    const { status, text } = await this.text(method, path, call);
    return { status, body: (text ? JSON.parse(text) : null) as T };
  }

  async text(method: string, path: string, call: Call = {}): Promise<{ status: number; text: string }> {
    for (let again = call.repeat ?? false; ; again = false) {
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort(), 1000 * (call.timeout ?? this.timeout));
      const forward = (): void => stop.abort();
      call.signal?.addEventListener("abort", forward);
      try {
        const response = await this.send(method, path, { ...call, signal: stop.signal });
        return { status: response.status, text: await response.text() };
      } catch (error) {
        if (error instanceof Problem) throw error;
        if (again && !stop.signal.aborted) continue;
        throw error instanceof Unreachable ? error : new Unreachable(`${method} ${path}: ${reason(error)}`);
      } finally {
        clearTimeout(timer);
        call.signal?.removeEventListener("abort", forward);
      }
    }
  }

  // An answer whose body is read while it comes.
  async stream(method: string, path: string, call: Call): Promise<ReadableStream<Uint8Array>> {
    const response = await this.send(method, path, call);
    if (!response.body) throw new Unreachable(`${method} ${path}: no body`);
    return response.body;
  }

  private async send(method: string, path: string, call: Call): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {}))
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined && one !== null) search.append(name, String(one));
    const headers: Record<string, string> = { Accept: "application/json", ...call.headers };
    if (this.token) headers["Authorization"] = `Bearer ${this.token}`;
    const init: RequestInit = { method, headers, cache: "no-store" };
    if (call.signal) init.signal = call.signal;
    if (call.text !== undefined || call.body !== undefined) {
      headers["Content-Type"] = call.kind ?? "application/json";
      init.body = call.text ?? JSON.stringify(call.body);
    }
    const query = search.toString();
    let response: Response;
    try {
      response = await this.fetch(`${this.url}${path}${query && `?${query}`}`, init);
    } catch (error) {
      throw new Unreachable(`${method} ${path}: ${reason(error)}`);
    }
    if (response.ok) return response;
    let body: ProblemBody = {};
    try {
      body = JSON.parse(await response.text()) as ProblemBody;
    } catch {
      // a proxy in between need not speak Problem Details
    }
    throw problemOf(response.status, body);
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = (error as { cause?: unknown }).cause;
  return cause instanceof Error ? cause.message : error.message;
}

// The lines of a body, without their ends.
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
  } catch (error) {
    throw new Unreachable(reason(error));
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
