/** An operator's commands to a webhook: redeliver a message, recover what was missed, delete it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { DeliveryStore } from "../../../src/webhooks/store/DeliveryStore.ts"
import { recordsOf, reward, sandbox } from "../../engine/fixture.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { endedLog, logOf, type Started, startOn, until, webhook } from "../fixture.ts"
import { VirtualReceivers } from "../VirtualReceivers.ts"

const url = "http://receiver.test/"

/** A webhook in memory; `removals` counts how often each key of a table was deleted. */
const starting = Effect.gen(function* () {
  const state = new MemoryStorage.MemoryState()
  const memory = MemoryStorage.make({ state })
  const removals = new Map<string, number>()
  const receivers = new VirtualReceivers()
  const started = yield* startOn(
    {
      ...memory,
      writeEntries: (entries) => {
        for (const { key, table, value } of entries) {
          const name = `${table} ${Buffer.from(key).toString("hex")}`
          if (value === null) removals.set(name, (removals.get(name) ?? 0) + 1)
        }
        return memory.writeEntries(entries)
      },
    },
    { makeSender: receivers.senders() },
  )
  const made = webhook(url, ["reward.granted"])
  yield* started.engine.askProject(sandbox, made)
  const store = new DeliveryStore(memory)
  return { ...started, receivers, removals, state, store, webhookId: made.webhook.id }
})

const grant = ({ engine }: Pick<Started, "engine">, count: number) =>
  engine.askUsers(
    sandbox,
    Array.from({ length: count }, (_, index) => reward(`u${index}`, 1)),
  )

describe("A message that is redelivered", () => {
  it.live("arrives once more, with the same id, and counts as one delivery", () =>
    Effect.gen(function* () {
      const started = yield* starting
      const { engine, receivers, webhookId } = started
      yield* grant(started, 1)
      const [delivery] = yield* endedLog(started, webhookId, 1)
      const { at, index, sequence } = delivery!
      yield* engine.askProject(sandbox, { kind: "redeliver", webhookId, sequence, at, index })
      yield* until(logOf(started, webhookId), ([newest]) => newest!.attempts === 2)
      const log = yield* endedLog(started, webhookId, 1)
      expect(log.map(({ status }) => status)).toEqual(["succeeded"])
      const ids = receivers.of(url).map(({ id }) => id)
      expect(ids).toEqual([delivery!.messageId, delivery!.messageId])
      yield* started.close()
    }),
  )
})

describe("A recovery", () => {
  it.live("of more records than a batch sends each message once, and ends", () =>
    Effect.gen(function* () {
      const started = yield* starting
      const { engine, receivers, state, store, webhookId } = started
      const turn = (status: "enabled" | "disabled") =>
        engine.askProject(sandbox, { kind: "updateWebhook", webhookId, change: { status } })
      yield* turn("disabled")
      const count = 2 * limits.webhookJobBatch + 1
      for (let missed = 0; missed < count; missed++) yield* grant(started, 1)
      yield* turn("enabled")
      const since = recordsOf(state)[0]!.at
      yield* engine.askProject(sandbox, { kind: "recoverWebhook", webhookId, since })
      yield* until(
        Effect.orDie(store.jobs),
        ({ length }) => length === 0 && receivers.of(url).length >= count,
      )
      const ids = receivers.of(url).map(({ id }) => id)
      expect([ids.length, new Set(ids).size]).toEqual([count, count])
      yield* started.close()
    }),
  )
})

describe("A webhook that is deleted", () => {
  it.live("causes one removal of each of its rows", () =>
    Effect.gen(function* () {
      const started = yield* starting
      const { engine, receivers, removals, store, webhookId } = started
      receivers.answer = () => 500
      const count = limits.webhookJobBatch + 1
      yield* grant(started, count)
      const [{ endpoint } = { endpoint: 0 }] = yield* until(
        logOf(started, webhookId),
        ({ length }) => length === count,
      )
      removals.clear()
      yield* engine.askProject(sandbox, { kind: "deleteWebhook", webhookId })
      yield* until(
        Effect.orDie(
          Effect.all([store.jobs, store.keysOf("deliveries", endpoint, 1), store.endpoints]),
        ),
        (left) => left.every(({ length }) => length === 0),
      )
      const rows = [...removals].filter(([name]) => name.startsWith("deliveries"))
      expect(rows).toHaveLength(count)
      expect([...removals].filter(([, times]) => times > 1)).toEqual([])
      yield* started.close()
    }),
  )
})
