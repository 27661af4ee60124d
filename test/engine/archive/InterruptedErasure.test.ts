/** The check of a data directory whose journal was erased in part, after its snapshot. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { badgeWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, reward, sandbox } from "../fixture.ts"
import { alone, eraseRecords, found, running } from "./fixture.ts"

const isOfGone = ({ subject }: JournalRecord) =>
  subject.actor === "user" && subject.userId === "gone"

/** A directory in which the first `count` records of an erased user after the snapshot are erased. `returns`: the id is used again. */
const erased = Effect.fnUntraced(function* (count: number, returns: boolean) {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  yield* found(engine)
  // The user earns it after the snapshot, and it counts its holders.
  const badge = badgeWith({ criteria: { kind: "xp", target: 12 } })
  yield* engine.askProject(sandbox, { kind: "createBadge", badge })
  yield* engine.askUser(sandbox, reward("ada", 20))
  yield* engine.askUser(sandbox, event("gone", "TAP"))
  yield* archives.create({ reason: "request" })
  const from = archives.position().lastSequence
  for (let n = 0; n < 4; n++) yield* engine.askUser(sandbox, event("gone", "TAP", { id: `e${n}` }))
  yield* engine.askUser(sandbox, reward("ada", 1))
  yield* engine.askUser(sandbox, { userId: "gone", command: { kind: "erasure" } })
  if (returns) yield* engine.askUser(sandbox, reward("gone", 15))
  const counts = yield* engine.readCounts(sandbox)
  yield* close("kill")
  let left = count
  yield* eraseRecords(
    directory,
    (record) => isOfGone(record) && record.sequence > from && left-- > 0,
  )
  return { counts, directory, host }
})

describe("A data directory whose erasure was interrupted after its snapshot", () => {
  for (const returns of [false, true]) {
    const words = returns ? "and whose user's id is used again" : "and whose user is gone"
    it.live(`has no faults, ${words}`, () =>
      Effect.gen(function* () {
        // The last of them is the erasure itself.
        for (const count of [1, 2, 4, 5]) {
          const { counts, directory, host } = yield* erased(count, returns)
          const check = Effect.scoped(verifyLive({ directory }, alone))
          expect([count, yield* check]).toMatchObject([count, { faults: [] }])
          const { close, engine } = yield* running({ directory, host })
          const { badges, users } = yield* engine.readCounts(sandbox)
          expect([count, users, [...badges]]).toEqual([count, counts.users, [...counts.badges]])
          yield* close()
          expect([count, yield* check]).toMatchObject([count, { faults: [] }])
        }
      }),
    )
  }
})
