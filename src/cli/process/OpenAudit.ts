/** The audit log of a data directory, for the dashboard and for the commands that manage what it manages. */
import path from "node:path"
import { Effect } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { AuditLog } from "../../accounts/audit/AuditLog.ts"
import { openAuditStore } from "../../accounts/audit/AuditStore.ts"
import { auditedKeys } from "../../accounts/audit/operatorAudit.ts"
import type { Config } from "../../config/Config.ts"
import { Engine } from "../../engine/Engine.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { Newer } from "../../storage/Storage.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { RestoredTo } from "./Restored.ts"

/** Earlier entries of the log are true, though the data may not have their changes. A failure is in the server's log. */
const tellOfRestore = (audit: AuditLog, lastSequence: number): Effect.Effect<void> =>
  Effect.ignore(
    audit.write({
      action: "data.restore",
      by: "operator",
      subject: "",
      detail: `up to record ${lastSequence}`,
      projectId: null,
      environment: null,
      address: "",
      requestId: "",
    }),
  )

/** `keys` logs as the operator what is done with it. */
export const openAudit = Effect.fnUntraced(function* ({ dataDirectory }: Config) {
  const { now, readDirectory } = yield* Engine
  const directory = path.resolve(dataDirectory)
  const audit = yield* Effect.mapError(
    openAuditStore({ disk: nodeDisk, directory, now }),
    (error) =>
      error._tag === "Broken" && error.cause instanceof Newer
        ? commandFailed(
            exitCodes.damagedData,
            `${error.cause.message}. The log was not changed. Start that version, or start with LAUREL_DASHBOARD=off.`,
          )
        : commandFailed(
            exitCodes.cannotWrite,
            `Cannot use the audit log in ${path.join(directory, "audit")}: ${error.message}`,
            "Repair or move the folder, or start with LAUREL_DASHBOARD=off.",
          ),
  )
  const restoredTo = yield* RestoredTo
  if (restoredTo !== undefined) yield* tellOfRestore(audit, restoredTo)
  return { audit, keys: auditedKeys(yield* ApiKeys, audit, readDirectory) }
})
