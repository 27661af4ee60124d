/** Access to the keys: through the running server of the data directory, or by opening the data directory. */
import fs from "node:fs/promises"
import path from "node:path"
import { Console, Effect, type Scope } from "effect"
import type { Accounts } from "../../accounts/Accounts.ts"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { Config } from "../../config/Config.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import {
  type CommandFailed,
  commandFailed,
  exitCodes,
  noData,
  refused,
} from "../output/ExitCode.ts"
import { type AdminClient, makeAdminClient } from "./AdminClient.ts"
import type { AdminUnavailable } from "./AdminRequest.ts"
import { besideOrTold, tellAlone } from "./DataDirectory.ts"
import { loadConfig, serverFileFolder } from "./LoadConfig.ts"
import { loggingLayer } from "./Logging.ts"
import type { ServerFile } from "./ServerFile.ts"

type Use<A> = <E extends AdminUnavailable>(
  keys: AdminClient<E>,
) => Effect.Effect<A, LaurelError | E>

/** Runs `use` with the keys of the configured data directory, which is created if `makes` is set. */
export const withKeys = <A>(
  use: Use<A>,
  { makes }: { readonly makes: boolean },
): Effect.Effect<A, CommandFailed> =>
  reachOrOpen({
    makes,
    beside: (server) => use(makeAdminClient(server)),
    alone: (config) => Effect.flatMap(keysAlone(config), (keys) => use<never>(keys)),
  })

/** Logged, unless there is no dashboard. */
const keysAlone = Effect.fnUntraced(function* (config: Config) {
  if (config.dashboard === "off") return yield* ApiKeys
  const { openAudit } = yield* Effect.promise(() => import("./OpenAudit.ts"))
  return (yield* openAudit(config)).keys
})

interface Access<A> {
  /** Creates the data directory if there is none. */
  readonly makes: boolean
  readonly beside: (
    server: ServerFile,
    config: Config,
  ) => Effect.Effect<A, LaurelError | AdminUnavailable>
  readonly alone: (
    config: Config,
  ) => Effect.Effect<A, LaurelError | CommandFailed, Engine | Accounts | ApiKeys | Scope.Scope>
}

/** Runs `beside` with the running server of the configured data directory, or `alone` after opening the directory. */
export const reachOrOpen = <A>({ alone, beside, makes }: Access<A>) =>
  Effect.gen(function* () {
    const config = yield* loadConfig
    const directory = config.dataDirectory
    const opened = Effect.scoped(
      Effect.gen(function* () {
        if (config.cluster !== undefined) return yield* besideServerOnly(config)
        const isThere = yield* hasData(directory)
        if (!isThere && !makes) return yield* noData(directory)
        // The engine is most of the program, and not needed beside a server.
        const { openEngine } = yield* Effect.promise(() => import("./OpenEngine.ts"))
        const { services } = yield* openEngine(config)
        if (isThere) yield* tellAlone(config)
        else {
          yield* Console.error(
            `Created a new data directory in ${path.resolve(directory)}. Only a server with this LAUREL_DATA_DIR knows the key.`,
          )
        }
        return yield* Effect.mapError(Effect.provide(alone(config), services), (error) =>
          error._tag === "LaurelError" ? refused(error) : error,
        )
      }),
    )
    return yield* besideOrTold(config, (server) => beside(server, config), opened)
  }).pipe(Effect.provide(loggingLayer()))

/** Opening the data of a cluster would take it from the server that has it, on whichever machine. */
const besideServerOnly = (config: Config): CommandFailed =>
  commandFailed(
    exitCodes.unavailable,
    `No server runs on ${serverFileFolder(config)}. In a cluster, run this command beside a running server.`,
  )

const hasData = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.access(path.join(directory, "journal")).then(
      () => true,
      () => false,
    ),
  )
