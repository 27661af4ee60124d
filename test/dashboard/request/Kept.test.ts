import { describe, expect, it } from "vitest"
import { Kept } from "../../../src/dashboard/request/Kept.ts"
import { html } from "../../../src/dashboard/view/Html.ts"
import { pageReply } from "../../../src/dashboard/view/Replies.ts"
import { limits } from "../../../src/Limits.ts"

const pageOf = (text: string) => pageReply(400, html`${text}`)
const form = {
  path: "/dashboard/team/invite",
  body: Buffer.from("a=b"),
  action: "invitation.create",
}

describe("A session's kept pages and forms", () => {
  it("show the same page with its status, any number of times, to that session only", () => {
    const kept = new Kept(() => 0)
    const name = kept.keepPage(pageOf("typed"), "ses_1")
    for (let times = 0; times < 2; times++) {
      expect(kept.page(name, "ses_1")).toMatchObject({ status: 400, body: "typed" })
    }
    expect(kept.page(name, "ses_2")).toBeUndefined()
    expect(kept.page("none", "ses_1")).toBeUndefined()
    expect(kept.page(null, "ses_1")).toBeUndefined()
    expect(kept.form(name, "ses_1")).toBeUndefined()
  })

  it("have new idempotency keys each time, so that a changed form does not count as sent", () => {
    const kept = new Kept(() => 0)
    const field = html`<input type="hidden" name="idempotencyKey" value="first">`
    const name = kept.keepPage(pageReply(200, field), "ses_1")
    const bodies = [1, 2].map(() => String(kept.page(name, "ses_1")?.body))
    for (const body of bodies) expect(body).toMatch(/name="idempotencyKey" value="[\w-]{36}"/)
    expect(bodies[0]).not.toBe(bodies[1])
  })

  it("return a form once", () => {
    const kept = new Kept(() => 0)
    const name = kept.keepForm(form, "ses_1")
    expect(kept.takeForm(name, "ses_2")).toBeUndefined()
    expect(kept.form(name, "ses_1")).toMatchObject(form)
    expect(kept.takeForm(name, "ses_1")).toMatchObject(form)
    expect(kept.takeForm(name, "ses_1")).toBeUndefined()
    expect(kept.size).toBe(0)
  })

  it(`last ${limits.keptPagesMs} ms`, () => {
    let now = 0
    const kept = new Kept(() => now)
    const name = kept.keepPage(pageOf("typed"), "ses_1")
    now = limits.keptPagesMs - 1
    expect(kept.page(name, "ses_1")).toBeDefined()
    now = limits.keptPagesMs
    expect(kept.page(name, "ses_1")).toBeUndefined()
    kept.keepPage(pageOf("next"), "ses_2")
    expect(kept.size).toBe(1)
  })

  it(`are the newest ${limits.keptPagesOfSessionMax} of the session, whatever other sessions keep`, () => {
    const kept = new Kept(() => 0)
    const other = kept.keepPage(pageOf("other"), "ses_2")
    const names = Array.from({ length: limits.keptPagesOfSessionMax + 1 }, (_, index) =>
      kept.keepPage(pageOf(String(index)), "ses_1"),
    )
    expect(kept.page(names[0]!, "ses_1")).toBeUndefined()
    expect(kept.page(names[1]!, "ses_1")?.body).toBe("1")
    expect(kept.page(other, "ses_2")?.body).toBe("other")
    expect(kept.size).toBe(limits.keptPagesOfSessionMax + 1)
  })

  it(`have at most ${limits.keptPagesBytesMax} bytes over all sessions: the oldest are dropped`, () => {
    const kept = new Kept(() => 0)
    const half = "x".repeat(limits.keptPagesBytesMax / 2)
    const names = [1, 2, 3].map((number) => kept.keepPage(pageOf(half), `ses_${number}`))
    expect(names.map((name, index) => kept.page(name, `ses_${index + 1}`) !== undefined)).toEqual([
      false,
      true,
      true,
    ])
    expect(kept.size).toBe(2)
  })
})
