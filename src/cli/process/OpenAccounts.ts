/** Accounts over an open engine: people, and what the operator does with their accounts. */
import { Effect } from "effect"
import { makeAccountAdmin } from "../../accounts/people/AccountAdminLive.ts"
import * as PeopleLive from "../../accounts/people/PeopleLive.ts"
import { dashboardPrefix } from "../../dashboard/prefix.ts"
import { Engine } from "../../engine/Engine.ts"

export const openAccounts = Effect.gen(function* () {
  const engine = yield* Engine
  const people = yield* PeopleLive.make
  return { people, admin: makeAccountAdmin(engine, people, dashboardPrefix) }
})
