/** The tables of a run of the chaos matrix. */
import { expect, it } from "vitest"
import { markdownOf, momentsOf, summaryOf, tableOf } from "./table.ts"
import type { Struck } from "./torture.ts"

const struck = (each: object): Struck =>
  ({
    fault: "kill -9",
    moment: "load",
    runners: 2,
    isThere: true,
    able: 1,
    findings: [],
    refused: 0,
    ...each,
  }) as unknown as Struck

it("Faults that left no runner able to serve have separate rows, and so have faults while the partition moves", () => {
  const rows = tableOf([
    struck({ partitionMs: 3, longestMs: 30 }),
    struck({ partitionMs: 4, longestMs: 20, able: 2 }),
    struck({ partitionMs: 5, moment: "moving" }),
    struck({ partitionMs: 6, moment: "moving", able: 0 }),
    struck({ partitionMs: 7, able: 0 }),
  ])
  expect(rows.map((row) => [row.fault, row.count, row["longest ms"]])).toEqual([
    ["kill -9", 2, 4],
    ["kill -9, moving", 1, 5],
    ["kill -9, moving, no runner left", 1, 6],
    ["kill -9, no runner left", 1, 7],
  ])
  expect(rows[0]!["longest ms of any partition"]).toBe(30)
})

it("A fault that failed is counted, and has no time", () => {
  const findings = [{ kind: "failed", words: "" }]
  const rows = tableOf([
    struck({ partitionMs: null, longestMs: null, findings }),
    struck({ fault: "SIGTERM", partitionMs: null, longestMs: null, findings }),
    struck({ partitionMs: 12, longestMs: 12 }),
  ])
  expect(rows.map((row) => [row.fault, row.count, row["longest ms"], row.other])).toEqual([
    ["SIGTERM", 1, "", 1],
    ["kill -9", 2, 12, 1],
  ])
})

it("The summary has a row for each fault, whatever the moment, and one for those that left no runner able to serve", () => {
  const rows = summaryOf([
    struck({ partitionMs: 3 }),
    struck({ partitionMs: 4, moment: "moving" }),
    struck({ partitionMs: 5, able: 0 }),
    struck({ fault: "SIGTERM", partitionMs: 1_200, able: 0, moment: "moving" }),
    struck({ fault: "SIGTERM", partitionMs: null }),
  ])
  expect(markdownOf(rows)).toBe(`| fault | count | median ms | longest ms |
| --- | --: | --: | --: |
| no runner left able to serve, by any fault | 2 | 1,200 | 1,200 |
| kill -9 | 2 | 4 | 4 |
| SIGTERM | 1 | 0 | 0 |`)
})

it("Each moment has its faults by the number of runners, and the faults that missed it", () => {
  const rows = momentsOf([
    struck({ runners: 3 }),
    struck({ moment: "moving" }),
    struck({ moment: "moving", runners: 3, isThere: false }),
  ])
  expect(markdownOf(rows)).toBe(`| moment | 2 runners | 3 runners | missed |
| --- | --: | --: | --: |
| idle | 0 | 0 | 0 |
| load | 0 | 1 | 0 |
| moving | 1 | 1 | 1 |
| snapshot | 0 | 0 | 0 |
| archive | 0 | 0 | 0 |`)
})
