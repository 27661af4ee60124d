/** The pages of webhooks, with real receivers on loopback. */
import { Effect } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { routes } from "../../../src/dashboard/Dashboard.ts"
import { limits } from "../../../src/Limits.ts"
import { AllowedRanges } from "../../../src/webhooks/send/AddressGuard.ts"
import { notReachable } from "../../../src/webhooks/WebhookUrl.ts"
import { endAll, receiving, until } from "../../http/webhooks.ts"
import { answer, isSignedBy, type Receiver } from "../../webhooks/Receiver.ts"
import { ask } from "../browser/sample.ts"
import {
  type Browser,
  type DashboardServer,
  password,
  type Reply,
  startDashboard,
} from "../fixture.ts"

const sandbox = "/dashboard/shop/sandbox/webhooks"
const production = "/dashboard/shop/production/webhooks"

let server: DashboardServer
let owner: Browser
let viewer: Browser
let key: string

const makeKey = (environment: "production" | "sandbox") =>
  Effect.runPromise(server.keys.create({ project: "shop", environment, scope: "full" }))

beforeAll(async () => {
  const webhooks = { allowed: new AllowedRanges(["127.0.0.0/8"]), schedule: [0] }
  server = await startDashboard({}, { webhooks })
  key = (await makeKey("sandbox")).key
  await makeKey("production")
  owner = await server.owner()
  const { projects } = await Effect.runPromise(server.engine.readDirectory)
  viewer = await server.joined(owner, "viewer", `viewer ${[...projects.keys()][0]}`)
})
afterEach(endAll)
afterAll(() => server.stop())

type Fields = ReadonlyArray<readonly [string, string]>

const newWebhook = (url: string, events: ReadonlyArray<string>, more: Fields = []): Fields => [
  ["url", url],
  ...events.map((pattern) => ["events", pattern] as const),
  ...more,
]

/** Creates a webhook by its form. Returns its address, and the page that follows. */
const create = async (url: string, events = ["reward.granted"], list = sandbox, more?: Fields) => {
  const { location, text } = await owner.post(`${list}/new`, newWebhook(url, events, more))
  if (location === null) throw new Error(text)
  return { address: location.split("?")[0]!, shown: await owner.get(location), location }
}

const secretIn = ({ text }: Reply): string | undefined =>
  /id="secret"[^>]*>(whsec_[^<]+)</.exec(text)?.[1]

const reward = (userId: string) =>
  ask(server.url, key, "POST", `/users/${encodeURIComponent(userId)}/rewards`, {
    type: "xp",
    amount: 5,
  })

/** The page of a webhook once the table of its deliveries `holds`. */
const pageWhere = (address: string, holds: (text: string) => boolean): Promise<Reply> =>
  until(
    () => owner.get(address),
    ({ text }) => holds(text),
  )

const rowsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<tr><td[^>]*>.*?<\/tr>/gs)].map(([row]) => row.replace(/<[^>]+>/g, " "))

/** The addresses of the deliveries on the page, in its order. */
const deliveriesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/href="([^"]+\/deliveries\/[^"]+)"/g)].map(([, path]) => path!)

const succeeded = (count: number) => (text: string) =>
  rowsOf(text).filter((row) => row.includes("succeeded")).length === count

