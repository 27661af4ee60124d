/** Merged users in checks, exports and restores of a data directory. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { sandbox } from "../fixture.ts"
import { imported, restored } from "./copies.ts"
import { alone, busy, found, running } from "./fixture.ts"

const users = 8

const merge = (engine: Engine["Service"], userId: string, into: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "merge", into } })

/** All that readers see, under each id. */
const seen = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const states = []
  for (let n = 0; n < users; n++) {
    const user = yield* engine.readUser(sandbox, `u${n}`)
    const history = yield* Stream.runCollect(engine.readHistory(sandbox, `u${n}`))
    states.push({ user, history: history.flat().map(({ sequence }) => sequence) })
  }
  const counts = yield* engine.readCounts(sandbox)
  return { states, counts, board: yield* engine.readBoard(sandbox, { limit: 100, offset: 0 }) }
})

/**
 * A directory with an archive and merges before and after it, in the snapshot and after it. u1 has
 * u0; u3 and u2, which was merged into it, are erased; u5 has u4, with the last records.
 */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const first = yield* running({ directory, host })
  yield* found(first.engine)
  yield* busy(first.engine, users)
  yield* merge(first.engine, "u0", "u1")
  yield* first.archives.create({ reason: "request" })
  yield* busy(first.engine, users, 1)
  yield* merge(first.engine, "u2", "u3")
  yield* first.engine.drain
  yield* first.close("kill")
  const second = yield* running({ directory, host })
  yield* second.engine.askUser(sandbox, { userId: "u2", command: { kind: "erasure" } })
  yield* busy(second.engine, 2, 2)
  const before = second.archives.position().lastSequence
  yield* merge(second.engine, "u4", "u5")
  const reads = yield* seen(second.engine)
  yield* second.close("kill")
  return { before, directory, host, reads }
})

const reopened = Effect.fnUntraced(function* (
  directory: string,
  host: Effect.Success<ReturnType<typeof makeWorkerHost>>,
  work: (engine: Engine["Service"]) => Effect.Effect<unknown, unknown> = () => Effect.void,
) {
  const { close, engine } = yield* running({ directory, host })
  yield* Effect.orDie(work(engine))
  const reads = yield* seen(engine)
  yield* close()
  return reads
})

describe("A data directory with merged users", () => {
  it.live("has no faults, with and without the records after the snapshot", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      const check = Effect.scoped(verifyLive({ directory }, alone))
      expect(yield* check).toMatchObject({ faults: [] })
      expect(yield* reopened(directory, host)).toEqual(reads)
      expect(yield* check).toMatchObject({ faults: [] })
    }),
  )

  it.live("is read as it was after an export and an import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      const copy = yield* imported(directory)
      expect(yield* reopened(copy, host)).toEqual(reads)
    }),
  )

  it.live("restored to a record within a merge ends the merge", () =>
    Effect.gen(function* () {
      const { before, directory, host, reads } = yield* written
      for (let sequence = before; sequence <= before + 3; sequence++) {
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        const found = yield* reopened(copy, host, (engine) => merge(engine, "u4", "u5"))
        const xp = ({ states }: typeof reads) => states.map(({ user }) => [user?.id, user?.xp])
        expect([sequence, xp(found)]).toEqual([sequence, xp(reads)])
        expect(found.counts).toEqual(reads.counts)
      }
    }),
  )
})
