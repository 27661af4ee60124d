import os from "node:os"
import path from "node:path"
import { defineConfig } from "vitest/config"
import { testTimeoutMs, waitMs } from "./waitMs.ts"

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
  },
})
