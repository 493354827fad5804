// A real `pawl serve`: a free port, a folder of its own, kill -9 and start again. PAWL_BINARY and PAWL_APP name it.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { Client } from "../src/index.js";

export const app = readFileSync(process.env["PAWL_APP"] ?? "../../tests/clients/app.yaml", "utf8");

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const listener = createServer();
    listener.listen(0, "127.0.0.1", () => {
      const { port } = listener.address();
      listener.close(() => done(port));
    });
  });

export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

// The value of a function once it is true.
export async function until<T>(what: () => T | Promise<T>, seconds = 20): Promise<NonNullable<T>> {
  for (const end = Date.now() + 1000 * seconds; ;) {
    const value = await what();
    if (value) return value as NonNullable<T>;
    if (Date.now() > end) throw new Error("it never came true");
    await sleep(20);
  }
}

export class Server {
  private child: ReturnType<typeof spawn> | undefined;

  private constructor(
    private readonly folder: string,
    readonly port: number,
  ) {}

  static async start(): Promise<Server> {
    const server = new Server(mkdtempSync("/tmp/pawl-serve-"), await freePort());
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  client(): Client {
    return new Client({ url: this.url });
  }

  async begin(): Promise<void> {
    const parts = [
      "serve",
      "--store",
      process.env["PAWL_TEST_ON"] ?? `${this.folder}/jobs.db`,
      "--listen",
      `127.0.0.1:${this.port}`,
    ];
    const child = spawn(process.env["PAWL_BINARY"] ?? "../../build/release/pawl", parts, {
      cwd: this.folder,
      stdio: "ignore",
    });
    this.child = child;
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`pawl serve ended with ${child.exitCode}`);
      return fetch(`${this.url}/health/ready`).then(
        (answer) => answer.ok,
        () => false,
      );
    });
  }

  private async end(signal: string): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise<void>((done) => child.once("exit", done));
    child.kill(signal);
    await gone;
  }

  kill(): Promise<void> {
    return this.end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.end("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
