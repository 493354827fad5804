// The HTTP API as this page uses it: calls, problems, the bearer token, and the stream of events.

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The server answered ${status}`);
    this.status = status;
    this.code = body.code ?? "failed";
    this.field = body.field;
  }
}

const token_name = "pawl-token";
let ask_token = null; // one question at a time, however many calls were refused

function headers(more) {
  const token = sessionStorage.getItem(token_name);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

export function on_unauthorized(ask) {
  let open = null;
  ask_token = () =>
    (open ??= ask().then((token) => {
      open = null;
      if (!token) return false;
      sessionStorage.setItem(token_name, token);
      return true;
    }));
}

// {status: ["a", "b"], where: "", limit: 50} as a query; what is empty is left out.
export function query_text(query) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") search.append(name, one);
  const text = search.toString();
  return text && `?${text}`;
}

const url = (path, query) => new URL(path + query_text(query), document.baseURI.replace(/#.*/, ""));

async function request(path, { method = "GET", query, body, signal, accept, last } = {}) {
  for (;;) {
    const send = { method, signal, cache: "no-store", headers: headers({ Accept: accept ?? "application/json" }) };
    if (body !== undefined) {
      send.headers["Content-Type"] = "application/json";
      send.body = JSON.stringify(body);
    }
    if (last) send.headers["Last-Event-ID"] = last;
    let answer;
    try {
      answer = await fetch(url(path, query), send);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, { code: "unreachable", detail: "The server cannot be reached" });
    }
    if (answer.status === 401 && ask_token && (await ask_token())) continue;
    if (answer.ok) return answer;
    const text = await answer.text();
    let problem = {};
    try {
      problem = JSON.parse(text);
    } catch {} // a proxy in between need not speak Problem Details
    throw new Problem(answer.status, problem);
  }
}

export const get = async (path, query, signal) => (await request(path, { query, signal })).json();
export const get_text = async (path, query, signal) => (await request(path, { query, signal, accept: "*/*" })).text();
export const post = async (path, body = {}, query) => (await request(path, { method: "POST", body, query })).json();
export const remove = async (path, query) => (await request(path, { method: "DELETE", query })).json();

export const name = encodeURIComponent;

// Reads Server-Sent Events until `signal`; connects again behind the last event. `EventSource` cannot send a token.
// on_event(kind, data); kind "open" tells that the stream began or began anew: read what you show.
export async function follow(query, signal, on_event, on_state) {
  let last = "";
  for (let failures = 0; !signal.aborted; ++failures) {
    try {
      const answer = await request("v1/events", { query, signal, accept: "text/event-stream", last });
      on_state("live");
      on_event("open", null);
      failures = 0;
      for await (const event of events_of(answer.body, signal)) {
        if (event.id) last = event.id;
        if (event.kind !== "hello") on_event(event.kind, event.data);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 400 || error.status === 404) return on_state("off");
    }
    if (signal.aborted) return;
    on_state("connecting");
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 10_000)));
  }
}

// A server has events of the jobs that it runs itself. For what other servers on the store run, the page looks now and
// then.
const look_ms = 5000;
export function look_again(signal, look) {
  const timer = setInterval(() => document.hidden || look(), look_ms);
  signal.addEventListener("abort", () => clearInterval(timer));
}

async function* events_of(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (!signal.aborted) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { kind: "message", id: "", data: null };
      let data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) event.kind = line.slice(6).trim();
        else if (line.startsWith("id:")) event.id = line.slice(3).trim();
        else if (line.startsWith("data:")) data += line.slice(5);
      }
      if (!data && event.kind === "message") continue; // a comment that keeps the connection open
      event.data = data ? JSON.parse(data) : null;
      yield event;
    }
  }
}
