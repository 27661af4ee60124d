/**
 * The archives in the folder of a partition's owner, for commands beside any server of the cluster.
 * Servers usually have folders of their own: an archive is only on the machine of the server that
 * made it.
 */
import { Effect, Result, Schema } from "effect"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/Config.ts"
import { ArchiveDetails } from "../../storage/archive/ArchiveCatalog.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { askAdmin, partitionQuery } from "./AdminRequest.ts"
import { viaServerOr } from "./DataDirectory.ts"

const Reply = Schema.Struct({
  /** The address of the server in its cluster. */
  server: Schema.NullOr(Schema.String),
  archives: Schema.Array(ArchiveDetails),
})

interface OwnerArchives {
  readonly server: string
  /** Oldest first; their folders are on the machine of the server. */
  readonly archives: ReadonlyArray<ArchiveDetails>
}

/** Asks through the running server; `undefined`: no server runs here. */
const archivesAtOwner = (
  config: Config,
): Effect.Effect<OwnerArchives | undefined, CommandFailed> => {
  if (config.partition === undefined) return Effect.undefined
  const path = `/admin/archives${partitionQuery(config)}`
  return viaServerOr<OwnerArchives | undefined, never>(
    config,
    (server) =>
      askAdmin(server, "GET", path, Reply).pipe(
        Effect.map(({ archives, server }) => (server === null ? undefined : { server, archives })),
      ),
    Effect.undefined,
  )
}

export type AtOwner = Result.Result<OwnerArchives | undefined, CommandFailed>

/** Asks the owners of all these partitions at once, since a missing owner takes a wait. */
export const askOwners = (
  configs: ReadonlyArray<Config>,
): Effect.Effect<ReadonlyMap<Config, AtOwner>> =>
  Effect.map(
    Effect.forEach(configs, (config) => Effect.result(archivesAtOwner(config)), {
      concurrency: "unbounded",
    }),
    (asked) => new Map(configs.map((config, index) => [config, asked[index]!])),
  )

/** The archives of this machine, the bucket and the owner's machine, oldest first. */
export const withOwners = (
  listed: ReadonlyArray<ArchiveDetails>,
  owner: OwnerArchives | undefined,
  inBucket: boolean | null,
): ReadonlyArray<ArchiveDetails> => {
  if (owner === undefined) return listed
  const { archives, server } = owner
  const known = new Set(listed.map(({ id }) => id))
  const there = new Set(archives.map(({ id }) => id))
  const missing = archives.filter(({ id }) => !known.has(id))
  return [
    ...listed.map((archive) =>
      archive.folder === null && there.has(archive.id) ? { ...archive, server } : archive,
    ),
    ...missing.map((archive) => ({ ...archive, folder: null, server, inBucket })),
  ].sort((one, other) => (one.createdAt < other.createdAt ? -1 : 1))
}

/**
 * Fails a command whose archive `id` is neither on this machine nor in the bucket. Names the server
 * that has it.
 */
export const archiveElsewhere = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config>,
  id: string,
  otherwise?: CommandFailed,
): Effect.fn.Return<never, CommandFailed> {
  for (const [config, atOwner] of yield* askOwners(configs)) {
    const owner = Result.getOrUndefined(atOwner)
    const found = owner?.archives.find((archive) => archive.id === id)
    if (owner === undefined || found === undefined) continue
    return yield* commandFailed(
      exitCodes.noData,
      `The server ${owner.server} of the cluster has archive ${id} of partition ${partitionNumber(config)}, in ${found.folder}. Run this command on its machine, with its LAUREL_DATA_DIR.`,
    )
  }
  if (otherwise !== undefined) return yield* otherwise
  const formerOwner = "A former owner of the partition may have the archive on its machine."
  return yield* commandFailed(
    exitCodes.refused,
    `Archive ${id} not found. \`laurel snapshots list\` shows all.`,
    ...(configs[0]?.partition === undefined ? [] : [formerOwner]),
  )
})

/**
 * Reads archive `id` on this machine. Without data of these partitions here, fails as
 * `archiveElsewhere`.
 */
export const hereOrElsewhere = <A>(
  configs: ReadonlyArray<Config>,
  id: string,
  here: Effect.Effect<A, CommandFailed>,
): Effect.Effect<A, CommandFailed> =>
  Effect.catchIf(
    here,
    ({ exitCode }) => exitCode === exitCodes.noData,
    (failure) => archiveElsewhere(configs, id, failure),
  )
