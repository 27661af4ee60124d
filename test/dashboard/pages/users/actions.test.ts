/** Actions of admins on users. The tests read the results from the engine. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { userPath } from "../../../../src/dashboard/view/Users.ts"
import { environmentId, projectNamed } from "../../../../src/domain/project/Directory.ts"
import type { UserState } from "../../../../src/domain/user/User.ts"
import { password } from "../../fixture.ts"
import { type AskApi, idempotencyKeyOf, type Places, startPlaces } from "../place.ts"

let places: Places
let sandbox: AskApi
const base = "/dashboard/shop/sandbox"

/** The user in the engine. */
const readUser = async (
  userId: string,
  environment: "production" | "sandbox" = "sandbox",
): Promise<UserState | undefined> => {
  const { engine } = places.server
  const directory = await Effect.runPromise(engine.readDirectory)
  const { id } = projectNamed(directory, "shop")!
  return Effect.runPromise(engine.readUser(environmentId(id, environment), userId))
}

/** Sends a form as an admin. Returns the reply, and the page that follows. */
const send = async (path: string, fields: Record<string, string> = {}) => {
  const reply = await places.admin.post(path, fields)
  const after = reply.location === null ? undefined : await places.admin.get(reply.location)
  return { ...reply, after: after?.text ?? "" }
}

const isMarked = (text: string, field: string): boolean =>
  new RegExp(`name="${field}"[^>]*aria-invalid="true"`).test(text)

const grantXp = (userId: string, amount: number) =>
  sandbox("POST", `/users/${userId}/rewards`, { type: "xp", amount })

beforeAll(async () => {
  places = await startPlaces()
  sandbox = places.api("shop", "sandbox")
})
afterAll(() => places.server.stop())

describe("Granting a reward", () => {
  it("gives xp, points or a badge, and says what changed", async () => {
    await grantXp("granted", 1)
    const badge = await sandbox("POST", "/badges", {
      name: "By <hand>",
      criteria: { kind: "manual" },
    })
    const path = `${base}/users/granted/reward`
    expect((await places.admin.get(path)).text).toContain(
      `<option value="${badge.id}">By &lt;hand&gt;`,
    )
    const xp = await send(path, { type: "xp", amount: "150", reason: "Welcome" })
    expect(xp.after).toContain("Reward granted: xp +150 (151), level 1 → 2.")
    const points = await send(path, { type: "points", amount: "7" })
    expect(points.after).toContain("Reward granted: points +7 (7).")
    const given = await send(path, { type: "badge", badgeId: badge.id })
    expect(given.after).toContain("Reward granted: badge By &lt;hand&gt;.")
    const user = (await readUser("granted"))!
    expect(user).toMatchObject({ xp: 151, points: 7 })
    expect([...user.badges.keys()]).toEqual([badge.id])
  })

  it("with the id of an earlier one gives nothing, and says what differs and was taken back", async () => {
    await grantXp("again", 1)
    const path = `${base}/users/again/reward`
    const fields = { type: "xp", amount: "5", id: "once" }
    await send(path, fields)
    const same = await send(path, fields)
    expect(same.after).toContain("Reward with this id was granted before; nothing changed.<")
    await sandbox("DELETE", "/users/again/rewards/once")
    const other = await send(path, { ...fields, amount: "6" })
    expect(other.after).toContain(
      "Reward with this id was granted before, and taken back since; nothing changed. It differs: /amount.<",
    )
    expect((await readUser("again"))!.xp).toBe(1)
  })

  it("shows a notice once: a reload shows none", async () => {
    await grantXp("told-once", 1)
    const { after, location } = await send(`${base}/users/told-once/reward`, {
      type: "xp",
      amount: "5",
    })
    expect(after).toContain("Reward granted")
    expect((await places.admin.get(location!)).text).not.toContain('class="done"')
  })

  it("happens once for two clicks on one form, and again for a new form", async () => {
    await grantXp("clicked", 1)
    const path = `${base}/users/clicked/reward`
    const key = idempotencyKeyOf((await places.admin.get(path)).text)
    const fields = { type: "xp", amount: "10", idempotencyKey: key }
    const [one, other] = await Promise.all([send(path, fields), send(path, fields)])
    const later = await send(path, fields)
    expect([one.status, later.status]).toEqual([303, 303])
    expect([303, 409]).toContain(other.status)
    expect((await readUser("clicked"))!.xp).toBe(11)
    const next = idempotencyKeyOf((await places.admin.get(path)).text)
    expect(next).not.toBe(key)
    await send(path, { ...fields, idempotencyKey: next })
    expect((await readUser("clicked"))!.xp).toBe(21)
  })

  it("marks each wrong field, keeps the typed texts, and gives nothing", async () => {
    await grantXp("kept", 1)
    const path = `${base}/users/kept/reward`
    const wrong = [
      [{ type: "xp", amount: "-5" }, "amount", "must be from 1 to"],
      [{ type: "xp", amount: "many" }, "amount", ""],
      [{ type: "xp" }, "amount", ""],
      [{ type: "badge", badgeId: "" }, "badgeId", ""],
      [
        { type: "points", amount: "5", reason: "x".repeat(501) },
        "reason",
        "at most 500 characters",
      ],
      [{ type: "xp", amount: "5", id: "x".repeat(129) }, "id", "at most 128 characters"],
    ] as const
    for (const [fields, field, words] of wrong) {
      const { status, text } = await send(path, fields)
      const marked = isMarked(text, field)
      expect({ fields, status, marked }).toEqual({ fields, status: 400, marked: true })
      expect(text).toContain(words)
    }
    const { text } = await send(path, { type: "points", amount: "-5", reason: "<typed>" })
    expect(text).toContain('value="-5"')
    expect(text).toContain("&lt;typed&gt;</textarea>")
    expect(text).toContain('<option value="points" selected>')
    const unknown = await send(path, { type: "badge", badgeId: "bdg_unknown" })
    expect(unknown.status).toBe(404)
    expect(unknown.text).toContain('role="alert"')
    expect(await readUser("kept")).toMatchObject({ xp: 1, points: 0 })
  })

  it("does not create a user by a mistyped address", async () => {
    for (const form of [
      "reward",
      "spend",
      "event",
      "profile",
      "hide",
      "show",
      "merge",
      "erase",
      "export",
    ]) {
      const fields = { type: "xp", amount: "5", action: "A", confirm: "nobody", into: "kept" }
      expect((await send(`${base}/users/nobody/${form}`, fields)).status).toBe(404)
    }
    expect(await readUser("nobody")).toBe(undefined)
  })
})

