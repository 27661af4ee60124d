import { Effect, Fiber, Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Condition } from "../../../src/domain/project/Definition.ts"
import type { TrackedEvent } from "../../../src/domain/record/Record.ts"
import { DecisionTurns } from "../../../src/engine/actor/DecisionTurns.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { ruleWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, rule, sandbox, start, startInMemory } from "../fixture.ts"

/** An event loop whose turns the test ends. */
class Loop {
  calls = 0
  #atEnd: Array<() => void> = []
  readonly turns: DecisionTurns

  constructor(workMax: number) {
    this.turns = new DecisionTurns(workMax, (callback) => {
      this.calls++
      this.#atEnd.push(callback)
    })
  }

  endTurn(): void {
    const callbacks = this.#atEnd
    this.#atEnd = []
    for (const callback of callbacks) callback()
  }
}

describe("Turns of decisions", () => {
  it("take commands up to the bound on work, and further ones in the next turn", () => {
    const { endTurn, turns } = bound(new Loop(1_000))
    spend(turns, 999)
    expect(turns.isFull("a")).toBe(false)
    spend(turns, 1)
    expect([turns.isFull("a"), turns.isFull("b")]).toEqual([true, true])
    endTurn()
    expect(turns.isFull("a")).toBe(false)
  })

  it("need no callback of the event loop while there is little work", () => {
    const { loop, turns } = bound(new Loop(1_000))
    for (let n = 0; n < 12; n++) spend(turns, 10)
    expect(loop.calls).toBe(0)
    spend(turns, 10)
    expect(loop.calls).toBe(1)
  })

  it("keep the order of an environment's commands, also if some arrive while others wait", () => {
    const { endTurn, turns } = bound(new Loop(1_000))
    const decided: Array<string> = []
    const decide = (name: string) => () => {
      decided.push(name)
      spend(turns, 1_000)
    }
    spend(turns, 1_000)
    turns.wait("a", decide("a1"))
    turns.wait("a", decide("a2"))
    endTurn()
    expect([decided, turns.isFull("a"), turns.isFull("b")]).toEqual([["a1"], true, false])
    turns.wait("a", decide("a3"))
    endTurn()
    endTurn()
    expect(decided).toEqual(["a1", "a2", "a3"])
    expect(turns.isFull("a")).toBe(false)
  })

  it("give each environment the same work, not the same number of commands", () => {
    const { endTurn, turns } = bound(new Loop(10_000))
    const decided = { dear: 0, cheap: 0 }
    spend(turns, 10_000)
    for (let n = 0; n < 100; n++) {
      turns.wait("dear", () => {
        decided.dear++
        spend(turns, 20_000)
      })
    }
    for (let n = 0; n < 100; n++) turns.wait("cheap", () => decided.cheap++)
    // The cheap commands take the work of two and a half turns. The dear ones get as much, plus the
    // excess of one.
    for (let turn = 0; decided.cheap < 100 && turn < 100; turn++) endTurn()
    expect(decided.cheap).toBe(100)
    expect(decided.dear).toBeLessThanOrEqual(3)
    for (let turn = 0; turn < 100; turn++) endTurn()
    expect(decided.dear).toBe(100)
  })

  it("bound the number of commands without metered work", () => {
    const { endTurn, turns } = bound(new Loop(limits.decisionTurnWorkMax))
    let taken = 0
    for (; !turns.isFull("a"); taken++) turns.taken()
    expect(taken).toBe(120)
    endTurn()
    expect(turns.isFull("a")).toBe(false)
  })

  it("tell whether only other environments have waiting commands", () => {
    const { endTurn, turns } = bound(new Loop(1_000))
    const environments = ["a", "b", undefined]
    const othersWait = () => environments.map((environment) => turns.othersWait(environment))
    expect(othersWait()).toEqual([false, false, false])
    turns.wait("a", () => {})
    expect(othersWait()).toEqual([false, true, true])
    endTurn()
    expect(othersWait()).toEqual([false, false, false])
  })

  it("never come for waiting commands of an engine that ends, which are told at once", () => {
    const { endTurn, turns } = bound(new Loop(10))
    const called: Array<string> = []
    for (const id of ["a", "b", "c"]) {
      turns.wait(id, (ended) => called.push(ended ? `${id} ended` : id))
    }
    turns.end([{ id: "a" }, { id: "c" }, { id: "d" }])
    expect(called).toEqual(["a ended", "c ended"])
    for (let turn = 0; turn < 3; turn++) endTurn()
    expect(called).toEqual(["a ended", "c ended", "b"])
  })
})

const refused = Result.fail("no")

