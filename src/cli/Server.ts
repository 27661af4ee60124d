/**
 * A server from its start to its end. What is opened first is closed last: storage, engine, accounts, API,
 * admin server, `server.json`. So an orderly end takes no new requests, lets those under way finish, writes
 * a last snapshot and closes the storage.
 *
 * Addresses are tried before anything is opened, so that a start that must fail leaves nothing behind.
 */
import { createServer } from "node:http"
import { Console, Context, Effect, Fiber, type Scope } from "effect"
import type { Config } from "../Config.ts"
import { serveAdmin } from "../http/AdminServer.ts"
import { Readiness } from "../http/Readiness.ts"
import { close, listen, type ServeError, serveHttp } from "../http/Server.ts"
import { type CommandFailed, commandFailed, exitCodes, refused } from "./ExitCode.ts"
import { loadConfig } from "./LoadConfig.ts"
import { loggingLayer } from "./Logging.ts"
import { openEngine } from "./OpenEngine.ts"
import { keepServerFile, makeToken } from "./ServerFile.ts"
import { firstSignal } from "./Signals.ts"
import { createDemoKey, welcomeText } from "./Welcome.ts"

/** Serves until the first SIGTERM or SIGINT, and then ends in order. */
export const runServer: Effect.Effect<void, CommandFailed> = Effect.gen(function* () {
  const config = yield* loadConfig
  yield* Effect.provide(serveUntilSignal(config), loggingLayer(config))
})

const serveUntilSignal = Effect.fnUntraced(function* (config: Config) {
  const server = yield* Effect.forkChild(Effect.scoped(Effect.andThen(start(config), Effect.never)))
  const signal = yield* Effect.raceFirst(Fiber.join(server), firstSignal)
  yield* Effect.logInfo("Stopping").pipe(Effect.annotateLogs({ signal }))
  yield* Fiber.interrupt(server)
  yield* Effect.logInfo("Stopped")
})

const start = (config: Config): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    yield* tryAddress(config.host, config.port)
    yield* tryAddress(config.adminHost, config.adminPort)
    const { recovered, services } = yield* openEngine(config)
    yield* Effect.logInfo("The data directory is open").pipe(
      Effect.annotateLogs({ directory: config.dataDirectory, ...recovered }),
    )
    yield* logDurability(config)

    const readiness = { ready: false }
    const all = Context.add(services, Readiness, readiness)
    const demoKey = yield* Effect.provide(createDemoKey, all)
    const api = yield* serveHttp({
      host: config.host,
      port: config.port,
      shutdownGraceMs: config.shutdownGraceMs,
      webhookUrls: {
        allowed: config.webhookAllowedRanges,
        requireHttps: config.webhookRequireHttps,
      },
    }).pipe(Effect.provide(all))
    const token = makeToken()
    const admin = yield* Effect.provide(
      serveAdmin({ host: config.adminHost, port: config.adminPort, token }),
      all,
    )
    const url = reachable(api.url)
    yield* keepServerFile(config.dataDirectory, {
      pid: process.pid,
      url,
      adminUrl: reachable(admin.url),
      token,
      startedAt: new Date().toISOString(),
    })
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        readiness.ready = true
      }),
      () =>
        Effect.sync(() => {
          readiness.ready = false
        }),
    )
    yield* Effect.logInfo("Ready").pipe(Effect.annotateLogs({ url: api.url, adminUrl: admin.url }))
    if (demoKey !== undefined) yield* Console.log(welcomeText(url, demoKey))
  }).pipe(
    Effect.mapError((error) => {
      switch (error._tag) {
        case "CommandFailed":
          return error
        case "LaurelError":
          return refused(error)
        case "ServeError":
          return commandFailed(exitCodes.unavailable, `${error.message}.`)
      }
    }),
  )

/** Listens for a moment; whether the address is free will show again when it is needed. */
const tryAddress = (host: string, port: number): Effect.Effect<void, ServeError> =>
  Effect.flatMap(listen(createServer(), { host, port }), close)

const logDurability = ({ durability }: Config): Effect.Effect<void> =>
  durability === "fsync"
    ? Effect.logInfo("Durability fsync: what is acknowledged is on disk")
    : Effect.logWarning(
        "DURABILITY RELAXED: replies are sent before their data is on disk. A crash or a power cut can take back what was acknowledged. For caches and benches only",
      )

/** Where this machine finds what listens on all of its addresses. */
const reachable = (url: string): string =>
  url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
