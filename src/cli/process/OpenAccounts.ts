/**
 * Accounts over an open engine: people, the operator's actions on accounts, and the audit log of
 * both.
 */
import { Effect } from "effect"
import { logFailedSignIns } from "../../accounts/audit/failedSignIns.ts"
import { auditedAccounts } from "../../accounts/audit/operatorAudit.ts"
import { makeAccountAdmin } from "../../accounts/people/AccountAdminLive.ts"
import { GuessingWatch } from "../../accounts/people/People.ts"
import * as PeopleLive from "../../accounts/people/PeopleLive.ts"
import type { Config } from "../../config/Config.ts"
import { dashboardPrefix } from "../../dashboard/view/Assets.ts"
import { Engine } from "../../engine/Engine.ts"
import { openAudit } from "./OpenAudit.ts"

export const openAccounts = Effect.fnUntraced(function* (config: Config) {
  const engine = yield* Engine
  const { audit, keys, projects } = yield* openAudit(config)
  const watch = logFailedSignIns(audit, engine.now)
  const people = yield* Effect.provideService(PeopleLive.make, GuessingWatch, watch)
  const admin = auditedAccounts(makeAccountAdmin(engine, people, dashboardPrefix), audit)
  return { audit, keys, projects, people, admin }
})
