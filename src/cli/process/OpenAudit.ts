/**
 * The audit log of a data directory or a cluster, for the dashboard and for commands that change
 * the same data.
 */

import path from "node:path"
import { Context, Effect } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { NewAuditEntry } from "../../accounts/audit/AuditLog.ts"
import { auditFolder, openAuditStore } from "../../accounts/audit/AuditStore.ts"
import { auditedKeys, auditedProjects } from "../../accounts/audit/operatorAudit.ts"
import { Projects } from "../../accounts/Projects.ts"
import { type Config, partitionNumber } from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { Engine } from "../../engine/Engine.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import type { Sessions } from "../../storage/postgres/PgConnection.ts"
import { OtherFormat } from "../../storage/Storage.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { RestoredTo } from "./DataDirectory.ts"

/*
 * The sessions of PostgreSQL for the audit log of a cluster; `undefined`: the log is in the data
 * directory.
 */

export const AuditSessions = Context.Reference<Pick<Sessions, "run"> | undefined>(
  "cli/process/AuditSessions",
  { defaultValue: () => undefined },
)

/**
 * The entry of a restore. Earlier entries stay, although the restored data may lack their changes.
 */
export const restoreEntry = ({ partition }: Config, lastSequence: number): NewAuditEntry => ({
  action: "data.restore",
  by: "operator",
  subject: "",
  detail: `${partition === undefined ? "" : `partition ${partition.number}, `}up to record ${lastSequence}`,
  projectId: null,
  environment: null,
  address: "",
  requestId: "",
})

/** `keys` and `projects` log each change as the operator's. */
export const openAudit = Effect.fnUntraced(function* (config: Config) {
  const { readDirectory } = yield* Engine
  const sessions = yield* AuditSessions
  const audit = yield* sessions === undefined ? openFiles(config) : openInCluster(config, sessions)
  const restoredTo = yield* RestoredTo
  // `write` logs its failures.
  if (restoredTo !== undefined) yield* Effect.ignore(audit.write(restoreEntry(config, restoredTo)))
  return {
    audit,
    keys: auditedKeys(yield* ApiKeys, audit, readDirectory),
    projects: auditedProjects(yield* Projects, audit, readDirectory),
  }
})

const openFiles = Effect.fnUntraced(function* ({ dataDirectory }: Config) {
  const { now } = yield* Engine
  const directory = path.resolve(dataDirectory)
  return yield* Effect.mapError(openAuditStore({ disk: nodeDisk, directory, now }), (error) =>
    error._tag === "Broken" && error.cause instanceof OtherFormat
      ? commandFailed(
          exitCodes.damagedData,
          `${error.cause.message}. The log was not changed. The export has no audit log: move the folder, or start with LAUREL_DASHBOARD=off.`,
        )
      : commandFailed(
          exitCodes.cannotWrite,
          `Cannot use the audit log in ${path.join(directory, auditFolder)}: ${error.message}`,
          "Repair or move the folder, or start with LAUREL_DASHBOARD=off.",
        ),
  )
})

/**
 * Entries of the data directory move to the cluster in the background, while the partition serves.
 */
const openInCluster = Effect.fnUntraced(function* (
  config: Config,
  sessions: NonNullable<typeof AuditSessions.Service>,
) {
  const { now } = yield* Engine
  const { ClusterAuditStore } = yield* Effect.promise(
    () => import("../../accounts/audit/ClusterAuditStore.ts"),
  )
  const store = new ClusterAuditStore({ sessions, now })
  const directory = path.resolve(config.dataDirectory)
  const take = Effect.catch(store.take(nodeDisk, directory), (error) =>
    Effect.logError("The audit log of the data directory stays there until the next start").pipe(
      Effect.annotateLogs({ folder: path.join(directory, auditFolder), cause: String(error) }),
    ),
  )
  yield* Effect.forkScoped(take)
  if (partitionNumber(config) === firstPartition) yield* Effect.forkScoped(store.prune)
  return store
})
