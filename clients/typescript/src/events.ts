// Server-Sent Events that go on after a lost connection. `EventSource` cannot send a token, so this reads them itself.
import { isPassing, Unreachable } from "./errors.js";
import { linesOf, sleep, type Call, type Transport } from "./transport.js";

const silenceMax = 45_000; // ms; the server sends a comment every 15 s
const retryFirst = 200;
const retryMax = 5000;

export interface FollowOptions {
  lastId?: string; // go on behind this event
  signal?: AbortSignal; // ends it
}

interface Message {
  name: string;
  id: string;
  data: unknown;
}

async function* messagesOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Message> {
  let name = "message";
  let id = "";
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    heard();
    if (line === "") {
      if (data.length || name !== "message") yield { name, id, data: data.length ? JSON.parse(data.join("\n")) : null };
      [name, id, data] = ["message", "", []];
      continue;
    }
    const at = line.indexOf(":");
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
}

// One after the other until `signal`; `make` may leave some out.
export async function* follow<T>(
  transport: Transport,
  path: string,
  query: NonNullable<Call["query"]>,
  options: FollowOptions,
  make: (name: string, data: unknown) => T | undefined,
): AsyncGenerator<T> {
  let last = options.lastId ?? "";
  let pause = retryFirst;
  while (!options.signal?.aborted) {
    const stop = new AbortController();
    const forward = (): void => stop.abort();
    options.signal?.addEventListener("abort", forward);
    let silence = setTimeout(forward, silenceMax);
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(forward, silenceMax);
    };
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const body = await transport.stream("GET", path, { query, headers, signal: stop.signal });
      for await (const message of messagesOf(body, heard)) {
        pause = retryFirst;
        if (message.id) last = message.id;
        const made = make(message.name, message.data);
        if (made !== undefined) yield made;
      }
      throw new Unreachable("the stream has ended");
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!isPassing(error)) throw error;
    } finally {
      clearTimeout(silence);
      options.signal?.removeEventListener("abort", forward);
      stop.abort();
    }
    await sleep(pause, options.signal);
    pause = Math.min(2 * pause, retryMax);
  }
}
