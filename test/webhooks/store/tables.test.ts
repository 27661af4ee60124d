/** What `snapshots verify` reports for each damage of the tables of webhooks (`engine/archive/check/WebhookCheck.ts`). */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Entry } from "../../../src/storage/Storage.ts"
import { encodeValue } from "../../../src/storage/Values.ts"
import {
  Delivery,
  type DeliveryStatus,
  deliveryKey,
  dueKey,
  encodeDelivery,
} from "../../../src/webhooks/store/Delivery.ts"
import {
  cursorKey,
  DeliveryStore,
  reachedKey,
  statsKey,
} from "../../../src/webhooks/store/DeliveryStore.ts"
import { jsonEntry } from "../../../src/webhooks/store/DeliveryWriter.ts"
import { reward, sandbox } from "../../engine/fixture.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { logOf, startInMemory, until, webhook } from "../fixture.ts"
import { VirtualReceivers } from "../VirtualReceivers.ts"
import { tableFaults } from "./tables.ts"

const hook = webhook("http://refusing.test/", ["reward.granted"])

/** Makes a webhook with one succeeded delivery and two pending deliveries that are due in hours. */
const prepared = Effect.fnUntraced(function* () {
  const state = new MemoryStorage.MemoryState()
  const receivers: VirtualReceivers = new VirtualReceivers((url) =>
    receivers.of(url).length === 1 ? 204 : 500,
  )
  const started = yield* startInMemory(state, {
    makeSender: receivers.senders(),
    schedule: [0, 36_000_000],
  })
  yield* started.engine.askProject(sandbox, hook)
  for (const user of ["ada", "bob", "cyd"]) {
    yield* started.engine.askUser(sandbox, reward(user, 1))
  }
  yield* until(
    logOf(started, hook.webhook.id),
    (log) =>
      log.length === 3 &&
      log.every(({ attempts, status }) => attempts === 1 && status !== "failed"),
  )
  const { webhooks } = yield* started.engine.readProject(sandbox)
  const number = webhooks.get(hook.webhook.id)!.since
  yield* started.close()
  const storage = MemoryStorage.make({ state })
  const store = new DeliveryStore(storage)
  const [succeeded] = yield* store.oldest(number, "succeeded", 10)
  const [first] = yield* store.oldest(number, "pending", 10)
  return { state, storage, store, number, succeeded: succeeded!, first: first! }
})

type Prepared = Effect.Success<ReturnType<typeof prepared>>

const duplicateOf = (delivery: Delivery, status: DeliveryStatus): ReadonlyArray<Entry> => {
  const { endpoint, index, kind, sequence, user } = delivery
  const copy = new Delivery(delivery, kind, user)
  Object.assign(copy, { status, dueAt: 5 })
  const key = deliveryKey(endpoint, status, sequence, index)
  const entry: Entry = { table: "deliveries", key, value: encodeValue(encodeDelivery(copy)) }
  if (status !== "pending") return [entry]
  const due = dueKey(endpoint, 5, sequence, index)
  return [entry, { table: "due", key: due, value: encodeValue("") }]
}

const dueOf = ({ dueAt, endpoint, index, sequence }: Delivery): Uint8Array =>
  dueKey(endpoint, dueAt, sequence, index)

interface Damage {
  readonly entries: (of: Prepared) => Effect.Effect<ReadonlyArray<Entry>, unknown>
  readonly faults: ReadonlyArray<RegExp>
}

const damages: Readonly<Record<string, Damage>> = {
  "a second row in due": {
    entries: ({ first }) =>
      Effect.succeed([
        { table: "due", key: dueOf(Object.assign(first, { dueAt: 5 })), value: encodeValue("") },
      ]),
    faults: [/has a row in due that is not of it/],
  },
  "a pending delivery without a row in due": {
    entries: ({ first }) => Effect.succeed([{ table: "due", key: dueOf(first), value: null }]),
    faults: [/is pending, but never due/],
  },
  "a message that is pending, and has succeeded": {
    entries: ({ succeeded }) => Effect.succeed(duplicateOf(succeeded, "pending")),
    faults: [
      /is there more than once, also as succeeded/,
      /counts 2 pending deliveries, there are 3/,
    ],
  },
  "a message that is pending, and was dropped": {
    entries: ({ first }) => Effect.succeed(duplicateOf(first, "dropped")),
    faults: [
      /is there more than once, also as dropped/,
      /counts 0 dropped deliveries, there are 1/,
    ],
  },
  "numbers that are not those of the rows": {
    entries: ({ number, store }) =>
      Effect.map(store.stats(number), (stats) => {
        stats.stored.pending = 7
        return [jsonEntry("endpoints", statsKey(number), stats)]
      }),
    faults: [/counts 7 pending deliveries, there are 2/],
  },
  "deliveries of records that the outbox has not reached": {
    entries: ({ number }) =>
      Effect.succeed([cursorKey, reachedKey].map((key) => jsonEntry("outbox", key, number))),
    faults: [/is of a record that webhooks have not reached/],
  },
}

describe("The check of the tables of webhooks", () => {
  it.live("finds no fault in tables that a dispatcher wrote", () =>
    Effect.gen(function* () {
      const { number, state } = yield* prepared()
      expect(tableFaults(state, [number])).toEqual([])
      expect(tableFaults(state, [])).toEqual([])
    }),
  )

  it.live("reports an endpoint that has deliveries but no counts", () =>
    Effect.gen(function* () {
      const { number, state, storage } = yield* prepared()
      yield* storage.writeEntries([{ table: "endpoints", key: statsKey(number), value: null }])
      expect(tableFaults(state, [number])).toEqual([`The webhook ${number} has no numbers`])
    }),
  )

  it.live("reports tables that are ahead of a journal that was cut", () =>
    Effect.gen(function* () {
      const { number, state, storage } = yield* prepared()
      yield* storage.writeEntries([jsonEntry("outbox", reachedKey, 1_000)])
      expect(tableFaults(state, [number])).toEqual([
        `Webhooks have reached 1000, but the journal ends with ${state.lastSequence}`,
      ])
    }),
  )

  for (const [name, { entries, faults }] of Object.entries(damages)) {
    it.live(`reports ${name}`, () =>
      Effect.gen(function* () {
        const made = yield* prepared()
        const { number, state, storage } = made
        yield* storage.writeEntries(yield* entries(made))
        const found = tableFaults(state, [number])
        for (const fault of faults) expect(found.some((words) => fault.test(words))).toBe(true)
      }),
    )
  }
})
