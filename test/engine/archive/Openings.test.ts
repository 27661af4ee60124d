/** Users with opening balances after crashes, and in checks, exports and imports. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Opening } from "../../../src/domain/record/Opening.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { currencyWith, streakWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, reward, rule, sandbox } from "../fixture.ts"
import { imported } from "./copies.ts"
import { alone, found, running } from "./fixture.ts"

const opening: Opening = {
  kind: "opening",
  balances: { xp: 150, points: 40, coins: 30 },
  earned: { points: 90 },
  expiring: { coins: [{ amount: 10, lastDay: "2999-01-01" }] },
  streaks: { daily: { current: 3, best: 9, lastDay: "2020-01-01" } },
}

const open = (engine: Engine["Service"], userId: string, command = opening) =>
  engine.askUser(sandbox, { userId, command })

const seen = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const users = yield* Effect.all(["ada", "bob"].map((id) => engine.readUser(sandbox, id)))
  return { users, board: yield* engine.readBoard(sandbox, { limit: 9, offset: 0 }) }
})

/** A directory with an opening in the snapshot, which was spent from, and one after it. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const first = yield* running({ directory, host })
  yield* found(first.engine)
  yield* first.engine.askProject(sandbox, rule("TAP", 5))
  const coins = currencyWith({ key: "coins", expiry: { afterDays: 365 } })
  yield* first.engine.askProject(sandbox, { kind: "createCurrency", currency: coins })
  const daily = streakWith({ key: "daily" })
  yield* first.engine.askProject(sandbox, { kind: "createStreak", streak: daily })
  yield* open(first.engine, "ada")
  const spend = { kind: "spend", currencies: { coins: 5 } } as const
  yield* first.engine.askUser(sandbox, { userId: "ada", command: spend })
  yield* first.archives.create({ reason: "request" })
  yield* open(first.engine, "bob", { kind: "opening", balances: { xp: 150 } })
  yield* first.engine.askUser(sandbox, reward("bob", 7))
  yield* first.engine.askUser(sandbox, event("bob", "TAP"))
  const reads = yield* seen(first.engine)
  yield* first.close("kill")
  return { directory, host, reads }
})

describe("A data directory with opening balances", () => {
  it.live("is the same after a crash, and answers a repeat from before it", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      const check = Effect.scoped(verifyLive({ directory }, alone))
      expect(yield* check).toMatchObject({ faults: [] })
      const { close, committed, engine } = yield* running({ directory, host })
      expect(yield* seen(engine)).toEqual(reads)
      const { reply } = yield* open(engine, "ada")
      expect(reply.opened).toMatchObject({ balances: { xp: 150, points: 40, coins: 30 } })
      const refused = yield* Effect.flip(open(engine, "bob"))
      expect(refused.code).toBe("opening_closed")
      expect(committed.filter(({ cause }) => cause.kind === "opening")).toEqual([])
      const { board } = yield* seen(engine)
      expect(board.entries.map(({ score, userId }) => [userId, score])).toEqual([
        ["bob", 167],
        ["ada", 150],
      ])
      yield* close()
      expect(yield* check).toMatchObject({ faults: [] })
    }),
  )

  it.live("is the same after an export and an import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      const copy = yield* imported(directory)
      const { close, engine } = yield* running({ directory: copy, host })
      expect(yield* seen(engine)).toEqual(reads)
      yield* open(engine, "ada")
      expect(yield* seen(engine)).toEqual(reads)
      yield* close()
    }),
  )
})
