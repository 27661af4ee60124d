import { describe, expect, it } from "vitest"
import { Slots, type Standing } from "../../../src/webhooks/endpoint/Slots.ts"

const nobody = () => {}
/** How many may begin at once. */
const fill = (slots: Slots, standing: Standing, first = true): number => {
  let taken = 0
  while (slots.take(standing, first, nobody)) taken++
  return taken
}

describe("Slots", () => {
  it("keep half for endpoints that do not fail, and a quarter for those that answer", () => {
    const slots = new Slots(100)
    expect(fill(slots, "failing")).toBe(50)
    expect(fill(slots, "unknown")).toBe(25)
    expect(fill(slots, "proven")).toBe(25)
    expect(slots.inUse).toBe(100)
  })

  it("count a further attempt to the same endpoint among the half", () => {
    const slots = new Slots(100)
    expect(fill(slots, "proven", false)).toBe(50)
    expect(slots.take("proven", true, nobody)).toBe(true)
  })

  it("that become free are offered to one waiting endpoint: proven ones first, each in turn", () => {
    const slots = new Slots(4)
    for (let taken = 0; taken < 4; taken++) slots.take("proven", true, nobody)
    const woken: Array<string> = []
    const waits = (name: string, standing: Standing) => {
      const wake = () => void woken.push(name)
      expect(slots.take(standing, true, wake)).toBe(false)
      return wake
    }
    waits("failing", "failing")
    const gone = waits("gone", "proven")
    waits("one", "proven")
    waits("other", "proven")
    waits("unknown", "unknown")
    slots.forget(gone)
    slots.release()
    expect(woken).toEqual(["one"])
    // A waiter without use for the slot passes it on.
    slots.offer()
    expect(woken).toEqual(["one", "other"])
    slots.offer()
    expect(woken).toEqual(["one", "other"])
    slots.release()
    expect(woken).toEqual(["one", "other", "unknown"])
    slots.release()
    expect(woken).toEqual(["one", "other", "unknown", "failing"])
  })

  it("exist for each standing, however few", () => {
    for (const standing of ["proven", "unknown", "failing"] as const) {
      expect(fill(new Slots(1), standing)).toBe(1)
    }
  })
})
