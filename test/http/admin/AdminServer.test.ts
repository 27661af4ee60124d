import { connect } from "node:net"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Result } from "effect"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import * as AccountsLive from "../../../src/accounts/AccountsLive.ts"
import { Archives } from "../../../src/engine/archive/Archives.ts"
import { JobFailed } from "../../../src/engine/archive/jobs/Jobs.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { serveAdmin } from "../../../src/http/admin/AdminServer.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { startInMemory } from "../../engine/fixture.ts"
import { received } from "../fixture.ts"

const token = "the-token"

const noArchives = Archives.of({
  create: () => Effect.die("no archive was asked for"),
  list: Effect.succeed([]),
  isMaking: () => false,
  position: () => ({ lastSequence: 7, checksum: 11 }),
})

/** The admin server of a real engine, until the test's scope closes. */
const startAdmin = Effect.fnUntraced(function* (archives = noArchives) {
  const { close, engine } = yield* startInMemory()
  yield* Effect.addFinalizer(() => close("kill"))
  const services = yield* Effect.provideService(AccountsLive.make, Engine, engine)
  const metrics = new Metrics()
  const address = { host: "127.0.0.1", port: 0, hostNames: ["laurel"] }
  const { port, url } = yield* serveAdmin({ ...address, token, metrics }).pipe(
    Effect.provide(services),
    Effect.provideService(Archives, archives),
  )
  const accounts = yield* Effect.provide(Accounts, services)
  const ask = (method: string, path: string, body?: string, authorization = `Bearer ${token}`) =>
    Effect.promise(async () => {
      const headers = { authorization }
      const reply = await fetch(url + path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      const text = await reply.text()
      return { status: reply.status, headers: reply.headers, text, body: jsonOf(text) }
    })
  /** Sends a request with the token and the given `Host`. */
  const askAs = (host: string, path: string, method = "GET") =>
    Effect.promise(async () => {
      const socket = connect(port, "127.0.0.1")
      const text = received(socket)
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      )
      const [head = "", body = ""] = (await text).split("\r\n\r\n")
      return { status: Number(head.slice(9, 12)), text: body, body: jsonOf(body) }
    })
  return { accounts, ask, askAs, metrics }
})

