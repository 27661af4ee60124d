/** Decides the commands on leagues. `Leagues.ts` scores in them. */
import { limits } from "../../Limits.ts"
import { addsUp, hasScores, metricOf } from "../project/BoardDefinition.ts"
import type { New, Status } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import { type League, leagueDefaults, leagueScoring } from "../project/League.ts"
import type { ProjectState } from "../project/Project.ts"
import { isRefilling } from "../user/Refill.ts"
import type { Fault } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import {
  givenReferenceFaults,
  type Known,
  metadataFaults,
  rankedFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of a league. */
export interface LeagueChange
  extends Partial<
    Pick<
      League,
      | "name"
      | "description"
      | "divisions"
      | "cohortSize"
      | "window"
      | "graceMinutes"
      | "rewards"
      | "score"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

type Defaulted = "cohortSize" | "window" | "graceMinutes" | "rewards"

/** A league without the members that have defaults. */
type NewLeague = Partial<Pick<League, Defaulted>> & Omit<New<League>, Defaulted>

export const leagues = new Decisions<"league", NewLeague, LeagueChange>({
  noun: "league",
  max: limits.leaguesMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...leagueDefaults, ...given }),
  changed: (_, change) => change,
  faults: (state, league, { before, known }) => [
    ...(before === undefined ? [] : changedFaults(before, league)),
    ...leagueFaults(state, league),
    ...rewardFaults(state, league, known),
  ],
})

/** The faults of members that no longer change once the league was published. */
const changedFaults = (before: League, league: League): ReadonlyArray<Fault> => {
  if (!hasScores(before)) return []
  const faults: Array<Fault> = []
  for (const name of leagueScoring) {
    if (noChange({ [name]: before[name] }, { [name]: league[name] })) continue
    const detail = "cannot change, since the scores follow from it: use another key"
    faults.push({ pointer: `/${name}`, code: "invalid_value", detail })
  }
  for (const [index, { key }] of before.divisions.entries()) {
    if (league.divisions[index]?.key === key) continue
    const detail = `must have the division ${key} at this place: users are in it`
    faults.push({ pointer: `/divisions/${index}`, code: "invalid_value", detail })
  }
  return faults
}

const leagueFaults = (state: ProjectState, league: League): ReadonlyArray<Fault> => {
  const { cohortSize, divisions, score } = league
  const faults = [
    ...periodFaults(league),
    ...metadataFaults(league.metadata),
    ...segmentReferenceFaults(state, league.segment),
    ...rankedFaults(state, score),
  ]
  const metric = metricOf(state.metrics, league)
  if (metric !== undefined && !addsUp(metric.aggregate)) {
    const detail = "must count or sum: other values do not add up in a window"
    faults.push({ pointer: "/score/metric", code: "not_allowed", detail })
  }
  const scored =
    "currency" in score ? definitionWithKey(state.currencies, score.currency) : undefined
  if (scored !== undefined && isRefilling(scored)) {
    const detail = "must not have a refill, now or before: refilled amounts are not earned"
    faults.push({ pointer: "/score/currency", code: "not_allowed", detail })
  }
  const keys = new Set<string>()
  for (const [index, { demote, key, promote }] of divisions.entries()) {
    if (keys.has(key)) {
      const detail = "must differ from the keys of the other divisions"
      faults.push({ pointer: `/divisions/${index}/key`, code: "duplicate", detail })
    }
    keys.add(key)
    if (promote + demote <= cohortSize) continue
    const detail = `must be, with promote, at most cohortSize, which is ${cohortSize}`
    faults.push({ pointer: `/divisions/${index}/demote`, code: "invalid_value", detail })
  }
  return faults
}

const rewardFaults = (
  state: ProjectState,
  { divisions, rewards }: League,
  known: Known | undefined,
): ReadonlyArray<Fault> =>
  rewards.flatMap(({ division, ranks, reward }, index) => {
    const pointer = `/rewards/${index}`
    const isKnown = (name: string) => known?.has(name) === true
    const faults = [...givenReferenceFaults(state, reward, `${pointer}/reward`, isKnown)]
    if (division !== null && !divisions.some(({ key }) => key === division)) {
      const detail = "must be the key of a division of the league"
      faults.push({ pointer: `${pointer}/division`, code: "unknown_reference", detail })
    }
    if (ranks !== null && ranks[0] > ranks[1]) {
      const detail = "must be at least the first rank"
      faults.push({ pointer: `${pointer}/ranks/1`, code: "out_of_range", detail })
    }
    return faults
  })