/** Charges the work of a refused decision. */
const spend = (turns: DecisionTurns, work: number): void => {
  turns.meter.work = work
  turns.decided(refused)
}

const bound = (loop: Loop) => ({ loop, turns: loop.turns, endTurn: () => loop.endTurn() })

describe("The work of a decision", () => {
  it("is the metered work, plus that of facts beyond the usual number", () => {
    const isFullAfter = (work: number, decision: Parameters<DecisionTurns["decided"]>[0]) => {
      const { turns } = new Loop(32)
      turns.meter.work = work
      turns.decided(decision)
      expect(turns.meter.work).toBe(0)
      return turns.isFull("a")
    }
    const deciding = (facts: number) => Result.succeed({ facts: new Array(facts) })
    expect([isFullAfter(31, deciding(16)), isFullAfter(32, deciding(0))]).toEqual([false, true])
    expect([isFullAfter(6, deciding(17)), isFullAfter(7, deciding(17))]).toEqual([false, true])
    expect([isFullAfter(31, refused), isFullAfter(32, refused)]).toEqual([false, true])
  })
})

describe("The work of a load", () => {
  it("is that of a stored value's bytes beyond the usual number", () => {
    const isFullAfter = (bytes: number) => {
      const { turns } = new Loop(32)
      turns.loaded(bytes)
      return turns.isFull("a")
    }
    expect([0, 1_024, 1_024 + 511, 1_024 + 512].map(isFullAfter)).toEqual([
      false,
      false,
      false,
      true,
    ])
  })
})

const note = "y".repeat(64_000)
const expensive = (userId: string) => {
  const command: TrackedEvent = { kind: "event", action: "DEAR", metadata: { note } }
  return { userId, command }
}

/** Rules with which one event takes the work of a whole turn. */
const define = Effect.fnUntraced(function* (engine: Parameters<typeof ask>[0]) {
  const count = Math.ceil(limits.decisionTurnWorkMax / (note.length / 16))
  for (let n = 0; n < count; n++) {
    const where: ReadonlyArray<Condition> = [{ path: "note", op: "contains", value: `x${n}` }]
    const made = ruleWith({ id: `rul_${n}`, action: "DEAR", where, reward: { xp: 1 } })
    yield* engine.askProject(sandbox, { kind: "createRule", rule: made })
  }
  yield* engine.askProject(production, rule("CHEAP", 1))
})
type Engine = Effect.Success<ReturnType<typeof startInMemory>>["engine"]
const ask = (engine: Engine, users: ReadonlyArray<string>) =>
  engine.askUsers(sandbox, users.map(expensive))

const names = (count: number) => Array.from({ length: count }, (_, n) => `u${n}`)
const later = Effect.andThen(yieldToEventLoop, yieldToEventLoop)

describe("A batch of events that match many definitions", () => {
  for (const [temper, users] of [
    ["warm", names(30)],
    ["cold", names(30)],
    ["one and the same", new Array<string>(30).fill("u0")],
  ] as const) {
    it(`of users who are ${temper} lets another environment's event be decided between two of its own`, () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        let running = yield* start(MemoryStorage.make({ state }))
        yield* define(running.engine)
        yield* running.engine.askUsers(
          sandbox,
          names(30).map((userId) => event(userId, "OTHER")),
        )
        yield* running.engine.askUser(production, event("p", "CHEAP"))
        if (temper === "cold") {
          yield* running.close()
          running = yield* start(MemoryStorage.make({ state }))
          yield* running.engine.askUser(production, event("p", "CHEAP"))
        }
        const { committed, engine } = running
        committed.length = 0
        const batch = yield* Effect.forkChild(ask(engine, users))
        yield* later
        yield* engine.askUser(production, event("p", "CHEAP"))
        const outcomes = yield* Fiber.join(batch)
        expect(outcomes.every((outcome) => !("_tag" in outcome))).toBe(true)
        const order = committed
          .toSorted((one, other) => one.sequence - other.sequence)
          .map(({ subject }) => (subject.actor === "user" ? subject.environment : ""))
        expect(order.filter((id) => id === sandbox)).toHaveLength(30)
        expect(order.indexOf(production)).toBeLessThan(10)
        yield* running.close()
      }).pipe(Effect.runPromise))
  }

  it("is applied in order, and before later commands of the same users", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory()
      const { committed, engine } = running
      yield* define(engine)
      const users = Array.from({ length: 20 }, (_, n) => `u${n % 3}`)
      yield* engine.askUsers(
        sandbox,
        ["u0", "u1", "u2"].map((userId) => event(userId, "OTHER")),
      )
      committed.length = 0
      const batch = yield* Effect.forkChild(ask(engine, users))
      yield* yieldToEventLoop
      yield* engine.askUser(sandbox, event("u1", "LAST"))
      const outcomes = yield* Fiber.join(batch)
      const ofUser = (userId: string) =>
        committed
          .filter(({ subject }) => subject.actor === "user" && subject.userId === userId)
          .map(({ cause }) => (cause.kind === "event" ? cause.action : ""))
      expect(ofUser("u1")).toEqual([...new Array(7).fill("DEAR"), "LAST"])
      const replies = outcomes.map((outcome) => ("userId" in outcome ? outcome.userId : ""))
      expect(replies).toEqual(users)
      yield* running.close()
    }).pipe(Effect.runPromise))

  it("is applied whole if a shutdown begins meanwhile", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory()
      const { committed, engine } = running
      yield* define(engine)
      const batch = yield* Effect.forkChild(ask(engine, names(10)))
      yield* yieldToEventLoop
      yield* running.close()
      const outcomes = yield* Fiber.join(batch)
      expect(outcomes.filter((outcome) => "_tag" in outcome)).toEqual([])
      const dear = committed.filter(
        ({ cause }) => cause.kind === "event" && cause.action === "DEAR",
      )
      expect(dear).toHaveLength(10)
    }).pipe(Effect.runPromise))
})

