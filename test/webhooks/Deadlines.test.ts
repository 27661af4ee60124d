import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { Deadlines } from "../../src/webhooks/Deadlines.ts"

describe("Deadlines", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const ended: Array<string> = []
  const adding = (deadlines: Deadlines, name: string) => {
    const expired = () => void ended.push(name)
    deadlines.add(expired)
    return expired
  }

  it("end each when its own time is over, and not a millisecond before", () => {
    ended.length = 0
    const deadlines = new Deadlines(100)
    adding(deadlines, "first")
    vi.advanceTimersByTime(40)
    adding(deadlines, "second")
    vi.advanceTimersByTime(59)
    expect(ended).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ended).toEqual(["first"])
    vi.advanceTimersByTime(39)
    expect(ended).toEqual(["first"])
    vi.advanceTimersByTime(1)
    expect(ended).toEqual(["first", "second"])
  })

  it("leave alone what is over by itself, and hold no timer then", () => {
    ended.length = 0
    const deadlines = new Deadlines(100)
    const first = adding(deadlines, "first")
    const second = adding(deadlines, "second")
    deadlines.remove(first)
    expect(vi.getTimerCount()).toBe(1)
    deadlines.remove(second)
    expect(vi.getTimerCount()).toBe(0)
    adding(deadlines, "third")
    vi.advanceTimersByTime(100)
    expect([ended, vi.getTimerCount()]).toEqual([["third"], 0])
  })
})
