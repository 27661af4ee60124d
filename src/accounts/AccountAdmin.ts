/** Accounts of the dashboard, as the command line and the admin server manage them. */
import { Context, type Effect, Schema } from "effect"
import { roles } from "../domain/accounts/Account.ts"
import type { LaurelError } from "../domain/values/Errors.ts"

/**
 * An account as lists show it. An owner has the one role `owner` without a project; other accounts
 * have a role in each of their projects, by the project's name. Times are ISO 8601.
 */
export const AccountDetails = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  name: Schema.String,
  roles: Schema.Array(
    Schema.Struct({ role: Schema.Literals(roles), project: Schema.NullOr(Schema.String) }),
  ),
  createdAt: Schema.String,
})
export type AccountDetails = typeof AccountDetails.Type

/**
 * A requested link for the person with this address. `join` needs a role; the roles `admin` and
 * `viewer` need a project by name.
 */
export const LinkRequest = Schema.Struct({
  purpose: Schema.Literals(["join", "reset"]),
  email: Schema.String,
  role: Schema.optionalKey(Schema.Literals(roles)),
  project: Schema.optionalKey(Schema.String),
})
export type LinkRequest = typeof LinkRequest.Type

/**
 * The path of a link under the server's address. It contains the link's token, which only this
 * reply shows.
 */
export const CreatedLink = Schema.Struct({ path: Schema.String })
export type CreatedLink = typeof CreatedLink.Type

export class AccountAdmin extends Context.Service<
  AccountAdmin,
  {
    /** All accounts, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<AccountDetails>>
    readonly createLink: (request: LinkRequest) => Effect.Effect<CreatedLink, LaurelError>
    /**
     * Deletes the account with this address and ends its sessions; refuses to delete the last
     * owner.
     */
    readonly remove: (email: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/AccountAdmin") {}
