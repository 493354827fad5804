// The few parts of Node that the tests use: no package of types is needed to check them.
declare module "node:test" {
  type Body = () => void | Promise<void>;
  export function test(name: string, body: Body): Promise<void>;
  export function describe(name: string, body: () => void): void;
  export function it(name: string, body: Body): void;
  export function before(body: Body): void;
  export function after(body: Body): void;
}
declare module "node:assert/strict" {
  const assert: {
    (value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    rejects(promise: Promise<unknown>, check: (error: any) => boolean): Promise<void>;
  };
  export default assert;
}
declare module "node:child_process" {
  interface Child {
    exitCode: number | null;
    kill(signal: string): boolean;
    once(event: "exit", done: () => void): void;
  }
  export function spawn(command: string, parts: string[], options: { cwd: string; stdio: "ignore" }): Child;
}
declare module "node:fs" {
  export function mkdtempSync(prefix: string): string;
  export function readFileSync(path: string, kind: "utf8"): string;
  export function writeFileSync(path: string, text: string): void;
  export function rmSync(path: string, options: { recursive: boolean; force: boolean }): void;
}
declare module "node:net" {
  interface Listener {
    listen(port: number, host: string, done: () => void): void;
    address(): { port: number };
    close(done: () => void): void;
  }
  export function createServer(): Listener;
}
declare const process: { env: Record<string, string | undefined> };
