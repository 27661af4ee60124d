import { Effect } from "effect"
import { makeId } from "../../accounts/KeyText.ts"
import type { BoostChange } from "../../domain/decide/BoostDefinitions.ts"
import type { Boost } from "../../domain/project/Boost.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { BoostPatch, Boosts, NewBoost } from "../api/Boosts.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations, isOfStatus, type StatusQuery } from "./definitionOperations.ts"
import {
  factOf,
  named,
  newMembers,
  patchOf,
  referenceFaults,
  replacementOf,
  showDefinition,
} from "./Shapes.ts"

export const boostHandlers = (engine: Engine["Service"]): Handlers<typeof Boosts> =>
  definitionOperations(engine, {
    plural: "boosts",
    definitionsOf: ({ boosts }) => boosts,
    find: (all, idOrKey) => definitionOf(all, idOrKey),
    isListed: (boost, query: StatusQuery, now) => isOfStatus(boost, query, now),
    notFound: laurelError("boost_not_found", "No boost of this project has this id or key."),
    moreFaults: referenceFaults(engine),
    show: showBoost,
    showFound: (boost, { environment }) =>
      Effect.sync(() => showBoost(boost, engine.timeIn(environment))),
    create: (payload: typeof NewBoost.Type) =>
      ({ kind: "createBoost", boost: newBoost(payload, makeId("bst")) }) as const,
    showCreated: (record) => showBoost(factOf(record, "boost.created").boost, decidedAt(record)),
    update: (boostId, payload: typeof BoostPatch.Type) =>
      ({ kind: "updateBoost", boostId, change: boostChange(payload) }) as const,
    showUpdated: (record) => showBoost(factOf(record, "boost.updated").boost, decidedAt(record)),
    delete: (boostId) => ({ kind: "deleteBoost", boostId }) as const,
  })

export const newBoost = (payload: typeof NewBoost.Type, id: string) => {
  const { currencies, factor, name, timeZone = "project", weekly = [] } = payload
  return { id, ...newMembers(payload), name, currencies, factor, weekly, timeZone }
}

/**
 * The change of a boost to the one that `payload` describes. Key and metadata stay, and so does the
 * status if `payload` has none.
 */
export const boostReplacement = (payload: typeof NewBoost.Type): BoostChange =>
  replacementOf(newBoost(payload, ""), payload)

const boostChange = (patch: typeof BoostPatch.Type): BoostChange => {
  const { timeZone, weekly } = patch
  return named({
    ...patchOf(patch),
    weekly: weekly === null ? [] : weekly,
    timeZone: timeZone === null ? ("project" as const) : timeZone,
  })
}

const showBoost = (boost: Boost, now: number) => showDefinition(boost, now)
