/** The table of a run of the chaos matrix. */
import { expect, it } from "vitest"
import { tableOf } from "./table.ts"
import type { Struck } from "./torture.ts"

it("Faults that left no runner able to serve have rows of their own, as those while the partition moves", () => {
  const struck = { fault: "kill -9", moment: "load", able: 1, findings: [], refused: 0 }
  const rows = tableOf([
    { ...struck, longestMs: 3 },
    { ...struck, longestMs: 4, able: 2 },
    { ...struck, longestMs: 5, moment: "moving" },
    { ...struck, longestMs: 6, moment: "moving", able: 0 },
    { ...struck, longestMs: 7, able: 0 },
  ] as unknown as ReadonlyArray<Struck>)
  expect(rows.map((row) => [row.fault, row.count, row["max ms"]])).toEqual([
    ["kill -9", 2, 4],
    ["kill -9, moving", 1, 5],
    ["kill -9, moving, no runner left", 1, 6],
    ["kill -9, no runner left", 1, 7],
  ])
})