const jsonOf = (text: string) => {
  try {
    return text.startsWith("{") ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

const wish = { project: "shop", environment: "sandbox", scope: "read" }

describe("The admin server", () => {
  it.live("rotates a key, and lists the faults of its origins and ranges", () =>
    Effect.gen(function* () {
      const { accounts, ask } = yield* startAdmin()
      const limited = { ...wish, name: "Office", allowedCidrs: ["203.0.113.7"] }
      const { body: old } = yield* ask("POST", "/admin/keys", JSON.stringify(limited))
      const rotate = (id: string, body: unknown) =>
        ask("POST", `/admin/keys/${id}/rotate`, JSON.stringify(body))
      const rotated = yield* rotate(old.id, { overlap: "1h" })
      expect(rotated.status).toBe(201)
      expect(rotated.body).toMatchObject({ name: "Office", allowedCidrs: ["203.0.113.7/32"] })
      expect(accounts.authenticate(rotated.body.key)?.keyId).toBe(rotated.body.id)
      expect(accounts.authenticate(old.key)?.keyId).toBe(old.id)
      expect((yield* rotate(old.id, { overlap: "1h" })).status).toBe(409)
      expect((yield* rotate("key_none", { overlap: "0" })).status).toBe(404)
      expect((yield* rotate(rotated.body.id, { overlap: "2h" })).body.code).toBe("invalid_request")
      const listed = yield* ask("GET", "/admin/keys")
      expect(listed.body.keys).toMatchObject([
        { id: old.id, createdBy: "operator", replacedBy: rotated.body.id },
        { id: rotated.body.id, replacedBy: null },
      ])
      const faulty = { ...wish, name: "", allowedOrigins: ["null"], allowedCidrs: ["ten"] }
      const refused = yield* ask("POST", "/admin/keys", JSON.stringify(faulty))
      expect(refused.status).toBe(400)
      expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
        "/name",
        "/allowedOrigins/0",
        "/allowedCidrs/0",
      ])
    }),
  )

  it.live("creates, lists and revokes keys", () =>
    Effect.gen(function* () {
      const { accounts, ask } = yield* startAdmin()
      const created = yield* ask("POST", "/admin/keys", JSON.stringify(wish))
      expect(created.status).toBe(201)
      expect(created.headers.get("cache-control")).toBe("no-store")
      const { id, key } = created.body
      expect(accounts.authenticate(key)?.keyId).toBe(id)
      const listed = yield* ask("GET", "/admin/keys")
      expect(listed.body.keys).toMatchObject([{ id, project: "shop", status: "in_force" }])
      expect(listed.text).not.toContain(key)
      const revoked = yield* ask("DELETE", `/admin/keys/${id}`)
      expect([revoked.status, revoked.text]).toEqual([204, ""])
      expect(accounts.authenticate(key)).toBeUndefined()
      const again = yield* ask("DELETE", `/admin/keys/${id}`)
      expect([again.status, again.body.code]).toEqual([404, "key_not_found"])
    }),
  )

  it.live("refuses every request without its token", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin()
      for (const authorization of ["", "Bearer", "Bearer ", "Bearer the-toke", `Basic ${token}`]) {
        for (const [method, path] of [
          ["GET", "/admin/keys"],
          ["POST", "/admin/keys"],
          ["DELETE", "/admin/keys/key_1"],
          ["GET", "/"],
        ] as const) {
          const { body, headers, status } = yield* ask(method, path, undefined, authorization)
          expect([status, body.code]).toEqual([401, "unauthorized"])
          expect(headers.get("www-authenticate")).toBe("Bearer")
        }
      }
    }),
  )

  it.live("serves metrics without its token, and nothing else", () =>
    Effect.gen(function* () {
      const { ask, metrics } = yield* startAdmin()
      metrics.counter("laurel_actor_failures_total").add(3)
      const { headers, status, text } = yield* ask("GET", "/metrics", undefined, "")
      expect(status).toBe(200)
      expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(headers.get("cache-control")).toBe("no-store")
      expect(text).toContain("\nlaurel_actor_failures_total 3\n")
      expect((yield* ask("HEAD", "/metrics", undefined, "")).status).toBe(200)
      expect((yield* ask("POST", "/metrics", "{}", "")).status).toBe(401)
      expect((yield* ask("GET", "/metrics/more", undefined, "")).status).toBe(401)
    }),
  )

  it.live("refuses a Host that is not its own, so that no page can read it by DNS rebinding", () =>
    Effect.gen(function* () {
      const { askAs } = yield* startAdmin()
      for (const path of ["/metrics", "/admin/keys", "/admin/archives", "/"]) {
        const { body, status, text } = yield* askAs("evil.example:8081", path)
        expect([status, body.code]).toEqual([421, "misdirected_request"])
        expect(body.detail).toContain("LAUREL_ADMIN_HOST_NAMES")
        expect(text).not.toContain("laurel_")
      }
      for (const host of ["127.0.0.1:8081", "localhost", "laurel:8081"]) {
        expect((yield* askAs(host, "/metrics")).status).toBe(200)
        expect((yield* askAs(host, "/admin/position")).status).toBe(200)
      }
    }),
  )

  it.live("serves all other metrics if one cannot be read, and counts the failure", () =>
    Effect.gen(function* () {
      const logs: Array<string> = []
      const logger = Logger.make((entry) => void logs.push(Logger.formatLogFmt.log(entry)))
      yield* Effect.gen(function* () {
        const { ask, metrics } = yield* startAdmin()
        metrics.counter("laurel_actor_failures_total").add(3)
        metrics.gauge("laurel_http_connections", () => {
          throw new Error("the gauge is broken")
        })
        for (const failures of [1, 2]) {
          const { status, text } = yield* ask("GET", "/metrics", undefined, "")
          expect(status).toBe(200)
          expect(text).toContain("\nlaurel_http_connections NaN\n")
          expect(text).toContain("\nlaurel_actor_failures_total 3\n")
          expect(metrics.readFailures).toBe(failures)
        }
        expect(logs).toHaveLength(1)
        expect(logs[0]).toContain("laurel_http_connections")
        expect(logs[0]).toContain("the gauge is broken")
      }).pipe(Effect.provide(Logger.layer([logger])))
    }),
  )

  it.live("returns the end of the durable journal", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin()
      const { body, status } = yield* ask("GET", "/admin/position")
      expect([status, body]).toEqual([200, { lastSequence: 7, checksum: 11 }])
    }),
  )

  it.live("lists the archives of its folder", () =>
    Effect.gen(function* () {
      const id = "2026-11-21T12-00-00.000Z-7"
      const at = Date.parse("2026-11-21T12:00:00.000Z")
      const manifest = Result.fail("is missing")
      const listed = { id, folder: "archive/x", at, sequence: 7, manifest, verification: undefined }
      const { ask } = yield* startAdmin(
        Archives.of({ ...noArchives, list: Effect.succeed([listed]) }),
      )
      expect((yield* ask("GET", "/admin/archives", undefined, "Bearer x")).status).toBe(401)
      const { body, status } = yield* ask("GET", "/admin/archives")
      expect(status).toBe(200)
      const folder = path.resolve("archive/x")
      const faults = ["The manifest is missing"]
      expect(body).toMatchObject({ server: null, archives: [{ id, folder, sequence: 7, faults }] })
    }),
  )

  it.live("makes an archive, and streams its progress line by line", () =>
    Effect.gen(function* () {
      const lines = [
        { progress: { activity: "Copying", done: 1, total: 2 } },
        { archive: { id: "the archive" } },
      ] as const
      const { ask } = yield* startAdmin(
        Archives.of({
          ...noArchives,
          create: ({ progress, reason }) =>
            Effect.sync(() => {
              expect(reason).toBe("request")
              progress!(lines[0].progress)
              return lines[1].archive as never
            }),
        }),
      )
      expect(yield* ask("POST", "/admin/archives", undefined, "Bearer x")).toMatchObject({
        status: 401,
      })
      const { headers, status, text } = yield* ask("POST", "/admin/archives")
      expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson"])
      expect(text).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    }),
  )

  it.live("returns why an archive failed, but not the text of a defect", () =>
    Effect.gen(function* () {
      for (const [cause, told] of [
        [
          Effect.fail(new JobFailed({ kind: "noSpace", detail: "There is no space left" })),
          { kind: "noSpace", detail: "There is no space left" },
        ],
        [
          Effect.die("secret"),
          { kind: "failed", detail: "The log has the cause under the request id." },
        ],
      ] as const) {
        const { ask } = yield* startAdmin(Archives.of({ ...noArchives, create: () => cause }))
        const { body, status } = yield* ask("POST", "/admin/archives")
        expect([status, body]).toEqual([200, { failed: told }])
      }
    }),
  )

  it.live("refuses CONNECT", () =>
    Effect.gen(function* () {
      const { askAs } = yield* startAdmin()
      const { body, status } = yield* askAs("laurel", "example.com:443", "CONNECT")
      expect([status, body.code]).toEqual([405, "method_not_allowed"])
    }),
  )

  it.live("answers unknown paths with 404", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin()
      for (const [method, path] of [
        ["GET", "/"],
        ["GET", "/admin/keys/key_1"],
        ["PUT", "/admin/keys"],
        ["DELETE", "/admin/keys"],
        ["DELETE", "/admin/keys/"],
        ["GET", "/v1/leaderboard"],
      ] as const) {
        expect((yield* ask(method, path)).status).toBe(404)
      }
    }),
  )

  it.live("lists projects, and sets the limit of one", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin()
      yield* ask("POST", "/admin/keys", JSON.stringify(wish))
      const limit = (name: string, request: object) =>
        ask("PUT", `/admin/projects/${name}/limit`, JSON.stringify(request))
      expect((yield* ask("GET", "/admin/projects")).body.projects).toMatchObject([
        { name: "shop", tier: "enterprise", rateLimit: null, archivedAt: null },
      ])
      const set = yield* limit("shop", { tier: "pro" })
      expect(set).toMatchObject({ status: 200, body: { name: "shop", rateLimit: 1_000 } })
      const own = yield* limit("shop", { tier: "enterprise", rateLimit: 1_000_000_000 })
      expect(own.body).toMatchObject({ tier: "enterprise", rateLimit: 1_000_000_000 })
      expect((yield* limit("shpo", { tier: "pro" })).body.code).toBe("project_not_found")
      for (const [request, pointer] of [
        [{ tier: "gold" }, "/tier"],
        [{ tier: "pro", rateLimit: 5 }, "/rateLimit"],
        [{ tier: "enterprise", rateLimit: 0 }, "/rateLimit"],
        [{ tier: "enterprise", rateLimit: 1_000_000_001 }, "/rateLimit"],
      ] as const) {
        const { body, status } = yield* limit("shop", request)
        expect([status, body.errors[0].pointer]).toEqual([400, pointer])
      }
      for (const [method, path] of [
        ["GET", "/admin/projects/shop/limit"],
        ["PUT", "/admin/projects"],
      ] as const) {
        expect((yield* ask(method, path)).status).toBe(404)
      }
      const [project] = (yield* ask("GET", "/admin/projects")).body.projects
      expect(project).toEqual(own.body)
      expect((yield* ask("GET", "/admin/projects", undefined, "Bearer no")).status).toBe(401)
      const withTier = JSON.stringify({ ...wish, tier: "pro" })
      expect((yield* ask("POST", "/admin/keys", withTier)).body.errors[0].pointer).toBe("/tier")
    }),
  )

  it.live("returns all faults of a request for a key, and makes no key", () =>
    Effect.gen(function* () {
      const { ask } = yield* startAdmin()
      const strange = { environment: "moon", scope: "full", colour: "red" }
      const faults = (yield* ask("POST", "/admin/keys", JSON.stringify(strange))).body.errors
      expect(faults.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
        "/colour",
        "/environment",
        "/project",
      ])
      const limited = JSON.stringify({ ...wish, project: "No", name: "" })
      const refused = yield* ask("POST", "/admin/keys", limited)
      expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"])
      expect(refused.body.errors).toHaveLength(2)
      for (const expiresAt of ["soon", "2001-01-01T00:00:00Z"]) {
        const reply = yield* ask("POST", "/admin/keys", JSON.stringify({ ...wish, expiresAt }))
        expect(reply.body.errors[0].pointer).toBe("/expiresAt")
      }
      expect((yield* ask("POST", "/admin/keys", "{")).body.code).toBe("invalid_json")
      const huge = JSON.stringify({ ...wish, project: "x".repeat(limits.bodyBytesMax) })
      expect((yield* ask("POST", "/admin/keys", huge)).status).toBe(413)
      expect((yield* ask("GET", "/admin/keys")).body.keys).toEqual([])
    }),
  )
})
