/**
 * How the facts of a record change the state of an environment. Pure and synchronous. It throws
 * only for a record that breaks an invariant (`invariants.ts`).
 */
import { limits } from "../../Limits.ts"
import { closeOf, nothingClosed } from "../project/BoardClose.ts"
import { xpBoard } from "../project/BoardDefinition.ts"
import { type Definition, nextVersion, type Versioned } from "../project/Definition.ts"
import { type AnyDefinition, definitionIn, type Noun, plurals } from "../project/Kinds.ts"
import { type Payout, payoutId } from "../project/Payout.ts"
import { aheadMsOf, type ProjectState, type Webhook } from "../project/Project.ts"
import { type Team, type Teams, teamWithId, withoutTeam, withTeam } from "../project/Team.ts"
import { isSameTimeZone, withPastZone } from "../values/Calendar.ts"
import {
  assertAfter,
  assertCloses,
  assertForward,
  assertNextVersion,
} from "../values/invariants.ts"
import { decidedAt, type Fact, type FactOf, type JournalRecord } from "./Record.ts"

/** Sets `entry` in `map`, whose entry it must follow, and returns `map`. */
const withNext = <A extends Versioned & { readonly id: string }>(
  map: Map<string, A>,
  entry: A,
): Map<string, A> => {
  assertNextVersion(entry.id, entry.version, map.get(entry.id)?.version)
  return map.set(entry.id, entry)
}

/**
 * Sets `entry` in `map` and returns `map`. Archived entries are last, in the order in which they
 * were archived. Beyond `archivedMax` the oldest of these are dropped.
 */
const withLatest = <A extends Definition>(
  map: Map<string, A>,
  entry: A,
  archivedMax: number,
): ReadonlyMap<string, A> => {
  withNext(map, entry)
  // An archived entry moves to the end of the map.
  if (isArchived(entry) && map.delete(entry.id)) map.set(entry.id, entry)
  if (!isArchived(entry) || map.size <= archivedMax) return map
  const archived = [...map.values()].filter(isArchived)
  for (const { id } of archived.slice(0, Math.max(0, archived.length - archivedMax))) map.delete(id)
  return map
}

const isArchived = ({ set }: Definition): boolean => set === "archived"

/** Copies each map once, at its first change: a record may change hundreds of definitions. */
class Copies {
  readonly #made = new Set<unknown>()

