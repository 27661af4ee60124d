/** Amounts that end at midnight, in a running engine. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { expiredOf } from "../../../src/domain/user/User.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { type Fixture, recordsOf, sandbox, startInMemory } from "../fixture.ts"

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 3_600_000 }

const at = (time: string) => TestClock.setTime(Date.parse(time))

const coins = {
  kind: "createCurrency",
  currency: { id: "cur_coins", key: "coins", name: "Coins", expiry: { afterDays: 1 } },
} as const

const grant = ({ engine }: Fixture, userId: string, amount: number) =>
  engine.askUser(sandbox, {
    userId,
    command: { kind: "reward", reward: { currencies: { coins: amount } } },
  })

/** What expired, as the journal has it: `["2026-11-06T00:00:00.000Z", "ada", 5]`. */
const expired = (state: MemoryStorage.MemoryState) =>
  recordsOf(state)
    .flatMap(({ at, facts, subject }) =>
      facts.flatMap((fact) =>
        fact.kind === "currency.expired" && subject.actor === "user"
          ? [[new Date(at).toISOString(), subject.userId, fact.amount] as const]
          : [],
      ),
    )
    .toSorted(([, one], [, other]) => (one < other ? -1 : 1))

const passUntil = Effect.fnUntraced(function* (enough: () => boolean) {
  for (let step = 0; step < 1_000 && !enough(); step++) {
    yield* TestClock.adjust(limits.agendaPauseMs / 4)
    yield* yieldToEventLoop
  }
})

describe("Amounts that end", () => {
  it.effect("are recorded once, at midnight or at the next start, over any crash", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* first.engine.askProject(sandbox, coins)
      for (const userId of ["ada", "bob"]) yield* grant(first, userId, 5)
      yield* first.close()
      // A start from the snapshot, with a later record in the journal, and a crash.
      yield* at("2026-11-05T12:00:00Z")
      const second = yield* startInMemory({ state }, quiet)
      yield* grant(second, "bob", 3)
      yield* second.close("kill")
      const third = yield* startInMemory({ state }, quiet)
      yield* at("2026-11-06T00:00:00Z")
      yield* passUntil(() => expired(state).length === 2)
      expect(expired(state)).toEqual([
        ["2026-11-06T00:00:00.000Z", "ada", 5],
        ["2026-11-06T00:00:00.000Z", "bob", 5],
      ])
      yield* third.close("kill")
      yield* at("2026-11-08T09:00:00.300Z")
      const fourth = yield* startInMemory({ state }, quiet)
      yield* passUntil(() => expired(state).length === 3)
      yield* TestClock.adjust(60_000)
      const [, , late, ...others] = expired(state)
      expect([late?.[1], late?.[2], others]).toEqual(["bob", 3, []])
      const bob = yield* fourth.engine.readUser(sandbox, "bob")
      expect([bob?.balances.get("coins")?.amount, expiredOf(bob!, "coins")]).toEqual([0, 8])
      yield* fourth.close()
    }),
  )

  it.effect("end at another midnight if the project moves", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const fixture = yield* startInMemory({ state }, quiet)
      yield* fixture.engine.askProject(sandbox, coins)
      yield* grant(fixture, "ada", 5)
      yield* TestClock.adjust(1_000)
      const change = { timezone: "Asia/Tokyo" }
      yield* fixture.engine.askProject(sandbox, { kind: "updateSettings", change })
      yield* at("2026-11-05T15:00:00Z")
      yield* passUntil(() => expired(state).length > 0)
      expect(expired(state)).toEqual([["2026-11-05T15:00:00.000Z", "ada", 5]])
      yield* fixture.close()
    }),
  )
})
