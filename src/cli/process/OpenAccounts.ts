/** Accounts over an open engine: people, what the operator does with their accounts, and the log of both. */
import path from "node:path"
import { Effect } from "effect"
import { openAuditStore } from "../../accounts/audit/AuditStore.ts"
import { makeAccountAdmin } from "../../accounts/people/AccountAdminLive.ts"
import * as PeopleLive from "../../accounts/people/PeopleLive.ts"
import type { Config } from "../../config/Config.ts"
import { dashboardPrefix } from "../../dashboard/prefix.ts"
import { Engine } from "../../engine/Engine.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"

export const openAccounts = Effect.fnUntraced(function* ({ dataDirectory }: Config) {
  const engine = yield* Engine
  const directory = path.resolve(dataDirectory)
  const audit = yield* Effect.mapError(
    openAuditStore({ disk: nodeDisk, directory, now: engine.now }),
    (error) =>
      commandFailed(
        exitCodes.cannotWrite,
        `Cannot use the audit log in ${path.join(directory, "audit")}: ${error.message}`,
        "Repair or move the folder, or start with LAUREL_DASHBOARD=off.",
      ),
  )
  const people = yield* PeopleLive.make
  return { audit, people, admin: makeAccountAdmin(engine, people, dashboardPrefix) }
})
