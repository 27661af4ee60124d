/** Webhooks that do not deliver, as an operator sees them, by a clock that the test sets. */
import { expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { reward, sandbox } from "../../engine/fixture.ts"
import { RunningClock } from "../../http/RunningClock.ts"
import { endedLog, logOf, receiving, startInMemory, until, webhook } from "../fixture.ts"
import { answer } from "../Receiver.ts"

const hour = 3_600_000

it.live("metrics have the age of the oldest undelivered message, and the states of webhooks", () =>
  Effect.gen(function* () {
    const clock = new RunningClock("2026-11-03T12:00:00Z")
    const metrics = new Metrics()
    const receiver = yield* receiving
    receiver.answer = answer(500)
    const started = yield* Effect.provideService(
      startInMemory(undefined, { metrics }),
      Clock.Clock,
      clock,
    )
    const { engine } = started
    const pass = (ms: number) => {
      clock.set(new Date(clock.currentTimeMillisUnsafe() + ms).toISOString())
    }
    const age = () => metrics.value("laurel_webhook_oldest_pending_seconds")
    const states = () =>
      (["delivering", "failing", "disabled", "given_up"] as const).map((state) =>
        metrics.value("laurel_webhooks", { state }),
      )
    /** A second passes with each turn: who is to wake up by the clock may not sleep yet. */
    const inTime = <A>(look: () => A, holds: (found: A) => boolean) =>
      until(
        Effect.sync(() => {
          pass(1_000)
          return look()
        }),
        holds,
      )
    expect([age(), ...states()]).toEqual([0, 0, 0, 0, 0])
    const failing = webhook(receiver.url(), ["reward.granted"])
    const other = webhook(receiver.url(), ["quest.completed"])
    for (const made of [failing, other]) yield* engine.askProject(sandbox, made)
    expect(states()).toEqual([2, 0, 0, 0])
    yield* engine.askUser(sandbox, reward("ada", 1))
    const { id } = failing.webhook
    yield* until(logOf(started, id), ([newest]) => newest?.attempts === 1)
    expect(states()).toEqual([1, 1, 0, 0])
    expect(yield* inTime(age, (seconds) => seconds > 0)).toBeLessThan(hour / 1_000)
    // It grows between the looks, too.
    pass(hour)
    expect(age()).toBeGreaterThan(hour / 1_000)

    // By hand: nothing is late any more, and nobody need be called.
    const disable = {
      kind: "updateWebhook",
      webhookId: id,
      change: { status: "disabled" },
    } as const
    yield* engine.askProject(sandbox, disable)
    yield* inTime(age, (seconds) => seconds === 0)
    expect(states()).toEqual([1, 0, 1, 0])
    const enable = { kind: "updateWebhook", webhookId: id, change: { status: "enabled" } } as const
    yield* engine.askProject(sandbox, enable)
    receiver.answer = answer(410)
    yield* inTime(states, ([, , , givenUp]) => givenUp === 1)
    expect(states()).toEqual([1, 0, 0, 1])

    receiver.answer = answer(204)
    yield* engine.askProject(sandbox, enable)
    yield* engine.askUser(sandbox, reward("grace", 1))
    yield* endedLog(started, id, 2)
    expect(states()).toEqual([2, 0, 0, 0])
    yield* inTime(age, (seconds) => seconds === 0)
    yield* started.close()
  }),
)
