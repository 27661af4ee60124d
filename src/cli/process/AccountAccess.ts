/** Access to accounts: through the running server of the data directory, or by opening the data directory. */
import { Effect, Schema } from "effect"
import { AccountDetails, CreatedLink, type LinkRequest } from "../../accounts/AccountAdmin.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type CommandFailed, noData, refused } from "../output/ExitCode.ts"
import { type AdminUnavailable, askAdmin } from "./AdminRequest.ts"
import { besideOr } from "./DataDirectory.ts"
import { hasData } from "./KeyAccess.ts"
import { loadConfig } from "./LoadConfig.ts"
import { loggingLayer } from "./Logging.ts"
import type { ServerFile } from "./ServerFile.ts"

/** `AccountAdmin`, with the errors `E` of the way to the server. `address` is where people reach the server. */
export interface AccountClient<E> {
  readonly address: string
  readonly list: Effect.Effect<ReadonlyArray<AccountDetails>, LaurelError | E>
  readonly createLink: (request: LinkRequest) => Effect.Effect<CreatedLink, LaurelError | E>
  readonly remove: (email: string) => Effect.Effect<void, LaurelError | E>
}

const AccountList = Schema.Struct({ accounts: Schema.Array(AccountDetails) })

const clientOf = (file: ServerFile, address: string): AccountClient<AdminUnavailable> => ({
  address,
  list: Effect.map(
    askAdmin(file, "GET", "/admin/accounts", AccountList),
    ({ accounts }) => accounts,
  ),
  createLink: (request) => askAdmin(file, "POST", "/admin/accounts/links", CreatedLink, request),
  remove: (email) =>
    askAdmin(file, "DELETE", `/admin/accounts/${encodeURIComponent(email)}`, Schema.Undefined),
})

/** Runs `use` with the accounts of the configured data directory, which has to be there. */
export const withAccounts = <A>(
  use: <E extends AdminUnavailable>(
    accounts: AccountClient<E>,
  ) => Effect.Effect<A, LaurelError | E>,
): Effect.Effect<A, CommandFailed> =>
  Effect.gen(function* () {
    const config = yield* loadConfig
    const directory = config.dataDirectory
    const publicUrl = config.publicUrl?.replace(/\/$/, "")
    const alone = Effect.scoped(
      Effect.gen(function* () {
        if (!(yield* hasData(directory))) return yield* noData(directory)
        const [{ openEngine }, { openAccounts }] = yield* Effect.promise(() =>
          Promise.all([import("./OpenEngine.ts"), import("./OpenAccounts.ts")]),
        )
        const { services } = yield* openEngine(config)
        const { admin } = yield* Effect.provide(openAccounts, services)
        const address = publicUrl ?? `http://localhost:${config.port}`
        return yield* Effect.mapError(use<never>({ address, ...admin }), refused)
      }),
    )
    return yield* besideOr(
      directory,
      (server) =>
        use(clientOf(server, publicUrl ?? server.url.replace("//127.0.0.1:", "//localhost:"))),
      alone,
    )
  }).pipe(Effect.provide(loggingLayer()))
