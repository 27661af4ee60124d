import type { BenchLine } from "../../bench/Line.ts"
import type { Results } from "../../bench/page.ts"

/** The results of a run on a machine that is always the same. */
export const resultsOf = (...lines: ReadonlyArray<BenchLine>): Results => ({
  startedAt: "2026-11-22T10:00:00.000Z",
  machine: {
    cpu: "AMD EPYC",
    cores: 2,
    memoryGiB: 24,
    node: "v26.10.0",
    flushUs: { p50: 232, p99: 666 },
    commit: "abc1234",
  },
  options: {},
  lines,
})
