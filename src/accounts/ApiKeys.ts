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
 * A requested key. Without `kind` it is secret; a publishable key has the scope `read`. Without a
 * name, its kind or scope names it. Without origins or ranges, requests may come from anywhere.
 * Times are ISO 8601.
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

/** How long a replaced key stays in force, unless it expires before. */
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
 * A key as lists show it. `hint` is the start of its text. `createdBy` is the name of the account,
 * the account's id once it is removed, or `operator`; `null` if it was not recorded. `replacedBy`
 * is the id of the key that a rotation created.
 */
export const KeyDetails = Schema.Struct({
  ...keyMembers,
  hint: Schema.String,
  createdBy: Schema.String,
  lastUsedAt: Schema.NullOr(Schema.String),
  replacedBy: Schema.NullOr(Schema.String),
  status: Schema.Literals(["in_force", "expired", "revoked"]),
  revokedAt: Schema.NullOr(Schema.String),
})
export type KeyDetails = typeof KeyDetails.Type

/**
 * A new key with its text, which only this reply shows. `projectCreated`: the project was created
 * with the key.
 */
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
     * Creates a key, which requests may use at once. Its project has the id `inProject`; without
     * `inProject` it has the name `project`, and is created if no project has that name. `by`
     * absent: the operator.
     */
    readonly create: (
      request: KeyRequest & { readonly inProject?: string },
      by?: Asker,
    ) => Effect.Effect<CreatedKey, LaurelError>
    /**
     * All keys, oldest first. Of revoked and expired keys only the latest `endedKeysMax` are kept.
     */
    readonly list: Effect.Effect<ReadonlyArray<KeyDetails>, LaurelError>
    /** The keys of one environment, oldest first. */
    readonly listOf: (
      projectId: string,
      environment: EnvironmentName,
    ) => Effect.Effect<ReadonlyArray<KeyDetails>>
    /**
     * Creates a key with the same properties. The old key expires after the overlap;
     * `key_not_found` unless it is in force.
     */
    readonly rotate: (
      keyId: string,
      overlap: RotationOverlap,
      by?: Asker,
    ) => Effect.Effect<CreatedKey, LaurelError>
    /** Ends a key at once; `key_not_found` if it is unknown or revoked. */
    readonly revoke: (keyId: string, by?: Asker) => Effect.Effect<void, LaurelError>
    /**
     * Records the last uses of keys for the last time, within `keyUseLastFlushMs`. A server of a
     * cluster calls it before another server takes over. Otherwise the end of the scope does. Later
     * calls do nothing.
     */
    readonly leave: Effect.Effect<void>
  }
>()("accounts/ApiKeys") {}
