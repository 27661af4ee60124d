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
const simple = { name: "Code", kind: "github", mappings: JSON.stringify([merged]) }
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
    const fields = { ...fieldsOf(page.text, `${sources}/new`), ...simple }
    const source = await create(fields)
    expect(source).toMatchObject({ name: "Code", kind: "github", mappings: [merged] })
    expect((await create(fields)).id).toBe(source.id)
  })

  it("marks the fields of a refusal", async () => {
    for (const [name, bad] of Object.entries({
      mappings: "[{]",
      startsAt: "soon",
    })) {
      const fields = { ...simple, [name]: bad }
      expectMarked(await world.owner.post(`${sources}/new`, fields), name, bad)
    }
    const lower = JSON.stringify([{ ...merged, action: "lower" }])
    const { text } = await world.owner.post(`${sources}/new`, { ...simple, mappings: lower })
    expect(text).toContain("1 to 64 capital letters")
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
        body.kind = "github"
        delete body.secret
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
