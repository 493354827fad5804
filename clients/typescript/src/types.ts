// What is sent and what the server answers with. Times are UTC texts, such as 2026-11-16T00:31:12.250Z.

export type JobStatus = "running" | "completed" | "failed" | "interrupted" | "parked" | "paused";
export type Duration = string | number; // "250ms", "10s", "5m", "2h", "1d"; a number: seconds
export type Reuse = "attach" | "reject" | "after_close" | "replace";
export type BulkVerb = "interrupt" | "cancel" | "pause" | "resume" | "redrive" | "remove" | "signal";
export type Time = string | null;

export interface Start {
  graph: string;
  input?: unknown;
  id?: string; // unique in its namespace; default: the graph's own, or a fresh one
  namespace?: string;
  reuse?: Reuse; // what a taken id means; default: attach
  delay?: Duration;
  end_within?: Duration;
  keep?: Duration;
  priority?: number;
}

export interface Started {
  id: string;
  namespace: string;
  run: string;
  created: boolean; // false: the id was taken, and this is the job that has it
  job?: Job;
}

export interface Job<Result = unknown> {
  namespace: string;
  id: string;
  run: string;
  graph: string;
  version: number;
  status: JobStatus;
  semaphore: number;
  created_at: Time;
  closed_at: Time;
  result: Result | null;
  reason: string;
  priority: number;
  deadline: Time;
  remove_at: Time;
  redrives: number;
  data: unknown;
  code: number;
  cursor?: string;
}

export interface Activity {
  name: string;
  kind: string | null;
  address: string;
  ledger: string;
  explanation: string;
  status: "open" | "completed" | "errored" | "skipped" | "cancelled";
  code: number;
  effect: string;
  opened_at: Time;
  closed_at: Time;
  input: unknown;
  input_sure: boolean;
  output: unknown;
  parent: number | null; // the activity that it follows, by its place in the list
  plane: number; // the round of a cycle, the item of a map
  carried: boolean; // it was answered in an earlier run
  attempts: { at: Time; code: number; error: string }[]; // the last 20 that failed
  child: string | null;
  waits_for: Record<string, unknown> | null;
  work: Record<string, unknown> | null;
  refused: Record<string, unknown> | null;
  messages: { ledger: string; explanation: string }[];
}

export interface JobDetail extends Job {
  input: unknown;
  activities: Activity[];
  timers: Record<string, unknown>[];
  obstacles: string[];
  earlier: { run: string; ended_at: Time; code: number; reason: string }[]; // runs of this id that failed before
  collation_key: string;
  app_version: string; // the version that it runs on
}

export interface JobPage {
  jobs: Job[];
  next: string | null;
}

// Which jobs: all of these hold. `label` (NAME=VALUE) and `key` need a `graph`.
export interface Filter {
  status?: JobStatus | JobStatus[]; // any of these
  namespace?: string;
  graph?: string; // APP/TOPIC
  activity?: string; // it waits or failed there
  error?: string; // this text is in its reason, or in what a worker answered last
  code?: number; // of its error, or of what a worker answered last
  where?: Record<string, string>; // activity to state
  collation_key?: string;
  label?: string;
  key?: string;
  since?: string | Date; // when it was made: not before, and before
  until?: string | Date;
  ended_since?: string | Date;
  ended_until?: string | Date;
  older_than?: Duration;
  younger_than?: Duration;
}

export interface Counts {
  total: number;
  states: Partial<Record<JobStatus, number>>; // those that have jobs
}

export interface HistoryEvent {
  at: Time;
  what: string;
  activity?: string;
  address?: string;
  code?: number;
  detail?: string;
}

export interface SignalOptions {
  id?: string; // sent again under the same id it counts once
  pending?: boolean;
  code?: number;
}

export interface BulkOptions {
  dry_run?: boolean; // only check them
  reason?: string;
  signal?: { topic: string; data?: unknown } & SignalOptions;
  keep_id?: Duration;
}

export interface BulkResult {
  dry_run: boolean;
  matched: number;
  done: number; // of a dry run: that could be done
  failed: number;
  first: { id: string; run: string; status: JobStatus; reason: string }[]; // the first ten that matched
  refused: { why: string; jobs: number; example: string }[];
}

export interface AppVersion {
  app: string;
  version: string;
  active: boolean;
  deployed_at: Time;
  topics: string[];
}