describe("A webhook", () => {
  it("is created, gets events, is redelivered, rotated, recovered and deleted", async () => {
    const receiver = await receiving()
    receiver.answer = answer(200, {}, "thank you")
    const { address, location, shown } = await create(receiver.url())
    const secret = secretIn(shown)!
    expect(secret).toMatch(/^whsec_/)
    expect(secretIn(await owner.get(location))).toBeUndefined()
    expect(shown.text).toContain("None was sent yet")
    expect(shown.text).toContain("webhook.verify(Buffer.concat(chunks), request.headers)")
    expect(shown.text).toContain("hmac.compare_digest(")

    await reward("ada")
    await receiver.atLeast(1)
    const { text } = await pageWhere(address, succeeded(1))
    const [delivery] = deliveriesIn(text)
    const details = await owner.get(delivery!)
    expect(details.text).toContain(`webhook-id: ${receiver.received[0]!.headers["webhook-id"]}`)
    const timestamp = receiver.received[0]!.headers["webhook-timestamp"]
    expect(details.text).toContain(`webhook-timestamp: ${timestamp}`)
    expect(details.text).toContain("&quot;userId&quot;: &quot;ada&quot;")
    expect(details.text).toContain("thank you")

    const again = await owner.post(`${delivery}/redeliver`)
    expect(again.location).toContain(`${delivery}?done=`)
    expect((await owner.get(again.location!)).text).toContain("on its way once more")
    await receiver.atLeast(2)
    expect(receiver.received[1]!.body).toBe(receiver.received[0]!.body)

    const rotated = await owner.post(`${address}/rotate`, { graceSeconds: "3600" })
    const afterwards = await owner.get(rotated.location!)
    const newSecret = secretIn(afterwards)!
    expect(newSecret).not.toBe(secret)
    expect(afterwards.text).toContain("The secret before signs each message, too, until")
    await reward("bob")
    await receiver.atLeast(3)
    const [, , both] = receiver.received
    expect([secret, newSecret].map((one) => isSignedBy(one, both!))).toEqual([true, true])

    await owner.post(`${address}/pause`)
    expect((await owner.get(address)).text).toContain("paused by hand")
    await reward("carl")
    await owner.post(`${address}/enable`)
    const since = "2026-11-22T09:00"
    const recovering = await owner.post(`${address}/recover`, { since })
    expect((await owner.get(recovering.location!)).text).toContain(
      "Messages since 2026-11-22T09:00:00.000Z that were missed",
    )
    await receiver.atLeast(4)
    expect(receiver.received[3]!.message.data.userId).toBe("carl")

    const deleted = await owner.post(`${address}/delete`)
    expect(deleted.location).toContain(`${sandbox}?done=`)
    expect((await owner.get(deleted.location!)).text).toContain("is deleted")
    expect((await owner.get(address)).status).toBe(404)
    const actions = (await server.logged()).map(({ action }) => action)
    expect(actions.filter((action) => action.startsWith("webhook.")).toReversed()).toEqual([
      "webhook.create",
      "webhook.redeliver",
      "webhook.rotate_secret",
      "webhook.pause",
      "webhook.enable",
      "webhook.recover",
      "webhook.delete",
    ])
    expect(JSON.stringify(await server.logged())).not.toContain("whsec_")
  })

  it("is sent a test message at the push of a button", async () => {
    const receiver = await receiving()
    const { address } = await create(receiver.url())
    const { location } = await owner.post(`${address}/test`)
    expect((await owner.get(location!)).text).toContain("A test message is on its way")
    await receiver.atLeast(1)
    expect(receiver.received[0]!.message.type).toBe("webhook.test")
  })

  it("is changed by its form, which shows the saved values", async () => {
    const more = [["description", "Wall of fame"]] as const
    const { address } = await create("https://one.example.com/", ["quest.*", "*"], sandbox, more)
    const form = (await owner.get(`${address}/change`)).text
    expect(form).toContain('value="https://one.example.com/"')
    expect(form).toContain('value="Wall of fame"')
    expect(form.match(/value="[^"]+" checked/g)).toEqual([
      'value="*" checked',
      'value="quest.*" checked',
    ])
    const changed = newWebhook("https://two.example.com/x", ["level.*"])
    expect((await owner.post(`${address}/change`, changed)).location).toBe(address)
    const { text } = await owner.get(address)
    expect(text).toContain("https://two.example.com/x")
    expect(text).not.toContain("Wall of fame")
    expect((await owner.get(`${address}/change`)).text).toMatch(/value="level\.\*" checked/)
  })

  it("is created once, however often its form is sent", async () => {
    const { text } = await owner.get(`${sandbox}/new`)
    const [, once] = /name="idempotencyKey" value="([^"]+)"/.exec(text)!
    const fields = newWebhook("https://twice.example.com/", ["*"], [["idempotencyKey", once!]])
    const sent = await Promise.all([1, 2].map(() => owner.post(`${sandbox}/new`, fields)))
    const made = sent.flatMap(({ location }) => location?.split("?")[0] ?? [])
    expect(new Set(made).size).toBe(1)
    expect((await owner.get(sandbox)).text.match(/twice\.example\.com/g)).toHaveLength(1)
  })

  it("is shown as failing, and as disabled with the reason", async () => {
    const receiver = await receiving()
    receiver.answer = answer(500)
    const { address } = await create(receiver.url())
    await reward("dora")
    await pageWhere(address, (text) => text.includes("enabled, failing"))
    expect((await owner.get(sandbox)).text).toContain("enabled, failing")
    receiver.answer = answer(410)
    await reward("emil")
    await pageWhere(address, (text) => text.includes("disabled: the receiver answered 410 Gone"))
  })
})

