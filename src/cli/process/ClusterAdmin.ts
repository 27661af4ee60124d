/**
 * Requests of operators at a server of a cluster. Where its own engine is open, that answers. Else the owner's does, by its
 * internal port: this server has checked the token, which is its own.
 */
import { Effect, type Scope } from "effect"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import { noOwner } from "../../cluster/Forward.ts"
import type { Owner } from "../../cluster/Owners.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Archives } from "../../engine/archive/Archives.ts"
import { type AdminOptions, makeAdmin } from "../../http/admin/AdminServer.ts"
import type { Exchange, RequestHandler } from "../../http/request/Exchange.ts"

/** The admin servers of the engine that is open here. */
export interface AdminHandlers {
  /** For requests with this server's token. */
  own?: RequestHandler
  /** For those that another server has checked. */
  forOthers?: RequestHandler
}

/** Fills `admin` until the scope closes. */
export const keepAdmin = (
  admin: AdminHandlers,
  options: AdminOptions,
): Effect.Effect<void, never, ApiKeys | Archives | Scope.Scope> =>
  Effect.gen(function* () {
    const own = yield* makeAdmin(options)
    const forOthers = yield* makeAdmin({ ...options, token: undefined })
    yield* Effect.acquireRelease(
      Effect.sync(() => Object.assign(admin, { own, forOthers })),
      () =>
        Effect.sync(() => {
          delete admin.own
          delete admin.forOthers
        }),
    )
  })

/** It is about files of the owner's data directory. */
export const isOfDirectory = ({ path }: Exchange): boolean => path === "/admin/position"

export const elsewhere = (owner: Owner | undefined): LaurelError =>
  owner === undefined
    ? noOwner
    : laurelError(
        "misdirected_request",
        `The server ${owner.address} of the cluster owns the data. Run this command on its machine, with its LAUREL_DATA_DIR.`,
      )
