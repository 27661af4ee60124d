/**
 * The way to the keys: through the running server of the data directory, or, where none runs, by opening
 * the data directory. Whether one runs is never guessed: the file of a dead or other server is passed by, and
 * then the lock of the data directory decides.
 */
import fs from "node:fs/promises"
import path from "node:path"
import { Console, Context, Effect } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import {
  type CommandFailed,
  commandFailed,
  exitCodes,
  noData,
  refused,
} from "../output/ExitCode.ts"
import { type AdminClient, makeAdminClient } from "./AdminClient.ts"
import type { AdminUnavailable } from "./AdminRequest.ts"
import { loadConfig } from "./LoadConfig.ts"
import { loggingLayer } from "./Logging.ts"
import { readServerFile } from "./ServerFile.ts"

type Use<A> = (keys: AdminClient) => Effect.Effect<A, LaurelError | AdminUnavailable>

/** Runs `use` with the keys of the configured data directory, which is made where `makes` says so. */
export const withKeys = <A>(
  use: Use<A>,
  { makes }: { readonly makes: boolean },
): Effect.Effect<A, CommandFailed> =>
  Effect.gen(function* () {
    const config = yield* loadConfig
    const directory = config.dataDirectory
    const server = yield* readServerFile(directory)
    const offline = Effect.scoped(
      Effect.gen(function* () {
        const isThere = yield* hasData(directory)
        if (!isThere && !makes) return yield* noData(directory)
        // The engine is most of the program, and not needed beside a server.
        const { openEngine } = yield* Effect.promise(() => import("./OpenEngine.ts"))
        const { services } = yield* openEngine(config)
        if (!isThere) {
          yield* Console.error(
            `There was no data in ${path.resolve(directory)}: a new data directory was made. A server knows the key only if this is its LAUREL_DATA_DIR.`,
          )
        }
        return yield* use(Context.get(services, ApiKeys))
      }),
    )
    if (server === undefined) return yield* offline
    return yield* Effect.catchTag(use(makeAdminClient(server)), "AdminUnavailable", (error) =>
      error.reached ? Effect.fail(error) : offline,
    )
  }).pipe(
    Effect.mapError((error) => {
      switch (error._tag) {
        case "CommandFailed":
          return error
        case "LaurelError":
          return refused(error)
        case "AdminUnavailable":
          return commandFailed(
            exitCodes.unavailable,
            `The running server did not answer as it should (${error.detail}). Whether it did what was asked is not known.`,
          )
      }
    }),
    Effect.provide(loggingLayer()),
  )

const hasData = (directory: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fs.access(path.join(directory, "journal")).then(
      () => true,
      () => false,
    ),
  )