export interface Topic {
  topic: string;
  paused: boolean;
  workers?: number;
  waiting?: number;
  out?: number;
  backlog: number; // requests that a worker could take now
  oldest_waiting_at: Time;
  with_workers: number; // of any process; `out` is of this server's remote workers
  later: number; // they wait for the time of their next attempt
  held: number; // their job is parked or paused
  stuck: boolean; // work waits, and nobody takes it
  servers: number | null; // processes on the store that serve it themselves
  taken?: number;
  rate?: number; // attempts handed out per second, over the last minute
  local?: boolean;
}

export interface WorkerInfo {
  worker: string;
  topics: string[];
  out: number;
  taken?: number;
  completed?: number;
  failed?: number;
  seen_at: Time;
}

// What happened in a job. Kind `reset`: events were missed, read again what you show.
export interface Event {
  kind: string;
  id: string;
  namespace: string;
  job: string;
  run: string;
  graph?: string;
  activity?: string;
  activity_kind?: string | null;
  address?: string;
  code?: number;
  at: Time;
  output?: unknown;
  output_left_out?: boolean;
  waits_for?: Record<string, unknown> | null;
}

export interface Announcement {
  cursor: string;
  topic: string;
  namespace: string;
  job: string;
  run: string;
  end: boolean;
  error: boolean;
  code: number;
  at: Time;
  data: unknown;
}

export interface Health {
  status: "ok" | "stopping";
  version: string;
  server?: string;
  store: { kind?: string; name?: string; promise?: string };
  runs_jobs?: boolean;
  started_at?: Time;
  limits?: Record<string, number>;
}

// How the store is doing.
export interface StoreStatus {
  at: Time;
  owner_alive: boolean; // some process carries out what is asked of jobs
  jobs: Record<JobStatus, number>;
  graphs: { graph: string; jobs: Record<JobStatus, number> }[];
  errors: { code: number; text: string; jobs: number; example: string; last: Time }[]; // the most frequent first
  oldest: { id: string; run: string; graph: string; since: Time; activity: string; waits_for: string }[];
}

// Something that was looked at, and what to do about it.
export interface Finding {
  grade: "good" | "warning" | "bad";
  what: string;
  advice: string;
}

// A hook that waits for a person.
export interface Task {
  id: string;
  namespace: string;
  job: string;
  run: string;
  graph: string;
  activity: string;
  address: string;
  role: string;
  type: string;
  subtype: string;
  description: string;
  priority: number;
  opened_at: Time;
  times_out_at: Time;
  claimed_by: string | null;
  claimed_until: Time;
  escalation?: unknown; // the hook's `escalation`, whole
}

// Whom a signal reaches.
export interface SignalFate {
  kept: boolean; // for the first hook that will wait for it
  reached: string[]; // ids of jobs
}

// A signal that no hook has taken yet.
export interface KeptSignal {
  id: string;
  namespace: string;
  topic: string;
  match: string; // the values that a hook must match, as JSON
  pending: boolean;
  code: number;
  sent_at: Time;
  expires_at: Time;
  data?: unknown;
}

export interface RetentionRule {
  status: string | null; // null: any
  graph: string | null; // null: any
  keep_seconds: number | null; // null: for ever
  set_at: Time;
}

export interface RetentionSummary {
  dry_run: boolean;
  removed: number; // of a dry run: that would be
  left: number; // their time is over, but they cannot be removed now
}

export interface Take {
  topics: string[];
  max?: number;
  worker?: string;
  lease?: Duration; // so long the work stays with the worker without a heartbeat; default 30s
  wait?: Duration; // how long to wait if there is none; default 20s
}

// One attempt, as the server hands it out.
export interface WorkItem {
  token: string; // names this attempt
  topic: string;
  key: string; // the same for every attempt: give it to services that must not act twice
  run: string;
  job: string;
  namespace?: string;
  attempt: number;
  input: unknown;
  progress?: unknown; // what an earlier attempt last reported
  lease_until: Time;
  traceparent?: string; // the trace that the job belongs to (W3C Trace Context)
  tracestate?: string;
}

export interface Answer {
  token: string;
  do: "complete" | "fail" | "pending" | "heartbeat" | "release";
  code?: number;
  data?: unknown;
  retryable?: boolean;
  number?: number;
  lease?: Duration;
}

export interface ProblemBody {
  status?: number;
  code?: string;
  title?: string;
  detail?: string;
  request?: string;
  field?: string;
  mistakes?: unknown[];
}

export interface AnswerResult {
  token: string;
  ok: boolean;
  problem?: ProblemBody;
}
