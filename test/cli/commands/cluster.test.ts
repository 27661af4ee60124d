/** The output of `laurel cluster status`. */
import { describe, expect, it } from "vitest"
import { statusText } from "../../../src/cli/commands/cluster.ts"
import { rangesText } from "../../../src/cli/output/Table.ts"
import type { PartitionStatus } from "../../../src/cluster/status.ts"

const partition = (number: number, more: Partial<PartitionStatus> = {}): PartitionStatus => ({
  ...{ partition: number, owner: "a:1", epoch: 2, since: "2026-11-23T10:00:00.000Z" },
  ...{ records: 1_234, load: 2.25, projects: [] },
  ...more,
})
const runner = (address: string) => ({
  ...{
    address,
    silentSeconds: 0.2,
    version: "1.2.0",
    answered: 5,
    forwarded: 1,
    lockExpirationMs: 10_000,
  },
})

describe("laurel cluster status", () => {
  it("has a line for each server and each partition", () => {
    const lines = statusText({
      runners: [runner("a:1"), runner("b:1")],
      partitions: [
        partition(1, { projects: ["a", "b", "c", "d", "e", "f"] }),
        partition(2, { owner: "", projects: undefined }),
        partition(3),
      ],
      followers: [
        { partition: 1, address: "b:1", behindRecords: 0, lagSeconds: 0.1 },
        { partition: 1, address: "c:1", behindRecords: 1_000, lagSeconds: 2 },
      ],
      forwardedShare: 0.2,
    }).split("\n")
    const cells = lines.map((line) => line.trim().split(/ {2,}/))
    expect(cells[2]).toEqual(["a:1", "0.2 s ago", "2: 1, 3", "4.5/s", "1.2.0", "5", "1"])
    expect(cells[3]).toEqual(["b:1", "0.2 s ago", "0.0/s", "1", "1.2.0", "5", "1"])
    const since = "2026-11-23T10:00:00.000Z"
    const all = ["2", since, "2.3/s", "1,234"]
    expect(cells.slice(9, 12)).toEqual([
      ["1", "a:1", ...all, "b:1 (0, 0.1 s), c:1 (1,000, 2.0 s)", "a, b, c, d and 2 more"],
      ["2", "none", ...all, "none", "unknown"],
      ["3", "a:1", ...all, "none"],
    ])
  })

  it("shows neighbouring partitions as a range", () => {
    expect(rangesText([1, 2, 3, 5, 7, 8])).toBe("1-3, 5, 7-8")
    expect(rangesText([4])).toBe("4")
    expect(rangesText([])).toBe("")
  })
})
