/**
 * One seeded run of merges against a naive model: users with events, rewards, spends, undo, merges
 * and erasures, one at a time and many at once, while the power fails before or after the journal
 * takes a batch. Every command without an answer is sent again. After each step the model is
 * compared with all reads, under each id.
 *
 * The model knows persons: sets of ids that share what happened to any of them. What happened is a
 * list of entries by the caller's id, each of which counts once. A merge joins two persons.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { UserCommand } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { rule, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { hashSecretOf, Random } from "./random.ts"
import { troubledDisk } from "./troubledDisk.ts"

const minute = 60_000

interface Entry {
  readonly id: string
  readonly kind: "event" | "reward" | "spend"
  readonly xp: number
  readonly points: number
  /** Laurel's id. */
  readonly ours: string
  undone: boolean
}

interface Person {
  /** The id that the others lead to. */
  lead: string
  readonly ids: Set<string>
  readonly entries: Array<Entry>
}

/** How much has happened in all runs. */
export const happened = { merges: 0, crashes: 0, erasures: 0, undone: 0 }

class Persons {
  readonly #all = new Set<Person>()

  of(id: string): Person | undefined {
    for (const person of this.#all) if (person.ids.has(id)) return person
    return undefined
  }

  make(id: string): Person {
    const person = { lead: id, ids: new Set([id]), entries: [] }
    this.#all.add(person)
    return person
  }

  merge(from: string, into: string): void {
    const [gone, kept] = [this.of(from)!, this.of(into)!]
    for (const id of gone.ids) kept.ids.add(id)
    kept.entries.push(...gone.entries)
    this.#all.delete(gone)
  }

  erase(id: string): void {
    const person = this.of(id)
    if (person !== undefined) this.#all.delete(person)
  }

  get all(): ReadonlySet<Person> {
    return this.#all
  }
}

const sumOf = (person: Person, part: "xp" | "points"): number =>
  person.entries.reduce((sum, entry) => sum + (entry.undone ? 0 : entry[part]), 0)

interface Asked {
  readonly userId: string
  readonly command: UserCommand
}

type Reply = Readonly<Record<string, unknown>>

export const simulateMerges = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const state = new MemoryStorage.MemoryState()
  const persons = new Persons()
  const disk = {
    full: false,
    appendMs: 0,
    appendsLeft: Infinity,
    lastAppendKept: false,
    writesLeft: Infinity,
  }
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
    Object.assign(disk, { full: false, appendMs: 0, appendsLeft: Infinity, writesLeft: Infinity })
    return start(dyingDisk(troubledDisk(MemoryStorage.make({ state }), disk), disk), options)
  })
  yield* TestClock.setTime(Date.parse("2026-11-02T00:00:00Z"))
  let running = yield* open
  yield* running.engine.askProject(sandbox, rule("A", 5))
  const users = Array.from({ length: 7 }, (_, index) => `u${index}`)
  let ids = 0

  /** A command, and what the model makes of its answer. */
  const choose = (): Asked => {
    const userId = random.pick(users)
    const id = random.chance(0.8) ? `id${ids++}` : `id${random.integer(0, ids)}`
    const kind = random.next()
    if (kind < 0.35) return { userId, command: { kind: "event", action: "A", id } }
    if (kind < 0.55) {
      const amount = random.integer(1, 20)
      return { userId, command: { kind: "reward", type: "points", amount, id: `r-${id}` } }
    }
    if (kind < 0.65) return { userId, command: { kind: "spend", amount: 1, id: `s-${id}` } }
    if (kind < 0.8) {
      const entries = persons.of(userId)?.entries ?? []
      if (entries.length === 0) return { userId, command: { kind: "event", action: "A", id } }
      const entry = random.pick(entries)
      // Debts are the subject of other simulations.
      if (entry.points > sumOf(persons.of(userId)!, "points")) return choose()
      const prefix = { event: "evt", reward: "rwd", spend: "spd" } as const
      const name = recordNameOf(prefix[entry.kind], entry.ours)!
      return { userId, command: { kind: "revocation", of: entry.kind, ...name } }
    }
    if (kind < 0.95) return { userId, command: { kind: "merge", into: random.pick(users) } }
    return { userId, command: { kind: "erasure" } }
  }

  const note = (userId: string, entry: Omit<Entry, "undone">, revoked: unknown): void => {
    const person = persons.of(userId) ?? persons.make(userId)
    const known = person.entries.find(({ id, kind }) => id === entry.id && kind === entry.kind)
    if (known === undefined) person.entries.push({ ...entry, undone: false })
    else expect(revoked).toBe(known.undone)
  }

  /** The model after a command with this answer. `again`: it was sent twice. */
  const learn = ({ command, userId }: Asked, answer: Reply, again: boolean): void => {
    if ("_tag" in answer) {
      refuse({ command, userId }, answer.code as string, again)
      return
    }
    switch (command.kind) {
      case "event": {
        const ours = answer.eventId as string
        note(userId, { id: command.id!, kind: "event", xp: 5, points: 0, ours }, answer.revoked)
        break
      }
      case "reward": {
        const points = answer.amount as number
        const ours = answer.rewardId as string
        note(userId, { id: command.id!, kind: "reward", xp: 0, points, ours }, answer.revoked)
        break
      }
      case "spend": {
        const ours = answer.spendId as string
        note(userId, { id: command.id!, kind: "spend", xp: 0, points: -1, ours }, answer.revoked)
        break
      }
      case "revocation": {
        const entry = entryOf(userId, command.sequence)
        expect(entry?.undone).toBe(false)
        entry!.undone = true
        happened.undone++
        break
      }
      case "merge":
        happened.merges++
        expect(answer).toMatchObject({ from: userId, into: command.into })
        if (persons.of(userId) !== persons.of(command.into)) persons.merge(userId, command.into)
        break
      case "erasure":
        happened.erasures++
        persons.erase(userId)
        break
    }
  }

  const entryOf = (userId: string, sequence: number): Entry | undefined =>
    persons.of(userId)?.entries.find(({ kind, ours }) => {
      const prefix = { event: "evt", reward: "rwd", spend: "spd" } as const
      return recordNameOf(prefix[kind], ours)!.sequence === sequence
    })

  /** A refusal must be that of the model; of a command that was sent twice, also of the second. */
  const refuse = ({ command, userId }: Asked, code: string, again: boolean): void => {
    const person = persons.of(userId)
    switch (command.kind) {
      case "spend":
        expect(code).toMatch(/^insufficient_points$|^id_reused$|^user_not_found$/)
        break
      case "revocation": {
        expect(code).toMatch(/_not_found$/)
        const entry = entryOf(userId, command.sequence)
        if (again && entry !== undefined) entry.undone = true
        else expect(entry?.undone ?? true).toBe(true)
        break
      }
      case "merge": {
        const into = persons.of(command.into)
        const expected =
          person === undefined
            ? "user_not_found"
            : person.lead !== userId
              ? "user_merged"
              : command.into === userId
                ? "invalid_request"
                : into === undefined
                  ? "user_not_found"
                  : "user_merged"
        expect(code).toBe(expected)
        if (expected === "user_merged" && person?.lead === userId) {
          expect(into!.lead).not.toBe(command.into)
        }
        break
      }
      case "erasure":
        expect(code).toBe("user_not_found")
        if (again) persons.erase(userId)
        else expect(person).toBeUndefined()
        break
      default:
        expect.unreachable(`${command.kind} was refused with ${code}`)
    }
  }

  const ask = (asked: Asked): Effect.Effect<Reply> =>
    Effect.match(running.engine.askUser(sandbox, asked as never), {
      onSuccess: ({ reply }) => reply as unknown as Reply,
      onFailure: (error) => error as unknown as Reply,
    })

  /** Compares every read, under each id. */
  const compare = Effect.gen(function* () {
    const { engine } = running
    const board: Array<readonly [string, number]> = []
    for (const person of persons.all) {
      for (const id of person.ids) {
        const user = (yield* engine.readUser(sandbox, id))!
        expect([id, user.id]).toEqual([id, person.lead])
        expect([id, user.xp, user.points]).toEqual([
          id,
          sumOf(person, "xp"),
          sumOf(person, "points"),
        ])
        const history = (yield* Stream.runCollect(engine.readHistory(sandbox, id))).flat()
        const named = history.filter(({ cause, facts }) => "id" in cause && facts.length > 0)
        expect(named.length).toBe(person.entries.length)
      }
      const xp = sumOf(person, "xp")
      if (xp > 0) board.push([person.lead, xp])
    }
    for (const id of users) {
      if (persons.of(id) === undefined) {
        const there = yield* engine.readUser(sandbox, id)
        expect([id, there?.id]).toEqual([id, undefined])
      }
    }
    const { entries } = yield* engine.readBoard(sandbox, { limit: 50, offset: 0 })
    const byName = ([one]: readonly [string, number], [other]: readonly [string, number]) =>
      one < other ? -1 : 1
    expect(entries.map(({ score, userId }) => [userId, score] as const).toSorted(byName)).toEqual(
      board.toSorted(byName),
    )
    const { total, users: listed } = yield* engine.listUsers(sandbox, { limit: 50 })
    expect(total).toBe(persons.all.size)
    expect(listed.map(({ id }) => id)).toEqual([...persons.all].map(({ lead }) => lead).sort())
  })

  const isThere = (id: string) => Effect.runSync(running.engine.userNow(sandbox, id)) !== undefined

  /** Sends a command while the power fails at one of its next writes, then sends it again. */
  const crash = Effect.gen(function* () {
    happened.crashes++
    const asked = choose()
    disk.appendsLeft = random.integer(0, 3)
    disk.lastAppendKept = random.chance(0.5)
    const fiber = yield* Effect.forkChild(ask(asked), { startImmediately: true })
    yield* TestClock.adjust(100)
    yield* running.close("kill")
    yield* Fiber.interrupt(fiber)
    running = yield* open
    if (random.chance(0.3)) {
      // A merge that was cut off goes on by itself.
      yield* TestClock.adjust(2 * limits.mergeRetryMs + limits.clockCheckMs)
    }
    learn(asked, yield* ask(asked), true)
    // An erasure that was cut off goes on by itself, also if the repeat finds its id gone.
    if (asked.command.kind !== "erasure") return
    yield* TestClock.adjust(limits.mergeRetryMs + limits.clockCheckMs)
    const isLeft = (id: string) => persons.of(id) === undefined && isThere(id)
    for (let turn = 0; users.some(isLeft); turn++) {
      yield* Effect.andThen(TestClock.adjust(100), yieldToEventLoop)
      expect(turn).toBeLessThan(1_000)
    }
  })

  /** Events and merges at the same time: whatever their order, each event counts once. */
  const together = Effect.gen(function* () {
    const known = users.filter((id) => persons.of(id) !== undefined)
    if (known.length < 2) return
    const asked = Array.from({ length: random.integer(2, 8) }, (): Asked => {
      const userId = random.pick(known)
      return random.chance(0.4)
        ? { userId, command: { kind: "merge", into: random.pick(known) } }
        : { userId, command: { kind: "event", action: "A", id: `id${ids++}` } }
    })
    const answers = yield* Effect.forEach(asked, ask, { concurrency: "unbounded" })
    asked.forEach((one, index) => {
      if (one.command.kind === "event") learn(one, answers[index]!, false)
    })
    asked.forEach(({ command, userId }, index) => {
      if (command.kind !== "merge" || "_tag" in answers[index]!) return
      happened.merges++
      if (persons.of(userId) !== persons.of(command.into)) persons.merge(userId, command.into)
    })
    // The order of two merges decides who leads.
    for (const person of persons.all) {
      person.lead = (yield* running.engine.readUser(sandbox, person.lead))!.id
    }
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.65) {
      const asked = choose()
      learn(asked, yield* ask(asked), false)
    } else if (kind < 0.8) yield* crash
    else if (kind < 0.88) yield* together
    else if (kind < 0.95) yield* TestClock.adjust(random.pick([1_000, 31 * minute, 130 * minute]))
    else {
      yield* running.close(random.chance(0.5) ? "kill" : undefined)
      running = yield* open
    }
    yield* compare
  }
  yield* running.close()
})
