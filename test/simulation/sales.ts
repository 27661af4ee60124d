/**
 * One seeded run of sales in an environment: users buy, give back, merge and are erased, one at a time and
 * many at once, while the power fails at writes. The sold units are those of a count over the journal as
 * it was written. Copies of the data from during the run, as archives are, lead to the same with the
 * journal of the end, from which erased users are gone.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { Engine, UserMessage } from "../../src/engine/Engine.ts"
import { limits } from "../../src/Limits.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { tables } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { itemWith } from "../domain/definitions.ts"
import { recordsOf, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { hashSecretOf, Random } from "./random.ts"

const minute = 60_000
const users = Array.from({ length: 9 }, (_, index) => `u${index}`)

/** How much has happened in all runs. */
export const happened = {
  sold: 0,
  refunded: 0,
  soldOut: 0,
  erased: 0,
  merged: 0,
  gone: 0,
  crashes: 0,
}

const copyOf = (state: MemoryStorage.MemoryState): MemoryStorage.MemoryState => {
  const copy = new MemoryStorage.MemoryState()
  for (const table of tables) {
    const all = { table, from: new Uint8Array(), until: Uint8Array.of(255) }
    for (const [key, value] of state.table(table).entries(all)) copy.table(table).set(key, value)
  }
  copy.records = [...state.records]
  copy.firstSequence = state.firstSequence
  return copy
}

