import { beforeEach, describe, expect, it } from "@effect/vitest"
import type { SettingsChange } from "../../../src/domain/decide/Settings.ts"
import { defaultSettings } from "../../../src/domain/project/Project.ts"
import { ProjectWorld } from "./ProjectWorld.ts"

let world: ProjectWorld
beforeEach(() => {
  world = new ProjectWorld()
})

const updating = (change: SettingsChange) => ({ kind: "updateSettings", change }) as const
describe("The settings of a project", () => {
  it("change the members of a patch, and keep the rest", () => {
    expect(world.state.settings).toEqual(defaultSettings)
    world.ask(updating({ timezone: "Europe/Berlin" }))
    const facts = world.ask(updating({ name: "Shop" }))
    const settings = { ...defaultSettings, name: "Shop", timezone: "Europe/Berlin", version: 3 }
    expect(facts).toEqual([{ kind: "project.updated", settings }])
    expect(world.state.settings).toEqual(settings)
  })

  it("have a level curve whose members belong to its kind", () => {
    const curve = () => world.state.settings.levelCurve
    world.ask(updating({ levelCurve: { base: 10 } }))
    expect(curve()).toEqual({ kind: "quadratic", base: 10 })
    world.ask(updating({ levelCurve: { kind: "geometric", base: 100, factor: 1.5 } }))
    world.ask(updating({ levelCurve: { factor: 2 } }))
    expect(curve()).toEqual({ kind: "geometric", base: 100, factor: 2 })
    world.ask(updating({ levelCurve: { kind: "table", thresholds: [0, 5] } }))
    expect(curve()).toEqual({ kind: "table", thresholds: [0, 5] })
    expect(world.faults(updating({ levelCurve: { kind: "linear", base: 1 } }))).toEqual([
      ["/levelCurve/xpPerLevel", "missing"],
      ["/levelCurve/base", "unknown_member"],
    ])
    expect(world.faults(updating({ levelCurve: { xpPerLevel: 1 } }))).toEqual([
      ["/levelCurve/xpPerLevel", "unknown_member"],
    ])
  })
})
