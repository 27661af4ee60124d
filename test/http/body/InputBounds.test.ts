/** Values beyond the bounds of a schema cost little, and all other faults are still reported. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { check, list } from "../../../src/http/api/Common.ts"
import { NewQuest } from "../../../src/http/api/Quests.ts"
import { ProfileChange } from "../../../src/http/api/UserShapes.ts"
import { inputDecoder } from "../../../src/http/body/InputDecoder.ts"
import { limits } from "../../../src/Limits.ts"
import { watched } from "../hostile/visits.ts"

const strict = { errors: "all", onExcessProperty: "error" } as const
const { faultsMax } = limits

const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, 1]))

/** The faults of `value`, and the number of its members that were visited. */
const refused = (schema: Schema.Top, value: unknown, most: number = faultsMax) => {
  const { value: input, visits } = watched(value)
  const decoded = inputDecoder(schema, strict)(input, "", most)
  if (Result.isSuccess(decoded)) throw new Error("It was accepted")
  return { faults: decoded.failure, visits: visits() }
}

describe("the bounds of input", () => {
  it("stop at the maximum number of faults, and the Schema does not see the value", () => {
    let calls = 0
    const counted = check<string>("invalid_value", "must count", () => ++calls > 0)
    const schema = Schema.Struct({ name: Schema.String.check(counted) })
    const { faults, visits } = refused(schema, { name: "n", ...members(100_000) })
    expect(faults).toHaveLength(faultsMax)
    expect(new Set(faults.map(({ code }) => code))).toEqual(new Set(["unknown_member"]))
    expect(visits).toBeLessThanOrEqual(2 * faultsMax + 4)
    expect(calls).toBe(0)
    // With one fault less, the schema gets the known members.
    expect(refused(schema, { name: "n", ...members(faultsMax - 1) }).faults).toHaveLength(99)
    expect(calls).toBe(1)
  })

  it("are reported together with faults inside the bounds", () => {
    const { faults } = refused(NewQuest, {
      title: "",
      reward: { xp: -1, coins: 1 },
      steps: [{ key: "a", action: "a", target: 1, extra: 1 }],
      other: 1,
    })
    const told = faults.map(({ code, pointer }) => `${pointer} ${code}`).toSorted()
    expect(told).toEqual([
      "/other unknown_member",
      "/reward/coins unknown_member",
      "/reward/xp out_of_range",
      "/steps/0/action invalid_format",
      "/steps/0/extra unknown_member",
      "/title too_short",
    ])
  })

  it("do not visit items beyond the length of a list", () => {
    const steps = Array.from({ length: 20_000 }, () => ({}))
    const { faults, visits } = refused(NewQuest, { title: "t", reward: { xp: 1 }, steps })
    expect(faults[0]).toEqual({
      pointer: "/steps",
      code: "too_long",
      detail: `must have at most ${limits.questStepsMax}`,
    })
    // Key and target are missing in each step that the list may have.
    expect(faults).toHaveLength(1 + 2 * limits.questStepsMax)
    expect(visits).toBeLessThan(50 * limits.questStepsMax)
  })

  it("accept a list of exactly the maximum length", () => {
    const decode = inputDecoder(Schema.Struct({ items: list(Schema.Int, 1, 3) }), strict)
    expect(Result.isSuccess(decode({ items: [1, 2, 3] }, "", faultsMax))).toBe(true)
    expect(decode({ items: [1, 2, 3, 4] }, "", faultsMax)).toMatchObject({
      failure: [{ pointer: "/items", code: "too_long", detail: "must have at most 3" }],
    })
  })

  it("do not visit members of a record beyond the maximum number", () => {
    const { faults, visits } = refused(ProfileChange, { attributes: members(7_000) })
    expect(faults).toEqual([
      {
        pointer: "/attributes",
        code: "too_long",
        detail: `must have at most ${limits.attributesMax} members`,
      },
    ])
    // The names are listed once, and only the kept members are visited.
    expect(visits).toBeLessThan(7_000 + 20 * limits.attributesMax)
  })

  it("find a fault of metadata once, and the Schema visits none of its members", () => {
    const metadata = { list: Array.from({ length: 30_000 }, () => 1) }
    const { faults, visits } = refused(NewQuest, { title: "t", reward: { xp: 1 }, metadata })
    expect(faults).toMatchObject([{ pointer: "/metadata", code: "too_large" }])
    expect(visits).toBeLessThan(limits.metadataBytesMax / 2 + limits.metadataBytesMax / 20)
  })

  it("remove names such as __proto__ from the bounded value", () => {
    const value = JSON.parse('{"__proto__":{"title":"t"},"constructor":1,"reward":{"xp":1}}')
    const { faults } = refused(NewQuest, value)
    expect(faults.map(({ code, pointer }) => `${pointer} ${code}`).toSorted()).toEqual([
      "/__proto__ unknown_member",
      "/constructor unknown_member",
      "/title missing",
    ])
  })
})
