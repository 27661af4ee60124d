/** Accounts of the dashboard, as the command line and the admin server manage them. */
import { Context, type Effect, Schema } from "effect"
import { roles } from "../domain/accounts/Account.ts"
import type { LaurelError } from "../domain/values/Errors.ts"

/** An account as lists show it: `roles` are `owner`, or a role of each project by name. Times are ISO 8601. */
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

/** A requested link for the person with this address: `join` needs a role, and one that is not `owner` a project by name. */
export const LinkRequest = Schema.Struct({
  purpose: Schema.Literals(["join", "reset"]),
  email: Schema.String,
  role: Schema.optionalKey(Schema.Literals(roles)),
  project: Schema.optionalKey(Schema.String),
})
export type LinkRequest = typeof LinkRequest.Type

/** The path of a link under the address of the server, with its token, which is shown this once. */
export const CreatedLink = Schema.Struct({ path: Schema.String })
export type CreatedLink = typeof CreatedLink.Type

export class AccountAdmin extends Context.Service<
  AccountAdmin,
  {
    /** All accounts, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<AccountDetails>>
    readonly createLink: (request: LinkRequest) => Effect.Effect<CreatedLink, LaurelError>
    /** Deletes the account with this address, and ends its sessions; never the last owner. */
    readonly remove: (email: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/AccountAdmin") {}
