import { defineConfig } from "vitest/config"

/**
 * `npm run test:deploy`: the files of deploy/ with the programs that they are for, from Debian's packages. Some need root and
 * minutes: `npm run test:deploy -- machine` (a new Debian), `upgrade` (from a commit of another format), `firing` (each alert at its fault).
 */
export default defineConfig({
  test: {
    include: ["test/deploy/*.check.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
