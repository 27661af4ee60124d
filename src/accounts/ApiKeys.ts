/** API keys, as the command line and the admin server manage them. */
import { Context, type Effect, Schema } from "effect"
import type { Asker } from "../domain/accounts/Account.ts"
import {
  type EnvironmentName,
  environmentNames,
  keyKinds,
  type RotationOverlap,
  rotationOverlaps,
  scopes,
} from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { isIsoTime } from "../domain/values/isoTime.ts"

const IsoTime = Schema.String.check(
  Schema.makeFilter((text) => isIsoTime(text) || "must be a time in ISO 8601 with a zone"),
)

/**
 * A requested key. Without `kind` it is secret; a publishable key has the scope `read`. Without a name, its kind or scope names it.
 * Without origins or ranges, requests may come from anywhere. Times are ISO 8601.
 */
export const KeyRequest = Schema.Struct({
  project: Schema.String,
  environment: Schema.Literals(environmentNames),
  kind: Schema.optionalKey(Schema.Literals(keyKinds)),
  scope: Schema.Literals(scopes),
  expiresAt: Schema.optionalKey(IsoTime),
  name: Schema.optionalKey(Schema.String),
  allowedOrigins: Schema.optionalKey(Schema.Array(Schema.String)),
  allowedCidrs: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type KeyRequest = typeof KeyRequest.Type

/** The period for which a replaced key stays in force; an earlier expiry stays. */
export const RotationRequest = Schema.Struct({ overlap: Schema.Literals(rotationOverlaps) })

const keyMembers = {
  id: Schema.String,
  name: Schema.String,
  kind: Schema.Literals(keyKinds),
  project: Schema.String,
  environment: Schema.Literals(environmentNames),
  scope: Schema.Literals(scopes),
  allowedOrigins: Schema.Array(Schema.String),
  allowedCidrs: Schema.Array(Schema.String),
  createdAt: Schema.String,
  expiresAt: Schema.NullOr(Schema.String),
}

/**
 * A key as lists show it; `hint` is the start of its text. `createdBy` is the account's name, its id once it is removed, or
 * `operator`; `null` where it was not recorded. `replacedBy` is the id of its successor.
 */
export const KeyDetails = Schema.Struct({
  ...keyMembers,
  hint: Schema.String,
  createdBy: Schema.NullOr(Schema.String),
  lastUsedAt: Schema.NullOr(Schema.String),
  replacedBy: Schema.NullOr(Schema.String),
  status: Schema.Literals(["in_force", "expired", "revoked"]),
  revokedAt: Schema.NullOr(Schema.String),
})
export type KeyDetails = typeof KeyDetails.Type

/** A new key with its text, which is shown this once. `projectCreated`: its project did not exist before. */
export const CreatedKey = Schema.Struct({
  key: Schema.String,
  projectCreated: Schema.Boolean,
  ...keyMembers,
})
export type CreatedKey = typeof CreatedKey.Type

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * Creates a key, which requests may use at once: in the project with the id `inProject`, or else in the one of this name,
     * which it creates where there is none. `by` absent: the operator.
     */
    readonly create: (
      request: KeyRequest & { readonly inProject?: string },
      by?: Asker,
    ) => Effect.Effect<CreatedKey, LaurelError>
    /** All keys, oldest first; of those revoked or expired only the latest `endedKeysMax`. */
    readonly list: Effect.Effect<ReadonlyArray<KeyDetails>, LaurelError>
    /** The keys of one environment, oldest first. */
    readonly listOf: (
      projectId: string,
      environment: EnvironmentName,
    ) => Effect.Effect<ReadonlyArray<KeyDetails>>
    /** Creates a key like this one, which expires after the overlap; `key_not_found` unless it is in force. */
    readonly rotate: (
      keyId: string,
      overlap: RotationOverlap,
      by?: Asker,
    ) => Effect.Effect<CreatedKey, LaurelError>
    /** Ends a key at once; `key_not_found` where it is unknown or revoked. */
    readonly revoke: (keyId: string, by?: Asker) => Effect.Effect<void, LaurelError>
    /**
     * Records the last uses of keys for the last time, within `keyUseLastFlushMs`: in a cluster before another server takes
     * over, after which nothing is recorded here; else at the end.
     */
    readonly leave: Effect.Effect<void>
  }
>()("accounts/ApiKeys") {}
