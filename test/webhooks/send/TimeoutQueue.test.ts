import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { TimeoutQueue } from "../../../src/webhooks/send/Sender.ts"

describe("Timeouts", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const ended: Array<string> = []
  const make = () => new TimeoutQueue<string>(100, (name) => ended.push(name))

  it("expire at their own times, and not a millisecond earlier", () => {
    ended.length = 0
    const deadlines = make()
    deadlines.add("first")
    vi.advanceTimersByTime(40)
    deadlines.add("second")
    vi.advanceTimersByTime(59)
    expect(ended).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ended).toEqual(["first"])
    vi.advanceTimersByTime(39)
    expect(ended).toEqual(["first"])
    vi.advanceTimersByTime(1)
    expect(ended).toEqual(["first", "second"])
  })

  it("ignore removed items, and hold no timer without items", () => {
    ended.length = 0
    const deadlines = make()
    deadlines.add("first")
    deadlines.add("second")
    deadlines.remove("first")
    expect(vi.getTimerCount()).toBe(1)
    deadlines.remove("second")
    expect(vi.getTimerCount()).toBe(0)
    deadlines.add("third")
    vi.advanceTimersByTime(100)
    expect([ended, vi.getTimerCount()]).toEqual([["third"], 0])
  })

  it("do not count time in which the process was suspended", () => {
    ended.length = 0
    const deadlines = make()
    deadlines.add("first")
    vi.advanceTimersByTime(50)
    const step = limits.runningStepMs
    // Time passes, and no timer fires.
    const before = performance.now()
    const stood = vi.spyOn(performance, "now").mockReturnValue(before + 50 + step)
    vi.advanceTimersByTime(50)
    expect(ended).toEqual([])
    stood.mockReturnValue(before + 50 + 2 * step)
    vi.advanceTimersByTime(step)
    expect(ended).toEqual(["first"])
    stood.mockRestore()
  })

  it("count the delay of a timer that is slightly late", () => {
    ended.length = 0
    const deadlines = make()
    deadlines.add("first")
    const late = vi
      .spyOn(performance, "now")
      .mockReturnValue(performance.now() + 100 + limits.runningStepMs - 1)
    vi.advanceTimersByTime(100)
    expect(ended).toEqual(["first"])
    late.mockRestore()
  })

  it("expire on time if other items begin or end because of one", () => {
    ended.length = 0
    const deadlines: TimeoutQueue<string> = new TimeoutQueue(100, (name) => {
      ended.push(name)
      if (name !== "first") return
      deadlines.remove("over with it")
      deadlines.add("next")
    })
    deadlines.add("first")
    deadlines.add("over with it")
    vi.advanceTimersByTime(40)
    deadlines.add("second")
    vi.advanceTimersByTime(100)
    expect(ended).toEqual(["first", "second"])
    vi.advanceTimersByTime(60)
    expect([ended, vi.getTimerCount()]).toEqual([["first", "second", "next"], 0])
  })
})
