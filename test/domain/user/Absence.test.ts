/** When users who stay away are reminded. */
import { describe, expect, it } from "vitest"
import {
  emptyProject,
  type ProjectState,
  type Reminders,
} from "../../../src/domain/project/Project.ts"
import { nextAbsence } from "../../../src/domain/user/Absence.ts"
import { withDay } from "../../../src/domain/user/ActiveDays.ts"
import { newcomer, type UserState } from "../../../src/domain/user/User.ts"
import { dayOf } from "../../../src/domain/values/Calendar.ts"

const day = (date: string) => dayOf(date)!
const at = (time: string) => Date.parse(time)

const userOf = (lastDate: string, more: Partial<UserState> = {}): UserState => ({
  ...newcomer,
  activity: withDay(null, day(lastDate)),
  ...more,
})
const projectOf = (more: Partial<Reminders> = {}, timezone = "UTC"): ProjectState => ({
  ...emptyProject,
  settings: {
    ...emptyProject.settings,
    timezone,
    reminders: { hour: 10, inactiveDays: [3, 7], unless: null, ...more },
  },
})
const dueOf = (user: UserState, project: ProjectState, now: string) => {
  const absence = nextAbsence(user, project, at(now))
  return absence && [absence.days, new Date(absence.at).toISOString()]
}

describe("A reminder of a user who stays away", () => {
  it("is due so many days after the last active day, at the hour of the project's zone or the user's", () => {
    const user = userOf("2026-03-01")
    const now = "2026-03-01T12:00:00Z"
    expect(dueOf(user, projectOf(), now)).toEqual([3, "2026-03-04T10:00:00.000Z"])
    expect(dueOf(user, projectOf({}, "Asia/Tokyo"), now)).toEqual([3, "2026-03-04T01:00:00.000Z"])
    const inTokyo = userOf("2026-03-01", {
      profile: { ...user.profile, timezone: "Asia/Tokyo" },
    })
    expect(dueOf(inTokyo, projectOf(), now)).toEqual([3, "2026-03-04T01:00:00.000Z"])
  })

  it("comes after a jump of the clock that skips its hour, and once if the hour comes twice", () => {
    const spring = projectOf({ hour: 2, inactiveDays: [1] }, "Europe/Berlin")
    expect(dueOf(userOf("2026-03-28"), spring, "2026-03-28T12:00:00Z")).toEqual([
      1,
      "2026-03-29T01:00:00.000Z",
    ])
    expect(dueOf(userOf("2026-10-24"), spring, "2026-10-24T12:00:00Z")).toEqual([
      1,
      "2026-10-25T00:00:00.000Z",
    ])
  })

  it("is left out once it is a day late, and of several that are due the latest one is sent", () => {
    const user = userOf("2026-03-01")
    expect(dueOf(user, projectOf(), "2026-03-05T09:59:59.999Z")).toEqual([
      3,
      "2026-03-04T10:00:00.000Z",
    ])
    expect(dueOf(user, projectOf(), "2026-03-05T10:00:00Z")).toEqual([
      7,
      "2026-03-08T10:00:00.000Z",
    ])
    const daily = projectOf({ inactiveDays: [1, 2] })
    expect(dueOf(user, daily, "2026-03-03T09:00:00Z")).toEqual([1, "2026-03-02T10:00:00.000Z"])
    expect(dueOf(user, daily, "2026-03-03T10:00:00Z")).toEqual([2, "2026-03-03T10:00:00.000Z"])
    expect(dueOf(user, daily, "2026-03-04T10:00:00Z")).toBeUndefined()
  })

  it("is sent once, and again after the user has returned", () => {
    const reminded = userOf("2026-03-01", { remindedOn: day("2026-03-04") })
    const now = "2026-03-04T10:00:00Z"
    expect(dueOf(reminded, projectOf(), now)).toEqual([7, "2026-03-08T10:00:00.000Z"])
    const returned = { ...reminded, activity: withDay(reminded.activity, day("2026-03-04")) }
    expect(dueOf(returned, projectOf(), now)).toEqual([3, "2026-03-07T10:00:00.000Z"])
  })

  it("is not sent to users with the attribute, without an active day, or without the setting", () => {
    const now = "2026-03-02T00:00:00Z"
    const project = projectOf({ unless: "quiet" })
    const withQuiet = (quiet: string | boolean) =>
      userOf("2026-03-01", { profile: { ...newcomer.profile, attributes: { quiet } } })
    expect(dueOf(withQuiet(true), project, now)).toBeUndefined()
    expect(dueOf(withQuiet(false), project, now)).toBeDefined()
    expect(dueOf(withQuiet("true"), project, now)).toBeDefined()
    expect(dueOf(newcomer, project, now)).toBeUndefined()
    expect(dueOf(userOf("2026-03-01"), emptyProject, now)).toBeUndefined()
  })
})
