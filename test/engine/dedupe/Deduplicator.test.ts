import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { UserCommand } from "../../../src/domain/record/Record.ts"
import { limits } from "../../../src/Limits.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, rule, sandbox, start } from "../fixture.ts"

const events = 3 * limits.pendingNamesScannedMax

/** Events of one user, with consecutive ids from `first` on. */
const from = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => event("u1", "TAP", { id: `id-${first + n}` }))

describe("A user with many records that are not in the snapshot", () => {
  it.effect("gets a duplicate for every repeat: after more records, a snapshot and a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(sandbox, rule("TAP", 1))
      const answers = yield* first.engine.askUsers(sandbox, from(0, events))
      const again = answers.map((answer) => ({ ...answer, duplicate: true }))
      expect(yield* first.engine.askUsers(sandbox, from(0, events))).toEqual(again)
      // New ids must be found also after look-ups of repeats.
      const more = yield* first.engine.askUsers(sandbox, from(events, 2))
      const moreAgain = more.map((answer) => ({ ...answer, duplicate: true }))
      const all = [...again, ...moreAgain]
      expect(yield* first.engine.askUsers(sandbox, from(0, events + 2))).toEqual(all)
      yield* first.close("kill")

      const second = yield* start(MemoryStorage.make({ state }))
      expect(yield* second.engine.askUsers(sandbox, from(0, events + 2))).toEqual(all)
      yield* second.close()

      const third = yield* start(MemoryStorage.make({ state }))
      expect(yield* third.engine.askUsers(sandbox, from(0, events + 2))).toEqual(all)
      expect((yield* third.engine.readUser(sandbox, "u1"))?.xp).toBe(events + 2)
      yield* third.close()
    }),
  )

  it.effect("gets no duplicate for ids from before an erasure", () =>
    Effect.gen(function* () {
      const { close, engine } = yield* start(MemoryStorage.make())
      yield* engine.askProject(sandbox, rule("TAP", 1))
      yield* engine.askUsers(sandbox, from(0, events))
      yield* engine.askUsers(sandbox, from(0, events))
      // In one batch of the journal: the erasure is not durable yet, but the user's next commands
      // see it.
      const [, last] = yield* engine.askUsers<UserCommand>(sandbox, [
        { userId: "u1", command: { kind: "erasure" } },
        ...from(0, 1),
      ])
      expect(last).toMatchObject({ duplicate: false, xp: { earned: 1, total: 1 } })
      const repeats = yield* engine.askUsers(sandbox, from(0, 2))
      expect(repeats).toMatchObject([{ duplicate: true }, { duplicate: false }])
      yield* close()
    }),
  )
})