describe("Spending points", () => {
  const give = (userId: string, amount: number) =>
    sandbox("POST", `/users/${userId}/rewards`, { type: "points", amount })

  it("with the id of an earlier spend takes nothing, and is refused for another amount", async () => {
    await give("regular", 10)
    const path = `${base}/users/regular/spend`
    await send(path, { amount: "4", id: "order" })
    const same = await send(path, { amount: "4", id: "order" })
    expect(same.after).toContain("A spend with this id was made before; nothing changed.<")
    const other = await send(path, { amount: "5", id: "order" })
    expect(other.status).toBe(409)
    expect(other.text).toContain("has this id and other content: /amount.")
    expect((await readUser("regular"))!.points).toBe(6)
  })

  it("subtracts them, shows the cause in the history, and an undo returns them", async () => {
    await give("buyer", 10)
    const path = `${base}/users/buyer`
    expect((await places.admin.get(path)).text).toContain(`href="${path}/spend"`)
    const spent = await send(`${path}/spend`, { amount: "4", reason: "<Freeze>" })
    expect(spent.after).toContain("Points spent: 4; 6 left.")
    expect(spent.after).toContain("Points −4 (6)")
    expect(spent.after).toContain("Points spent: <bdi>&lt;Freeze&gt;</bdi>")
    const revoke = /action="([^"]+\/spends\/spd_[^"]+)"/.exec(spent.after)![1]!
    const back = await send(revoke)
    expect(back.after).toContain("Given back: 4 points.")
    expect(back.after).toContain("Points +4 (10)")
    expect((await send(revoke)).status).toBe(404)
    expect((await readUser("buyer"))!.points).toBe(10)
  })

  it("is refused with the balance if points are missing, and spends once for two clicks", async () => {
    await give("clicker", 3)
    const path = `${base}/users/clicker/spend`
    const short = await send(path, { amount: "4" })
    expect(short.status).toBe(409)
    expect(short.text).toContain("The user has 3 points, 4 are needed.")
    expect(isMarked((await send(path, { amount: "0" })).text, "amount")).toBe(true)
    const idempotencyKey = idempotencyKeyOf(short.text)
    for (const _ of [1, 2]) await send(path, { amount: "2", idempotencyKey })
    expect((await readUser("clicker"))!.points).toBe(1)
  })
})

