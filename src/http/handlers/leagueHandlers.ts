/** Leagues as definitions, and reads of places and cohorts. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import type { LeagueChange } from "../../domain/decide/LeagueDefinitions.ts"
import { type CohortRef, leagueClosedThrough, leagueClosesAt } from "../../domain/decide/Leagues.ts"
import { metricOf } from "../../domain/project/BoardDefinition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import {
  type Division,
  type League,
  type LeagueOutcome,
  type LeagueRanking,
  type LeagueReward,
  lateWindow,
  leagueDefaults,
  outcomeOf,
  rewardsFor,
  termsOf,
} from "../../domain/project/League.ts"
import { unscaled } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { newInLeague } from "../../domain/user/LeagueState.ts"
import type { UserState } from "../../domain/user/User.ts"
import { zoneOf } from "../../domain/values/Calendar.ts"
import { invalidRequest, laurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { CohortMember } from "../../engine/boards/Cohorts.ts"
import type { Engine } from "../../engine/Engine.ts"
import {
  type Division as DivisionIn,
  LeaguePatch,
  type Leagues,
  NewLeague,
} from "../api/Leagues.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  avatarOf,
  foundOr,
  isUnknownTo,
  named,
  newMembers,
  pageAsked,
  patchOf,
  showDefinition,
  userNotFound,
} from "./Shapes.ts"

const leagueNotFound = definitionNotFound("league")
const cohortNotFound = laurelError(
  "cohort_not_found",
  "No cohort of a window that is not settled has this id.",
)

const unknownDivision = invalidRequest([
  {
    pointer: "query/division",
    code: "unknown_reference",
    detail: "must be the key of a division of the league",
  },
])

export const leagueHandlers = (engine: Engine["Service"]): Handlers<typeof Leagues> => ({
  ...kindOperations(engine, "league", {
    made: newLeague,
    bodies: {
      schemas: { created: NewLeague, changed: LeaguePatch },
      valid: {
        name: "L",
        score: { currency: "xp" },
        divisions: [{ key: "one", name: "One", promote: 0, demote: 0 }],
      },
      restsOn: { divisions: ["cohortSize"], rewards: ["divisions"], endsAt: ["startsAt"] },
    },
    changed: leagueChange,
    show: showLeague,
  }),
  ...userReads(engine),
  ...cohortReads(engine),
  ...disqualification(engine),
})

const disqualification = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Leagues>, "disqualify"> => ({
  disqualify: {
    handle: ({ caller: { environment }, idempotency, params, payload: { disqualified } }) =>
      Effect.gen(function* () {
        const { id, userId } = params
        const command = { kind: "disqualifyInLeague", league: id, disqualified } as const
        const asked = yield* engine.askUser(environment, { userId, command }, idempotency)
        const { leagues } = yield* engine.readProject(environment)
        const league = yield* foundOr(definitionOf(leagues, id), leagueNotFound)
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const is = isDisqualifiedIn(user, league)
        const body = { league: league.key, userId: user.id, disqualified: is }
        return { body, replayed: asked.replayed }
      }),
  },
})

const isDisqualifiedIn = ({ leagues }: UserState, { id }: League): boolean =>
  leagues.get(id)?.disqualified === true

/** The member `disqualified` of those who are. */
const flagOf = (user: UserState, league: League) =>
  isDisqualifiedIn(user, league) && ({ disqualified: true } as const)

const userReads = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Leagues>, "ofUser" | "oneOfUser"> => ({
  ofUser: {
    handle: ({ caller, params: { id: userId } }) =>
      Effect.gen(function* () {
        const { environment } = caller
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const project = yield* engine.readProject(environment)
        const reading = { engine, environment, project }
        const now = engine.timeIn(environment)
        const leagues = [...project.leagues.values()].filter((one) => isShown(one, caller, now))
        return { body: { userId, leagues: leagues.map((one) => placeOf(reading, one, user)[0]) } }
      }),
  },
  oneOfUser: {
    handle: ({ caller, params: { id: userId, leagueId } }) =>
      Effect.gen(function* () {
        const { environment } = caller
        const project = yield* engine.readProject(environment)
        const league = yield* foundOr(definitionOf(project.leagues, leagueId), leagueNotFound)
        if (!isShown(league, caller, engine.timeIn(environment))) {
          return yield* Effect.fail(leagueNotFound)
        }
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const reading = { engine, environment, project }
        const [place, entries] = placeOf(reading, league, user)
        return { body: { userId, ...place, entries, history: historyOf(reading, league, user) } }
      }),
  },
})

