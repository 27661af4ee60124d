/** Managing keys through the admin address of a running server. */
import { Effect, Schema } from "effect"
import { CreatedKey, KeyDetails, type KeyRequest } from "../../accounts/ApiKeys.ts"
import { type Asked, askAdmin, decoded } from "./AdminRequest.ts"
import type { ServerFile } from "./ServerFile.ts"

/** The same as `ApiKeys`, but that the server may not answer. */
export interface AdminClient {
  readonly create: (request: KeyRequest) => Asked<CreatedKey>
  readonly list: Asked<ReadonlyArray<KeyDetails>>
  readonly revoke: (keyId: string) => Asked<void>
}

const KeyList = Schema.Struct({ keys: Schema.Array(KeyDetails) })

/** A client of the server that wrote `file`. */
export const makeAdminClient = (file: ServerFile): AdminClient => ({
  create: (request) =>
    Effect.flatMap(askAdmin(file, "POST", "/admin/keys", request), (value) =>
      decoded(CreatedKey, value),
    ),
  list: Effect.flatMap(askAdmin(file, "GET", "/admin/keys"), (value) =>
    Effect.map(decoded(KeyList, value), ({ keys }) => keys),
  ),
  revoke: (keyId) =>
    Effect.asVoid(askAdmin(file, "DELETE", `/admin/keys/${encodeURIComponent(keyId)}`)),
})
