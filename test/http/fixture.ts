/**
 * A server for one test file: the real engine on storage in memory, behind a real socket on a free
 * port.
 */
// The program runs with this import, and faults must be the same.
import "effect/schema/SchemaJITCompiler/enable"
import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http"
import { connect, type Socket } from "node:net"
import { Clock, Context, Deferred, Effect, Exit, Layer, Logger, References, Scope } from "effect"
import {
  Accounts,
  type Caller,
  type KeyRestrictions,
  type MadeToken,
  type RateLimitState,
} from "../../src/accounts/Accounts.ts"
import { version } from "../../src/Build.ts"
import type { CallerScope, EnvironmentName, Tier } from "../../src/domain/project/Directory.ts"
import { Engine } from "../../src/engine/Engine.ts"
import type { EngineOptions } from "../../src/engine/EngineLive.ts"
import { Readiness, type ReadinessState } from "../../src/http/server/Readiness.ts"
import { type ServeOptions, serveHttp } from "../../src/http/server/Server.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import { DeliveryLog } from "../../src/webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../src/webhooks/DispatcherLive.ts"
import { engineLayer } from "../engine/engineLayer.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { assertDeclared } from "./contract.ts"

/** Keys by their text. The rate limit counts requests without a clock. */
export class TestAccounts {
  version = 0
  authentications = 0
  readonly #callers = new Map<string, Caller>()
  readonly #limits = new Map<string, { limit: number; used: number; resetSeconds: number }>()

  addKey(
    text: string,
    {
      environment = "prj_test:sandbox",
      environmentName = "sandbox",
      kind = "secret",
      scope = kind === "publishable" ? kind : "full",
      tier = "enterprise",
      limit,
      used = 0,
      resetSeconds = 30,
      restrictions,
      userId,
    }: {
      readonly environment?: string
      readonly environmentName?: EnvironmentName
      readonly kind?: Caller["kind"]
      readonly scope?: CallerScope
      readonly tier?: Tier
      readonly limit?: number
      /** The part of the limit that is already used. */
      readonly used?: number
      /** The end of the limit in replies; it never comes. */
      readonly resetSeconds?: number
      readonly restrictions?: KeyRestrictions
      /** The user of a user token. */
      readonly userId?: string
    } = {},
  ): string {
    this.version++
    this.#callers.set(text, {
      kind,
      keyId: `key_${text}`,
      projectId: "prj_test",
      environmentName,
      environment,
      scope,
      tier,
      restrictions,
      ...(userId !== undefined && { userId }),
    })
    if (limit !== undefined) this.#limits.set(`key_${text}`, { limit, used, resetSeconds })
    return text
  }

  revoke(text: string): void {
    this.version++
    this.#callers.delete(text)
  }

  authenticate(text: string): Caller | undefined {
    this.authentications++
    return this.#callers.get(text)
  }

  makeToken(_: Caller, userId: string): MadeToken {
    return { token: `token of ${userId}`, expiresAt: 0 }
  }

  isInForce({ keyId }: Caller): boolean {
    return [...this.#callers.values()].some((caller) => caller.keyId === keyId)
  }

  /** The tier of a project that has a key. */
  tierOf(projectId: string): Tier | undefined {
    for (const { environment, tier } of this.#callers.values()) {
      if (environment.startsWith(`${projectId}:`)) return tier
    }
    return undefined
  }

  consume(caller: Caller, amount: number): RateLimitState {
    const bucket = this.#limits.get(caller.keyId)
    if (bucket !== undefined && bucket.used + amount <= bucket.limit) {
      bucket.used += amount
      return { ...this.look(caller, 0), limited: false }
    }
    return this.look(caller, amount)
  }

  look({ keyId, tier }: Caller, amount: number): RateLimitState {
    const bucket = this.#limits.get(keyId)
    if (bucket === undefined) {
      return { limited: false, limit: null, remaining: 0, resetSeconds: 1, tier }
    }
    const { limit, resetSeconds, used } = bucket
    const limited = used + amount > limit
    return { limited, limit, remaining: limit - used, resetSeconds, tier }
  }
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of all kinds
  readonly json: any
}

export interface CallOptions {
  readonly key?: string | null
  readonly headers?: Record<string, string>
  /** Sent as JSON, unless it is bytes or a string. */
  readonly body?: unknown
}

export const fullKey = "lk_test_full"

export interface TestServer {
  readonly port: number
  readonly url: string
  readonly accounts: TestAccounts
  readonly readiness: ReadinessState
  readonly engine: Engine["Service"]
  readonly metrics: Metrics
  /** The messages logged as errors. */
  readonly errors: ReadonlyArray<string>
  /** All log entries, as JSON. */
  readonly logs: ReadonlyArray<string>
  /** Sends a request with the path unchanged, and checks the reply against the contract. */
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Reply>
  /** Sends bytes; resolves with all received text when the server ends the connection. */
  readonly raw: (...parts: ReadonlyArray<string | Buffer>) => Promise<string>
  readonly connect: () => Promise<Socket>
  readonly stop: () => Promise<void>
}

export interface TestServerOptions extends Partial<ServeOptions> {
  /** Wraps the engine. */
  readonly wrapEngine?: (engine: Engine["Service"]) => Engine["Service"]
  readonly storage?: MemoryStorage.MemoryState
  readonly storageOptions?: Omit<MemoryStorage.MemoryStorageOptions, "state">
  readonly webhooks?: Partial<DispatcherLive.WebhookOptions>
  readonly engineOptions?: Partial<EngineOptions>
  /** A clock in place of the real one. */
  readonly clock?: Clock.Clock
}

