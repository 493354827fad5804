// What is asked of the store as a whole: how it is doing, tasks of people, kept signals, retention.
import { durationText, type Call, type Transport } from "./transport.js";
import type {
  Duration,
  Finding,
  Health,
  KeptSignal,
  RetentionRule,
  RetentionSummary,
  SignalFate,
  StoreStatus,
  Task,
} from "./types.js";

const name = encodeURIComponent;

type Query = NonNullable<Call["query"]>;

// Of kept signals: `until` is a time, or how long ago they were sent at least ("2h").
export interface KeptSignalFilter {
  topic?: string;
  namespace?: string;
  until?: string | Date;
}

export interface TaskFilter {
  role?: string;
  type?: string;
  job?: string;
  graph?: string;
  namespace?: string;
  claimed_by?: string;
  unclaimed?: boolean;
}

const keptFields = ({ until, ...rest }: KeptSignalFilter): Query => ({
  ...rest,
  until: until instanceof Date ? until.toISOString() : until,
});

// The part of Client that needs no job.
export abstract class StoreCalls {
  constructor(readonly transport: Transport) {}

  protected get<T>(path: string, query: Query = {}): Promise<T> {
    return this.transport.json<T>("GET", path, { query, repeat: true });
  }

  // All of a list; a page is read when the one before is used up.
  protected async *pages<T>(path: string, field: string, query: Query): AsyncGenerator<T> {
    for (let after: string | null | undefined; after !== null;) {
      const page = await this.get<Record<string, unknown>>(path, { ...query, after });
      for (const one of page[field] as T[]) yield one;
      after = page["next"] as string | null;
    }
  }

  health(): Promise<Health> {
    return this.get("/health");
  }

  status(options: { errors?: number; oldest?: number } = {}): Promise<StoreStatus> {
    return this.get("/v1/status", { ...options });
  }

  // What was looked at, each with a grade and what to do.
  async doctor(): Promise<Finding[]> {
    return (await this.get<{ findings: Finding[] }>("/v1/doctor")).findings;
  }

  // Tasks: hooks that wait for a person.

  tasks(filter: TaskFilter = {}): AsyncGenerator<Task> {
    return this.pages("/v1/tasks", "tasks", { ...filter });
  }

  // Keeps others away for a time; again to go on.
  async claimTask(id: string, who: string, time?: Duration): Promise<void> {
    const body = { who, time: time === undefined ? undefined : durationText(time) };
    await this.transport.json("POST", `/v1/tasks/${name(id)}/claim`, { body, repeat: true });
  }

  async releaseTask(id: string, who: string): Promise<void> {
    await this.transport.json("POST", `/v1/tasks/${name(id)}/release`, { body: { who }, repeat: true });
  }

  // The hook goes on with this data. `who` is needed if somebody has claimed it. The first one counts.
  async resolveTask(id: string, data?: unknown, options: { who?: string; code?: number } = {}): Promise<void> {
    await this.transport.json("POST", `/v1/tasks/${name(id)}/resolve`, { body: { data, ...options } });
  }

  // Signals that no hook has taken yet.

  // Whom a signal would reach now. Nothing is sent.
  signalFate(topic: string, data?: unknown, namespace?: string): Promise<SignalFate> {
    const body = { topic, data, namespace, dry_run: true };
    return this.transport.json("POST", "/v1/signals", { body, repeat: true });
  }

  keptSignals(filter: KeptSignalFilter = {}): AsyncGenerator<KeptSignal> {
    return this.pages("/v1/signals", "signals", keptFields(filter));
  }

  // Drops one, if no hook takes it first.
  async dropKeptSignal(id: string): Promise<void> {
    await this.transport.json("DELETE", `/v1/signals/${name(id)}`);
  }

  // Drops all of them, or these; resolves to how many.
  async dropKeptSignals(filter: KeptSignalFilter = {}): Promise<number> {
    const body = keptFields(filter);
    return (await this.transport.json<{ dropped: number }>("POST", "/v1/signals/drop", { body })).dropped;
  }

  // Retention: how long jobs are kept after their end.

  async retention(): Promise<RetentionRule[]> {
    return (await this.get<{ rules: RetentionRule[] }>("/v1/retention")).rules;
  }

  // Sets the rule of a status and a graph (none: any). `keep` null: for ever.
  async setRetention(keep: Duration | null, of: { status?: string; graph?: string } = {}): Promise<void> {
    const body = { ...of, ...(keep === null ? { forever: true } : { keep: durationText(keep) }) };
    await this.transport.json("PUT", "/v1/retention", { body, repeat: true });
  }

  async dropRetention(of: { status?: string; graph?: string } = {}): Promise<void> {
    await this.transport.json("DELETE", "/v1/retention", { query: { ...of } });
  }

  // Carries the rules out now; `dry_run` only counts. `timeout`: seconds, for very many.
  applyRetention(options: { dry_run?: boolean } = {}, timeout = this.transport.timeout): Promise<RetentionSummary> {
    return this.transport.json("POST", "/v1/retention/apply", { body: options, timeout });
  }
}