  of<A>(map: ReadonlyMap<string, A>): Map<string, A> {
    if (this.#made.has(map)) return map as Map<string, A>
    const copy = new Map(map)
    this.#made.add(copy)
    return copy
  }

  with<A extends Definition>(
    map: ReadonlyMap<string, A>,
    definition: A,
    archivedMax: number,
  ): ReadonlyMap<string, A> {
    return withLatest(this.of(map), definition, archivedMax)
  }

  without<A>(map: ReadonlyMap<string, A>, key: string): ReadonlyMap<string, A> {
    const rest = this.of(map)
    rest.delete(key)
    return rest
  }
}

export const applyProject = (state: ProjectState, record: JournalRecord): ProjectState => {
  assertAfter(record.sequence, state.sequence)
  const copies = new Copies()
  let next = begun(state, record)
  for (const fact of record.facts) {
    if (movesDueTimes(fact, next)) next = { ...next, dueSequence: record.sequence }
    const changed = definitionIn(fact)
    if (changed !== undefined) next = withDefinition(next, copies, changed)
    switch (fact.kind) {
      case "webhook.created":
      case "webhook.updated":
        next = withWebhook(next, copies, { since: record.sequence, ...fact.webhook })
        break
      case "webhook.deleted":
        next = { ...next, webhooks: copies.without(next.webhooks, fact.webhookId) }
        break
      case "webhook.disabled": {
        const webhook = next.webhooks.get(fact.webhookId)
        if (webhook === undefined) break
        next = withWebhook(next, copies, disabledWebhook(webhook, fact.reason, record.at))
        break
      }
      case "source.secret_set": {
        const sourceSecrets = copies.of(next.sourceSecrets).set(fact.sourceId, fact.secrets)
        next = { ...next, sourceSecrets }
        break
      }
      case "team.created":
      case "team.updated":
        next = { ...next, teams: withTeam(next.teams, nextTeam(next.teams, fact.team)) }
        break
      case "team.deleted":
        next = { ...next, teams: withoutTeam(next.teams, fact.teamId) }
        break
      case "project.updated":
        next = withSettings(next, fact.settings, decidedAt(record))
        break
      case "testClock.moved":
        next = withTestClock(next, fact, record)
        break
      case "leaderboard.window_closed":
        if (fact.prizes !== undefined) next = withPayout(next, fact, record, copies)
        next = withClosedWindow(next, fact, copies)
        break
      case "leaderboard.closed": {
        const close = { ...nothingClosed, ...fact.last, over: true }
        next = { ...next, boardCloses: copies.of(next.boardCloses).set(fact.boardId, close) }
        break
      }
      case "league.window_closed": {
        const { index, late, leagueId, terms } = fact
        const before = next.leagueCloses.get(leagueId)?.index ?? Number.NEGATIVE_INFINITY
        assertCloses(leagueId, index, before)
        const close = { index, terms, ...(late !== undefined && { late }) }
        const leagueCloses = copies.of(next.leagueCloses).set(leagueId, close)
        next = { ...next, leagueCloses }
        break
      }
      case "payout.progressed":
      case "leaderboard.prizes_paid":
        next = { ...next, payouts: payoutsAfter(copies.of(next.payouts), fact) }
        break
      case "backfill.started":
      case "backfill.finished":
        next = withBackfill(next, fact, record, copies)
        break
    }
  }
  return next
}

const withClosedWindow = (
  state: ProjectState,
  { board, index, window }: FactOf<"leaderboard.window_closed">,
  copies: Copies,
): ProjectState => {
  // The end of the leaderboard closes the window of all time.
  if (window === "all_time") return state
  const { boardId } = board ?? { boardId: xpBoard.id }
  const before = closeOf(state.boardCloses, boardId)
  assertCloses(`${boardId} ${window}`, index, before[window])
  const close = { ...before, [window]: index }
  return { ...state, boardCloses: copies.of(state.boardCloses).set(boardId, close) }
}

/** The prizes of a closed window are to be paid. */
const withPayout = (
  state: ProjectState,
  fact: FactOf<"leaderboard.window_closed">,
  record: JournalRecord,
  copies: Copies,
): ProjectState => {
  const { board, endsAt, index, prizes, startsAt, window } = fact
  if (prizes === undefined) return state
  const { boardId, key } = board ?? { boardId: xpBoard.id, key: xpBoard.key }
  const times = window === "all_time" ? { startsAt: null, endsAt: null } : { startsAt, endsAt }
  const place = { boardId, key, window, index, ...times }
  const payout = { place, ...prizes, madeAt: decidedAt(record), next: 0, paid: 0 }
  return { ...state, payouts: copies.of(state.payouts).set(payoutId(place), payout) }
}

const payoutsAfter = (
  payouts: Map<string, Payout>,
  fact: FactOf<"payout.progressed" | "leaderboard.prizes_paid">,
): ProjectState["payouts"] => {
  if (fact.kind === "leaderboard.prizes_paid") {
    payouts.delete(fact.payout)
    return payouts
  }
  const { left, next, paid, payout } = fact
  const known = payouts.get(payout)
  if (known === undefined) return payouts
  const { left: _, ...before } = known
  return payouts.set(payout, { ...before, next, paid, ...(left !== undefined && { left }) })
}

/** The payouts without those of a leaderboard, whose entries are gone. */
const withoutPayoutsOf = (payouts: ProjectState["payouts"], boardId: string) =>
  new Map([...payouts].filter(([, { place }]) => place.boardId !== boardId))

const withBackfill = (
  state: ProjectState,
  fact: FactOf<"backfill.started" | "backfill.finished">,
  record: JournalRecord,
  copies: Copies,
): ProjectState => {
  const { definitionId } = fact
  const at = decidedAt(record)
  if (fact.kind === "backfill.started") {
    const run = { notify: fact.notify, startedAt: at, finishedAt: null, checked: 0, awarded: 0 }
    return { ...state, backfills: copies.of(state.backfills).set(definitionId, run) }
  }
  const run = state.backfills.get(definitionId)
  if (run === undefined) return state
  const { awarded, checked } = fact
  const finished = { ...run, finishedAt: at, checked, awarded }
  return { ...state, backfills: copies.of(state.backfills).set(definitionId, finished) }
}

/** Archived currencies and streaks are never dropped (`Currency.ts`, `StreakDefinition.ts`). */
const archivedMax: Readonly<Record<Noun, number>> = {
  quest: limits.archivedQuestsMax,
  rule: limits.archivedRulesMax,
  badge: limits.archivedBadgesMax,
  boost: limits.archivedBoostsMax,
  currency: Number.POSITIVE_INFINITY,
  segment: limits.archivedSegmentsMax,
  metric: limits.archivedMetricsMax,
  streak: Number.POSITIVE_INFINITY,
  leaderboard: limits.archivedBoardsMax,
  experiment: limits.archivedExperimentsMax,
  league: limits.archivedLeaguesMax,
  item: limits.archivedItemsMax,
  goal: limits.archivedGoalsMax,
  source: limits.archivedSourcesMax,
}

const withDefinition = (
  state: ProjectState,
  copies: Copies,
  { definition, noun }: AnyDefinition,
): ProjectState => ({
  ...state,
  [plurals[noun]]: copies.with<Definition>(state[plurals[noun]], definition, archivedMax[noun]),
  ...((noun === "badge" || noun === "metric") &&
    isArchived(definition) && { backfills: copies.without(state.backfills, definition.id) }),
  ...(noun === "source" &&
    isArchived(definition) && {
      sourceSecrets: copies.without(state.sourceSecrets, definition.id),
    }),
  ...(noun === "leaderboard" &&
    isArchived(definition) && {
      boardCloses: copies.without(state.boardCloses, definition.id),
      payouts: withoutPayoutsOf(state.payouts, definition.id),
    }),
})

/** A team that follows the one with its id. */
const nextTeam = (teams: Teams, team: Team): Team => {
  assertNextVersion(team.id, team.version, teamWithId(teams, team.id)?.version)
  return team
}

const withWebhook = (state: ProjectState, copies: Copies, webhook: Webhook): ProjectState => ({
  ...state,
  webhooks: withNext(copies.of(state.webhooks), webhook),
})

/** The state at the beginning of a record. */
const begun = (state: ProjectState, { facts, sequence }: JournalRecord): ProjectState => {
  const changes = facts.some(isDefinition) ? 1 : 0
  return { ...state, sequence, definitionsVersion: state.definitionsVersion + changes }
}

/** Whether the fact changes what a file of definitions has. */
const isDefinition = (fact: Fact): boolean =>
  fact.kind === "project.updated" || definitionIn(fact) !== undefined

const disabledWebhook = (
  webhook: Webhook,
  disabledReason: Webhook["disabledReason"],
  at: number,
): Webhook => ({
  ...webhook,
  status: "disabled",
  disabledReason,
  disabledAt: at,
  ...nextVersion(webhook, at),
})

const withTestClock = (
  state: ProjectState,
  { kind: _, ...testClock }: FactOf<"testClock.moved">,
  { subject }: JournalRecord,
): ProjectState => {
  const environment = subject.actor === "directory" ? "" : subject.environment
  assertForward(environment, testClock.aheadMs, aheadMsOf(state))
  return { ...state, testClock }
}

const withSettings = (
  state: ProjectState,
  settings: ProjectState["settings"],
  at: number,
): ProjectState => {
  const { timezone, version } = state.settings
  assertNextVersion("the settings", settings.version, version)
  return isSameTimeZone(timezone, settings.timezone)
    ? { ...state, settings }
    : { ...state, settings, pastZones: withPastZone(state.pastZones, timezone, at) }
}

/** Whether the fact may move the times at which streaks break or are at risk, quests end, or users are reminded. */
const movesDueTimes = (
  fact: Fact,
  { leagues, quests, settings, streaks }: ProjectState,
): boolean => {
  if (fact.kind === "quest.updated") {
    const before = quests.get(fact.quest.id)
    const { endsAt, recurrence, set } = fact.quest
    return before?.endsAt !== endsAt || before.recurrence !== recurrence || before.set !== set
  }
  if (fact.kind === "league.updated" && settings.reminders?.leagueDays !== undefined) {
    const before = leagues.get(fact.league.id)
    return before?.endsAt !== fact.league.endsAt || before.set !== fact.league.set
  }
  if (fact.kind === "project.updated") {
    return (
      !isSameTimeZone(fact.settings.timezone, settings.timezone) ||
      JSON.stringify(fact.settings.reminders) !== JSON.stringify(settings.reminders)
    )
  }
  if (fact.kind === "streak.updated") {
    const before = streaks.get(fact.streak.id)
    const { atRisk, endsAt, pausesMade, restDays, set, startsAt } = fact.streak
    return (
      before?.endsAt !== endsAt ||
      before.startsAt !== startsAt ||
      before.set !== set ||
      before.atRisk?.hoursBefore !== atRisk?.hoursBefore ||
      before.pausesMade !== pausesMade ||
      before.restDays.join() !== restDays.join()
    )
  }
  return false
}
