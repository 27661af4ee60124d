/** Managing keys through the admin address of a running server. */
import { Effect, Schema } from "effect"
import { CreatedKey, KeyDetails, type KeyRequest } from "../../accounts/ApiKeys.ts"
import type { RotationOverlap } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { type AdminUnavailable, askAdmin } from "./AdminRequest.ts"
import type { ServerFile } from "./ServerFile.ts"

/** `ApiKeys`, with the errors `E` of the way to the server. */
export interface AdminClient<E = AdminUnavailable> {
  readonly create: (request: KeyRequest) => Effect.Effect<CreatedKey, LaurelError | E>
  readonly list: Effect.Effect<ReadonlyArray<KeyDetails>, LaurelError | E>
  readonly rotate: (
    keyId: string,
    overlap: RotationOverlap,
  ) => Effect.Effect<CreatedKey, LaurelError | E>
  readonly revoke: (keyId: string) => Effect.Effect<void, LaurelError | E>
}

const KeyList = Schema.Struct({ keys: Schema.Array(KeyDetails) })

/** A client of the server that wrote `file`. */
export const makeAdminClient = (file: ServerFile): AdminClient => ({
  create: (request) => askAdmin(file, "POST", "/admin/keys", CreatedKey, request),
  list: Effect.map(askAdmin(file, "GET", "/admin/keys", KeyList), ({ keys }) => keys),
  rotate: (keyId, overlap) =>
    askAdmin(file, "POST", `/admin/keys/${encodeURIComponent(keyId)}/rotate`, CreatedKey, {
      overlap,
    }),
  revoke: (keyId) =>
    askAdmin(file, "DELETE", `/admin/keys/${encodeURIComponent(keyId)}`, Schema.Undefined),
})
