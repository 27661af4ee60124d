/** The pages of sources: create, try, set the secret, and what arrived. */
import { createHmac } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { cellsOf, expectMarked, fieldsOf } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.server.stop())

const sources = `${base}/sources`
const merged = {
  event: "pull_request",
  where: [{ path: "/pull_request/merged", op: "eq", value: true }],
  action: "MERGED",
  userId: "/sender/login",
}
const mapping = {
  "mappings.0.event": "pull_request",
  "mappings.0.action": "MERGED",
  "mappings.0.userId": "/sender/login",
  "mappings.0.where.0.path": "/pull_request/merged",
  "mappings.0.where.0.op": "eq",
  "mappings.0.where.0.value": "true",
}
const simple = { name: "Code", kind: "github", ...mapping }
const create = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${sources}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/sources\/(src_\w+)\?done=[\w-]+$/.exec(location)!
  return (await world.api("GET", `/v1/sources/${id}`)).json
}

/** Sends a delivery as GitHub does. */
const deliver = (path: string, secret: string, body: object, deliveryId = "delivery-1") => {
  const payload = JSON.stringify(body)
  return fetch(`${world.server.url}${path}`, {
    method: "POST",
    body: payload,
    headers: {
      "content-type": "application/json",
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(payload).digest("hex")}`,
      "x-github-event": "pull_request",
      "x-github-delivery": deliveryId,
    },
  })
}

describe("The form of a source", () => {
  it("creates the typed source, and only one however often it is sent", async () => {
    const page = await world.owner.get(`${sources}/new`)
    expect(page.text).toContain("Such as invoice.paid. Every kind, if empty.")
    const fields = { ...fieldsOf(page.text, `${sources}/new`), ...simple }
    const source = await create(fields)
    expect(source).toMatchObject({ name: "Code", kind: "github", mappings: [merged] })
    expect((await create(fields)).id).toBe(source.id)
  })

  it("marks the fields of a refusal", async () => {
    const tracker = { kind: "segment", "tracker.own": "yes" }
    const wrong: ReadonlyArray<readonly [name: string, bad: string, more?: object]> = [
      ["startsAt", "soon"],
      ["mappings.0.action", "lower"],
      ["mappings.0.action", ""],
      ["mappings.0.userId", ""],
      ["mappings.0.userId", "sender"],
      ["mappings.0.id", "/a~b"],
      ["mappings.0.occurredAt", "created"],
      ["mappings.0.metadata", "total properties"],
      ["mappings.0.metadata", "{total: 1}"],
      ["mappings.0.where.0.path", "merged"],
      ["mappings.0.where.0.value", "[1]"],
      ["tracker.traits.displayName", "name", tracker],
      ["tracker.traits.attributes", "plan plan", tracker],
    ]
    for (const [name, bad, more] of wrong) {
      const fields = { ...simple, ...more, [name]: bad }
      expectMarked(await world.owner.post(`${sources}/new`, fields), name, bad)
    }
  })

  it("gets and loses rows of mappings and of their conditions without being saved", async () => {
    const draft = async (intent: string) => {
      const { text } = await world.owner.post(`${sources}/new/draft`, { ...simple, intent })
      return fieldsOf(text, `${sources}/new`)
    }
    expect(await draft("add:mappings")).toMatchObject({ ...mapping, "mappings.1.action": "" })
    expect(await draft("add:mappings.0.where")).toMatchObject({
      ...mapping,
      "mappings.0.where.1.path": "",
    })
    expect(await draft("remove:mappings.0")).not.toHaveProperty(["mappings.0.action"])
    const bare = await draft("remove:mappings.0.where.0")
    expect(bare).toHaveProperty(["mappings.0.action"], "MERGED")
    expect(bare).not.toHaveProperty(["mappings.0.where.0.path"])
  })

  it("suggests the pointers of the sample delivery, which are its leaves", async () => {
    const body = { "a/b": { "m~n": [1] }, "<b>": null, batch: undefined }
    const { text } = await world.owner.post(`${sources}/new/draft`, {
      ...simple,
      ...{ intent: "add:mappings", "sample.body": JSON.stringify(body) },
    })
    expect(text).toContain(
      '<datalist id="pointers-of-sample"><option value="/a~1b/m~0n/0"><option value="/&lt;b&gt;"></datalist>',
    )
    expect(text).toMatch(/name="mappings\.0\.userId"[^>]* list="pointers-of-sample"/)
    expect(text).toMatch(/name="mappings\.0\.action"[^>]* list="actions-seen"/)
    const long = JSON.stringify({ list: Array(300).fill({ deep: { deeper: 1 } }) })
    const wide = await world.owner.post(`${sources}/new/draft`, {
      ...simple,
      ...{ intent: "add:mappings", "sample.body": long },
    })
    expect(wide.text.match(/<option value="\/list\//g)).toHaveLength(200)
  })

  it("has the rules of a tracker, without a secret, and tries its messages", async () => {
    const fields = {
      ...{ name: "Web", kind: "segment", "mappings.0.event": "Order Completed" },
      ...{ "mappings.0.action": "ORDER_PAID", "mappings.0.metadata": "total /properties/total" },
      ...{ "tracker.unmapped": "ignored", "tracker.own": "yes" },
      "tracker.traits.attributes": "plan /company/plan\ntier /tier",
    }
    const source = await create(fields)
    expect(source).toMatchObject({
      kind: "segment",
      mappings: [{ event: "Order Completed", action: "ORDER_PAID" }],
      tracker: {
        unmapped: "ignored",
        traits: { attributes: { plan: "/company/plan", tier: "/tier" } },
      },
    })
    const page = await world.owner.get(`${sources}/${source.id}`)
    expect(page.text).toContain("/v1/ingest/segment/batch")
    expect(page.text).not.toContain("Set secret")
    expect(page.text).toContain('name="tracker.unmapped"')
    const hook = await create({ ...simple, name: "Hook" })
    expect((await world.owner.get(`${sources}/${hook.id}`)).text).not.toContain("tracker.unmapped")

    const order = {
      type: "track",
      event: "Order Completed",
      userId: "ada",
      properties: { total: 5 },
    }
    const batch = [
      order,
      { type: "track", event: "Else", userId: "ada" },
      { type: "identify", userId: "ada", traits: { company: { plan: "pro" } } },
      { type: "alias", userId: "ada", previousId: "visitor" },
      { type: "alias", userId: "ada" },
    ]
    const { text } = await world.owner.post(`${sources}/new/draft`, {
      ...fields,
      ...{ intent: "try", "sample.body": JSON.stringify({ batch }) },
    })
    const parts = (message: string) => cellsOf(text, message)
    expect(parts("1")).toEqual(["1", "ORDER_PAID", "ada", expect.stringContaining('"total":5')])
    expect(parts("2").slice(1)).toEqual(["nothing", "", ""])
    expect(parts("3").slice(1, 3)).toEqual(["a change of the profile", "ada"])
    expect(parts("4").slice(1)).toEqual(["a merge", "visitor", "into ada"])
    expect(parts("5")[3]).toContain("/batch/4/previousId")
    expect((await world.api("GET", "/v1/users/ada")).status).toBe(404)
  })

  it("tries a sample delivery before it is saved, and sends no event", async () => {
    const tried = async (body: object, event: string) =>
      (
        await world.owner.post(`${sources}/new/draft`, {
          ...simple,
          intent: "try",
          "sample.body": JSON.stringify(body),
          "sample.event": event,
        })
      ).text
    const body = { pull_request: { merged: true }, sender: { login: "tried" } }
    const text = await tried(body, "pull_request")
    expect(cellsOf(text, "1").slice(0, 2)).toEqual(["MERGED", "tried"])
    expect(await tried({ ...body, sender: {} }, "pull_request")).toContain(
      "leads to nothing that is a user&#39;s id",
    )
    expect(await tried(body, "push")).toContain("no mapping matches")
    expect((await world.api("GET", "/v1/users/tried")).status).toBe(404)
  })

  it("saves any source of the API unchanged", async () => {
    await roundTrip(world, {
      schema: "NewSource",
      list: "sources",
      count: 15,
      edit: (body: Json) => {
        body.status = "draft"
        delete body.secret
        if (body.kind !== "segment" && body.kind !== "posthog") {
          delete body.tracker
          for (const one of body.mappings) one.userId ??= "/user"
        }
      },
    })
    for (const { id } of (await world.api("GET", "/v1/sources?limit=100")).json.sources) {
      await world.api("DELETE", `/v1/sources/${id}`)
    }
  })
})

describe("The page of a source", () => {
  it("shows a new secret once, the address, and what arrived", async () => {
    const source = await create({ ...simple, name: "Shown" })
    const address = `${sources}/${source.id}`
    const page = await world.owner.get(address)
    expect(page.text).toContain(source.path)
    const fields = { ...fieldsOf(page.text, `${address}/secret`), secret: "", graceSeconds: "0" }
    const { location } = await world.owner.post(`${address}/secret`, fields)
    const shown = await world.owner.get(location!)
    const [, secret = ""] = /id="new-secret"[^>]*>([\w-]{43})</.exec(shown.text) ?? []
    expect((await world.owner.get(location!)).text).not.toContain(secret)

    const body = { pull_request: { merged: true }, sender: { login: "ada" } }
    expect((await deliver(source.path, secret, body)).status).toBe(200)
    expect((await deliver(source.path, secret, { ...body, sender: {} }, "two")).status).toBe(200)
    expect((await deliver(source.path, "another secret", body)).status).toBe(400)
    const { text } = await world.owner.get(address)
    expect(text).toMatch(/Forged<\/dt>\s*<dd>1</)
    expect(text).toContain("<h2>Latest failures</h2>")
    expect(text).toContain("<code>two</code>")
    expect((await world.owner.get(sources)).text).toContain("MERGED")
    const log = (await world.owner.get(`${base}/log`)).text
    expect(log).toContain("source.rotate_secret")
    expect(log).not.toContain(secret)
  })

  it("shows a viewer neither the form of the secret nor that of the source", async () => {
    const source = await create({ ...simple, name: "Viewed" })
    const { text } = await world.viewer.get(`${sources}/${source.id}`)
    expect(text).toContain(source.path)
    expect(text).not.toContain("Replace secret")
  })
})