describe("Sending an event", () => {
  it("applies the rules as an event of an app does", async () => {
    await sandbox("POST", "/rules", {
      action: "SCORED",
      where: [{ path: "score", op: "gte", value: 90 }],
      reward: { xp: 30 },
    })
    await grantXp("player", 1)
    const path = `${base}/users/player/event`
    const scored = await send(path, { action: "SCORED", metadata: '{"score": 93}' })
    expect(scored.after).toContain("Event sent: xp +30 (31).")
    const low = await send(path, { action: "SCORED", metadata: '{"score": 3}' })
    expect(low.after).toContain("Event sent; no balance changed.")
    const unknown = "No rule, quest, badge or streak in use names its action."
    expect(low.after).not.toContain(unknown)
    const misspelt = await send(path, { action: "SCORD", metadata: "" })
    expect(misspelt.after).toContain(`Event sent; no balance changed. ${unknown}`)
    expect((await readUser("player"))!.xp).toBe(31)
  })

  it("marks all wrong fields at once", async () => {
    await grantXp("scorer", 1)
    const path = `${base}/users/scorer/event`
    const { status, text } = await send(path, { action: "no action", metadata: "{score: 93" })
    expect(status).toBe(400)
    expect([isMarked(text, "action"), isMarked(text, "metadata")]).toEqual([true, true])
    expect(text).toContain("{score: 93</textarea>")
  })
})

describe("Undoing", () => {
  it("reverts the earnings of an event, and is refused with the reason the second time", async () => {
    await sandbox("POST", "/rules", { action: "UNDONE", reward: { xp: 120, points: 4 } })
    const { eventId } = await sandbox("POST", "/events", { userId: "undone", action: "UNDONE" })
    const { text } = await places.admin.get(`${base}/users/undone`)
    const path = `${base}/users/undone/events/${eventId}/revoke`
    expect(text).toContain(`action="${path}"`)
    const { after } = await send(path)
    expect(after).toContain("Taken back: 120 xp, 4 points, level 2 → 1.")
    expect(await readUser("undone")).toMatchObject({ xp: 0, points: 0 })
    const again = await send(path)
    expect(again.status).toBe(404)
    expect(again.text).toContain("was already revoked")
    expect(again.text).toContain("<h1>User undone</h1>")
  })

  it("reverts a reward", async () => {
    const first = await sandbox("POST", "/users/covered/rewards", { type: "points", amount: 50 })
    const { text } = await places.admin.get(`${base}/users/covered`)
    const path = `${base}/users/covered/rewards/${first.rewardId}/revoke`
    expect(text).toContain(`action="${path}"`)
    expect((await send(path)).after).toContain("Taken back: 0 xp, 50 points.")
    expect((await readUser("covered"))!.points).toBe(0)
  })

  it("refunds a purchase, which the page lists, and says so in the audit log", async () => {
    await sandbox("POST", "/items", { key: "hat", name: "A <hat>", price: { points: 5 }, stock: 1 })
    await sandbox("POST", "/users/shopper/rewards", { type: "points", amount: 6 })
    const path = `${base}/users/shopper`
    expect((await places.admin.get(path)).text).toContain("The user has bought nothing yet.")
    const { purchaseId } = await sandbox("POST", "/users/shopper/purchases", { item: "hat" })
    const address = `${path}/purchases/${purchaseId}/revoke`
    const { text } = await places.admin.get(path)
    expect(text).toContain("The user gets back 5 points")
    expect(text).toContain(`action="${address}"`)
    const { after } = await send(address, { idempotencyKey: "refund" })
    expect(after).toContain("Given back: 5 points.")
    expect(after).toContain("refunded <time")
    expect((await readUser("shopper"))?.points).toBe(6)
    expect((await sandbox("GET", "/items/hat")).left).toBe(1)
    const log = (await places.admin.get(`${base}/log?action=purchase.revoke`)).text
    expect(log).toContain("purchase.revoke")
    expect(log).toContain(purchaseId)
    const again = await send(address, { idempotencyKey: "another" })
    expect(again.text).toContain("The purchase was already revoked")
  })

  it("reaches no event of another environment or user", async () => {
    const bank = places.api("bank", "sandbox")
    const production = places.api("shop", "production")
    await sandbox("POST", "/rules", { action: "OWN", reward: { xp: 10 } })
    await sandbox("POST", "/events", { userId: "same", action: "OWN" })
    const foreign = [
      await bank("POST", "/users/same/rewards", { type: "xp", amount: 9 }),
      await production("POST", "/users/same/rewards", { type: "xp", amount: 9 }),
      await sandbox("POST", "/users/neighbour/rewards", { type: "xp", amount: 9 }),
    ]
    for (const { rewardId } of foreign) {
      const { status } = await send(`${base}/users/same/rewards/${rewardId}/revoke`)
      expect(status).toBe(404)
    }
    expect((await readUser("same"))!.xp).toBe(10)
    expect((await readUser("same", "production"))!.xp).toBe(9)
    expect((await bank("GET", "/users/same")).xp).toBe(9)
  })
})

