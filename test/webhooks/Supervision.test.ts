/** A defect of Laurel's own in the fiber of one endpoint. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import type { MessageSender } from "../../src/webhooks/send/Sender.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import { endedLog, logOf, startInMemory, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const broken = "http://broken.test/"
const whole = "http://whole.test/"

describe("An endpoint whose fiber dies", () => {
  it.live(
    "restarts after a pause with all its deliveries; other endpoints are not affected",
    () => {
      const clock = new RunningClock("2026-11-03T12:00:00Z")
      return Effect.gen(function* () {
        const receivers = new VirtualReceivers()
        const send = receivers.senders()
        let defects = 0
        let healed = false
        const makeSender = (url: string): MessageSender => {
          const sender = send(url)
          return {
            ...sender,
            send: (...message) => {
              if (url !== broken || healed) return sender.send(...message)
              defects++
              throw new Error("a defect of the test")
            },
          }
        }
        const started = yield* startInMemory(undefined, { makeSender })
        const { engine, logged } = started
        const [one, other] = [
          webhook(broken, ["reward.granted"]),
          webhook(whole, ["reward.granted"]),
        ]
        for (const made of [one, other]) yield* engine.askProject(sandbox, made)
        for (const user of ["ada", "bob", "carl"]) yield* engine.askUser(sandbox, reward(user, 1))
        yield* endedLog(started, other.webhook.id, 3)
        const waiting = yield* logOf(started, one.webhook.id, "pending")
        expect(waiting.map(({ attempts }) => attempts)).toEqual([0, 0, 0])

        yield* until(logOf(started, one.webhook.id, "succeeded"), ({ length }) => {
          clock.set(
            new Date(clock.currentTimeMillisUnsafe() + limits.webhookRestartMs).toISOString(),
          )
          healed = defects >= 2
          return length === 3
        })
        const sequences = receivers.of(broken).map(({ body }) => JSON.parse(body).data.sequence)
        expect(sequences).toHaveLength(3)
        expect(logged.filter((line) => line.includes("a defect of the test"))).toHaveLength(defects)
        expect(started.broken).toEqual([])
        yield* started.close()
      }).pipe(Effect.provideService(Clock.Clock, clock))
    },
  )
})
