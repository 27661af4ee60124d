/** A store that takes no outcomes: a full disk, a PostgreSQL that is away, another owner. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import {
  Broken,
  type Entry,
  Fenced,
  type StorageError,
  Unavailable,
  webhookTables,
} from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { startInMemory, startOn, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const url = "http://receiver.test/"

/** A storage whose webhook tables fail when a test says so. */
const failing = (state: MemoryStorage.MemoryState) => {
  const storage = MemoryStorage.make({ state })
  const held = { failure: undefined as StorageError | undefined }
  const writeEntries = (entries: Iterable<Entry>) =>
    Effect.suspend(() => {
      const all = [...entries]
      const ofWebhooks = all.some(({ table }) => webhookTables.some((one) => one === table))
      return held.failure !== undefined && ofWebhooks
        ? Effect.fail(held.failure)
        : storage.writeEntries(all)
    })
  return { held, storage: { ...storage, writeEntries } }
}

it.live(
  "no attempt begins while too many outcomes are unwritten; later all messages arrive once",
  () =>
    Effect.gen(function* () {
      const count = limits.webhookUnwrittenMax + 500
      const state = new MemoryStorage.MemoryState()
      const made = webhook(url, ["reward.granted"])
      const silent = new VirtualReceivers(() => undefined)
      const first = yield* startInMemory(state, {
        makeSender: silent.senders(),
        shutdownGraceMs: 0,
      })
      yield* first.engine.askProject(sandbox, made)
      for (let sent = 0; sent < count; sent += 500) {
        const rewards = Array.from({ length: 500 }, (_, index) => reward(`u${sent + index}`, 1))
        yield* first.engine.askUsers(sandbox, rewards)
      }
      const pending = Effect.map(
        first.deliveries.stats(sandbox, made.webhook.id),
        (stats) => stats?.stored.pending,
      )
      yield* until(pending, (found) => found === count)
      yield* first.close()

      const { held, storage } = failing(state)
      const receivers = new VirtualReceivers()
      const second = yield* startOn(storage, { makeSender: receivers.senders() })
      held.failure = new Unavailable({
        operation: "write",
        reason: "database_away",
        detail: "PostgreSQL is away",
      })
      const { webhookConcurrencyMax, webhookAheadMax, webhookUnwrittenMax } = limits
      yield* until(
        Effect.sync(() => receivers.of(url).length),
        (sent) => sent >= webhookUnwrittenMax,
      )
      for (let turn = 0; turn < 500; turn++) yield* yieldToEventLoop
      const most = webhookUnwrittenMax + webhookConcurrencyMax + webhookAheadMax
      expect(receivers.of(url).length).toBeLessThanOrEqual(most)
      held.failure = undefined
      const succeeded = Effect.map(
        second.deliveries.stats(sandbox, made.webhook.id),
        (stats) => stats?.stored.succeeded,
      )
      yield* until(succeeded, (found) => found === count)
      expect(new Set(receivers.of(url).map(({ id }) => id)).size).toBe(count)
      expect(receivers.of(url)).toHaveLength(count)
      yield* second.close()
    }),
)

// The clock of this test stands still: an end that waits does not come.
it.effect("a fenced dispatcher ends at once, without writing outcomes", () =>
  Effect.gen(function* () {
    const state = new MemoryStorage.MemoryState()
    const { held, storage } = failing(state)
    const receivers = new VirtualReceivers(() => undefined)
    const started = yield* startOn(storage, { makeSender: receivers.senders(), flushIntervalMs: 0 })
    yield* started.engine.askProject(sandbox, webhook(url, ["reward.granted"]))
    yield* started.engine.askUser(sandbox, reward("ada", 1))
    yield* until(
      Effect.sync(() => receivers.inFlight),
      (inFlight) => inFlight === 1,
    )
    const cause = new Fenced({ operation: "write" })
    held.failure = new Broken({ operation: "write", cause })
    yield* started.engine.askProject(sandbox, webhook("http://other.test/", ["reward.granted"]))
    yield* until(
      Effect.sync(() => started.broken),
      (broken) => broken.length > 0,
    )
    expect(started.broken[0]!.cause).toBe(cause)
    yield* started.close("kill")
    expect(receivers.inFlight).toBe(0)
  }),
)
