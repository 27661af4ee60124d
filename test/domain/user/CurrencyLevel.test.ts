/** Named levels of a currency. */
import { describe, expect, it } from "vitest"
import { hasLevels, type LevelBasis } from "../../../src/domain/project/Currency.ts"
import { standingOf } from "../../../src/domain/user/CurrencyLevel.ts"
import { World } from "../decide/World.ts"
import { levelWith } from "../definitions.ts"

const day = 86_400_000
const table = [levelWith("bronze", 2), levelWith("silver", 5, { icon: "🥈" })]

/** A project with miles that end with the year, on the 4th of November. */
const withMiles = (of: LevelBasis): World => {
  const world = new World()
  world.currency({
    id: "cur_miles",
    key: "miles",
    expiry: { yearlyOn: "12-31" },
    levels: { of, table },
  })
  return world
}

const standing = ({ now, project, user }: World) => {
  const miles = project.currencies.get("cur_miles")!
  if (!hasLevels(miles)) throw new Error("The miles have no levels.")
  const { amount, level, next } = standingOf(user!, project, miles, now)
  return [amount, level?.key, next?.key]
}

describe("A level of a currency", () => {
  it("by what was earned stays when it is spent or ends, and goes with an undo", () => {
    const world = withMiles("earned")
    const first = world.give({ miles: 1 })
    expect(standing(world)).toEqual([1, undefined, "bronze"])
    world.give({ miles: 4 })
    expect(standing(world)).toEqual([5, "silver", undefined])
    world.spend({ miles: 3 })
    world.now += 60 * day
    // Before a record has it, and after.
    expect(standing(world)).toEqual([5, "silver", undefined])
    world.do({ kind: "tick" })
    expect(standing(world)).toEqual([5, "silver", undefined])
    world.undo(first)
    expect(standing(world)).toEqual([4, "bronze", "silver"])
  })

  it("by the balance is a status that must be earned again", () => {
    const world = withMiles("balance")
    world.give({ miles: 6 })
    expect(standing(world)).toEqual([6, "silver", undefined])
    world.spend({ miles: 2 })
    expect(standing(world)).toEqual([4, "bronze", "silver"])
    world.at("2026-12-31T23:59:59Z")
    expect(standing(world)).toEqual([4, "bronze", "silver"])
    world.at("2027-01-01T00:00:00Z")
    expect(standing(world)).toEqual([0, undefined, "bronze"])
    world.give({ miles: 2 })
    expect(standing(world)).toEqual([2, "bronze", "silver"])
  })

  it("follows an edit of the table at once", () => {
    const world = withMiles("earned")
    world.give({ miles: 6 })
    world.currency({ id: "cur_miles", key: "miles", levels: { of: "earned", table: [table[0]!] } })
    expect(standing(world)).toEqual([6, "bronze", undefined])
  })
})
