import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { routes } from "../../src/dashboard/Dashboard.ts"
import type { Route } from "../../src/dashboard/request/Route.ts"
import { dashboardPrefix } from "../../src/dashboard/view/Assets.ts"
import { limits } from "../../src/Limits.ts"
import { Browser, type DashboardServer, password, type Reply, startDashboard } from "./fixture.ts"

const hostileName = `<b>x</b> "q" 'a' & \u202e javascript:alert(1) ${"\u{1f600}".repeat(20)}`

let server: DashboardServer
let owner: Browser
let admin: Browser
let viewer: Browser

const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(effect)
const projectId = async (name: string): Promise<string> => {
  const { projects } = await run(server.engine.readDirectory)
  return [...projects.values()].find((project) => project.name === name)!.id
}

beforeAll(async () => {
  server = await startDashboard()
  for (const project of ["shop", "bank"]) {
    for (const environment of ["sandbox", "production"] as const) {
      await run(server.keys.create({ project, environment, scope: "full" }))
    }
  }
  owner = await server.owner()
  const shop = await projectId("shop")
  admin = await server.joined(owner, "admin", `admin ${shop}`)
  viewer = await server.joined(owner, "viewer", `viewer ${shop}`)
})

afterAll(() => server.stop())

describe("The first account", () => {
  it("is created by the setup link, which then works for nobody else", async () => {
    const fields = { token: server.setupToken, email: "eve@example.com", name: "Eve", password }
    const again = await server.browser().post("/dashboard/setup", fields)
    expect(again.status).toBe(404)
    expect(again.text).toContain("The link was used, revoked or has expired.")
    const guessed = await server.browser().post("/dashboard/setup", { ...fields, token: "x" })
    expect(guessed.text).toContain("The link was used, revoked or has expired.")
    const page = await server.browser().get("/dashboard/setup")
    expect(page.text).toContain("Laurel is set up")
    expect(page.text).toContain('href="/dashboard/sign-in"')
    for (const { text } of [again, guessed, page]) {
      expect(text).not.toContain("Create the first account")
    }
  })

  it("is redirected from an address with a trailing slash to the page", async () => {
    const browser = server.browser()
    for (const [asked, led] of [
      ["/dashboard/", "/dashboard"],
      [
        "/dashboard/sign-in/?next=%2Fdashboard%2Faccount",
        "/dashboard/sign-in?next=%2Fdashboard%2Faccount",
      ],
      ["/dashboard//evil.example/", "/dashboard//evil.example"],
    ]) {
      const { location, status } = await browser.get(asked!)
      expect([asked, status, location]).toEqual([asked, 303, led])
    }
  })

  it("sees all faults of the setup form at once, with every typed text except the password", async () => {
    const fresh = await startDashboard()
    try {
      const wrong = await fresh.browser().post("/dashboard/setup", {
        token: fresh.setupToken,
        email: "nobody",
        name: " ",
        password: "a long enough phrase",
      })
      expect(wrong.status).toBe(400)
      expect(wrong.text).toContain("E-mail address must be an e-mail address")
      expect(wrong.text).toContain("Name must not be empty")
      expect(wrong.text).toContain('value="nobody"')
      expect(wrong.text).not.toContain("a long enough phrase")
      const nobody = await fresh.browser().get("/dashboard/sign-in")
      expect(nobody.text).toContain("No account exists yet")
    } finally {
      await fresh.stop()
    }
  })
})

describe("Signing in", () => {
  const signIn = (browser: Browser, next = "", given = password) =>
    browser.post(`/dashboard/sign-in${next}`, { email: "viewer@example.com", password: given })

  it("leads to the requested page, and signing out ends the session on the server", async () => {
    const browser = server.browser()
    const asked = await browser.get("/dashboard/shop/sandbox/keys")
    expect(asked).toMatchObject({ status: 303 })
    const { location } = await signIn(browser, asked.location!.slice("/dashboard/sign-in".length))
    expect(location).toBe("/dashboard/shop/sandbox/keys")
    expect((await browser.get(location!)).status).toBe(200)
    const stolen = new Browser(server.url)
    for (const [name, text] of browser.cookies) stolen.cookies.set(name, text)
    expect((await stolen.get(location!)).status).toBe(200)
    await browser.post("/dashboard/sign-out")
    expect(browser.cookies.has("laurel")).toBe(false)
    expect((await stolen.get(location!)).location).toContain("/sign-in")
  })

  it("creates a new session, whatever cookie the browser had before", async () => {
    const browser = server.browser()
    browser.cookies.set("laurel", "chosen-by-somebody-else")
    await signIn(browser)
    expect(browser.cookies.get("laurel")).not.toBe("chosen-by-somebody-else")
    const victim = new Browser(server.url)
    victim.cookies.set("laurel", "chosen-by-somebody-else")
    expect((await victim.get("/dashboard/account")).status).toBe(303)
  })

  it("redirects only to pages of the dashboard", async () => {
    for (const next of [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "/dashboard/..//evil.example",
      "/dashboard//evil.example",
      "/dashboardx",
      "/dashboard\r\nSet-Cookie: a=b",
      "javascript:alert(1)",
    ]) {
      const { location } = await signIn(server.browser(), `?next=${encodeURIComponent(next)}`)
      expect({ next, location }).toEqual({ next, location: "/dashboard" })
    }
  })

  it("does not reveal whether an address has an account", async () => {
    const texts = await Promise.all(
      ["viewer@example.com", "nobody@example.com"].map(async (email) => {
        const { status, text } = await server
          .browser()
          .post("/dashboard/sign-in", { email, password: "not the password" })
        return { status, text: text.replaceAll(email, "") }
      }),
    )
    expect(texts[0]).toEqual(texts[1])
    expect(texts[0]).toMatchObject({ status: 400 })
  })
})