/**
 * Makes single events without an Idempotency-Key wait until `gate` opens. `reached` opens when the
 * first one waits.
 */
export const gatedEvents = () => {
  const reached = Deferred.makeUnsafe<void>()
  const gate = Deferred.makeUnsafe<void>()
  const wrapEngine = (engine: Engine["Service"]): Engine["Service"] => ({
    ...engine,
    askUserWithCallback: (...args) => {
      Deferred.doneUnsafe(reached, Effect.void)
      const ask = Effect.sync(() => engine.askUserWithCallback(...args))
      Effect.runFork(Effect.andThen(Deferred.await(gate), ask))
    },
  })
  return { gate, reached: Effect.runPromise(Deferred.await(reached)), wrapEngine }
}

export const startServer = async ({
  clock,
  engineOptions,
  storage,
  storageOptions,
  webhooks = {},
  wrapEngine = (engine) => engine,
  ...options
}: TestServerOptions = {}): Promise<TestServer> => {
  const accounts = new TestAccounts()
  accounts.addKey(fullKey)
  const errors: Array<string> = []
  const logs: Array<string> = []
  const collect = Logger.make((entry) => {
    logs.push(Logger.formatJson.log(entry))
    if (entry.logLevel === "Error") errors.push(Logger.formatLogFmt.log(entry))
  })
  const metrics = new Metrics()
  const memory = MemoryStorage.layer({
    state: storage ?? new MemoryStorage.MemoryState(),
    ...storageOptions,
  })
  const engine = engineLayer({
    metrics,
    onBroken: (broken) => errors.push(`broken: ${broken.operation}`),
    ...engineOptions,
  }).pipe(Layer.provide(memory))
  const layers = Layer.mergeAll(
    Layer.succeed(Accounts, accounts),
    Readiness.layer,
    Layer.effect(
      DeliveryLog,
      DispatcherLive.make({
        ...(options.webhookUrls !== undefined && { allowed: options.webhookUrls.allowed }),
        flushIntervalMs: 5,
        metrics,
        // No test queries the name servers of this machine.
        resolve: (host) => Promise.reject(new Error(`${host} is unknown`)),
        onBroken: (broken) => errors.push(`broken: ${broken.operation}`),
        ...webhooks,
      }),
    ).pipe(
      Layer.provideMerge(Layer.effect(Engine, Effect.map(Engine, wrapEngine))),
      Layer.provide(engine),
      Layer.provide(memory),
    ),
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer([collect]),
        Layer.succeed(References.MinimumLogLevel, "Trace"),
        clock === undefined ? Layer.empty : Layer.succeed(Clock.Clock, clock),
      ),
    ),
  )
  const scope = Scope.makeUnsafe()
  const context = await Effect.runPromise(Scope.provide(Layer.build(layers), scope))
  const served = await Effect.runPromise(
    serveHttp({
      host: "127.0.0.1",
      port: 0,
      metrics,
      ...options,
      // The callers share this event loop, so its turns do not measure the server.
      bounds: { overloadTurnMs: Number.POSITIVE_INFINITY, ...options.bounds },
    }).pipe(Scope.provide(scope), Effect.provide(context)),
  )
  const readiness = Context.get(context, Readiness)
  readiness.phase = "ready"
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const { port, url } = served
  return {
    port,
    url,
    accounts,
    readiness,
    engine: Context.get(context, Engine),
    metrics,
    errors,
    logs,
    call: (method, path, callOptions) => call(port, agent, method, path, callOptions),
    raw: (...parts) => raw(port, parts),
    connect: () => connectTo(port),
    stop: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      agent.destroy()
    },
  }
}

const call = (
  port: number,
  agent: Agent,
  method: string,
  path: string,
  { body, headers = {}, key = fullKey }: CallOptions = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const payload =
      body === undefined || typeof body === "string" || Buffer.isBuffer(body)
        ? body
        : JSON.stringify(body)
    const sent: Record<string, string> = {}
    if (key !== null) sent.authorization = `Bearer ${key}`
    if (payload !== undefined) {
      sent["content-type"] = "application/json"
      if (!("transfer-encoding" in headers)) {
        sent["content-length"] = String(Buffer.byteLength(payload))
      }
    }
    const outgoing = httpRequest(
      { host: "127.0.0.1", port, agent, method, path, headers: { ...sent, ...headers } },
      (incoming) => {
        const chunks: Array<Buffer> = []
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.on("error", reject)
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          const status = incoming.statusCode ?? 0
          const isJson = /json/.test(incoming.headers["content-type"] ?? "") && text !== ""
          const json = isJson ? JSON.parse(text) : undefined
          try {
            if (incoming.headers["laurel-version"] !== version) {
              throw new Error(`${method} ${path} answered ${status} without Laurel-Version`)
            }
            if (isJson) assertDeclared(method, path, status, json)
            resolve({ status, headers: incoming.headers, text, json })
          } catch (error) {
            reject(error)
          }
        })
      },
    )
    outgoing.on("error", reject)
    outgoing.end(payload)
  })

export const connectTo = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket))
    socket.on("error", reject)
  })

const raw = async (port: number, parts: ReadonlyArray<string | Buffer>): Promise<string> => {
  const socket = await connectTo(port)
  const reply = received(socket)
  for (const part of parts) socket.write(part)
  return reply
}

/** All text that `socket` receives until the other end closes. */
export const received = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("close", () => resolve(Buffer.concat(chunks).toString()))
    socket.on("end", () => socket.end())
  })
