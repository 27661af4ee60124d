/** The bytes that a recovery cut off, and how long they are kept. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { removeOldCuts } from "../../../src/storage/journal/JournalRecovery.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { appendBatches, folder, journalOn } from "../journalOn.ts"

it.effect("A start removes truncated bytes after a week, and no other file", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust(Date.parse("2026-11-20T10:00:00.123Z"))
    const disk = new SimulatedDisk()
    yield* Effect.scoped(
      Effect.flatMap(journalOn(disk), (journal) => appendBatches(journal, [1, 1])),
    )
    const files = disk.files(folder)
    const [name] = [...files.keys()].filter((each) => each.endsWith(".segment"))
    // The last batch was not written whole.
    const segment = files.get(name!)!
    segment.fill(0, segment.lastIndexOf("record 2") + 4)
    const torn = SimulatedDisk.holding(folder, new Map([[name!, segment]]))
    yield* Effect.scoped(journalOn(torn))
    const cut = /^cut-.*\.bytes$/
    const names = () => [...torn.files(folder).keys()].toSorted()
    const before = names()
    expect(before.filter((each) => cut.test(each))).toEqual([
      "cut-2026-11-20T10-00-00.123Z-2.bytes",
    ])
    yield* TestClock.adjust(limits.leftoverKeptMs)
    yield* removeOldCuts(torn, folder)
    expect(names()).toEqual(before)
    yield* TestClock.adjust(1)
    yield* removeOldCuts(torn, folder)
    expect(names()).toEqual(before.filter((each) => !cut.test(each)))
  }),
)