describe("A webhook whose receiver fails", () => {
  it("shows the last failure above its counts, and an alert on the overview, until an attempt succeeds", async () => {
    const webhooks = { allowed: new AllowedRanges(["127.0.0.0/8"]), schedule: [0, 60_000] }
    const fresh = await startDashboard({}, { webhooks })
    try {
      const wish = { project: "shop", environment: "sandbox", scope: "full", tier: "pro" } as const
      const { key: full } = await Effect.runPromise(fresh.keys.create(wish))
      const browser = await fresh.owner()
      const receiver = await receiving()
      receiver.answer = answer(503)
      const { location } = await browser.post(
        `${sandbox}/new`,
        newWebhook(receiver.url(), ["event.tracked"]),
      )
      const address = location!.split("?")[0]!
      const overview = () => browser.get("/dashboard/shop/sandbox")
      expect((await overview()).text).not.toContain("Deliveries to the webhook")
      // More than a page of deliveries: most of them wait without an attempt.
      const events = Array.from({ length: 130 }, (_, index) => ({
        userId: `user-${index}`,
        action: "A",
      }))
      await ask(fresh.url, full, "POST", "/events/batch", { events })
      const { text } = await until(
        () => browser.get(address),
        (reply) => reply.text.includes("130 are pending. Last failure"),
      )
      const top = text.slice(0, text.indexOf('<dl class="properties">'))
      expect(top).toMatch(/<p class="alert">[^\n]*Last failure: [^\n]*503 in \d+ ms/)
      const alert = new RegExp(`class="alert">Deliveries to the webhook <a href="${address}">`)
      expect((await overview()).text).toMatch(alert)
      receiver.answer = answer(204)
      fresh.clock.set("2026-11-22T11:00:00Z")
      await until(overview, (reply) => !alert.test(reply.text))
      expect((await browser.get(address)).text).not.toContain("Last failure")
    } finally {
      await fresh.stop()
    }
  })

  it("shows times with seconds, so that the next attempt differs from the creation", async () => {
    const receiver = await receiving()
    const { address } = await create(receiver.url())
    await reward("hal")
    // The row and the numbers above it are read one after the other.
    const { text } = await pageWhere(
      address,
      (shown) => succeeded(1)(shown) && /Last success<\/dt><dd><time/.test(shown),
    )
    const [row] = rowsOf(text)
    expect(row).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/)
    expect(text).toMatch(/Last success<\/dt><dd><time[^>]* data-seconds>[^<]+:\d\d:\d\d UTC</)
    const details = await owner.get(deliveriesIn(text)[0]!)
    expect(details.text).toMatch(/Created<\/dt><dd><time[^>]* data-seconds>/)
  })
})

