/**
 * A server with its dashboard: the real engine on storage in memory, real accounts and keys, behind
 * a real socket.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Clock, Context, Effect, Exit, Layer, Scope } from "effect"
import * as AccountsLive from "../../src/accounts/AccountsLive.ts"
import { ApiKeys } from "../../src/accounts/ApiKeys.ts"
import type { AuditEntry } from "../../src/accounts/audit/AuditLog.ts"
import { openAuditStore } from "../../src/accounts/audit/AuditStore.ts"
import { logFailedSignIns } from "../../src/accounts/audit/failedSignIns.ts"
import { Projects } from "../../src/accounts/Projects.ts"
import { GuessingWatch, type People } from "../../src/accounts/people/People.ts"
import * as PeopleLive from "../../src/accounts/people/PeopleLive.ts"
import { makeDashboard } from "../../src/dashboard/Dashboard.ts"
import type { ServerState } from "../../src/dashboard/request/ServerState.ts"
import type { SiteOptions } from "../../src/dashboard/request/Site.ts"
import { Engine } from "../../src/engine/Engine.ts"
import type { TrustedProxies } from "../../src/http/request/ClientAddress.ts"
import { Readiness } from "../../src/http/server/Readiness.ts"
import { listenHttp, type ServerBounds } from "../../src/http/server/Server.ts"
import { DeliveryLog } from "../../src/webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../src/webhooks/DispatcherLive.ts"
import { AllowedRanges } from "../../src/webhooks/send/AddressGuard.ts"
import { engineLayer } from "../engine/engineLayer.ts"
import { RunningClock } from "../http/RunningClock.ts"
import { SimulatedDisk } from "../simulation/SimulatedDisk.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"

export const password = "correct horse battery"

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where a redirect leads. */
  readonly location: string | null
}

/** A browser that keeps cookies and does not follow redirects. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** Asks as a page of the dashboard would, unless `headers` say otherwise. */
  get(
    path: string,
    headers: Record<string, string> = { "sec-fetch-site": "same-origin" },
  ): Promise<Reply> {
    return this.#ask(path, { headers })
  }

  /** Sends a form of one of the dashboard's own pages, unless `headers` say otherwise. */
  post(
    path: string,
    fields: Record<string, string> | ReadonlyArray<readonly [name: string, text: string]> = {},
    headers: Record<string, string> = { "sec-fetch-site": "same-origin" },
  ): Promise<Reply> {
    return this.#ask(path, {
      method: "POST",
      body: new URLSearchParams(fields as Record<string, string>),
      headers,
    })
  }

  async #ask(path: string, init: RequestInit): Promise<Reply> {
    const cookie = [...this.cookies].map(([name, text]) => `${name}=${text}`).join("; ")
    const headers = { ...(init.headers as object), ...(cookie !== "" && { cookie }) }
    const response = await fetch(`${this.#url}${path}`, { ...init, headers, redirect: "manual" })
    for (const line of response.headers.getSetCookie()) {
      const [name = "", text = ""] = line.split(";")[0]!.split("=", 2)
      if (/Max-Age=0(;|$)/.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, text)
    }
    const isStream = response.headers.get("content-type") === "text/event-stream"
    if (isStream) await response.body!.cancel()
    return {
      status: response.status,
      headers: response.headers,
      text: isStream ? "" : await response.text(),
      location: response.headers.get("location"),
    }
  }
}

export interface DashboardServer {
  readonly url: string
  readonly engine: Engine["Service"]
  readonly keys: ApiKeys["Service"]
  readonly people: People["Service"]
  readonly clock: RunningClock
  /** The entries of the audit log, newest first. */
  readonly logged: () => Promise<ReadonlyArray<AuditEntry>>
  /** The disk of the audit log alone. */
  readonly auditDisk: SimulatedDisk
  readonly setupToken: string
  readonly browser: () => Browser
  /** A browser in which the first owner was made, ada@example.com. */
  readonly owner: () => Promise<Browser>
  /** A browser of a new account that an owner invited. */
  readonly joined: (owner: Browser, name: string, access: string) => Promise<Browser>
  readonly stop: () => Promise<void>
}

