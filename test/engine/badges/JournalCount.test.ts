import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ActionCount, type CountedBadge } from "../../../src/domain/record/ActionCount.ts"
import { isWorthwhile, JournalCount } from "../../../src/engine/badges/JournalCount.ts"
import { limits } from "../../../src/Limits.ts"
import { badgeWith } from "../../domain/definitions.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, recordsOf, sandbox, startInMemory } from "../fixture.ts"

const badge: CountedBadge = {
  ...badgeWith({}),
  criteria: { kind: "action_count", action: "TAP", where: [], target: 3 },
}

describe("A count over the journal", () => {
  for (const seed of seeds(3)) {
    it.effect(`is that of each user's history; LAUREL_TEST_SEED=${seed}`, () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const state = new MemoryStorage.MemoryState()
        const { engine } = yield* startInMemory({ state })
        const users = ["a", "b", "c", "d", "nobody"]
        for (let step = 0; step < 200; step++) {
          const userId = random.pick(users.slice(0, -1))
          // The first step makes a record, for an undo to name.
          const kind = step === 0 ? 1 : random.next()
          if (kind < 0.05) {
            const erase = { userId, command: { kind: "erasure" } as const }
            yield* Effect.result(engine.askUser(sandbox, erase))
          } else if (kind < 0.08) {
            const of = random.pick(recordsOf(state))
            const command = { kind: "revocation", of: "event", sequence: of.sequence, at: of.at }
            yield* Effect.result(engine.askUser(sandbox, { userId, command } as never))
          } else if (kind < 0.2) yield* engine.askUser(production, event(userId, "TAP"))
          else yield* engine.askUser(sandbox, event(userId, random.pick(["TAP", "OTHER"])))
        }
        const count = yield* JournalCount.read(MemoryStorage.make({ state }), badge, sandbox, 1)
        let known = 0
        for (const userId of users) {
          const own = recordsOf(state).filter(
            ({ subject }) =>
              subject.actor === "user" &&
              subject.userId === userId &&
              subject.environment === sandbox,
          )
          const erased = own.findLastIndex(({ cause }) => cause.kind === "erasure")
          const expected = new ActionCount(badge)
          for (const record of own.slice(erased + 1).reverse()) expected.add(record)
          const found = count.of(userId)
          // A user with a revoked event has no count: the history is read instead.
          const revoked = own
            .slice(erased + 1)
            .some(({ cause, facts }) => cause.kind === "revocation" && facts.length > 0)
          if (revoked) expect([userId, found]).toEqual([userId, undefined])
          else {
            known++
            expect([userId, found]).toEqual([
              userId,
              { current: expected.current, upTo: state.lastSequence },
            ])
          }
        }
        expect(known).toBeGreaterThan(0)
      }),
    )
  }

  it("is made where the environment has a large enough share of the journal", () => {
    const events = 100
    const seen = {
      actions: new Map([["TAP", { count: events - 40, lastAt: 0 }]]),
      others: { count: 40, lastAt: 0 },
    }
    const most = events * limits.backfillHistoryCost
    expect(isWorthwhile(seen, most - 1)).toBe(true)
    expect(isWorthwhile(seen, most)).toBe(false)
  })
})