describe("The form of a webhook", () => {
  const marked = (text: string): ReadonlyArray<string> =>
    [...text.matchAll(/<p class="fault" id="[^"]+">([^<]+)<\/p>/g)].map(([, fault]) => fault!)

  it.each([
    ["nonsense", "URL must be an http or https URL."],
    ["javascript:alert(1)", "URL must be an http or https URL."],
    ["https://ada:pass@example.com/", "URL must not contain a user name or password."],
    ["https://10.0.0.1/", `URL ${notReachable}.`],
  ])("marks an unusable URL at its field: %s", async (url, fault) => {
    const { status, text } = await owner.post(`${sandbox}/new`, newWebhook(url, ["xp.earned"]))
    expect(status).toBe(400)
    expect(marked(text)).toEqual([fault])
    expect(text).toContain(`value="${url}"`)
    expect(text).toContain('value="xp.earned" checked')
  })

  it("marks all faults at once, each at its field", async () => {
    const fields: Fields = [["description", "x".repeat(limits.descriptionCharactersMax + 1)]]
    const { status, text } = await owner.post(`${sandbox}/new`, fields)
    expect(status).toBe(400)
    expect(marked(text).map((fault) => fault.split(" ")[0])).toEqual([
      "URL",
      "Description",
      "Events",
    ])
    const wrong = newWebhook("https://example.com", ["<b>", "quest.*", "nothing"])
    const refused = await owner.post(`${sandbox}/new`, wrong)
    expect(marked(refused.text)).toEqual([
      "Events must be a known kind, a family such as quest.*, or *.",
    ])
    expect(refused.text).not.toContain("<b>")
  })

  it("asks for https in production", async () => {
    const plain = newWebhook("http://plain.example.com/", ["*"])
    expect(marked((await owner.post(`${production}/new`, plain)).text)).toEqual([
      "URL must be an https URL in production.",
    ])
  })

  it("marks a time of recovery that is malformed or in the future", async () => {
    const { address } = await create("https://recover.example.com/")
    for (const [since, fault] of [
      ["yesterday", "must be a time in ISO 8601"],
      ["2027-01-01T00:00", "must not lie in the future"],
      ["", "must be a time in ISO 8601"],
    ] as const) {
      const { status, text } = await owner.post(`${address}/recover`, { since })
      expect(status).toBe(400)
      expect(marked(text)[0]).toContain(`Since (UTC) ${fault}`)
    }
  })
})

describe("Deliveries", () => {
  const failedAndSucceeded = async (count: number): Promise<[string, Receiver]> => {
    const receiver = await receiving()
    receiver.answer = (response, { message }) => {
      response.writeHead(message.data.userId === "bad" ? 500 : 204).end()
    }
    const { address } = await create(receiver.url())
    for (let round = 0; round < count; round++) {
      await reward("good")
      await reward("bad")
    }
    await pageWhere(
      `${address}?limit=100`,
      (text) =>
        !/pending|No delivery/.test(rowsOf(text).join()) && rowsOf(text).length === 2 * count,
    )
    return [address, receiver]
  }

  it("are listed newest first, by status, in pages", async () => {
    const [address] = await failedAndSucceeded(3)
    const all = rowsOf((await owner.get(address)).text)
    expect(all.map((row) => /failed|succeeded/.exec(row)![0])).toEqual([
      "failed",
      "succeeded",
      "failed",
      "succeeded",
      "failed",
      "succeeded",
    ])
    const failed = (await owner.get(`${address}?status=failed&limit=2`)).text
    expect(rowsOf(failed)).toEqual([all[0], all[2]])
    expect(failed).toMatch(/aria-current="true">Failed</)
    const [, older] = /rel="next" href="([^"]+)"/.exec(failed)!
    const rest = (await owner.get(older!.replaceAll("&amp;", "&"))).text
    expect(rowsOf(rest)).toEqual([all[4]])
    expect(rest).toContain(">Newest<")
    expect((await owner.get(`${address}?status=dropped`)).text).toContain(
      "No delivery has this status.",
    )
    for (const query of ["status=x", "limit=101", "cursor=x"]) {
      expect((await owner.get(`${address}?${query}`)).status).toBe(400)
    }
  })

  it("show the reply of a receiver as bounded text, with hidden characters visible", async () => {
    const receiver = await receiving()
    const hostile = `</pre><script>alert(1)</script>\u202egnp.exe\u0000${"<".repeat(8_000)}`
    receiver.answer = answer(200, {}, hostile)
    const { address } = await create(receiver.url())
    await reward("<b>x</b>\u202e")
    const { text } = await pageWhere(address, succeeded(1))
    const details = (await owner.get(deliveriesIn(text)[0]!)).text
    expect(details).toContain("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202egnp.exe")
    expect(details).toContain("&lt;b&gt;x&lt;/b&gt;\\u202e")
    expect(details).not.toContain("<b>x")
    expect(details).not.toContain("\u202e")
    expect(details.match(/&lt;/g)!.length).toBeLessThan(1_100)
  })

  it("have no body if their user was erased, and say so", async () => {
    const receiver = await receiving()
    const { address } = await create(receiver.url())
    await reward("gone-user")
    const { text } = await pageWhere(address, succeeded(1))
    await ask(server.url, key, "DELETE", "/users/gone-user")
    const [delivery] = deliveriesIn(text)
    expect((await owner.get(delivery!)).text).toContain("or its user was erased")
    const refused = await owner.post(`${delivery}/redeliver`)
    expect(refused.status).toBe(410)
    expect(refused.text).toContain("The message&#39;s user was erased.")
  })
})

describe("Ids of another environment", () => {
  it("find no webhook and no delivery, on every page and form", async () => {
    const receiver = await receiving()
    const { address } = await create(receiver.url())
    await reward("frida")
    const { text } = await pageWhere(address, succeeded(1))
    const delivery = deliveriesIn(text)[0]!.split("/").at(-1)!
    const webhook = address.split("/").at(-1)!
    const other = (await create(receiver.url(), ["*"])).address.split("/").at(-1)!
    const below = routes.filter(({ path }) => path.includes("/webhooks/:webhook"))
    expect(below.length).toBeGreaterThan(8)
    for (const { method, path } of below) {
      const at = (environment: string, id: string) =>
        `/dashboard${path}`
          .replace(":project", "shop")
          .replace(":environment", environment)
          .replace(":webhook", id)
          .replace(":delivery", delivery)
      const foreign = [at("production", webhook)]
      if (path.includes(":delivery")) foreign.push(at("sandbox", other))
      for (const address of foreign) {
        const form = newWebhook(
          "https://example.com/",
          ["*"],
          [
            ["since", "2026-11-22T09:00"],
            ["graceSeconds", "0"],
          ],
        )
        const { status } =
          method === "GET" ? await owner.get(address) : await owner.post(address, form)
        expect({ address, status }).toEqual({ address, status: 404 })
      }
    }
    expect((await owner.get(address)).status).toBe(200)
  })
})

