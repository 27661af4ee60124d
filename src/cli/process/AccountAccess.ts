/** Access to accounts: through the running server of the data directory, or by opening the data directory. */
import { Effect, Schema } from "effect"
import { AccountDetails, CreatedLink, type LinkRequest } from "../../accounts/AccountAdmin.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { type AdminUnavailable, askAdmin } from "./AdminRequest.ts"
import { reachOrOpen } from "./KeyAccess.ts"
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
  reachOrOpen({
    makes: false,
    beside: (server, { publicUrl }) =>
      use(
        clientOf(server, addressOf(publicUrl, server.url.replace("//127.0.0.1:", "//localhost:"))),
      ),
    alone: Effect.fnUntraced(function* (config) {
      const { port, publicUrl } = config
      const { openAccounts } = yield* Effect.promise(() => import("./OpenAccounts.ts"))
      const { admin } = yield* openAccounts(config)
      return yield* use<never>({
        address: addressOf(publicUrl, `http://localhost:${port}`),
        ...admin,
      })
    }),
  })

const addressOf = (publicUrl: string | undefined, local: string): string =>
  publicUrl?.replace(/\/$/, "") ?? local
