/** A bit that flips on the disk in the snapshot's LMDB, in each of its tables: what the check, and a start, make of it. */
import { cp, open, readFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import { LmdbReader } from "../../../src/storage/lmdb/LmdbReader.ts"
import { type Table, tables } from "../../../src/storage/Storage.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, once, sandbox } from "../fixture.ts"
import { alone, busy, found, running, seen } from "./fixture.ts"

const users = 20
/** Events of `busy`, sent again. */
const repeats = Array.from({ length: users * 3 }, (_, index) => index)
  .filter((index) => index % 3 === 1)
  .map((index) => event(`u${index % users}`, "TAP", { id: `0-${index}` }))
/** What the engine writes; the tables of webhooks are checked by their own reader. */
const engineTables = [
  "meta",
  "actors",
  "buckets",
  "userIds",
  "eventIds",
  "idempotency",
  "expiry",
] as const satisfies ReadonlyArray<Table>

/** Any value of each table that has one. */
const valuesOf = async (live: string, random: Random): Promise<ReadonlyMap<Table, Uint8Array>> => {
  const reader = new LmdbReader(live)
  const values = new Map<Table, Uint8Array>()
  for (const table of tables) {
    const entries = [...reader.entries({ table, ...rangeOf(new Uint8Array(0)) })]
    if (entries.length > 0) values.set(table, Buffer.from(random.pick(entries)[1]))
  }
  await reader.close()
  return values
}

/** Flips a bit of every copy of the value, old pages too; returns how many there were. */
const flip = async (file: string, value: Uint8Array, random: Random): Promise<number> => {
  const bytes = await readFile(file)
  const handle = await open(file, "r+")
  const within = random.integer(0, value.length - 1)
  const bit = 1 << random.integer(0, 7)
  let copies = 0
  try {
    for (let at = bytes.indexOf(value); at >= 0; at = bytes.indexOf(value, at + 1)) {
      const flipped = Buffer.from([bytes[at + within]! ^ bit])
      await handle.write(flipped, 0, 1, at + within)
      copies++
    }
  } finally {
    await handle.close()
  }
  return copies
}

describe("A flipped bit in the snapshot", () => {
  for (const seed of seeds(1)) {
    it.live(`is found in every table, and never served as if it were true (seed ${seed})`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const directory = yield* temporaryFolder
        const host = yield* makeWorkerHost({ background: false })
        const whole = yield* running({ directory, host })
        yield* found(whole.engine)
        yield* busy(whole.engine, users)
        yield* whole.engine.askUser(sandbox, event("u1", "TAP"), once("key"))
        yield* whole.engine.drain
        const truth = yield* seen(whole.engine, users)
        yield* whole.close()
        expect((yield* verifyLive({ directory }, alone)).faults).toEqual([])
        const values = yield* Effect.promise(() => valuesOf(path.join(directory, "live"), random))
        for (const table of engineTables) {
          const value = values.get(table)
          expect([table, value?.length]).not.toEqual([table, undefined])
          const copy = yield* temporaryFolder
          yield* Effect.promise(() => cp(directory, copy, { recursive: true }))
          const data = path.join(copy, "live", "data.mdb")
          const copies = yield* Effect.promise(() => flip(data, value!, random))
          expect(copies).toBeGreaterThan(0)
          const checked = yield* Effect.exit(verifyLive({ directory: copy }, alone))
          const known = Exit.isFailure(checked) || checked.value.faultCount > 0
          expect([table, known]).toEqual([table, true])
          // It does not start, or a reader gets an error, or what is true.
          const started = yield* Effect.exit(
            Effect.gen(function* () {
              const again = yield* running({ directory: copy, host })
              const read = yield* Effect.exit(seen(again.engine, users))
              const repeated = yield* Effect.exit(again.engine.askUsers(sandbox, repeats))
              yield* again.close("kill")
              return { read, repeated }
            }),
          )
          if (Exit.isFailure(started)) continue
          const { read, repeated } = started.value
          if (Exit.isSuccess(read)) expect([table, read.value]).toEqual([table, truth])
          // What was applied is not applied again.
          const answers = Exit.isSuccess(repeated) ? repeated.value : []
          for (const answer of answers) {
            expect([table, "_tag" in answer || answer.duplicate]).toEqual([table, true])
          }
        }
      }),
    )
  }
})