describe("A viewer", () => {
  it("sees webhooks and deliveries, but no secret and no form except sign-out", async () => {
    const receiver = await receiving()
    const { address, location } = await create(receiver.url())
    await reward("gil")
    const { text } = await pageWhere(address, succeeded(1))
    const [delivery] = deliveriesIn(text)
    const rotated = (await owner.post(`${address}/rotate`, { graceSeconds: "0" })).location!
    for (const path of [sandbox, address, delivery!, location, rotated]) {
      const shown = await viewer.get(path)
      expect(shown.status).toBe(200)
      expect(shown.text).not.toMatch(/whsec_[A-Za-z0-9+/]/)
      const forms = [...shown.text.matchAll(/<form[^>]*action="([^"]+)"/g)].map(([, to]) => to)
      expect(forms).toEqual(["/dashboard/sign-out"])
      expect(shown.text).not.toContain("/change")
      expect(shown.text).not.toContain("Create webhook")
    }
    expect(secretIn(await owner.get(rotated))).toBeDefined()
    for (const path of [`${sandbox}/new`, `${address}/change`]) {
      expect((await viewer.get(path)).status).toBe(403)
    }
    expect((await viewer.post(`${delivery}/redeliver`)).status).toBe(403)
  })
})

describe("Production", () => {
  it("has an empty list that explains webhooks", async () => {
    const { text } = await owner.get("/dashboard/shop/production/webhooks")
    expect(text).toContain("A webhook sends a signed message to your server")
    expect(text).toContain("production has no webhook yet.")
  })

  it("is named in dialogs, and needs a confirmation for secrets, deletion and another receiver", async () => {
    const fresh = await startDashboard()
    try {
      await Effect.runPromise(
        fresh.keys.create({ project: "shop", environment: "sandbox", scope: "full" }),
      )
      const browser = await fresh.owner()
      const fields = newWebhook("https://hooks.example.com/", ["*"])
      const { location } = await browser.post(`${production}/new`, fields)
      const address = location!.split("?")[0]!
      const { text } = await browser.get(address)
      for (const title of [
        "Pause hooks.example.com of production?",
        "Rotate the secret of hooks.example.com in production?",
        "Delete hooks.example.com of production?",
      ]) {
        expect(text).toContain(title)
      }
      fresh.clock.set("2026-11-22T10:15:00Z")
      const own = {
        "sec-fetch-site": "same-origin",
        referer: `${fresh.url}${address}`,
      }
      const confirm = `/dashboard/confirm?next=${encodeURIComponent(address)}`
      for (const [path, form] of [
        [`${address}/rotate`, { graceSeconds: "0" }],
        [`${address}/delete`, {}],
        [`${address}/recover`, { since: "2026-11-22T09:00" }],
        [`${address}/change`, newWebhook("https://other.example.com/", ["*"])],
        [`${production}/new`, fields],
      ] as const) {
        expect((await browser.post(path, form, own)).location).toBe(confirm)
      }
      const unconfirmed = await browser.get(address)
      expect(unconfirmed.text).toContain("https://hooks.example.com/")
      const described = newWebhook("https://hooks.example.com/", ["*"], [["description", "x"]])
      expect((await browser.post(`${address}/change`, described, own)).location).toBe(address)
      for (const path of [address, `${address}/change`]) {
        const next = encodeURIComponent(path)
        expect((await browser.get(path)).text).toContain(`/dashboard/confirm?next=${next}`)
      }
      const first = await browser.get(`${production}/new`)
      expect(first.location).toBe(
        `/dashboard/confirm?next=${encodeURIComponent(`${production}/new`)}`,
      )
      expect((await browser.get(address)).status).toBe(200)
      expect((await browser.get("/dashboard/shop/sandbox/webhooks/new")).status).toBe(200)
      await browser.post("/dashboard/confirm", { password })
      const moved = newWebhook("https://other.example.com/", ["*"])
      expect((await browser.post(`${address}/change`, moved)).location).toBe(address)
      const recovered = await browser.post(`${address}/recover`, { since: "2026-11-22T09:00" })
      expect(recovered.location).toContain("?done=")
      // A sandbox needs no confirmation.
      fresh.clock.set("2026-11-22T10:45:00Z")
      const test = await browser.post("/dashboard/shop/sandbox/webhooks/new", fields)
      const inSandbox = test.location!.split("?")[0]!
      expect((await browser.post(`${inSandbox}/change`, moved)).location).toBe(inSandbox)
    } finally {
      await fresh.stop()
    }
  })
})
