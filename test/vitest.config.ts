import os from "node:os"
import path from "node:path"
import { defaultExclude, defineConfig } from "vitest/config"
import { testTimeoutMs, waitMs } from "./waitMs.ts"

/** `npm run test:servers` runs the files that start the most servers and other processes, new ones of e2e/ among them; `npm test` all others. */
const servers = [
  "test/cli/commands/{demo,partitions,snapshots}.test.ts",
  "test/cluster/gather.test.ts",
  "test/e2e/!(client|crash|firstMinute|learningApp|oldNode|readme).test.ts",
  "test/engine/archive/{ArchiveParts,Archives,Restore,RestoreProject,Shipping}.test.ts",
  "test/generators/generators.test.ts",
]

export default defineConfig({
  test: {
    // Many tests wait for other processes: half as many workers again as cores keep these busy. Vitest takes "150%" as "100%".
    maxWorkers: Math.ceil(os.availableParallelism() * 1.5),
    // Effect and the program are loaded once, not for every file.
    isolate: false,
    // Processes and threads that tests start keep their compiled code, where the program itself does.
    env: {
      NODE_COMPILE_CACHE: path.resolve(import.meta.dirname, "../node_modules/.cache/compile"),
    },
    globalSetup: [path.resolve(import.meta.dirname, "dashboard/browser/globalSetup.ts")],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
    expect: { poll: { timeout: waitMs } },
    // Each file is in exactly one of the two; CI runs both.
    projects: [
      { extends: true, test: { name: "rest", exclude: [...defaultExclude, ...servers] } },
      { extends: true, test: { name: "servers", include: servers } },
    ],
  },
})