const cohortReads = (
  engine: Engine["Service"],
): Pick<Handlers<typeof Leagues>, "cohort" | "cohorts"> => ({
  cohorts: {
    handle: ({ caller: { environment }, params, query }) =>
      Effect.gen(function* () {
        const { cursor: _, limit: __, division: key } = query
        const page = yield* pageAsked(
          "cohorts",
          environment,
          { league: params.id, division: key },
          query,
        )
        const project = yield* engine.readProject(environment)
        const league = yield* foundOr(definitionOf(project.leagues, params.id), leagueNotFound)
        const reading = { engine, environment, project }
        const window = presentWindow(reading, league)
        const division = league.divisions.findIndex((one) => one.key === key)
        if (division < 0) return yield* Effect.fail(unknownDivision)
        const all = engine.listCohorts(environment, { leagueId: league.id, window, division })
        const [after = 0] = page.after ?? []
        const rest = all.filter(({ cohort }) => cohort > after)
        const cohorts = rest.slice(0, page.limit)
        const last = rest.length > cohorts.length ? cohorts.at(-1) : undefined
        return {
          body: {
            league: league.key,
            division: key,
            ...timesOf(reading, league, window),
            unsettled: engine.unsettledCohorts(environment, league),
            cohorts: cohorts.map(({ cohort, size }) => ({
              id: idOf(key, cohort),
              division: key,
              size,
            })),
            ...page.end(last && [last.cohort]),
          },
        }
      }),
  },
  cohort: {
    handle: ({ caller: { environment }, params }) =>
      Effect.gen(function* () {
        const project = yield* engine.readProject(environment)
        const league = yield* foundOr(definitionOf(project.leagues, params.id), leagueNotFound)
        const reading = { engine, environment, project }
        const window = presentWindow(reading, league)
        const { cohort, division } = yield* foundOr(cohortIn(league, params.cohort), cohortNotFound)
        const place = { leagueId: league.id, window, division, cohort }
        const { entries, size } = cohortOf(reading, league, place)
        if (size === 0) return yield* Effect.fail(cohortNotFound)
        return {
          body: {
            league: league.key,
            id: params.cohort,
            division: league.divisions[division]!.key,
            size,
            ...timesOf(reading, league, window),
            entries,
          },
        }
      }),
  },
})

interface Reading {
  readonly engine: Engine["Service"]
  readonly environment: string
  readonly project: ProjectState
}

/** Whether users have places in the league, and the caller may see them. */
const isShown = (league: League, caller: Caller, now: number): boolean =>
  (league.set === "published" || league.set === "paused") && !isUnknownTo(caller, league, now)

const idOf = (division: string, cohort: number): string => `${division}-${cohort}`

/** The cohort with this id; `undefined`: it is none. */
const cohortIn = ({ divisions }: League, id: string) => {
  const [, key, number] = /^(.+)-([1-9]\d{0,8})$/.exec(id) ?? []
  const division = divisions.findIndex((one) => one.key === key)
  return division < 0 ? undefined : { division, cohort: Number(number) }
}

/** The oldest window that is not settled, or the present one. */
const presentWindow = (reading: Reading, league: League): number =>
  reading.engine.oldestCohorts(reading.environment, league.id) ?? windowNow(reading, league)

const windowNow = ({ engine, environment, project }: Reading, league: League): number => {
  const now = zoneOf(project.settings.timezone).windowAt(league.window, engine.timeIn(environment))
  return Math.max(now, leagueClosedThrough(project, league.id) + 1)
}

const showWindow = ({ project }: Reading, league: League, window: number) => {
  const bounds = zoneOf(project.settings.timezone).windowBounds(league.window, window)
  const { endsAt, startsAt } = bounds
  return { kind: league.window, startsAt: isoTime(startsAt), endsAt: isoTime(endsAt) }
}

const timesOf = (reading: Reading, league: League, window: number) => {
  const { project } = reading
  const zone = zoneOf(project.settings.timezone)
  return {
    window: showWindow(reading, league, window),
    closesAt: isoTime(leagueClosesAt(league, zone, window)),
    settling: window <= leagueClosedThrough(project, league.id),
  }
}

const showDivision = ({ divisions }: League, index: number) => {
  const { icon, key, name }: Pick<Division, "icon" | "key" | "name"> = divisions[index]!
  return { key, name, icon }
}

/** The terms by which a window is, or would be, settled. */
const termsIn = ({ project }: Reading, league: League, window: number) => {
  const close = project.leagueCloses.get(league.id)
  if (close === undefined || window > close.index) return termsOf(league)
  return (lateWindow(close, window) ?? close).terms
}

/** The decimals of the league's scores. */
const decimalsOf = ({ project }: Reading, league: League): number =>
  metricOf(project.metrics, league)?.decimals ?? 0

/** The entries of a cohort, without hidden users, and all members. */
const cohortOf = (reading: Reading, league: League, place: CohortRef) => {
  const { members, of } = reading.engine.readCohort(reading.environment, place)
  const terms = termsIn(reading, league, place.window)
  const outcome = ({ rank }: CohortMember) => outcomeOf(terms, place.division, rank, of)
  const decimals = decimalsOf(reading, league)
  const entries = members
    .filter(({ user }) => !user.profile.hidden)
    .map((member) => {
      const { rank, score, user, userId } = member
      return {
        rank,
        userId,
        displayName: user.profile.displayName,
        ...avatarOf(user.profile.attributes),
        score: unscaled(score, decimals),
        outcome: outcome(member),
        ...flagOf(user, league),
      }
    })
  return { entries, members, outcome, size: members.length }
}

