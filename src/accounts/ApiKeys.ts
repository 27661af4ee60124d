/** Managing API keys: what the command line and the admin address can do with them. */
import { Context, type Effect, Schema } from "effect"
import { environmentNames, scopes, tiers } from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { isIsoTime } from "../domain/values/isoTime.ts"

const IsoTime = Schema.String.check(
  Schema.makeFilter((text) => isIsoTime(text) || "must be a time in ISO 8601 with a zone"),
)

/** The wish for a key. `rateLimit` is requests per minute, `null` for none; only `enterprise` may choose. Times are ISO 8601. */
export const KeyRequest = Schema.Struct({
  project: Schema.String,
  environment: Schema.Literals(environmentNames),
  scope: Schema.Literals(scopes),
  tier: Schema.Literals(tiers),
  rateLimit: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  expiresAt: Schema.optionalKey(IsoTime),
})
export type KeyRequest = typeof KeyRequest.Type

const keyMembers = {
  id: Schema.String,
  project: Schema.String,
  environment: Schema.Literals(environmentNames),
  scope: Schema.Literals(scopes),
  tier: Schema.Literals(tiers),
  rateLimit: Schema.NullOr(Schema.Int),
  createdAt: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
}

/** A key as lists show it; `hint` is the start of its text. */
export const KeyDetails = Schema.Struct({
  ...keyMembers,
  hint: Schema.String,
  status: Schema.Literals(["in_force", "expired", "revoked"]),
  revokedAt: Schema.NullOr(Schema.String),
})
export type KeyDetails = typeof KeyDetails.Type

/** A new key with its text, which is shown this once. */
export const CreatedKey = Schema.Struct({ key: Schema.String, ...keyMembers })
export type CreatedKey = typeof CreatedKey.Type

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Creates a key, and its project where no project has this name. Requests may use it at once. */
    readonly create: (request: KeyRequest) => Effect.Effect<CreatedKey, LaurelError>
    /** All keys, oldest first; of those revoked only the latest `revokedKeysMax`. */
    readonly list: Effect.Effect<ReadonlyArray<KeyDetails>, LaurelError>
    /** Ends a key at once; `key_not_found` unless it is in force. */
    readonly revoke: (keyId: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/ApiKeys") {}