/** A server of no data directory, which has no archives and makes none. */
export const stillServer: ServerState = {
  read: Effect.succeed({
    version: "1.0.0",
    startedAt: Date.parse("2026-11-22T09:00:00Z"),
    recent: { seconds: 60, eventsPerSecond: 0, p50Ms: undefined, p99Ms: undefined },
    users: 3,
    stateBytes: 4_096,
    memoryBytes: 200 * 1_024 ** 2,
    isOverloaded: false,
    isDiskFull: false,
    isDatabaseAway: false,
    snapshotAgeMs: undefined,
    recordsAfterSnapshot: 12,
    archiveAgeMs: undefined,
    shippedArchiveAgeMs: undefined,
    isMakingArchive: false,
    archiveFailure: undefined,
    journalBytes: undefined,
    databaseBytes: undefined,
    dataFreeBytes: undefined,
    archivesFreeBytes: undefined,
    cluster: undefined,
    place: undefined,
    limits: [["Memory for states of users", "at most 1,000 MiB"]],
  }),
  archiveTrouble: () => undefined,
  archives: Effect.succeed([]),
  createArchive: Effect.void,
  runbook: Effect.succeed("# The data directory\n"),
}

export interface DashboardTestOptions {
  readonly server?: ServerState
  /** How webhooks are sent, and where to; by default to no address of this machine. */
  readonly webhooks?: Partial<DispatcherLive.WebhookOptions>
  readonly bounds?: Partial<ServerBounds>
  readonly trustedProxies?: TrustedProxies
}

export const startDashboard = async (
  site: Partial<SiteOptions> = {},
  { bounds = {}, server = stillServer, trustedProxies, webhooks = {} }: DashboardTestOptions = {},
): Promise<DashboardServer> => {
  const clock = new RunningClock("2026-11-22T10:00:00Z")
  const scope = Scope.makeUnsafe()
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Scope.provide(scope), Effect.provideService(Clock.Clock, clock)))
  const memory = MemoryStorage.layer({ state: new MemoryStorage.MemoryState() })
  const onBroken = () => {
    throw new Error("broken")
  }
  const engineOf = engineLayer({ onBroken }).pipe(Layer.provideMerge(memory))
  const deliveries = Layer.effect(
    DeliveryLog,
    DispatcherLive.make({
      resolve: () => Promise.reject(new Error("no names")),
      onBroken,
      ...webhooks,
    }),
  )
  const services = await run(
    Layer.build(Layer.provideMerge(deliveries, engineOf) as Layer.Layer<Engine | DeliveryLog>),
  )
  const engine = Context.get(services, Engine)
  const accounts = await run(Effect.provide(AccountsLive.make, services))
  const keys = Context.get(accounts, ApiKeys)
  const disk = new SimulatedDisk()
  const audit = await run(openAuditStore({ disk, directory: "/data", now: engine.now }))
  const watch = logFailedSignIns(audit, engine.now)
  const people = await run(
    PeopleLive.make.pipe(Effect.provideService(GuessingWatch, watch), Effect.provide(services)),
  )
  const projects = Context.get(accounts, Projects)
  const parts = { engine, keys, people, projects, audit }
  const dashboard = { ...parts, server, publicUrl: undefined, insecure: false, ...site }
  const pages = makeDashboard(dashboard)
  const readiness = { phase: "ready", doing: "" } as const
  const { takeOver, url } = await run(
    listenHttp({
      host: "127.0.0.1",
      port: 0,
      trustedProxies,
      bounds: { overloadTurnMs: Number.POSITIVE_INFINITY, ...bounds },
      webhookUrls: { allowed: webhooks.allowed ?? new AllowedRanges([]), requireHttps: true },
    }).pipe(Effect.provideService(Readiness, readiness)),
  )
  await run(Effect.provide(takeOver({ pages }), Context.merge(services, accounts)))
  const setupToken = (await run(people.setUp))!
  const browser = () => new Browser(url)
  const accept = async (path: string, token: string, name: string) => {
    const made = browser()
    const fields = { token, email: `${name}@example.com`, name, password }
    const { location, status, text } = await made.post(`/dashboard/${path}`, fields)
    if (status !== 303 || location !== "/dashboard") throw new Error(text)
    return made
  }
  return {
    url,
    engine,
    keys,
    people,
    clock,
    auditDisk: disk,
    logged: async () => (await run(audit.read({}))).entries,
    setupToken,
    browser,
    owner: () => accept("setup", setupToken, "ada"),
    joined: async (owner, name, access) => {
      const [role = "", id = ""] = access.split(" ")
      const { projects } = await run(engine.readDirectory)
      const project = projects.get(id)?.name ?? ""
      const { location } = await owner.post("/dashboard/team/invite", {
        email: `${name}@example.com`,
        role,
        project,
      })
      const { text } = await owner.get(location!)
      const [, token] = /join#([\w-]+)/.exec(text)!
      return accept("join", token!, name)
    },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
}
