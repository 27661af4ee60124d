import type { ServerResponse } from "node:http"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Archives } from "../../../src/engine/archive/Archives.ts"
import { createArchive } from "../../../src/http/admin/AdminServer.ts"
import type { Exchange } from "../../../src/http/request/Exchange.ts"
import { limits } from "../../../src/Limits.ts"

it.effect("the reply for an archive that waits for others sends a line every adminPulseMs", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const response = {
      destroyed: false,
      write: (line: string) => lines.push(line),
      end: () => lines.push("end"),
    } as unknown as ServerResponse
    const turn = yield* Deferred.make<void>()
    const archives = {
      create: () => Effect.as(Deferred.await(turn), "made"),
    } as unknown as Archives["Service"]
    const begin = () => true
    const exchange = { requestId: "req_1", response, begin } as unknown as Exchange
    const reply = yield* Effect.forkChild(createArchive(archives, exchange))
    yield* TestClock.adjust(limits.adminPulseMs - 1)
    expect(lines).toEqual([])
    yield* TestClock.adjust(1)
    expect(lines).toEqual(['{"waiting":true}\n'])
    yield* TestClock.adjust(2 * limits.adminPulseMs)
    expect(lines).toHaveLength(3)
    yield* Deferred.succeed(turn, undefined)
    yield* Fiber.join(reply)
    expect(lines.slice(3)).toEqual(['{"archive":"made"}\n', "end"])
    yield* TestClock.adjust(2 * limits.adminPulseMs)
    expect(lines).toHaveLength(5)
  }),
)