export const simulateSales = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const state = new MemoryStorage.MemoryState()
  const journal: Array<JournalRecord> = []
  const bases: Array<MemoryStorage.MemoryState> = []
  const disk = { appendsLeft: Infinity, lastAppendKept: false, writesLeft: Infinity }
  const overhear = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    append: (batch) =>
      Effect.tap(storage.append(batch), () =>
        Effect.sync(() => {
          const last = journal.at(-1)?.sequence ?? 0
          journal.push(...recordsOf(state).filter(({ sequence }) => sequence > last))
        }),
      ),
  })
  const options = {
    decodedUsersMax: 3,
    newHashSecret: hashSecretOf(seed),
    durability: "fsync" as const,
    snapshotIntervalMs: 30 * minute,
    snapshotSliceEntriesMax: 4,
    erasureGatherMs: 60 * minute,
    erasureCheckMs: 60 * minute,
  }
  const open = Effect.suspend(() => {
    Object.assign(disk, { appendsLeft: Infinity, writesLeft: Infinity })
    return start(dyingDisk(overhear(MemoryStorage.make({ state })), disk), options)
  })
  yield* TestClock.setTime(Date.parse("2026-11-02T00:00:00Z"))
  let running = yield* open
  const stocks = [3, 8, null]
  const items = stocks.map((stock, n) => itemWith({ id: `itm_${n}`, price: { points: 1 }, stock }))
  for (const item of items) yield* running.engine.askProject(sandbox, { kind: "createItem", item })
  let ids = 0

  const message = (): UserMessage => {
    const userId = random.pick(users)
    const kind = random.next()
    if (kind < 0.25) return { userId, command: { kind: "reward", type: "points", amount: 6 } }
    if (kind < 0.65) {
      const id = random.chance(0.2) ? `buy${random.integer(0, ids)}` : `buy${ids++}`
      return { userId, command: { kind: "purchase", item: random.pick(items).id, id } }
    }
    if (kind < 0.85) {
      const bought = journal.filter(({ cause }) => cause.kind === "purchase")
      const { at = 0, sequence = 0, subject } = bought.length > 0 ? random.pick(bought) : {}
      const buyer = subject?.actor === "user" ? subject.userId : userId
      const command = { kind: "revocation", of: "purchase", sequence, at } as const
      return { userId: buyer, command }
    }
    if (kind < 0.92) return { userId, command: { kind: "merge", into: random.pick(users) } }
    return { userId, command: { kind: "erasure" } }
  }

  const ask = (asked: UserMessage) =>
    Effect.match(running.engine.askUser(sandbox, asked), {
      onSuccess: () => {},
      onFailure: ({ code }) => {
        if (code === "sold_out") happened.soldOut++
      },
    })

  /** The units by the journal as it was written, and never more than the stock. */
  const counted = () => {
    const sold = new Map<string, number>()
    for (const { facts } of journal) {
      for (const fact of facts) {
        if (fact.kind !== "item.purchased" && fact.kind !== "item.refunded") continue
        const by = fact.kind === "item.purchased" ? 1 : -1
        const after = (sold.get(fact.itemId) ?? 0) + by
        expect(after).toBeLessThanOrEqual(stocks[Number(fact.itemId.slice(4))] ?? Infinity)
        if (after === 0) sold.delete(fact.itemId)
        else sold.set(fact.itemId, after)
      }
    }
    return sold
  }

  const compare = Effect.fnUntraced(function* (engine: Engine["Service"]) {
    const { sold } = yield* engine.readCounts(sandbox)
    expect(new Map([...sold].sort())).toEqual(new Map([...counted()].sort()))
  })

  const crash = Effect.gen(function* () {
    happened.crashes++
    if (random.chance(0.7)) disk.appendsLeft = random.integer(0, 4)
    else disk.writesLeft = random.integer(0, 8)
    disk.lastAppendKept = random.chance(0.5)
    const all = Array.from({ length: 6 }, message)
    const asked = yield* Effect.forkChild(Effect.forEach(all, ask, { concurrency: 3 }), {
      startImmediately: true,
    })
    yield* TestClock.adjust(random.pick([100, 31 * minute]))
    for (let turn = 0; turn < 5; turn++) yield* yieldToEventLoop
    yield* running.close("kill")
    yield* Fiber.interrupt(asked)
    const last = journal.at(-1)?.sequence ?? 0
    journal.push(...recordsOf(state).filter(({ sequence }) => sequence > last))
    running = yield* open
    yield* TestClock.adjust(2 * limits.mergeRetryMs + limits.clockCheckMs)
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.6) yield* ask(message())
    else if (kind < 0.75) {
      const all = Array.from({ length: random.integer(2, 12) }, message)
      yield* Effect.forEach(all, ask, { concurrency: "unbounded" })
    } else if (kind < 0.85) yield* TestClock.adjust(random.pick([1_000, 31 * minute, 130 * minute]))
    else if (kind < 0.93) yield* crash
    else if (kind < 0.97) {
      yield* running.close()
      running = yield* open
    } else bases.push(copyOf(state))
    for (let turn = 0; turn < 3; turn++) yield* yieldToEventLoop
    yield* compare(running.engine)
  }
  // All erasures are carried out.
  for (let turn = 0; turn < 40; turn++) {
    yield* TestClock.adjust(31 * minute)
    for (let more = 0; more < 5; more++) yield* yieldToEventLoop
  }
  yield* compare(running.engine)
  yield* running.close()
  const { sold } = yield* Effect.flatMap(open, ({ close, engine }) =>
    Effect.tap(engine.readCounts(sandbox), () => close()),
  )
  for (const base of bases) {
    const tail = state.records.filter(({ sequence }) => sequence > base.lastSequence)
    base.records = [...base.records, ...tail]
    const { close, engine } = yield* start(MemoryStorage.make({ state: base }), options)
    expect((yield* engine.readCounts(sandbox)).sold).toEqual(sold)
    expect((yield* engine.readCounts(sandbox)).users).toBe(
      (yield* engine.listUsers(sandbox, { limit: 50 })).total,
    )
    yield* close()
    happened.gone += tail.filter(({ remains }) => remains !== undefined).length
  }
  for (const { cause, facts } of journal) {
    for (const { kind } of facts) {
      if (kind === "item.purchased") happened.sold++
      if (kind === "item.refunded") happened.refunded++
      if (kind === "user.merged") happened.merged++
    }
    if (cause.kind === "erasure") happened.erased++
  }
})
