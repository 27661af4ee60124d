/** Reads of numbers that are counted over all users, while a count takes long. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { Environment } from "../../src/engine/actor/Environments.ts"
import { limitedInFile } from "../limited.ts"
import { Place } from "./definitions.ts"
import { startServer, type TestServer } from "./fixture.ts"

// A later read waits for a newer count, however slow this machine is.
limitedInFile({ countWaitMs: 30, activityWaitMs: 600_000 })

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

let places = 0
const newPlace = () => new Place(server, `counting${places++}`)

/** Makes counts stay at the first users until the function that it returns is called. */
const holdCounts = (): (() => void) => {
  const { activityFrom, usersFrom } = Environment.prototype
  let isHeld = true
  vi.spyOn(Environment.prototype, "activityFrom").mockImplementation(function (
    this: Environment,
    prefix,
    ...rest
  ) {
    const next = activityFrom.call(this, prefix, ...rest)
    return isHeld ? prefix : next
  })
  vi.spyOn(Environment.prototype, "usersFrom").mockImplementation(function (
    this: Environment,
    prefix,
  ) {
    const { next, users } = usersFrom.call(this, prefix)
    return { users, next: isHeld ? prefix : next }
  })
  return () => {
    isHeld = false
    vi.restoreAllMocks()
  }
}

const notCounted = { countedAt: null, counting: true }
const noUsers = { dau: null, wau: null, mau: null, newUsers: null, returningUsers: null }

/** The reads that wait for a count, and the numbers that they have meanwhile. */
const reads: ReadonlyArray<readonly [path: string, known: object]> = [
  [
    "/v1/analytics/activity",
    { days: expect.arrayContaining([expect.objectContaining({ ...noUsers, events: 2 })]) },
  ],
  ["/v1/analytics/retention", { cohorts: null, curve: null }],
  ["/v1/analytics/retention?experiment=try&variant=other", { cohorts: null, curve: null }],
  [
    "/v1/analytics/mechanics?kind=rule",
    {
      allUsers: 2,
      mechanics: [{ users: null, share: null, rarity: null, completions: 2, xp: 20 }],
    },
  ],
  [
    "/v1/analytics/mechanics/rule/tap",
    {
      allUsers: 2,
      users: null,
      completions: 2,
      firstWeek: null,
      leftOut: expect.arrayContaining([
        { figure: "users", reason: "The users are being counted: read again soon." },
      ]),
    },
  ],
  ["/v1/recap", { activeUsers: null, newUsers: null, totals: expect.any(Object) }],
  ["/v1/goals/together/contributors", { contributors: null }],
  [
    "/v1/experiments/try/results",
    { variants: null, leftOut: null, sampleRatio: null, warnings: [] },
  ],
]

const tables = [
  "/v1/analytics/activity",
  "/v1/analytics/retention",
  "/v1/analytics/mechanics",
  "/v1/analytics/mechanics/rule/tap",
  "/v1/recap",
  "/v1/experiments/try/results",
]

const newFilled = async () => {
  const place = newPlace()
  await place.create("/v1/rules", { key: "tap", action: "TAP", reward: { xp: 10 } })
  const goal = { key: "together", name: "Together", score: { currency: "xp" }, target: 900 }
  await place.create("/v1/goals", goal)
  const variants = ["control", "other"].map((key) => ({ key, weight: 1 }))
  await place.create("/v1/experiments", { key: "try", name: "Try", variants })
  for (const userId of ["ada", "bob"]) await place.post("/v1/events", { userId, action: "TAP" })
  return place
}

let release = () => {}
beforeEach(() => {
  release = holdCounts()
})
afterEach(() => release())

describe("A read of counts over all users", () => {
  it.each(reads)("has known numbers while the first count takes long: %s", async (path, known) => {
    const place = await newFilled()
    const first = await place.get(path)
    expect([first.status, first.json]).toEqual([200, expect.objectContaining(notCounted)])
    expect(first.json).toMatchObject(known)
    release()
    const counted = async () => {
      const { json } = await place.get(path)
      return json.countedAt !== null && !json.counting && json
    }
    const json = await vi.waitUntil(counted, { timeout: 30_000 })
    expect(json).not.toMatchObject(known)
  })

  it("has the last numbers while a newer count takes long", async () => {
    release()
    const place = await newFilled()
    const { json: before } = await place.get("/v1/analytics/retention")
    expect(before).toMatchObject({ counting: false })
    release = holdCounts()
    const { json: meanwhile } = await place.get("/v1/analytics/mechanics")
    expect(meanwhile).toMatchObject(notCounted)
    const { json: after } = await place.get("/v1/analytics/retention")
    expect(after).toMatchObject({ countedAt: before.countedAt, cohorts: before.cohorts })
  })

  it.each(tables)("waits for all numbers as a table: %s", async (path) => {
    const place = await newFilled()
    expect((await place.get(path)).json).toMatchObject(notCounted)
    let isOver = false
    const asked = place.get(`${path}?format=csv`).finally(() => {
      isOver = true
    })
    // Other reads are answered meanwhile.
    for (let n = 0; n < 3; n++) expect((await place.get(path)).json).toMatchObject(notCounted)
    expect(isOver).toBe(false)
    release()
    const { headers, status, text } = await asked
    expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"])
    expect(text.split("\r\n").length).toBeGreaterThan(2)
  })
})
