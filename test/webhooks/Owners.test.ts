/**
 * Two owners of a partition in turn, each with a data directory of its own. The second one takes
 * over while the first is sending: receivers get every message, in order, with the same id, and
 * twice only what the first had under way.
 */
import { rm } from "node:fs/promises"
import path from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { messageId, messageKindAt } from "../../src/domain/message/Message.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { DeliveryStore } from "../../src/webhooks/store/DeliveryStore.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { open } from "../storage/postgres/owned.ts"
import { postgres } from "../storage/postgres/Postgres.ts"
import { temporaryFolder } from "../storage/temporaryFolder.ts"
import { logOf, type Started, startOn, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const steady = webhook("http://steady.test/", ["reward.granted"])
const down = webhook("http://down.test/", ["reward.granted"])
const hour = 3_600_000

/** The ids of all messages, in the order of the journal. */
const expected = ({ engine }: Started) =>
  Effect.map(Effect.orDie(engine.feed.read(1, 10_000)), (entries) =>
    entries.flatMap(({ record }) =>
      record.facts.flatMap((_, index) =>
        messageKindAt(record, index) === "reward.granted" ? [messageId({ ...record, index })] : [],
      ),
    ),
  )

it.live("receivers see one owner after another, and their deliveries stay", () =>
  Effect.gen(function* () {
    const server = yield* postgres
    const url = yield* Effect.promise(() => server.schema("owners"))
    const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
    const receivers = new VirtualReceivers((to) => (to.includes("down") ? 503 : 204))
    const sent = (to: string, count: number) =>
      until(
        Effect.sync(() => new Set(receivers.of(to).map(({ id }) => id)).size),
        (found) => found >= count,
      )
    const own = Effect.fnUntraced(function* (
      directory: string,
      alive: { readonly alive: boolean },
    ) {
      const { storage } = yield* open({ url, directory, partition: 1, owner: directory })
      const started = yield* startOn(storage, {
        makeSender: receivers.senders(alive),
        schedule: [0, hour, hour],
      })
      return { started, store: new DeliveryStore(storage) }
    })
    const process = { alive: true }
    const { started: first } = yield* own(one, process)
    for (const made of [steady, down]) yield* first.engine.askProject(sandbox, made)
    const sending = yield* Effect.forkChild(
      Effect.gen(function* () {
        // Until it is replaced; slower after a while, so that a slow machine has not too many.
        for (let round = 1; true; round++) {
          // Fails while PostgreSQL is late, and once another one owns the partition.
          yield* Effect.exit(first.engine.askUser(sandbox, reward("ada", round)))
          yield* Effect.sleep(round < 100 ? 1 : 50)
        }
      }),
    )
    // Some outcomes are written, others are not.
    yield* sent("http://steady.test/", 20)
    yield* sent("http://down.test/", 1)
    yield* until(logOf(first, steady.webhook.id, "succeeded"), (log) => log.length >= 10)
    yield* until(logOf(first, down.webhook.id), (log) => log.some(({ attempts }) => attempts > 0))

    // The second one claims the partition while the first sends.
    const { started: second, store } = yield* own(two, { alive: true })
    process.alive = false
    yield* Fiber.interrupt(sending)
    yield* first.close("kill")

    const ids = yield* expected(second)
    yield* sent("http://steady.test/", ids.length)
    yield* until(logOf(second, steady.webhook.id, "succeeded"), (log) => log.length === ids.length)
    const received = receivers.of("http://steady.test/").map(({ id }) => id)
    expect(new Set(received)).toEqual(new Set(ids))
    const firsts = received.filter((id, at) => received.indexOf(id) === at)
    expect(firsts).toEqual(ids)
    // A message about a user waits for the one before: each owner sends in order, the second from
    // the first unwritten on.
    const again = received.filter((id, at) => received.indexOf(id) !== at)
    expect(again).toEqual(ids.filter((id) => again.includes(id)))
    const numbers = again.map((id) => ids.indexOf(id))
    expect(numbers).toEqual(numbers.map((_, at) => numbers[0]! + at))
    // Those that the first one had written are not sent again.
    expect(again.length).toBeLessThanOrEqual(ids.length - 10)

    // What is left to send, and what was tried, is known to the second one.
    const pending = yield* until(logOf(second, down.webhook.id), (log) => log.length === ids.length)
    const tried = pending.filter(({ attempts }) => attempts > 0)
    expect(tried.length).toBeGreaterThan(0)
    expect(tried[0]!.last).toMatchObject({ status: 503, body: "what was wrong" })
    const stats = yield* second.deliveries.stats(sandbox, down.webhook.id)
    expect(stats!.stored.pending).toBe(ids.length)
    expect(stats!.failedAt).toBeGreaterThan(0)
    expect(yield* store.cursor).toBeGreaterThan(0)
    yield* second.close()
  }),
)

it.live("a backlog moves into a cluster, to another owner, and out of the cluster", () =>
  Effect.gen(function* () {
    const server = yield* postgres
    const url = yield* Effect.promise(() => server.schema("backlog"))
    const base = yield* temporaryFolder
    const [one, two] = [path.join(base, "one"), path.join(base, "two")]
    const receivers = new VirtualReceivers(() => undefined)
    const made = webhook("http://receiver.test/", ["reward.granted"])
    const sender = { makeSender: receivers.senders(), shutdownGraceMs: 0 }
    const count = 600
    const pendingOf = (started: Started) =>
      Effect.map(
        started.deliveries.stats(sandbox, made.webhook.id),
        (stats) => stats?.stored.pending,
      )

    // Embedded.
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { storage } = yield* DurableStorage.open({ directory: one })
        const started = yield* startOn(storage, sender)
        yield* started.engine.askProject(sandbox, made)
        for (let sent = 0; sent < count; sent += 300) {
          const rewards = Array.from({ length: 300 }, (_, index) => reward(`u${sent + index}`, 1))
          yield* started.engine.askUsers(sandbox, rewards)
        }
        yield* started.close()
      }),
    )
    const owning = <A>(directory: string, use: (started: Started) => Effect.Effect<A>) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { storage } = yield* open({ url, directory, partition: 1, owner: directory })
          const started = yield* startOn(storage, sender)
          const found = yield* use(started)
          yield* started.close()
          return found
        }),
      )
    // The end of the server without a cluster may have left records whose messages were not stored
    // yet.
    const allPending = (started: Started) =>
      until(pendingOf(started), (pending) => pending === count)
    expect(yield* owning(one, allPending)).toBe(count)
    yield* Effect.promise(() => rm(one, { recursive: true }))
    expect(yield* owning(two, pendingOf)).toBe(count)

    // Out of the cluster: another receiver answers.
    const well = new VirtualReceivers()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const { storage } = yield* DurableStorage.open({ directory: two })
        const started = yield* startOn(storage, { makeSender: well.senders() })
        yield* until(
          Effect.sync(() => well.of("http://receiver.test/").length),
          (found) => found >= count,
        )
        yield* until(pendingOf(started), (found) => found === 0)
        yield* started.close()
      }),
    )
    const received = well.of("http://receiver.test/").map(({ id }) => id)
    expect(received).toHaveLength(count)
    expect(new Set(received).size).toBe(count)
  }),
)
