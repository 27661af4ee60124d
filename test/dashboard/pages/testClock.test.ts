import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Places, startPlaces } from "./place.ts"

let places: Places
beforeAll(async () => {
  places = await startPlaces()
})
afterAll(() => places.server.stop())

const clock = "/dashboard/shop/sandbox/clock"
const live = "/dashboard/shop/production"
const read = async () =>
  (await places.api("shop", "sandbox")("GET", "/test-clock")) as {
    readonly now: string
    readonly advancedByMs: number
    readonly advancedTo: string | null
  }

describe("The page of the test clock", () => {
  it("shows its time to viewers, who cannot advance it", async () => {
    const { status, text } = await places.viewer.get(clock)
    expect(status).toBe(200)
    expect(text).toContain((await read()).now.slice(0, 10))
    expect(text).not.toContain('name="advanceTo"')
    expect((await places.viewer.post(clock, { days: "1" })).status).toBe(403)
  })

  it("marks a time that is refused at its field", async () => {
    const { status, text } = await places.admin.post(clock, { advanceTo: "2020-01-01T00:00" })
    expect(status).toBe(400)
    expect(text).toContain('aria-invalid="true"')
    expect(text).toContain('value="2020-01-01T00:00"')
    expect((await read()).advancedByMs).toBe(0)
  })

  it("advances by a day, and to a time, and logs both", async () => {
    const before = await read()
    expect((await places.admin.get(clock)).text).not.toContain("Test clock: <time")
    const done = await places.admin.post(clock, { days: "1" })
    expect([done.status, done.location]).toEqual([303, expect.stringContaining(`${clock}?done=`)])
    const after = await read()
    const day = 86_400_000
    expect(Date.parse(after.now) - Date.parse(before.now)).toBeGreaterThanOrEqual(day)
    const later = new Date(Date.parse(after.now) + 30 * day).toISOString().slice(0, 16)
    await places.admin.post(clock, { advanceTo: later })
    expect((await read()).advancedTo).toBe(`${later}:00.000Z`)
    const [entry, first] = await places.server.logged()
    expect(first).toMatchObject({ action: "test_clock.advance", environment: "sandbox" })
    expect(entry).toMatchObject({
      action: "test_clock.advance",
      environment: "sandbox",
      changes: [
        {
          field: "advancedTo",
          from: JSON.stringify(after.advancedTo),
          to: JSON.stringify(`${later}:00.000Z`),
        },
      ],
    })
  })

  it("shows the time on every page of the sandbox, and on none of production", async () => {
    expect((await places.viewer.get("/dashboard/shop/sandbox/rules")).text).toContain(
      "Test clock: <time",
    )
    for (const path of [live, `${live}/rules`, "/dashboard/bank/sandbox"]) {
      expect((await places.owner.get(path)).text).not.toContain("Test clock: <time")
    }
  })

  it("says that production has none, and advances nothing there", async () => {
    const { status, text } = await places.owner.get(`${live}/clock`)
    expect([status, text]).toEqual([200, expect.stringContaining("Production has no test clock")])
    expect(text).not.toContain('name="advanceTo"')
    expect((await places.owner.post(`${live}/clock`, { days: "1" })).status).toBe(403)
  })
})
