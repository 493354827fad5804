// Client and worker of Pawl, over HTTP. `Client` is the way in, `Worker` serves topics.
export { Client, type AppSource, type PageOptions } from "./client.js";
export { Failure, JobNotCompleted, LostWork, NotEnded, PawlError, Problem, Unreachable } from "./errors.js";
export type { FollowOptions } from "./events.js";
export { JobHandle, type JobName } from "./job.js";
export type { KeptSignalFilter, TaskFilter } from "./store.js";
export type { ClientOptions } from "./transport.js";
export * from "./types.js";
export { Work } from "./work.js";
export { Worker, type Handler, type WorkerOptions } from "./worker.js";
