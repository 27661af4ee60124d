import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // Many tests wait for other processes, and by default one core would be left alone.
    maxWorkers: "100%",
    // Files share no state but modules that keep none: loading Effect anew for each would take a tenth of the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
