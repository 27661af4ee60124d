import { cp } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { foldJournal } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { alone, busy, found, running, seen } from "../archive/fixture.ts"
import { event, once, sandbox } from "../fixture.ts"

const users = 12

describe("A journal that is folded slice by slice", () => {
  it.live("leads to the state that a start makes of the whole journal", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const first = yield* running({ directory, host, engine: { snapshotIntervalMs: 3_600_000 } })
      yield* found(first.engine)
      for (let round = 1; round <= 4; round++) yield* busy(first.engine, users, round)
      yield* first.engine.askUser(sandbox, event("u1", "TAP"), once("kept"))
      yield* first.engine.askUser(sandbox, { userId: "u2", command: { kind: "erasure" } })
      yield* busy(first.engine, users, 5)
      yield* first.engine.askUser(sandbox, { userId: "u3", command: { kind: "erasure" } })
      const until = first.archives.position().lastSequence
      // No snapshot was taken.
      yield* first.close("kill")
      const folded = yield* temporaryFolder
      yield* Effect.promise(() => cp(directory, folded, { recursive: true }))
      const steps: Array<number> = []
      yield* Effect.scoped(
        foldJournal({
          folder: folded,
          until,
          recordsMax: 20,
          progress: ({ activity, done, total }) => {
            expect([activity, total]).toEqual(["Replaying", until])
            steps.push(done)
          },
        }),
      )
      expect(steps.length).toBeGreaterThan(3)
      const check = yield* Effect.scoped(verifyLive({ directory: folded }, alone))
      expect(check.faults).toEqual([])
      expect(check.sequence).toBe(until)
      expect(check.watermark).toBe(steps.at(-1))
      expect(until - check.watermark).toBeLessThan(40)
      const openedAt = Effect.fnUntraced(function* (at: string) {
        const { close, engine } = yield* running({ directory: at, host })
        const answers = []
        for (const id of ["1-1", "3-13", "5-25"]) {
          const { reply } = yield* engine.askUser(sandbox, event("u1", "TAP", { id }))
          answers.push(reply.kind === "event" && reply.duplicate)
        }
        const again = yield* engine.askUser(sandbox, event("u1", "TAP"), once("kept"))
        const found = {
          ...(yield* seen(engine, users)),
          counts: yield* engine.readCounts(sandbox),
          project: yield* engine.readProject(sandbox),
          directory: yield* engine.readDirectory,
          replayed: again.replayed,
          answers,
        }
        yield* close()
        return found
      })
      const expected = yield* openedAt(directory)
      expect([expected.replayed, ...expected.answers]).toEqual([true, true, true, true])
      expect(yield* openedAt(folded)).toEqual(expected)
    }),
  )

  it.live("is left as it is if a start can hold all of it", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      const first = yield* running({ directory, host, engine: { snapshotIntervalMs: 3_600_000 } })
      yield* found(first.engine)
      const until = first.archives.position().lastSequence
      yield* first.close("kill")
      const progress = () => expect.unreachable()
      yield* Effect.scoped(foldJournal({ folder: directory, until, progress }))
      const check = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect([check.watermark, check.sequence]).toEqual([0, until])
    }),
  )
})
