/** Decides the commands on boosts. `project/Boost.ts` tells when a boost runs, and what it does. */
import { limits } from "../../Limits.ts"
import type { Boost } from "../project/Boost.ts"
import { type New, type Status, statusAt, targetedDefaults } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, quotaError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import {
  boostInUse,
  currencyFaults,
  metadataFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

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

export const boosts = new Decisions<"boost", New<Boost>, BoostChange, "in_use", "quota_exceeded">({
  noun: "boost",
  max: limits.boostsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...targetedDefaults, ...given }),
  faults: (state, boost, { before }) => boostFaults(state, boost, before),
  inUse: boostInUse,
  tooMany: (state, boost, now) => (runsTooMany(state, boost, now) ? tooManyRun : undefined),
})

const boostFaults = (
  state: ProjectState,
  boost: Boost,
  before: Boost | undefined,
): ReadonlyArray<Fault> => [
  ...(before === undefined || before.personal === boost.personal ? [] : [otherKind]),
  ...(boost.personal ? personalFaults(boost) : []),
  ...periodFaults(boost),
  ...metadataFaults(boost.metadata),
  ...currencyFaults(state, boost.currencies, "/currencies"),
  ...segmentReferenceFaults(state, boost.segment),
]

/** A file may not make a boost personal, or no longer so. */
const otherKind: Fault = {
  pointer: "/personal",
  code: "invalid_value",
  detail: "never changes: create another boost",
}

/** The faults of a personal boost with members of others: its time is that of each reward. */
const personalFaults = ({ endsAt, segment, startsAt, timeZone, weekly }: Boost) => {
  const given = {
    startsAt: startsAt !== null,
    endsAt: endsAt !== null,
    weekly: weekly.length > 0,
    timeZone: timeZone !== "project",
    segment: segment !== null,
  }
  return Object.entries(given).flatMap(([name, isThere]): ReadonlyArray<Fault> => {
    const detail = "is not allowed for a personal boost"
    return isThere ? [{ pointer: `/${name}`, code: "unknown_member", detail }] : []
  })
}

/*
 * At most `runningBoostsMax` boosts are scheduled or active, so that no more ever run at once: the
 * clock starts scheduled ones without asking. Personal boosts do not count, `ownBoostsMax` bounds
 * them.
 */

const isDue = (boost: Boost, now: number): boolean =>
  !boost.personal && ["scheduled", "active"].includes(statusAt(boost, now))

/** Whether `boost`, as created or changed, is one too many that runs or will run. */
const runsTooMany = ({ boosts }: ProjectState, boost: Boost, now: number): boolean => {
  const before = boosts.get(boost.id)
  if (!isDue(boost, now) || (before !== undefined && isDue(before, now))) return false
  let due = 0
  for (const one of boosts.values()) if (isDue(one, now)) due++
  return due >= limits.runningBoostsMax
}

const tooManyRun = quotaError(limits.runningBoostsMax, "scheduled or active boosts per environment")
