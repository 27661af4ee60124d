/** The invariant of a batch, which every journal checks before it writes a batch and after it reads one. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  batchFault,
  batchOf,
  batchOfRecords,
  checkedRecords,
  framesEnd,
  recordIn,
  remainsIn,
  withTombstones,
} from "../../src/storage/Frames.ts"
import { SegmentWriter } from "../../src/storage/journal/SegmentWriter.ts"
import { Mirror } from "../../src/storage/postgres/Mirror.ts"
import type { JournalBatch } from "../../src/storage/Storage.ts"
import { SimulatedDisk } from "../simulation/SimulatedDisk.ts"
import { folder, journalOn } from "./journalOn.ts"
import { numbered } from "./records.ts"

const good = numbered(1, 3)

/** Each record with the given previous record. */
const linked = (previous: ReadonlyArray<number>) =>
  batchOf(
    1,
    previous.map((one) => Buffer.from(`after ${one}`)),
    previous,
  )

/** By fault: batches that must never reach a journal whose last record is 0. */
const bad: Readonly<Record<string, JournalBatch>> = {
  "that leaves a gap": numbered(2, 1),
  "that repeats a record": numbered(0, 1),
  "without a record": { ...numbered(1, 0), count: 0 },
  "with fewer records than it counts": { ...good, count: 4 },
  "with more records than it counts": { ...good, count: 2 },
  "with a record that is its own previous record": linked([0, 1, 3]),
  "with a record whose previous record is a later one": linked([0, 2 ** 40, 0]),
  "whose last record is cut": { ...good, frames: good.frames.subarray(0, -1) },
  "with bytes after its last record": {
    ...good,
    frames: Buffer.concat([good.frames, good.frames]),
  },
}

describe("A journal", () => {
  it("takes a batch that follows its last record and holds as many records as it counts", () => {
    expect(batchFault(good, 0)).toBeUndefined()
    expect(batchFault(numbered(8, 1), 7)).toBeUndefined()
  })

  for (const [name, batch] of Object.entries(bad)) {
    it.effect(`refuses a batch ${name}, and writes nothing`, () =>
      Effect.gen(function* () {
        expect(batchFault(batch, 0)).toBeDefined()
        const disk = new SimulatedDisk()
        const journal = yield* journalOn(disk)
        const error = yield* Effect.flip(journal.append(batch))
        expect(error._tag).toBe("Broken")
        expect(journal.lastSequence).toBe(0)
        yield* journal.append(good)
        expect(journal.lastSequence).toBe(3)
      }).pipe(Effect.scoped),
    )

    it.effect(`that is copied dies at a batch ${name}`, () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        yield* disk.makeFolder(folder)
        const after = { lastSequence: 0, checksum: 0 }
        const writer = new SegmentWriter({ disk, folder, after })
        const exit = yield* Effect.exit(writer.write(batch))
        expect(exit._tag).toBe("Failure")
        expect(writer.position).toEqual(after)
      }),
    )

    it(`that is mirrored throws at a batch ${name}`, () => {
      const noRead = () => expect.fail("no read")
      const files = { append: () => Effect.void, readRecord: noRead, readRecords: noRead }
      const mirror = new Mirror(files, 0)
      expect(() => mirror.add(batch)).toThrow()
      mirror.add(good)
    })
  }

  it("keeps the previous record of each record, up to the greatest sequence of 48 bits", () => {
    const first = 2 ** 47
    const previous = [0, 1, 2 ** 32 - 1, 2 ** 32, first - 1, first + 4]
    const bodies = previous.map((_, index) => Buffer.alloc(index, 7))
    const batch = batchOf(first, bodies, previous)
    expect(batchFault(batch, first - 1)).toBeUndefined()
    const records = checkedRecords(batch, first)
    expect(records.map((record) => record.previous)).toEqual(previous)
    for (const record of records) expect(recordIn(batch, record.sequence)).toEqual(record)
    expect(recordIn(batch, first - 1)).toBeUndefined()
    expect(recordIn(batch, first + previous.length)).toBeUndefined()
    expect(batchOfRecords(records)).toEqual(batch)
  })

  it("throws where a batch that was checked has other records later", () => {
    expect(checkedRecords(good, 2)).toHaveLength(2)
    expect(() => checkedRecords({ ...good, count: 4 }, 1)).toThrow("do not hold 4 records")
  })

  it("keeps of an erased sale the item and whether it was sold, and nothing of the user", () => {
    const sale = (kind: string, itemId: string) =>
      Buffer.from(
        JSON.stringify({
          sequence: 1,
          subject: { actor: "user", environment: "prj_1:sandbox", userId: "somebody" },
          cause: { kind: "purchase", id: "somebody-1" },
          facts: [
            { kind: "points.spent", amount: 1 },
            { kind, itemId, name: "Poster" },
          ],
        }),
      )
    const goal = {
      goalId: "gol_1",
      key: "pages",
      name: "Pages",
      period: 3,
      team: 2,
      teamId: "owls",
    }
    const contribution = Buffer.from(
      JSON.stringify({
        sequence: 1,
        at: 1_000,
        aheadMs: 500,
        subject: { actor: "user", environment: "prj_1:sandbox", userId: "somebody" },
        cause: { kind: "event", action: "READ" },
        facts: [
          { kind: "goal.contributed", ...goal, amount: 40, mine: 40, first: true, drops: [goal] },
          { kind: "goal.progressed", ...goal, percent: 25 },
          { kind: "goal.rewarded", ...goal },
        ],
      }),
    )
    const bodies = [
      sale("item.purchased", "itm_1"),
      sale("item.refunded", "itm_2"),
      sale("points.earned", "itm_3"),
      Buffer.from("no JSON"),
      contribution,
    ]
    const batch = batchOf(5, bodies, [4, 0, 3, 2, 6])
    const all = new Set([5, 6, 7, 8, 9])
    const erased = { ...batch, frames: withTombstones(batch, all) }
    expect(batchFault(erased, 4)).toBeUndefined()
    expect(erased.frames.includes("somebody")).toBe(false)
    const records = checkedRecords(erased, 0)
    expect(records.map(({ body, previous }) => [previous, body.length])).toEqual([
      [4, 0],
      [0, 0],
      [3, 0],
      [2, 0],
      [6, 0],
    ])
    const environment = "prj_1:sandbox"
    expect(records.map(remainsIn)).toEqual([
      { environment, sold: ["itm_1", 1] },
      { environment, sold: ["itm_2", -1] },
      undefined,
      undefined,
      {
        environment,
        goals: {
          at: 1_500,
          facts: [
            { kind: "goal.contributed", ...goal, amount: 40, first: true },
            { kind: "goal.progressed", ...goal, percent: 25 },
          ],
        },
      },
    ])
    for (const record of records) expect(recordIn(erased, record.sequence)).toEqual(record)
    expect(framesEnd(erased.frames, 0, 5)).toBe(erased.frames.length)
    expect(batchOfRecords(records)).toEqual(erased)
    expect(withTombstones(erased, all)).toEqual(erased.frames)
    expect(withTombstones({ ...batch, frames: withTombstones(batch, new Set([6])) }, all)).toEqual(
      erased.frames,
    )
  })
})
