import { describe, expect, it } from "vitest"
import { hostOf, Slots, type Standing } from "../../../src/webhooks/endpoint/Slots.ts"

const nobody = () => {}
const host = "prj_a:sandbox receiver.test"
/** How many may begin at once. */
const fill = (slots: Slots, standing: Standing, first = true, of = host): number => {
  let taken = 0
  while (slots.take(of, standing, first, nobody)) taken++
  return taken
}

describe("Slots", () => {
  it("reserve half for endpoints that do not fail, and a quarter for endpoints that answer", () => {
    const slots = new Slots(100)
    expect(fill(slots, "failing")).toBe(50)
    expect(fill(slots, "unknown")).toBe(25)
    expect(fill(slots, "proven")).toBe(25)
    expect(slots.inUse).toBe(100)
  })

  it("count a second attempt to the same new endpoint as failing", () => {
    const slots = new Slots(100)
    expect(fill(slots, "proven", false)).toBe(50)
    expect(slots.take(host, "proven", true, nobody)).toBe(true)
  })

  it("that become free are offered to one waiting endpoint: proven endpoints first, in turn", () => {
    const slots = new Slots(4)
    for (let taken = 0; taken < 4; taken++) slots.take(host, "proven", true, nobody)
    const woken: Array<string> = []
    const waits = (name: string, standing: Standing) => {
      const wake = () => void woken.push(name)
      expect(slots.take(host, standing, true, wake)).toBe(false)
      return wake
    }
    waits("failing", "failing")
    const gone = waits("gone", "proven")
    waits("one", "proven")
    waits("other", "proven")
    waits("unknown", "unknown")
    slots.forget(host, gone)
    slots.release(host)
    expect(woken).toEqual(["one"])
    // A waiter without use for the slot passes it on.
    slots.offer(host)
    expect(woken).toEqual(["one", "other"])
    slots.offer(host)
    expect(woken).toEqual(["one", "other"])
    slots.release(host)
    expect(woken).toEqual(["one", "other", "unknown"])
    slots.release(host)
    expect(woken).toEqual(["one", "other", "unknown", "failing"])
  })

  it("exist for each standing, however few", () => {
    for (const standing of ["proven", "unknown", "failing"] as const) {
      expect(fill(new Slots(1), standing)).toBe(1)
    }
  })
})

describe("The slots of one host of an environment", () => {
  const other = "prj_b:sandbox receiver.test"

  it("are a part of all slots, divided in the same way, and leave the rest to other hosts and environments", () => {
    const slots = new Slots(100, 20)
    expect(fill(slots, "failing")).toBe(10)
    expect(fill(slots, "unknown")).toBe(5)
    expect(fill(slots, "proven")).toBe(5)
    expect(slots.areFree(host)).toBe(false)
    expect(slots.areFree(other)).toBe(true)
    expect(fill(slots, "proven", true, other)).toBe(20)
    expect(slots.inUse).toBe(40)
  })

  it("that become free wake only an endpoint of that host, and no endpoint that has left", () => {
    const slots = new Slots(100, 2)
    const woken: Array<string> = []
    for (const of of [host, host, other, other]) {
      expect(slots.take(of, "proven", true, nobody)).toBe(true)
    }
    expect(slots.take(host, "proven", true, () => void woken.push("host"))).toBe(false)
    expect(slots.take(other, "proven", true, () => void woken.push("other"))).toBe(false)
    const gone = () => void woken.push("gone")
    expect(slots.take(other, "proven", true, gone)).toBe(false)
    slots.release(other)
    expect(woken).toEqual(["other"])
    slots.forget(other, gone)
    slots.release(other)
    expect(woken).toEqual(["other"])
    slots.release(host)
    expect(woken).toEqual(["other", "host"])
  })

  it("are available again after all were released", () => {
    const slots = new Slots(100, 2)
    for (let round = 0; round < 3; round++) {
      expect(fill(slots, "proven")).toBe(2)
      slots.release(host)
      slots.release(host)
    }
    expect(slots.inUse).toBe(0)
  })

  it("belong to a host name in one environment, for all ports", () => {
    expect(hostOf("a", "https://receiver.test/x")).toBe(hostOf("a", "http://receiver.test:8080/y"))
    expect(hostOf("a", "https://receiver.test/")).not.toBe(hostOf("b", "https://receiver.test/"))
  })
})
