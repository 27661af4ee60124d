import type { BoostChange } from "../../domain/decide/BoostDefinitions.ts"
import type { Boost } from "../../domain/project/Boost.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { BoostPatch, Boosts, NewBoost } from "../api/Boosts.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import { named, newMembers, patchOf, replacementOf, showDefinition } from "./Shapes.ts"

export const boostHandlers = (engine: Engine["Service"]): Handlers<typeof Boosts> =>
  kindOperations(engine, "boost", { made: newBoost, changed: boostChange, show: showBoost })

export const newBoost = (payload: typeof NewBoost.Type, id: string) => {
  const { currencies, factor, name, personal = false, timeZone = "project", weekly = [] } = payload
  return { id, ...newMembers(payload), name, currencies, factor, weekly, timeZone, personal }
}

/**
 * The change of a boost to the one that `payload` describes. Key and metadata stay, and so does the
 * status if `payload` has none.
 */
export const boostReplacement = (payload: typeof NewBoost.Type): BoostChange => {
  const { personal: _, ...change } = replacementOf(newBoost(payload, ""), payload)
  return change
}

const boostChange = (patch: typeof BoostPatch.Type): BoostChange => {
  const { timeZone, weekly } = patch
  return named({
    ...patchOf(patch),
    weekly: weekly === null ? [] : weekly,
    timeZone: timeZone === null ? ("project" as const) : timeZone,
  })
}

const showBoost = (boost: Boost, now: number) => showDefinition(boost, now)
