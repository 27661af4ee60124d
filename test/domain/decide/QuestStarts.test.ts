/** When a quest started, after undos of the events that started it. */
import { describe, expect, it } from "vitest"
import type { QuestState } from "../../../src/domain/user/User.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { World } from "./World.ts"

const hourMs = 3_600_000
const step = { key: "taps", action: "TAP", where: [], target: 3 }

const questOf = ({ user }: World): QuestState | undefined => user?.quests.get("qst_1")
const startOf = (world: World) => {
  const startedAt = questOf(world)?.startedAt ?? null
  return startedAt === null ? null : new Date(startedAt).toISOString().slice(0, 13)
}

describe("The start of a quest", () => {
  it("is the next event once the first one is undone, also of a completed quest", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.quest({ steps: [step] })
    const first = world.track()
    world.at("2026-11-05T12:00:00Z")
    const second = world.track()
    expect(startOf(world)).toBe("2026-11-04T12")
    world.undo(first)
    expect(startOf(world)).toBe("2026-11-05T12")
    world.at("2026-11-06T12:00:00Z")
    world.track()
    world.at("2026-11-07T12:00:00Z")
    world.track()
    expect(questOf(world)?.completedAt).toBe(world.now)
    world.undo(second)
    expect(startOf(world)).toBe("2026-11-06T12")
    expect(questOf(world)?.completedAt).toBe(world.now)
  })

  it("is none once its only event is undone, and stays if another event is", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.quest({ steps: [step] })
    const first = world.track()
    world.at("2026-11-05T12:00:00Z")
    world.undo(world.track())
    expect(startOf(world)).toBe("2026-11-04T12")
    world.undo(first)
    expect(startOf(world)).toBeNull()
  })

  it("is the request of a user who joined, whatever is undone", () => {
    const world = new World("2026-11-04T12:00:00Z")
    world.quest({ steps: [step], optIn: true })
    world.do({ kind: "start", questId: "qst_1" })
    world.at("2026-11-05T12:00:00Z")
    world.undo(world.track())
    expect(startOf(world)).toBe("2026-11-04T12")
  })

  it("is in the time of imported history", () => {
    const world = new World("2026-11-20T12:00:00Z")
    world.quest({ steps: [step] })
    const past = (time: string) =>
      world.track("TAP", { occurredAt: Date.parse(time), imported: true })
    const first = past("2026-11-04T12:00:00Z")
    past("2026-11-06T12:00:00Z")
    world.undo(first)
    expect(startOf(world)).toBe("2026-11-06T12")
  })

  for (const seed of seeds(20)) {
    it(`is that of the first event that counted and stands; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const world = new World()
      world.quest({ steps: [step], recurrence: random.pick(["none", "weekly"]) })
      let counted: Array<{ readonly event: ReturnType<World["track"]>; readonly at: number }> = []
      let period: number | undefined
      for (let n = 0; n < 60; n++) {
        world.now += random.integer(1, 20) * hourMs
        if (counted.length === 0 || random.chance(0.6)) {
          const event = world.track(random.pick(["TAP", "TAP", "OPEN"]))
          const fact = event.facts.find(({ kind }) => kind === "quest.progressed")
          if (fact?.kind === "quest.progressed") {
            if (fact.period !== period) counted = []
            period = fact.period
            counted.push({ event, at: world.now })
          }
        } else {
          const [one] = counted.splice(random.integer(0, counted.length - 1), 1)
          world.undo(one!.event)
        }
        const state = questOf(world)
        const isGone = state === undefined || state.startedAt === null
        expect([n, isGone ? null : state.startedAt]).toEqual([n, counted[0]?.at ?? null])
      }
    })
  }
})
