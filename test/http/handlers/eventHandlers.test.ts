import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Caller } from "../../../src/accounts/Accounts.ts"
import type { EventReply } from "../../../src/domain/message/UserReply.ts"
import { type LaurelError, laurelError } from "../../../src/domain/values/Errors.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import type { JsonText } from "../../../src/http/body/Body.ts"
import { DecodingTurns } from "../../../src/http/body/EventDecoder.ts"
import type { OperationReply } from "../../../src/http/contract/Operation.ts"
import { eventHandlers } from "../../../src/http/handlers/eventHandlers.ts"
import { EventMetrics } from "../../../src/http/request/RequestMetrics.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"

const applied: EventReply = {
  kind: "event",
  eventId: "evt_0mi8",
  userId: "u1",
  action: "A",
  duplicate: false,
  differs: [],
  revoked: false,
  occurredAt: 0,
  receivedAt: 0,
  xp: { earned: 0, total: 0 },
  points: { earned: 0, total: 0 },
  level: { before: 1, after: 1 },
  badges: [],
  badgesRevoked: [],
  boostsRevoked: [],
  quests: [],
  streaks: [],
  metrics: [],
  matched: true,
  boosts: [],
  withheld: [],
}

/** The answer to a batch for which the engine returns these outcomes. */
const answerTo = (answers: ReadonlyArray<EventReply | LaurelError>) => {
  const engine = { askUsers: () => Effect.succeed(answers) } as unknown as Engine["Service"]
  const metrics = new EventMetrics(new Metrics())
  const { handle } = eventHandlers(engine, metrics, new DecodingTurns()).trackBatch
  const payload = { root: "/events", items: answers.map(() => ({ userId: "u1", action: "A" })) }
  const caller = { environment: "prj_1:sandbox" } as Caller
  return handle({
    caller,
    payload,
    params: undefined,
    query: undefined,
    headers: {},
    idempotency: undefined,
  } as never)
}

describe("A batch that was partly applied", () => {
  it.effect("is answered as a whole when the outcome of an event is unknown", () =>
    Effect.gen(function* () {
      const unknown = laurelError("storage_unavailable", "The outcome is unknown.", {
        retryAfterSeconds: 5,
      })
      expect(yield* Effect.flip(answerTo([applied, unknown, applied]))).toEqual(unknown)
    }),
  )

  it.effect("is answered event by event when an actor failed", () =>
    Effect.gen(function* () {
      const failed = laurelError("internal_error", "Nothing was changed.")
      const reply = (yield* answerTo([applied, failed])) as OperationReply<unknown>
      expect((reply.body as JsonText<object>).parse()).toMatchObject({ accepted: 1, rejected: 1 })
    }),
  )
})