describe("A user on leaderboards", () => {
  it("is hidden and shown again", async () => {
    await grantXp("hider", 900)
    const isListed = async () =>
      (await sandbox("GET", "/leaderboard?limit=100")).entries.some(
        ({ userId }: { userId: string }) => userId === "hider",
      )
    expect(await isListed()).toBe(true)
    const hidden = await send(`${base}/users/hider/hide`)
    expect(hidden.after).toContain("<dt>Leaderboards</dt><dd>hidden")
    expect(hidden.after).toContain("Show on leaderboards")
    expect(await isListed()).toBe(false)
    const shown = await send(`${base}/users/hider/show`)
    expect(shown.after).toContain("Hide from leaderboards")
    expect(await isListed()).toBe(true)
  })
})

describe("A profile", () => {
  const path = `${base}/users/profiled/profile`
  const unescaped = (text: string) => text.replaceAll("&quot;", '"').replaceAll("&#39;", "'")
  /** The fields that a browser sends for the unchanged form. */
  const fieldsOf = (text: string): Record<string, string> => {
    const fields: Record<string, string> = {}
    for (const [, name, value] of text.matchAll(
      /<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"/g,
    )) {
      fields[name!] = unescaped(value!)
    }
    const [, attributes] = /<textarea[^>]*>\n([^<]*)</.exec(text)!
    fields.attributes = unescaped(attributes!)
    for (const [name, value] of Object.entries(fields)) {
      fields[name] = value.replaceAll("\n", "\r\n")
    }
    return fields
  }

  it("is changed in the edited fields, and keeps changes made meanwhile in the others", async () => {
    await sandbox("PUT", "/users/profiled", {
      displayName: "Ada",
      attributes: { plan: "free", n: 1 },
    })
    const fields = fieldsOf((await places.admin.get(path)).text)
    await sandbox("PUT", "/users/profiled", { attributes: { plan: "pro" } })
    await send(path, { ...fields, displayName: "Ada L", timezone: "Europe/Berlin" })
    expect((await readUser("profiled"))!.profile).toEqual({
      displayName: "Ada L",
      timezone: "Europe/Berlin",
      attributes: { plan: "pro" },
      hidden: false,
    })
  })

  it("keeps a time zone and a name that were changed while the form was open", async () => {
    const fields = fieldsOf((await places.admin.get(path)).text)
    await sandbox("PUT", "/users/profiled", { displayName: "Ada B", timezone: "Asia/Tokyo" })
    await send(path, { ...fields, attributes: '{"plan": "team"}' })
    expect((await readUser("profiled"))!.profile).toMatchObject({
      displayName: "Ada B",
      timezone: "Asia/Tokyo",
      attributes: { plan: "team" },
    })
  })

  it("is emptied by empty fields", async () => {
    const fields = fieldsOf((await places.admin.get(path)).text)
    await send(path, { ...fields, displayName: "", timezone: "", attributes: "" })
    expect((await readUser("profiled"))!.profile).toEqual({
      displayName: null,
      timezone: null,
      attributes: {},
      hidden: false,
    })
  })

  it("marks its wrong fields, and keeps the typed texts", async () => {
    const fields = fieldsOf((await places.admin.get(path)).text)
    const wrong = { displayName: "x".repeat(201), timezone: "Moon/Base", attributes: "[1" }
    const { status, text } = await send(path, { ...fields, ...wrong })
    expect(status).toBe(400)
    for (const field of Object.keys(wrong)) {
      expect({ field, marked: isMarked(text, field) }).toEqual({ field, marked: true })
    }
    expect(text).toContain('value="Moon/Base"')
    const corrected = { ...fieldsOf(text), ...fields, displayName: "Grace" }
    expect((await send(path, corrected)).status).toBe(303)
    expect((await readUser("profiled"))!.profile.displayName).toBe("Grace")
    const nested = await send(path, { ...fields, attributes: '{"a": {"b": 1}}' })
    expect(nested.text).toContain("/attributes/a")
  })
})

