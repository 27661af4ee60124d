/** Decides the commands on boosts. `project/Boost.ts` tells when a boost runs, and what it does. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Boost } from "../project/Boost.ts"
import {
  firstVersion,
  type New,
  nextVersion,
  type Replacement,
  type Status,
  statusAt,
  targetedDefaults,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  claimedKey,
  currencyFaults,
  metadataFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import {
  archived,
  archivedCannotChange,
  liveCount,
  moved,
  movedTo,
  overFaults,
  periodFaults,
} from "./Lifecycle.ts"

export type BoostReplacement = Replacement<Boost>

/** A merge patch of a boost. */
export interface BoostChange
  extends Partial<
    Pick<
      Boost,
      | "name"
      | "description"
      | "currencies"
      | "factor"
      | "weekly"
      | "timeZone"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

export type BoostCommand =
  | { readonly kind: "createBoost"; readonly boost: New<Boost> }
  | (Conditional & {
      readonly kind: "updateBoost"
      readonly boostId: string
      readonly change: BoostChange
    })
  /** Archives the boost. */
  | (Conditional & { readonly kind: "deleteBoost"; readonly boostId: string })

type CommandOf<Kind> = Extract<BoostCommand, { readonly kind: Kind }>

export const createBoost = (
  state: ProjectState,
  { boost: given }: CommandOf<"createBoost">,
  now: number,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const key = claimedKey(state.boosts, "boost", given.key, given.name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const boost: Boost = {
    ...targetedDefaults,
    set: "published",
    ...given,
    key: key.success,
    ...firstVersion(now),
  }
  const faults = [...overFaults(boost, now), ...boostFaults(state, boost)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (liveCount(state.boosts) >= limits.boostsMax) {
    return quotaExceeded(limits.boostsMax, "boosts per environment")
  }
  return runsTooMany(state, boost, now)
    ? tooManyRun
    : Result.succeed([{ kind: "boost.created", boost }])
}

export const deleteBoost = (
  { boosts }: ProjectState,
  { boostId }: CommandOf<"deleteBoost">,
  now: number,
): Decided<"boost_not_found"> => {
  const boost = definitionOf(boosts, boostId)
  return boost === undefined || boost.set === "archived"
    ? notFound
    : Result.succeed([{ kind: "boost.updated", boost: archived(boost, now) }])
}

export const updateBoost = (
  state: ProjectState,
  { boostId, change: { metadata, status, ...change } }: CommandOf<"updateBoost">,
  now: number,
): Decided<"boost_not_found" | "invalid_request" | "invalid_transition" | "quota_exceeded"> => {
  const boost = definitionOf(state.boosts, boostId)
  if (boost === undefined) return notFound
  if (boost.set === "archived") return archivedCannotChange
  const changed: Boost = {
    ...boost,
    ...change,
    metadata: patchedMetadata(boost.metadata, metadata),
    ...nextVersion(boost, now),
  }
  const faults = boostFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.flatMap(moved(changed, status, now), (set) =>
    updated(state, { ...changed, set }, now),
  )
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceBoost = (
  state: ProjectState,
  before: Boost,
  { id: _, set, ...members }: BoostReplacement,
  now: number,
): Decided<"invalid_request" | "invalid_transition" | "quota_exceeded"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed: Boost = { ...before, ...targetedDefaults, ...members, ...nextVersion(before, now) }
  if (noChange(before, { ...changed, set: set ?? before.set })) return Result.succeed([])
  const faults = boostFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.flatMap(movedTo(changed, set, now), (set) =>
    updated(state, { ...changed, set }, now),
  )
}

const updated = (state: ProjectState, boost: Boost, now: number): Decided<"quota_exceeded"> =>
  runsTooMany(state, boost, now) ? tooManyRun : Result.succeed([{ kind: "boost.updated", boost }])

const boostFaults = (state: ProjectState, boost: Boost): ReadonlyArray<Fault> => [
  ...periodFaults(boost),
  ...metadataFaults(boost.metadata),
  ...currencyFaults(state, boost.currencies, "/currencies"),
  ...segmentReferenceFaults(state, boost.segment),
]

/*
 * At most `runningBoostsMax` boosts are scheduled or active, so that no more ever run at once: the
 * clock starts scheduled ones without asking.
 */

const isDue = (boost: Boost, now: number): boolean =>
  ["scheduled", "active"].includes(statusAt(boost, now))

/** Whether `boost`, as created or changed, is one too many that runs or will run. */
const runsTooMany = ({ boosts }: ProjectState, boost: Boost, now: number): boolean => {
  const before = boosts.get(boost.id)
  if (!isDue(boost, now) || (before !== undefined && isDue(before, now))) return false
  let due = 0
  for (const one of boosts.values()) if (isDue(one, now)) due++
  return due >= limits.runningBoostsMax
}

const tooManyRun = quotaExceeded(
  limits.runningBoostsMax,
  "scheduled or active boosts per environment",
)

const notFound = refuse("boost_not_found", "No boost of this project has this id or key.")
