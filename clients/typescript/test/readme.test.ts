import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { it } from "node:test";
import { Server } from "./server.js";

it("the example of the README does what the README says", async () => {
  const readme = readFileSync(process.env["PAWL_README"] ?? "README.md", "utf8");
  const block = /```ts\n(import \{ Client, Worker \}[^]*?)```/.exec(readme)?.[1] ?? "";
  assert(block.includes('"pawl-client"') && block.includes("http://127.0.0.1:8210"));
  const server = await Server.start();
  const lines: string[] = [];
  const print = console.log;
  console.log = (value: unknown) => lines.push(JSON.stringify(value));
  try {
    // Beside package.json it finds "pawl-client" as a program does that has it installed: by the package's exports.
    const file = new URL("../../hello.mjs", import.meta.url);
    writeFileSync(file.pathname, block.replace("http://127.0.0.1:8210", server.url));
    await import(file.href);
    assert.deepEqual(lines, ['{"greeting":"hello Ann"}']);
  } finally {
    console.log = print;
    await server.stop();
  }
});
