import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { reward, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { endedLog, logOf, receiving, startInMemory, until, webhook } from "./fixture.ts"
import { answer } from "./Receiver.ts"

it.live("a message keeps the trace of its request across a crash", () =>
  Effect.gen(function* () {
    const traceId = "0af7651916cd43dd8448eb211c80319c"
    const parentSpanId = "b7ad6b7169203331"
    const receiver = yield* receiving
    receiver.answer = answer(500)
    const state = new MemoryStorage.MemoryState()
    const first = yield* startInMemory(state, { schedule: [0, 10, 10, 10, 10] })
    const made = webhook(receiver.url(), ["reward.granted"])
    yield* first.engine.askProject(sandbox, made)
    const annotations = { requestId: "req_1", traceId, parentSpanId }
    yield* Effect.callback<void>((resume) =>
      first.engine.askUserWithCallback(sandbox, reward("ada", 1), annotations, () =>
        resume(Effect.void),
      ),
    )
    yield* until(logOf(first, made.webhook.id), ([newest]) => (newest?.attempts ?? 0) >= 1)
    yield* first.close("kill")
    receiver.answer = answer(204)
    const second = yield* startInMemory(state, { schedule: [0, 10, 10, 10, 10] })
    yield* endedLog(second, made.webhook.id, 1)
    const sent = receiver.received.map(({ headers }) => headers.traceparent)
    expect(sent.length).toBeGreaterThanOrEqual(2)
    expect(new Set(sent)).toEqual(new Set([`00-${traceId}-${parentSpanId}-01`]))
    yield* second.close()
  }),
)
