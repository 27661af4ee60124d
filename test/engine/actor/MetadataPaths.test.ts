/** The paths of the metadata of events: which are kept, for how long, and with hostile metadata. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { MetadataPaths } from "../../../src/engine/actor/MetadataPaths.ts"
import { limits } from "../../../src/Limits.ts"
import { ruleWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, production, sandbox, start } from "../fixture.ts"

const bounds = {
  ofEnvironment: limits.pathsOfEnvironmentMax,
  ofAction: limits.pathsOfActionMax,
}
const periodMs = limits.pathsPeriodMs
const at = 700 * periodMs

/** Looks at events with consecutive sequences. */
class Sender {
  readonly paths = new MetadataPaths()
  #sequence = 0

  send(action: string, metadata?: object, time = at, matched = true): boolean {
    const record = { at: time, sequence: ++this.#sequence }
    return this.paths.look(action, metadata as Record<string, unknown>, record, matched)
  }

  of(action: string, now = at) {
    return this.paths.of(action, now)
  }

  names(action = "BUY"): ReadonlyArray<string> {
    return this.of(action).paths.map(({ path }) => path)
  }
}

const reloaded = (paths: MetadataPaths): MetadataPaths => {
  const loaded = new MetadataPaths()
  loaded.load(JSON.parse(JSON.stringify(paths.stored().paths)))
  return loaded
}

describe("The paths of metadata", () => {
  it("are those that conditions name, with the kinds of their values and how often they came", () => {
    const sender = new Sender()
    sender.send("BUY", { cart: { total: 5, coupon: null }, tags: ["a"], gift: true })
    sender.send("BUY", { cart: { total: "5" }, items: [{ price: 1 }] })
    sender.send("BUY")
    expect(sender.of("BUY")).toEqual({
      looked: 3,
      more: false,
      paths: [
        { path: "cart.total", kinds: ["text", "number"], events: 2 },
        { path: "cart.coupon", kinds: ["null"], events: 1 },
        { path: "gift", kinds: ["boolean"], events: 1 },
        { path: "items", kinds: ["list"], events: 1 },
        { path: "tags", kinds: ["list"], events: 1 },
      ],
    })
    expect(sender.of("OTHER")).toEqual({ looked: 0, paths: [], more: false })
  })

  it("have no value of an event", () => {
    const sender = new Sender()
    sender.send("BUY", { email: "ada@example.com", list: ["secret-1"], number: 4_711 })
    const text = JSON.stringify([sender.paths.stored(), sender.of("BUY")])
    expect(text).not.toMatch(/ada|secret|4711/)
  })

  it("have no names that look like ids, that have a dot or that do not print, and say that there were more", () => {
    const names = [
      "ada@example.com",
      "user4711",
      "2f9c-4e1b-77",
      "12",
      "a.b",
      "",
      " ",
      "a\u202eb",
      "\0",
    ]
    for (const name of names) {
      const sender = new Sender()
      sender.send("BUY", { [name]: 1, fine: 1, inside: { [name]: { deep: 1 } } })
      expect([name, sender.names(), sender.of("BUY").more]).toEqual([name, ["fine"], true])
    }
    const sender = new Sender()
    sender.send("BUY", { größe: 1, 数: 2, "with space": 3, mp3: 4 })
    expect(sender.names()).toHaveLength(4)
    expect(sender.of("BUY").more).toBe(false)
  })

  it("do not lead into an object that is a map, nor beyond the limits of a path", () => {
    const map = (members: number) =>
      Object.fromEntries(
        Array.from({ length: members }, (_, index) => [`k${"x".repeat(index)}`, 1]),
      )
    const sender = new Sender()
    sender.send("BUY", { map: map(limits.pathsMembersMax + 1), none: {} })
    expect(sender.of("BUY").paths).toEqual([
      { path: "map", kinds: ["object"], events: 1 },
      { path: "none", kinds: ["object"], events: 1 },
    ])
    sender.send("SELL", { map: map(limits.pathsMembersMax) })
    expect(sender.names("SELL")).toHaveLength(limits.pathsMembersMax)
    const longest = "a".repeat(limits.pathCharactersMax)
    sender.send("GIVE", { [longest]: 1, [`${longest}a`]: 1 })
    expect([sender.names("GIVE"), sender.of("GIVE").more]).toEqual([[longest], true])
  })

  it("are own members alone, also of objects with the names of prototypes", () => {
    const sender = new Sender()
    sender.send(
      "BUY",
      JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":2},"a/b~c":3}'),
    )
    expect([...sender.names()].sort()).toEqual([
      "__proto__.polluted",
      "a/b~c",
      "constructor.prototype",
    ])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(reloaded(sender.paths).of("BUY", at)).toEqual(sender.of("BUY"))
  })

  it("end with the limit of an action, and names that never repeat displace none that do", () => {
    const sender = new Sender()
    const name = (index: number) =>
      `n${[...String(index)].map((digit) => "abcdefghij"[+digit]).join("")}`
    for (let index = 0; index < limits.pathsLookedFirst; index++) {
      const members = Array.from({ length: 60 }, (_, place) => [name(index * 60 + place), 1])
      sender.send("BUY", { score: index, ...Object.fromEntries(members) })
    }
    const { more, paths } = sender.of("BUY")
    expect([paths.length, more]).toEqual([bounds.ofAction, true])
    // The first event may have displaced it once.
    expect(paths[0]!.path).toBe("score")
    expect(paths[0]!.events).toBeGreaterThanOrEqual(limits.pathsLookedFirst - 1)
    // A name that comes later finds a place as well.
    sender.send("BUY", { score: 1, late: 1 }, at + periodMs)
    for (let again = 0; again < 5; again++) sender.send("BUY", { late: 1 }, at + periodMs)
    expect(sender.of("BUY", at + periodMs).paths[1]).toMatchObject({ path: "late", events: 6 })
  })

  it("of actions that no definition names take at most half of an environment's places", () => {
    const sender = new Sender()
    const all = () => ["FRESH", ...names, ...names.map((name) => `KNOWN_${name}`)]
    const total = (now = at) =>
      all().reduce((sum, action) => sum + sender.of(action, now).paths.length, 0)
    const wide = Object.fromEntries(
      Array.from({ length: bounds.ofAction }, (_, index) => [`k${"x".repeat(index)}`, 1]),
    )
    const names = Array.from({ length: 200 }, (_, index) => `A_${index}`)
    // Twice, so that none is rare.
    const sendAll = (prefix: string, time: number, matched: boolean) => {
      for (const name of [...names, ...names]) sender.send(prefix + name, wide, time, matched)
    }
    sendAll("", at, false)
    expect(total()).toBe(bounds.ofEnvironment / 2)
    sendAll("KNOWN_", at, true)
    expect(total()).toBe(bounds.ofEnvironment)
    const stored = JSON.stringify(reloaded(sender.paths).stored())
    expect(stored).toBe(JSON.stringify(sender.paths.stored()))
    expect(stored.length).toBeLessThan(1_024 * 1_024)
    // Two periods later all are gone, and there is place again.
    const later = at + 2 * periodMs
    sender.send("FRESH", { score: 1 }, later, false)
    expect(total(later)).toBe(1)
    sendAll("KNOWN_", later, true)
    expect(total(later)).toBe(bounds.ofEnvironment)
  })

  it("are gone in the second period after their last event, also if no event came since", () => {
    const sender = new Sender()
    sender.send("BUY", { old: 1, both: 1 })
    sender.send("BUY", { both: 1 }, at + periodMs)
    const paths = (now: number) =>
      sender.of("BUY", now).paths.map(({ events, path }) => [path, events])
    expect(paths(at + periodMs)).toEqual([
      ["both", 2],
      ["old", 1],
    ])
    expect(paths(at + 2 * periodMs)).toEqual([["both", 1]])
    expect(paths(at + 3 * periodMs)).toEqual([])
    sender.send("OTHER", {}, at + 3 * periodMs)
    expect(JSON.stringify(sender.paths.stored())).not.toContain("both")
  })

  it("are of a sample once an action had many events in a period", () => {
    const sender = new Sender()
    let looks = 0
    const events = limits.pathsLookedFirst + 16_000
    for (let index = 0; index < events; index++) if (sender.send("BUY", { score: 1 })) looks++
    expect(sender.of("BUY").looked).toBe(looks)
    const sampled = looks - limits.pathsLookedFirst
    expect(sampled).toBeGreaterThan(800)
    expect(sampled).toBeLessThan(1_200)
  })

  it("are read from a bounded number of members, however wide the metadata is", () => {
    const sender = new Sender()
    const members = Array.from({ length: 2_000 }, (_, index) => [
      `w${"x".repeat(index % 50)}y${index}`,
      1,
    ])
    let reads = 0
    const counting = new Proxy(Object.fromEntries(members), {
      get: (target, name) => {
        reads++
        return Reflect.get(target, name)
      },
    })
    sender.send("BUY", counting)
    expect(reads).toBe(limits.pathsLookedPerEvent)
    const { more, paths } = sender.of("BUY")
    expect(more).toBe(true)
    expect(paths.length).toBeLessThanOrEqual(bounds.ofAction)
  })
})

describe("The paths of an environment", () => {
  it.effect("are those of its own events, and survive a crash and a restart", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const open = Effect.suspend(() => start(MemoryStorage.make({ state })))
      const first = yield* open
      yield* first.engine.askProject(sandbox, {
        kind: "createRule",
        rule: ruleWith({ action: "BUY" }),
      })
      for (let index = 0; index < 150; index++) {
        const metadata = { score: index, ...(index % 2 === 0 && { cart: { total: 1 } }) }
        yield* first.engine.askUser(sandbox, event("u1", "BUY", { metadata }))
      }
      yield* first.engine.askUser(production, event("u1", "BUY", { metadata: { secret: 1 } }))
      const before = yield* first.engine.readPaths(sandbox, "BUY")
      expect(before.paths.map(({ path }) => path)).toEqual(["score", "cart.total"])
      yield* first.close("kill")
      const replayed = yield* open
      expect(yield* replayed.engine.readPaths(sandbox, "BUY")).toEqual(before)
      yield* replayed.close()
      const loaded = yield* open
      expect(yield* loaded.engine.readPaths(sandbox, "BUY")).toEqual(before)
      const other = yield* loaded.engine.readPaths(production, "BUY")
      expect(other.paths.map(({ path }) => path)).toEqual(["secret"])
      yield* loaded.close()
    }),
  )
})
