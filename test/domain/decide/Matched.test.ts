import { describe, expect, it } from "vitest"
import { World } from "./World.ts"

const steps = [{ key: "tap", action: "TAP", where: [], target: 9 }]

const knownBy: ReadonlyArray<readonly [what: string, define: (world: World) => void]> = [
  ["a rule", (world) => world.rule({})],
  ["a published quest", (world) => world.quest({ steps })],
  [
    "a badge",
    (world) =>
      world.badge({ criteria: { kind: "action_count", action: "TAP", target: 9, where: [] } }),
  ],
  ["a streak", (world) => world.streak({ needs: [{ action: "TAP", target: 1 }] })],
]

const unknownTo: typeof knownBy = [
  ["no definition", () => {}],
  ["a rule of another action", (world) => world.rule({ action: "SWIPE" })],
  ["a disabled rule", (world) => world.rule({ set: "paused" })],
  ["a quest that is a draft", (world) => world.quest({ set: "draft", steps })],
  [
    "an archived badge",
    (world) =>
      world.badge({
        set: "archived",
        criteria: { kind: "action_count", action: "TAP", target: 9, where: [] },
      }),
  ],
  ["a streak of any action", (world) => world.streak()],
]

describe("Whether an event's action is known", () => {
  it.each(knownBy)("to %s", (_what, define) => {
    const world = new World()
    define(world)
    const { facts, reply } = world.track("TAP")
    expect(reply.matched).toBe(true)
    expect(facts.at(-1)).not.toHaveProperty("matched")
  })

  it.each(unknownTo)("not to %s", (_what, define) => {
    const world = new World()
    define(world)
    const { facts, reply } = world.track("TAP")
    expect(reply.matched).toBe(false)
    expect(facts.at(-1)).toMatchObject({ kind: "event.tracked", matched: false })
  })

  it("by name alone: an event that fails the conditions of a rule is known to it", () => {
    const world = new World()
    world.rule({ where: [{ path: "score", op: "gte", value: 50 }] })
    expect(world.track("TAP", { metadata: { score: 1 } }).reply.matched).toBe(true)
  })

  it("always for QUEST_COMPLETE, never for rewards", () => {
    const world = new World()
    const quest = world.quest({})
    world.track("TAP")
    expect(world.complete(quest.id).reply.matched).toBe(true)
    expect(world.grant(1).facts.at(-1)).not.toHaveProperty("matched")
  })
})
