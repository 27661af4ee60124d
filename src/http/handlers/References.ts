/** References of a body to what the project has, looked at though the body may have any form. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import {
  badgeReferenceFaults,
  prerequisiteFaults,
  streakReferenceFaults,
} from "../../domain/decide/References.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"

/** An own member of a value of any form. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

/** Faults of references in the body of a rule, quest or badge that match nothing; for `Operation.moreFaults`. */
export const referenceFaults =
  (engine: Engine["Service"]) =>
  (body: unknown, { environment }: Caller): ReadonlyArray<Fault> => {
    const state = Effect.runSync(engine.readProject(environment))
    const faults: Array<Fault> = []
    const badgeId = memberOf(memberOf(body, "reward"), "badgeId")
    if (typeof badgeId === "string") {
      faults.push(...badgeReferenceFaults(state, badgeId, "/reward/badgeId"))
    }
    const criteria = memberOf(body, "criteria")
    const streak = memberOf(criteria, "streak")
    if (memberOf(criteria, "kind") === "streak" && typeof streak === "string") {
      faults.push(...streakReferenceFaults(state, streak, "/criteria/streak"))
    }
    const prerequisites = memberOf(body, "prerequisites")
    if (Array.isArray(prerequisites)) {
      for (const [index, id] of prerequisites.slice(0, limits.prerequisitesMax).entries()) {
        if (typeof id !== "string") continue
        const found = prerequisiteFaults(state, { id: "", prerequisites: [id] })
        faults.push(...found.map((fault) => ({ ...fault, pointer: `/prerequisites/${index}` })))
      }
    }
    return faults
  }