describe("A batch of ordinary events", () => {
  it("lets another environment's event be decided and answered between two of its own", () =>
    Effect.gen(function* () {
      const { close, committed, engine } = yield* startInMemory()
      yield* engine.askProject(production, rule("CHEAP", 1))
      yield* engine.askUser(production, event("p", "CHEAP"))
      committed.length = 0
      const events = names(limits.batchItemsMax).map((userId) => event(userId, "OTHER"))
      const batch = yield* Effect.forkChild(engine.askUsers(sandbox, events))
      yield* later
      yield* engine.askUser(production, event("p", "CHEAP"))
      const order = committed.map(({ subject }) =>
        subject.actor === "user" ? subject.environment : "",
      )
      expect(order.indexOf(production)).toBeLessThan(limits.batchItemsMax / 2)
      expect(order.length).toBeLessThan(limits.batchItemsMax)
      expect(batch.pollUnsafe()).toBeUndefined()
      const outcomes = yield* Fiber.join(batch)
      expect(outcomes.map((outcome) => ("userId" in outcome ? outcome.userId : ""))).toEqual(
        names(limits.batchItemsMax),
      )
      yield* close()
    }).pipe(Effect.runPromise))
})

describe("A batch of cold users with large states", () => {
  it("lets another environment's event be decided between two of its own", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(production, rule("CHEAP", 1))
      const attributes = Object.fromEntries(names(50).map((name) => [name, "z".repeat(500)]))
      const large = names(200)
      for (const userId of large) {
        const command = { kind: "profile", change: { attributes } } as const
        yield* first.engine.askUser(sandbox, { userId, command })
      }
      yield* first.engine.askUser(production, event("p", "CHEAP"))
      yield* first.close()

      const { close, committed, engine } = yield* start(MemoryStorage.make({ state }))
      yield* engine.askUser(production, event("p", "CHEAP"))
      committed.length = 0
      const batch = yield* Effect.forkChild(
        engine.askUsers(
          sandbox,
          large.map((userId) => event(userId, "OTHER")),
        ),
      )
      yield* later
      yield* engine.askUser(production, event("p", "CHEAP"))
      yield* Fiber.join(batch)
      const order = committed
        .toSorted((one, other) => one.sequence - other.sequence)
        .map(({ subject }) => (subject.actor === "user" ? subject.environment : ""))
      expect(order.filter((id) => id === sandbox)).toHaveLength(200)
      expect(order.indexOf(production)).toBeLessThan(100)
      yield* close()
    }).pipe(Effect.runPromise))
})

describe("Simulations of events that match many definitions", () => {
  it("let another environment's event be decided between two of them", () =>
    Effect.gen(function* () {
      const running = yield* startInMemory()
      const { engine } = running
      yield* define(engine)
      const order: Array<string> = []
      const simulate = Effect.map(engine.simulate(sandbox, expensive("u")), () =>
        order.push("simulated"),
      )
      const all = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 20 }, () => simulate),
          { concurrency: 20 },
        ),
      )
      yield* yieldToEventLoop
      yield* engine.askUser(production, event("p", "CHEAP"))
      order.push("answered")
      yield* Fiber.join(all)
      expect(order).toHaveLength(21)
      expect(order.indexOf("answered")).toBeLessThan(15)
      yield* running.close()
    }).pipe(Effect.runPromise))
})