describe("Exporting a user", () => {
  it("downloads what the API exports, as a file with a harmless name", async () => {
    const id = '../"a"\u202e.exe'
    await sandbox("POST", "/events", { userId: id, action: "A", metadata: { secret: "kept" } })
    const reply = await send(`${userPath(base, id)}/export`)
    expect(reply.status).toBe(200)
    expect(reply.headers.get("content-type")).toBe("application/json")
    expect(reply.headers.get("content-disposition")).toBe(
      'attachment; filename="shop_sandbox_-a-exe.json"',
    )
    expect(reply.headers.get("cache-control")).toBe("no-store")
    expect(reply.headers.get("x-content-type-options")).toBe("nosniff")
    const { exportedAt, ...file } = JSON.parse(reply.text)
    const api = await sandbox("GET", `/users/${encodeURIComponent(id)}/export`)
    expect({ ...file, exportedAt: api.exportedAt }).toEqual(api)
    expect(exportedAt).toMatch(/^2026-11-22T/)
  })
})

describe("Merging a user", () => {
  it("leads to the user who stays, and shows why it is refused", async () => {
    await grantXp("visitor-1", 5)
    await grantXp("member", 2)
    const path = `${userPath(base, "visitor-1")}/merge`
    const unknown = await send(path, { into: "no one" })
    expect(unknown.status).toBe(404)
    expect(unknown.text).toContain("into names no user of this environment.")
    const itself = await send(path, { into: "visitor-1" })
    expect(itself.status).toBe(400)
    expect(isMarked(itself.text, "into")).toBe(true)
    const { after, location } = await send(path, { into: "member" })
    expect(location).toMatch(new RegExp(`^${userPath(base, "member")}\\?done=`))
    expect(after).toContain("User visitor-1 was merged into this one.")
    expect(after).toContain("merged into this one, +5 xp")
    expect(await readUser("visitor-1")).toMatchObject({ id: "member", xp: 7 })
  })
})

describe("Erasing a user", () => {
  it("needs the exact id, and says when all data will be gone", async () => {
    const id = "erased/\u202e1"
    await sandbox("POST", "/events", { userId: id, action: "A" })
    const path = `${userPath(base, id)}/erase`
    for (const confirm of ["", "erased", `${id} `, "erased/1"]) {
      const { status, text } = await send(path, { confirm })
      expect({ confirm, status }).toEqual({ confirm, status: 400 })
      expect(isMarked(text, "confirm")).toBe(true)
      expect(await readUser(id)).toBeDefined()
    }
    const { after, location } = await send(path, { confirm: id })
    expect(location).toMatch(new RegExp(`^${base}/users\\?done=`))
    expect(after).toMatch(/User erased\/\\u202e1 is erased\..+ by 20\d\d-\d\d-\d\d\./)
    expect(await readUser(id)).toBe(undefined)
    expect((await places.admin.get(userPath(base, id))).status).toBe(404)
  })

  it("needs a confirmation, which leads back to the user", async () => {
    const id = "old/session"
    await sandbox("POST", "/events", { userId: id, action: "A" })
    const { server } = places
    const now = server.engine.now()
    server.clock.set(new Date(now + 15 * 60_000).toISOString())
    const page = userPath(base, id)
    const own = { "sec-fetch-site": "same-origin", referer: `${server.url}${page}?kind=xp.earned` }
    const asked = await places.admin.post(`${page}/erase`, { confirm: id }, own)
    expect(asked.location).toBe(`/dashboard/confirm?next=${encodeURIComponent(page)}`)
    expect(await readUser(id)).toBeDefined()
    expect((await places.admin.post(asked.location!, { password })).location).toBe(page)
    expect((await send(`${page}/erase`, { confirm: id })).status).toBe(303)
    expect(await readUser(id)).toBe(undefined)
  })
})

describe("A viewer", () => {
  it("changes nothing, whatever form the browser sends", async () => {
    const { rewardId } = await grantXp("watched", 5)
    const before = await readUser("watched")
    const fields = { confirm: "watched", type: "xp", amount: "5", action: "A", displayName: "x" }
    for (const form of [
      "reward",
      "spend",
      "event",
      "profile",
      "hide",
      "export",
      "merge",
      "erase",
      `rewards/${rewardId}/revoke`,
    ]) {
      const { status, text } = await places.viewer.post(`${base}/users/watched/${form}`, fields)
      expect({ form, status }).toEqual({ form, status: 403 })
      expect(text).not.toContain('"records"')
    }
    expect(await readUser("watched")).toEqual(before)
  })
})
