/**
 * Every page in the list of routes, with hostile names of people, projects, users and definitions.
 */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { routes } from "../../src/dashboard/Dashboard.ts"
import { dashboardPrefix } from "../../src/dashboard/view/Assets.ts"
import { ask, type Sample, samplePath, startSample } from "./browser/sample.ts"
import { type Tag, tagsOf } from "./tags.ts"

const names = {
  markup: `<b>x</b>"'><script>alert(1)</script><img src=x onerror=alert(1)>`,
  attribute: `" onmouseover="alert(1)" style="x" '`,
  address: "javascript:alert(1)",
  direction: "\u202e\u2066gnp.exe\u200f",
  emoji: "\u{1f600}".repeat(128),
  template: "{{2}}<!-- ]]> </main></textarea></title>",
} as const

let sample: Sample
/** The id of a user for each name. */
let users: ReadonlyArray<string>

beforeAll(async () => {
  sample = await startSample()
  const { key, owner, params, server } = sample
  const api = (method: string, path: string, body: unknown) =>
    ask(server.url, key, method, path, body)
  const short = (name: string) => [...name].slice(0, 100).join("")
  await owner.post("/dashboard/account/profile", { name: short(names.markup) })
  for (const name of Object.values(names)) {
    // An e-mail address has no white space.
    const email = `${name.replaceAll(" ", "")}@x`
    const invited = await owner.post("/dashboard/team/invite", { email, role: "owner" })
    expect({ email, status: invited.status }).toEqual({ email, status: 303 })
    const address = `${params.account}${Math.random()}@x`
    const token = await Effect.runPromise(
      server.people.invite("operator", { email: address, access: { owner: true, projects: [] } }),
    )
    const account = { email: address, name: short(name) }
    const joined = await server
      .browser()
      .post("/dashboard/join", { ...account, token, password: "correct horse battery" })
    expect(joined.status).toBe(303)
    await api("POST", "/events", {
      userId: name,
      action: "LESSON_DONE",
      metadata: { [name]: name },
    })
    await api("PUT", `/users/${encodeURIComponent(name)}`, { displayName: short(name) })
    await api("POST", "/rules", {
      action: "SHARED",
      where: [{ path: "score", op: "eq", value: name }],
      reward: { xp: 5 },
    })
    await api("POST", "/badges", {
      name: short(name),
      description: name,
      icon: "<b>",
      criteria: { kind: "action_count", action: "SHARED", target: 3 },
    })
    await api("POST", "/quests", {
      title: short(name),
      description: name,
      reward: { xp: 1 },
      steps: [{ key: "one", action: "LESSON_DONE", target: 2 }],
    })
    await api("POST", "/segments", {
      name: short(name),
      description: name,
      conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: name }],
    })
    const url = `https://hooks.example.com/${encodeURIComponent(name)}?<b>`
    await api("POST", "/webhooks", { url, description: short(name), events: ["*"] })
    const made = { name: short(name), scope: "ingest", expires: "never" }
    await owner.post("/dashboard/shop/sandbox/keys", made)
  }
  await api("PATCH", "/project", { name: names.markup })
  users = Object.values(names)
})
afterAll(() => sample.server.stop())

/** Every GET route, once for each user if its path names a user. */
const paths = (): ReadonlyArray<string> =>
  routes
    .filter(({ method, path }) => method === "GET" && !path.endsWith("/stream"))
    .flatMap((route) =>
      (route.path.includes(":user") ? users : [sample.params.user!]).map(
        (user) => dashboardPrefix + samplePath(route, { ...sample.params, user }),
      ),
    )

/** Parts that no tag may have: code, styles, tags from the names, addresses of other servers. */
const wrongParts = ({ attributes, name }: Tag): ReadonlyArray<string> => [
  ...(/^(b|img|iframe|object|base|style)$/.test(name) ? [`<${name}>`] : []),
  ...attributes
    .filter(([attribute, value]) =>
      /^(href|src|action|formaction)$/.test(attribute)
        ? !/^(?:\/(?![\\/])|#|\?|https:\/\/www\.standardwebhooks\.com$)/.test(value)
        : /^on|^style$|^srcdoc$/.test(attribute),
    )
    .map(([attribute, value]) => `<${name} ${attribute}="${value}">`),
]

describe("A page with hostile names", () => {
  it("shows them as text: they make no tag, attribute or address", async () => {
    const { owner } = sample
    let escaped = 0
    for (const path of new Set(paths())) {
      for (const query of [
        "",
        `?q=${encodeURIComponent(names.markup)}&offset=<b>&cursor=${encodeURIComponent(names.attribute)}`,
      ]) {
        const { headers, status, text } = await owner.get(path + query)
        expect({ path, query, status: status < 500 }).toEqual({ path, query, status: true })
        if (!headers.get("content-type")!.startsWith("text/html")) continue
        const { faults, tags } = tagsOf(text)
        expect({ path, query, faults }).toEqual({ path, query, faults: [] })
        expect({ path, query, wrong: tags.flatMap(wrongParts) }).toEqual({ path, query, wrong: [] })
        if (text.includes("&lt;b&gt;")) escaped++
      }
    }
    // The pages did show the names.
    expect(escaped).toBeGreaterThan(10)
  })

  it("shows the typed text of a refused form as text", async () => {
    const { owner } = sample
    // The subject of some forms is unknown: it must not end, or the sample has none.
    const params = { ...sample.params, session: "unknown" } as Readonly<Record<string, string>>
    const known = new Proxy(params, { get: (all, name) => all[String(name)] ?? "unknown" })
    const fields = Object.fromEntries(
      [
        "name",
        "email",
        "title",
        "description",
        "url",
        "code",
        "token",
        "passkeyName",
        "passkey",
        "q",
      ].map((field) => [field, names.markup]),
    )
    for (const route of routes) {
      if (route.method === "GET" || route.path === "/sign-out") continue
      const path = dashboardPrefix + samplePath(route, known)
      const { headers, status, text } = await owner.post(path, fields)
      expect({ path, status: status < 500 }).toEqual({ path, status: true })
      if (!headers.get("content-type")!.startsWith("text/html")) continue
      const { faults, tags } = tagsOf(text)
      expect({ path, faults }).toEqual({ path, faults: [] })
      expect({ path, wrong: tags.flatMap(wrongParts) }).toEqual({ path, wrong: [] })
    }
  })
})
