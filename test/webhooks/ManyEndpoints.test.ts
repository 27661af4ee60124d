/**
 * As many endpoints as an environment may have, of which every tenth never answers. `npm run bench
 * -- endpoints` has ten times as many.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import { event, production, reward, sandbox } from "../engine/fixture.ts"
import { startInMemory, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const rounds = 3
const hangs = (url: string) => url.endsWith("7/")

describe("Endpoints that hang", () => {
  it.live("delay no message to other endpoints, use little memory, and delay no caller", () =>
    Effect.gen(function* () {
      const urls = Array.from(
        { length: limits.webhooksMax },
        (_, index) => `http://${index}.test/7/`,
      ).map((url, index) => (index % 10 === 7 ? url : url.replace("/7/", "/")))
      const hanging = urls.filter(hangs)
      const receivers = new VirtualReceivers((url) => (hangs(url) ? undefined : 204))
      // Attempts in one turn of the event loop.
      let turn = 0
      let most = 0
      const send = receivers.senders()
      const attemptsAtOnceMax = 2.5 * hanging.length
      const started = yield* startInMemory(undefined, {
        attemptsAtOnceMax,
        shutdownGraceMs: 0,
        makeSender: (url) => {
          const sender = send(url)
          return {
            ...sender,
            send: (...message) => {
              if (turn++ === 0)
                setImmediate(() => {
                  turn = 0
                })
              most = Math.max(most, turn)
              return sender.send(...message)
            },
          }
        },
      })
      const { engine } = started
      yield* Effect.forEach(
        urls,
        (url) => engine.askProject(sandbox, webhook(url, ["reward.granted"])),
        { concurrency: 100, discard: true },
      )
      for (let round = 1; round <= rounds; round++) {
        yield* engine.askUser(sandbox, reward("ada", 1))
        // Those of another environment are answered meanwhile.
        yield* engine.askUser(production, event("bob", "TAP"))
        yield* until(
          Effect.sync(() => urls.filter((url) => !hangs(url) && receivers.of(url).length < round)),
          ({ length }) => length === 0,
        )
      }
      expect(most).toBeLessThan(urls.length / 2)
      // Each has what is under way, and no more than its share of all attempts.
      const under = hanging.map((url) => receivers.of(url).length)
      expect(Math.max(...under)).toBe(1)
      yield* until(
        Effect.sync(() => receivers.inFlight),
        (inFlight) => inFlight === hanging.length,
      )
      yield* started.close()
    }),
  )
})
