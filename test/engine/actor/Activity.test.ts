import { describe, expect, it } from "vitest"
import { Activity } from "../../../src/engine/actor/Activity.ts"
import { limits } from "../../../src/Limits.ts"

const minute = 60_000
const start = 1_000_000 * minute
const minutes = limits.activityMinutes
const nothing = Array<number>(minutes).fill(0)

describe("Activity", () => {
  it("counts events by the minute in which they were decided, oldest first", () => {
    const activity = new Activity()
    activity.count(start)
    activity.count(start + minute - 1)
    activity.count(start + 2 * minute)
    expect(activity.perMinute(start + 2 * minute)).toEqual([...nothing.slice(3), 2, 0, 1])
    expect(activity.perMinute(start + 4 * minute)).toEqual([...nothing.slice(5), 2, 0, 1, 0, 0])
  })

  it("forgets a minute once as many have passed as it keeps, and takes no event from before them", () => {
    const activity = new Activity()
    activity.count(start)
    const last = start + (minutes - 1) * minute
    expect(activity.perMinute(last)).toEqual([1, ...nothing.slice(1)])
    expect(activity.perMinute(last + minute)).toEqual(nothing)
    activity.count(start + minute)
    expect(activity.perMinute(last + minute)).toEqual([1, ...nothing.slice(1)])
    activity.count(start)
    expect(activity.perMinute(last + minute)).toEqual([1, ...nothing.slice(1)])
    expect(activity.perMinute(last + 1_000 * minute)).toEqual(nothing)
  })

  it("counts an event of an earlier minute in that minute", () => {
    const activity = new Activity()
    activity.count(start + 5 * minute)
    activity.count(start + 3 * minute)
    expect(activity.perMinute(start + 5 * minute)).toEqual([...nothing.slice(3), 1, 0, 1])
  })
})
