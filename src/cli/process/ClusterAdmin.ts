/**
 * Requests of operators at a server of a cluster. Archives and data directories are of a partition, `?partition=3`; accounts and keys
 * are of the first one. Where the engine of the partition is open here, that answers. Else the owner's does, by its internal
 * port: this server has checked the token, which is its own.
 */
import { Effect, type Scope } from "effect"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import { noOwner } from "../../cluster/Forward.ts"
import type { Owner } from "../../cluster/Owners.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Archives } from "../../engine/archive/Archives.ts"
import { type AdminOptions, makeAdmin } from "../../http/admin/AdminServer.ts"
import type { Exchange, RequestHandler } from "../../http/request/Exchange.ts"

/** The admin servers of a partition's engine, while it is open here. */
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
export const isOfDirectory = ({ path }: Pick<Exchange, "path">): boolean =>
  path === "/admin/position"

const ofPartition = /^\/admin\/(?:archives|position)\?(.*)$/

/** The partition that a request to this path is about; `undefined`: none that there is. */
export const adminPartition = (url: string, partitions: number): number | undefined => {
  const named = new URLSearchParams(ofPartition.exec(url)?.[1]).get("partition")
  if (named === null) return firstPartition
  const number = /^[1-9]\d*$/.test(named) ? Number(named) : 0
  return number >= 1 && number <= partitions ? number : undefined
}

export const noPartition: LaurelError = laurelError(
  "malformed_request",
  "The cluster has no such partition.",
)

export const elsewhere = (owner: Owner | undefined, partition: number): LaurelError =>
  owner === undefined || owner.address === ""
    ? noOwner
    : laurelError(
        "misdirected_request",
        `The server ${owner.address} of the cluster owns partition ${partition}. Run this command on its machine, with its LAUREL_DATA_DIR.`,
      )