/** The user's place in the league, and the entries of the cohort. */
const placeOf = (reading: Reading, league: League, user: UserState) => {
  const { division, entry, waiting } = user.leagues.get(league.id) ?? newInLeague
  const window = entry?.window ?? windowNow(reading, league)
  const decimals = decimalsOf(reading, league)
  const common = {
    league: league.key,
    name: league.name,
    division: showDivision(league, division),
    ...timesOf(reading, league, window),
    ...flagOf(user, league),
    nextScore: unscaled(
      waiting.reduce((sum, { score }) => sum + score, 0),
      decimals,
    ),
  }
  if (entry === null) {
    const none = { cohort: null, score: 0, rank: null, outcome: "stayed", rewards: [] } as const
    return [{ ...common, ...none }, []] as const
  }
  const { cohort, score } = entry
  const place = { leagueId: league.id, window, division, cohort }
  const { entries: all, members, outcome, size } = cohortOf(reading, league, place)
  const entries = all.filter(({ disqualified }) => disqualified !== true)
  const own = members.find(({ userId }) => userId === user.id)
  const id = idOf(common.division.key, cohort)
  const rank = own?.rank ?? null
  const result = own === undefined ? "stayed" : outcome(own)
  return [
    {
      ...common,
      cohort: { id, size },
      score: unscaled(score, decimals),
      rank,
      outcome: result,
      rewards: rewardsFor(termsIn(reading, league, window), common.division.key, rank, result),
    },
    entries,
  ] as const
}

const historyOf = (reading: Reading, league: League, user: UserState) =>
  (user.leagues.get(league.id)?.results ?? [])
    .map(({ division, of, outcome, rank, score, window }) => ({
      window: showWindow(reading, league, window),
      division: showDivision(league, division),
      score: unscaled(score, decimalsOf(reading, league)),
      rank,
      of,
      outcome,
    }))
    .toReversed()

const divisionsOf = (divisions: ReadonlyArray<typeof DivisionIn.Type>): ReadonlyArray<Division> =>
  divisions.map((one) => ({ ...one, icon: one.icon ?? null }))

export const newLeague = (payload: typeof NewLeague.Type, id: string) => {
  const { cohortSize, divisions, graceMinutes, name, rewards, score, window } = payload
  const members = {
    divisions: divisionsOf(divisions),
    cohortSize: cohortSize ?? leagueDefaults.cohortSize,
    window: window ?? leagueDefaults.window,
    graceMinutes: graceMinutes ?? leagueDefaults.graceMinutes,
    rewards: rewardsOf(rewards),
  }
  return { id, ...newMembers(payload), name, score: rankingOf(score), ...members }
}

/** The API has checked that the score has one member. */
const rankingOf = (score: (typeof NewLeague.Type)["score"]): LeagueRanking => score as LeagueRanking

const leagueChange = (patch: typeof LeaguePatch.Type): LeagueChange => {
  const { cohortSize, divisions, graceMinutes, rewards, window } = patch
  return named({
    ...patchOf(patch),
    score: patch.score && rankingOf(patch.score),
    divisions: divisions && divisionsOf(divisions),
    cohortSize: cohortSize === null ? leagueDefaults.cohortSize : cohortSize,
    window: window === null ? leagueDefaults.window : window,
    graceMinutes: graceMinutes === null ? leagueDefaults.graceMinutes : graceMinutes,
    rewards: rewards === undefined ? undefined : rewardsOf(rewards ?? []),
  })
}

const rewardsOf = (rewards: (typeof NewLeague.Type)["rewards"] = []): League["rewards"] =>
  rewards.map(({ division = null, outcome = null, ranks, reward }) => {
    const [from = 1, to = from] = ranks ?? []
    return {
      division,
      ranks: ranks === undefined ? null : ([from, to] as const),
      outcome,
      reward: allParts(reward),
    }
  })

/** A reward without the conditions that it does not have. */
export const showLeagueReward = <A>(
  { division, outcome, ranks }: LeagueReward,
  reward: A,
): LeagueConditions & { readonly reward: A } => ({
  ...(division !== null && { division }),
  ...(ranks !== null && { ranks }),
  ...(outcome !== null && { outcome }),
  reward,
})

interface LeagueConditions {
  readonly division?: string
  readonly ranks?: readonly [from: number, to: number]
  readonly outcome?: LeagueOutcome
}

const showLeague = (league: League, now: number) => ({
  ...showDefinition(league, now),
  rewards: league.rewards.map((one) => showLeagueReward(one, one.reward)),
})
