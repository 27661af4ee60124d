/** A server's replies before an engine takes over. The take-over loses no request. */

import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { version } from "../../../src/Build.ts"
import { Engine } from "../../../src/engine/Engine.ts"
import { newReadiness, Readiness } from "../../../src/http/server/Readiness.ts"
import { listenHttp } from "../../../src/http/server/Server.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { DeliveryLog } from "../../../src/webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../../src/webhooks/DispatcherLive.ts"
import { engineLayer } from "../../engine/engineLayer.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { assertDeclared } from "../contract.ts"
import { fullKey, TestAccounts } from "../fixture.ts"

const scopes: Array<Scope.Closeable> = []
afterEach(async () => {
  for (const scope of scopes.reverse()) await Effect.runPromise(Scope.close(scope, Exit.void))
  scopes.length = 0
})

/** A scope that closes with the test, before earlier scopes. */
const newScope = () => {
  const scope = Scope.makeUnsafe()
  scopes.push(scope)
  return scope
}

const startListening = async () => {
  const readiness = newReadiness()
  const metrics = new Metrics()
  const { takeOver, url } = await Effect.runPromise(
    listenHttp({ host: "127.0.0.1", port: 0, metrics }).pipe(
      Effect.provideService(Readiness, readiness),
      Scope.provide(newScope()),
    ),
  )
  const ask = async (method: string, path: string, body?: string) => {
    const reply = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${fullKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body }),
    })
    const text = await reply.text()
    const json = text === "" ? undefined : JSON.parse(text)
    if (json !== undefined) assertDeclared(method, path, reply.status, json)
    return { status: reply.status, retryAfter: reply.headers.get("retry-after"), json }
  }
  const startEngine = async () => {
    const accounts = new TestAccounts()
    accounts.addKey(fullKey)
    const memory = MemoryStorage.layer({ state: new MemoryStorage.MemoryState() })
    const engine = engineLayer({ onBroken: () => {} })
    const deliveries = Layer.effect(
      DeliveryLog,
      DispatcherLive.make({ resolve: noNames, onBroken: () => {} }),
    )
    const services = Layer.merge(
      Layer.succeed(Accounts, accounts),
      deliveries.pipe(Layer.provideMerge(engine), Layer.provide(memory)),
    )
    const context = await Effect.runPromise(Scope.provide(Layer.build(services), newScope()))
    const scope = newScope()
    await Effect.runPromise(Scope.provide(Effect.provide(takeOver(), context), scope))
    return { engine: Context.get(context, Engine), scope }
  }
  return { ask, metrics, readiness, startEngine, url }
}

const noNames = () => Promise.reject(new Error("No names here"))

const event = JSON.stringify({ userId: "u", action: "A" })

describe("Before an engine has taken over", () => {
  it("/healthz answers 200, and /readyz 503 with the progress", async () => {
    const { ask, readiness } = await startListening()
    expect(await ask("GET", "/healthz")).toMatchObject({
      status: 200,
      json: { status: "ok", version },
    })
    readiness.doing = "Replaying the journal: 5 of 10 records."
    expect(await ask("GET", "/readyz")).toMatchObject({
      status: 503,
      retryAfter: "1",
      json: { code: "starting", detail: "Replaying the journal: 5 of 10 records." },
    })
    expect((await ask("HEAD", "/healthz")).status).toBe(200)
  })

  it("every operation gets 503 with Retry-After, whatever its key and body", async () => {
    const { ask, metrics } = await startListening()
    for (const [method, path, body] of [
      ["POST", "/v1/events", event],
      ["POST", "/api/v1/events", "nonsense"],
      ["GET", "/v1/leaderboard", undefined],
      ["DELETE", "/v1/webhooks/whk_1", undefined],
    ] as const) {
      const { json, retryAfter, status } = await ask(method, path, body)
      expect([status, json.code, retryAfter]).toEqual([503, "starting", "1"])
    }
    const refused = { operation: "none", status: "503" }
    expect(sampleValue(metrics.text(), "laurel_http_requests_total", refused)).toBe(4)
  })

  it("the script of a page of another origin can read the 503", async () => {
    const { metrics, url } = await startListening()
    const origin = "https://app.example"
    const preflight = await fetch(`${url}/v1/events`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    })
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "*",
    ])
    const refused = await fetch(`${url}/v1/events`, { method: "POST", headers: { origin } })
    const { code } = (await refused.json()) as { readonly code: string }
    expect([refused.status, code, refused.headers.get("access-control-allow-origin")]).toEqual([
      503,
      "starting",
      "*",
    ])
    const counted = { operation: "preflight", status: "204" }
    expect(sampleValue(metrics.text(), "laurel_http_requests_total", counted)).toBe(1)
  })

  it("a browser gets a page that shows the progress and reloads; after a form, the page says that nothing changed", async () => {
    const { readiness, url } = await startListening()
    readiness.doing = "Replaying <b>the journal</b>."
    const accept = { accept: "text/html,*/*" }
    const page = await fetch(`${url}/dashboard`, { headers: accept })
    expect([page.status, page.headers.get("refresh")]).toEqual([503, "1"])
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'")
    expect(await page.text()).toContain("Replaying &#60;b&#62;the journal&#60;/b&#62;.")
    const body = new URLSearchParams({ name: "x".repeat(60_000) })
    const form = await fetch(`${url}/dashboard/projects`, { method: "POST", headers: accept, body })
    expect([form.status, form.headers.get("refresh")]).toEqual([503, null])
    expect(await form.text()).toContain("Nothing was changed.")
    expect((await fetch(`${url}/readyz`, { headers: accept })).headers.get("content-type")).toBe(
      "application/problem+json",
    )
  })

  it("the server can shut down", async () => {
    const { url } = await startListening()
    await Effect.runPromise(Scope.close(scopes.pop()!, Exit.void))
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })
})

describe("When an engine has taken over", () => {
  it("it answers operations, and /readyz answers 200 when the program is ready", async () => {
    const { ask, readiness, startEngine } = await startListening()
    expect((await ask("POST", "/v1/events", event)).status).toBe(503)
    await startEngine()
    expect((await ask("POST", "/v1/events", event)).status).toBe(200)
    expect((await ask("GET", "/readyz")).json.code).toBe("starting")
    readiness.phase = "ready"
    expect(await ask("GET", "/readyz")).toMatchObject({ status: 200, json: { status: "ok" } })
  })

  it("the server ends with it, and not later", async () => {
    const { startEngine, url } = await startListening()
    const { scope } = await startEngine()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })
})