describe("A key", () => {
  it("is not shown to another session, even with its address", async () => {
    const keys = "/dashboard/shop/sandbox/keys"
    const { location } = await admin.post(keys, { scope: "full", expires: "never" })
    expect((await owner.get(location!)).text).not.toContain("Your new key")
    expect((await admin.get(location!)).text).toContain("Your new key")
  })

  it("of another project or environment is not found under this one", async () => {
    const all = await run(server.keys.list)
    for (const { environment, id, project } of all) {
      if (project === "shop" && environment === "sandbox") continue
      for (const verb of ["revoke", "rotate"]) {
        const path = `/dashboard/shop/sandbox/keys/${id}/${verb}`
        const { status, text } = await owner.post(path, { overlap: "0" })
        expect(status).toBe(404)
        expect(text).toContain("No key in force has this id.")
      }
    }
    const bank = (await run(server.keys.list)).filter(({ project }) => project === "bank")
    expect(bank.map(({ status }) => status)).toEqual(["in_force", "in_force"])
  })
})

describe("Every page", () => {
  /** A path of the route in the project `shop`, with ids that do not exist. */
  const pathOf = ({ path }: Route, project = "shop"): string =>
    dashboardPrefix +
    path
      .replace(":project", project)
      .replace(":environment", "sandbox")
      .replace(/:(\w+)/g, (_, name) => `${name}_unknown`)

  /**
   * The outcome of a request to a route. A page whose id is not found does not count as a hidden
   * page.
   */
  const outcome = ({ location, status, text }: Reply) => {
    if (status === 403) return "forbidden"
    if (status === 404 && text.includes("No page has this address")) return "hidden"
    return location?.includes("/sign-in?") ? "sign in" : "allowed"
  }

  const expected = (route: Route, role: "nobody" | "viewer" | "admin" | "owner"): string => {
    if (route.access === "anyone") return "allowed"
    if (role === "nobody") return "sign in"
    if (route.access === "member") return "allowed"
    if (route.access === "owner") return role === "owner" ? "allowed" : "hidden"
    if (role === "viewer" && neededRole(route) === "admin") return "forbidden"
    return "allowed"
  }

  const neededRole = (route: Route) => (route.access === "project" ? route.role : undefined)

  // Routes that end a session end the one of their own browser.
  const asked = routes.filter(({ path }) => path !== "/sign-out")

  it("is open to the roles of its route, and to no other role", async () => {
    for (const route of asked) {
      const browsers = { nobody: server.browser(), viewer, admin, owner }
      for (const [role, browser] of Object.entries(browsers)) {
        const path = pathOf(route)
        const reply = route.method === "GET" ? await browser.get(path) : await browser.post(path)
        const { method } = route
        expect({ method, path, role, outcome: outcome(reply) }).toEqual({
          method,
          path,
          role,
          outcome: expected(route, role as keyof typeof browsers),
        })
        expect(reply.status).toBeLessThan(500)
      }
    }
  })

  it("of a foreign project is not found, like a page of a missing project", async () => {
    for (const route of asked.filter(({ access }) => access === "project")) {
      for (const browser of [viewer, admin]) {
        const replies = await Promise.all(
          ["bank", "nothing"].map((project) => {
            const path = pathOf(route, project)
            return route.method === "GET" ? browser.get(path) : browser.post(path)
          }),
        )
        expect(replies.map(({ status }) => status)).toEqual([404, 404])
        expect(replies[0]!.text).toBe(replies[1]!.text)
      }
    }
  })

  it("refuses a form from another site", async () => {
    const foreign: ReadonlyArray<Record<string, string>> = [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ]
    for (const route of routes.filter(({ method }) => method === "POST")) {
      for (const headers of foreign) {
        const { status, text } = await owner.post(pathOf(route), {}, headers)
        expect({ path: route.path, headers, status }).toMatchObject({ status: 403 })
        expect(text).toContain("does not come from the dashboard")
      }
    }
    const { status } = await owner.post("/dashboard/sign-in", {}, { origin: server.url })
    expect(status).toBe(400)
  })

  it("may not be framed or loaded by other sites, and no cache stores it", async () => {
    for (const route of asked.filter(({ method }) => method === "GET")) {
      const { headers, text } = await owner.get(pathOf(route))
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("cache-control")).toBe("no-store")
      if (!headers.get("content-type")!.startsWith("text/html")) continue
      expect(headers.get("content-security-policy")).toMatch(
        /default-src 'none'.*frame-ancestors 'none'.*trusted-types 'none'/,
      )
      expect(text).not.toMatch(/\sstyle="|\son\w+="|<script(?! type="module" src=)/)
    }
  })

  it("shows the names of people as text", async () => {
    const renamed = { name: hostileName }
    expect((await owner.post("/dashboard/account/profile", renamed)).status).toBe(303)
    for (const path of ["account", "team", "shop/sandbox/keys"]) {
      const { text } = await owner.get(`/dashboard/${path}`)
      expect(text).toContain("&lt;b&gt;x&lt;/b&gt; &quot;q&quot; &#39;a&#39; &amp;")
      expect(text).not.toContain("<b>x")
    }
    await owner.post("/dashboard/account/profile", { name: "ada" })
  })

  it("is not served under a foreign host name", async () => {
    const { port } = new URL(server.url)
    const { request } = await import("node:http")
    const statusUnder = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const path = "/dashboard/sign-in"
        request({ host: "127.0.0.1", port, path, headers: { host } }, (reply) => {
          reply.resume()
          resolve(reply.statusCode!)
        })
          .on("error", reject)
          .end()
      })
    for (const host of ["evil.example", `localhost.evil.example:${port}`, `127.0.0.1.nip.io`]) {
      expect(await statusUnder(host)).toBe(421)
    }
    for (const host of [`localhost:${port}`, "LOCALHOST", `127.0.0.1:${port}`, "[::1]"]) {
      expect(await statusUnder(host)).toBe(200)
    }
  })

  it("redirects a browser from 127.0.0.1 to the same page under localhost, and to no other host", async () => {
    const { port } = new URL(server.url)
    const page = { accept: "text/html,*/*;q=0.8" }
    const path = "/dashboard/sign-in?next=%2Fdashboard%2Fteam"
    const led = await server.browser().get(path, page)
    expect(led).toMatchObject({ status: 303, location: `http://localhost:${port}${path}` })
    for (const hostile of ["//evil.example", "/\\evil.example", "/@evil.example"]) {
      const { location } = await server.browser().get(`/dashboard/${hostile}`, page)
      expect(new URL(location!).origin).toBe(`http://localhost:${port}`)
    }
    const own = { origin: server.url, ...page }
    expect((await server.browser().post("/dashboard/setup", {}, own)).status).toBe(404)
    const program = await server.browser().get("/dashboard/sign-in")
    expect(program.status).toBe(200)
    const url = server.url.replace("127.0.0.1", "localhost")
    expect(
      (await fetch(`${url}/dashboard/sign-in`, { headers: page, redirect: "manual" })).status,
    ).toBe(200)
  })

  it("refuses a body above 64 KiB and a path that does not exist", async () => {
    const most = { email: "x".repeat(limits.pageBodyBytesMax - "email=".length) }
    expect((await owner.post("/dashboard/sign-in", most)).status).toBe(400)
    const more = { email: `${most.email}x` }
    expect((await owner.post("/dashboard/sign-in", more)).status).toBe(413)
    for (const path of ["/nothing", "/assets/x.js", "/shop/other/keys", "/%00"]) {
      expect((await owner.get(`/dashboard${path}`)).status).toBe(404)
    }
    const { status } = await fetch(`${server.url}/dashboard/team`, { method: "DELETE" })
    expect(status).toBe(405)
    const front = await fetch(server.url, { headers: { accept: "text/html" }, redirect: "manual" })
    expect(front.headers.get("location")).toBe("/dashboard")
  })
})

describe("With a public URL", () => {
  it("a browser is not redirected to localhost", async () => {
    for (const publicUrl of ["https://laurel.example.com", "http://127.0.0.1:8080"]) {
      const fresh = await startDashboard({ publicUrl })
      const { status } = await fresh.browser().get("/dashboard/sign-in", { accept: "text/html" })
      await fresh.stop()
      expect(status).toBe(200)
    }
  })
})

describe("With a public URL over https", () => {
  it("cookies are bound to the host and to TLS, and links name the address", async () => {
    const fresh = await startDashboard({ publicUrl: "https://laurel.example.com/" })
    try {
      const browser = await fresh.owner()
      expect([...browser.cookies.keys()]).toEqual(["__Host-laurel", "__Host-laurel-device"])
      const { location } = await browser.post("/dashboard/team/invite", {
        role: "owner",
        email: "bob@example.com",
      })
      const { text } = await browser.get(location!)
      expect(text).toMatch(/https:\/\/laurel\.example\.com\/dashboard\/join#[\w-]{43}/)
    } finally {
      await fresh.stop()
    }
  })
})
