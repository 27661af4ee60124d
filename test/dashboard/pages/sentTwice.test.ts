import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isoTime } from "../../../src/domain/values/isoTime.ts"
import { limits } from "../../../src/Limits.ts"
import { type Browser, type DashboardServer, type Reply, startDashboard } from "../fixture.ts"
import { fieldsOf } from "./pageForm.ts"

const keys = "/dashboard/shop/sandbox/keys"

let server: DashboardServer
let owner: Browser
beforeAll(async () => {
  server = await startDashboard()
  const wish = { project: "shop", environment: "sandbox", scope: "full" } as const
  await Effect.runPromise(server.keys.create(wish))
  owner = await server.owner()
})
afterAll(() => server.stop())

/**
 * Sends the form of `page` twice at the same time, then once more. All replies lead to the same
 * page.
 */
const sendTwice = async (page: string, action: string, more: Record<string, string> = {}) => {
  const fields = { ...fieldsOf((await owner.get(page)).text, action), ...more }
  const send = () => owner.post(action, fields)
  const replies = [...(await Promise.all([send(), send()])), await send()]
  const [{ location }] = replies as [Reply]
  const led = replies.map((reply) => [reply.status, reply.location])
  expect(led).toEqual(replies.map(() => [303, location]))
  return { fields, location: location! }
}

const countKeys = async () => (await Effect.runPromise(server.keys.list)).length
const keyTextIn = (page: string) => /id="key"[^>]*>(lk_\w+)</.exec(page)?.[1]
const countLogged = async (action: string) =>
  (await server.logged()).filter((entry) => entry.action === action).length

describe("A form that is sent twice", () => {
  it("creates one key, which the next page shows", async () => {
    const before = await countKeys()
    const { location } = await sendTwice(keys, keys, { name: "Backend" })
    expect(await countKeys()).toBe(before + 1)
    expect(keyTextIn((await owner.get(location)).text)).toBeDefined()
    expect(await countLogged("key.create")).toBe(1)
  })

  it("rotates a key once, and the next page shows the new key", async () => {
    const { id } = (await Effect.runPromise(server.keys.list)).at(-1)!
    const { location } = await sendTwice(keys, `${keys}/${id}/rotate`)
    expect(keyTextIn((await owner.get(location)).text)).toBeDefined()
    await sendTwice(keys, `${keys}/${id}/revoke`)
  })

  it("creates one invitation, one reset link, and one project", async () => {
    const team = "/dashboard/team"
    const { location } = await sendTwice(team, `${team}/invite`, {
      role: "owner",
      email: "bob@example.com",
    })
    expect((await owner.get(location)).text).toContain("/dashboard/join#")
    expect(await Effect.runPromise(server.people.invitations)).toHaveLength(1)
    const [account] = await Effect.runPromise(server.people.accounts)
    const page = `${team}/${account!.id}`
    const reset = await sendTwice(page, `${page}/reset`)
    expect((await owner.get(reset.location)).text).toContain("/dashboard/reset#")
    expect(await countLogged("account.create_reset_link")).toBe(1)
    await sendTwice("/dashboard", "/dashboard/projects", { name: "arcade" })
  })

  it("counts as a new form with other texts, in another session, or a minute later", async () => {
    const before = await countKeys()
    const { fields } = await sendTwice(keys, keys)
    await owner.post(keys, { ...fields, name: "Another" })
    const again = server.browser()
    const password = "correct horse battery"
    await again.post("/dashboard/sign-in", { email: "ada@example.com", password })
    await again.post(keys, fields)
    expect(await countKeys()).toBe(before + 3)
    server.clock.set(isoTime(server.engine.now() + limits.sentFormMs))
    await owner.post(keys, fields)
    expect(await countKeys()).toBe(before + 4)
  })

  it("may be sent again after a refusal", async () => {
    const action = "/dashboard/projects"
    const fields = { ...fieldsOf((await owner.get("/dashboard")).text, action), name: "later" }
    const { projects } = await Effect.runPromise(server.engine.readDirectory)
    const arcade = [...projects.values()].find(({ name }) => name === "arcade")!.id
    await owner.post(`/dashboard/projects/${arcade}/rename`, { name: "later" })
    expect((await owner.post(action, fields)).status).toBe(409)
    await owner.post(`/dashboard/projects/${arcade}/rename`, { name: "arcade" })
    expect((await owner.post(action, fields)).status).toBe(303)
  })
})
