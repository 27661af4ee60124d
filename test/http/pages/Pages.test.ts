import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { type PageRequest, PageRequests } from "../../../src/http/pages/Pages.ts"
import type { Exchange } from "../../../src/http/request/Exchange.ts"
import { limits } from "../../../src/Limits.ts"

const reply = (status: number) => ({ status, contentType: "text/plain", body: "", headers: [] })

/** Sends requests for pages that `answer` makes; returns the statuses of the replies. */
const start = (answer: (request: PageRequest) => Effect.Effect<void>) => {
  const statuses: Array<number> = []
  const pages = new PageRequests(
    {
      prefix: "/dashboard",
      refusalOf: () => undefined,
      answer: (request) => Effect.as(answer(request), reply(200)),
      refused: () => reply(503),
    },
    {
      isDraining: () => false,
      addressOf: () => "127.0.0.1",
      run: (effect) => Effect.runFork(effect),
      streams: undefined as never,
      room: { hold: () => undefined, release: () => {} },
      failed: () => statuses.push(500),
    },
  )
  const ask = (path = "/dashboard") => {
    const request = { method: "GET", headers: {}, socket: {} }
    const status = (code: number) => statuses.push(code)
    pages.handle({
      request,
      path,
      queryText: "",
      requestId: "",
      reply: status,
    } as unknown as Exchange)
  }
  return { ask, statuses }
}

describe("Pages", () => {
  it.live(`are made at most ${limits.pagesConcurrentMax} at once; one more is refused`, () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { ask, statuses } = start(() => Deferred.await(gate))
      for (let count = 0; count < limits.pagesConcurrentMax; count++) ask()
      expect(statuses).toEqual([])
      ask()
      expect(statuses).toEqual([503])
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.yieldNow
      expect(statuses).toEqual([503, ...Array(limits.pagesConcurrentMax).fill(200)])
      ask()
      yield* Effect.yieldNow
      expect(statuses.at(-1)).toBe(200)
    }),
  )

  it.live("leave their places to others while they wait aside, and take them back", () =>
    Effect.gen(function* () {
      const aside = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const { ask, statuses } = start((request) =>
        request.path === "/dashboard/sign-in"
          ? Effect.andThen(request.aside(Deferred.await(aside)), Deferred.await(gate))
          : Effect.void,
      )
      const waiting = 10 * limits.pagesConcurrentMax
      for (let count = 0; count < waiting; count++) ask("/dashboard/sign-in")
      ask()
      expect(statuses).toEqual([200])
      yield* Deferred.succeed(aside, undefined)
      yield* Effect.yieldNow
      // After their wait, they hold places again.
      ask()
      expect(statuses).toEqual([200, 503])
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.yieldNow
      expect(statuses.filter((status) => status === 200)).toHaveLength(1 + waiting)
      ask()
      expect(statuses.at(-1)).toBe(200)
    }),
  )
})
