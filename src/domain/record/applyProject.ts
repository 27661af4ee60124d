/**
 * How the facts of a record change the state of an environment. Pure and synchronous. It throws
 * only for a record that breaks an invariant (`invariants.ts`).
 */
import { limits } from "../../Limits.ts"
import { type Badge, nextVersion, type Quest, type Versioned } from "../project/Definition.ts"
import {
  aheadMsOf,
  type ProjectState,
  type StreakDefinition,
  type Webhook,
} from "../project/Project.ts"
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
 * Sets `entry` in `map` and returns `map`. Ended (archived) entries are last, in the order of their
 * end. Beyond `endedMax` the entries that ended first are dropped.
 */
const withLatest = <A extends Versioned & { readonly id: string }>(
  map: Map<string, A>,
  entry: A,
  hasEnded: (entry: A) => boolean,
  endedMax: number,
): ReadonlyMap<string, A> => {
  withNext(map, entry)
  // An entry that has ended moves to the end of the map.
  if (hasEnded(entry) && map.delete(entry.id)) map.set(entry.id, entry)
  if (!hasEnded(entry) || map.size <= endedMax) return map
  const ended = [...map.values()].filter(hasEnded)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - endedMax))) map.delete(id)
  return map
}

/** Copies each map once, at its first change: a record may change hundreds of definitions. */
class Copies {
  readonly #made = new Set<unknown>()

  of<A>(map: ReadonlyMap<string, A>): Map<string, A> {
    if (this.#made.has(map)) return map as Map<string, A>
    const copy = new Map(map)
    this.#made.add(copy)
    return copy
  }

  without<A>(map: ReadonlyMap<string, A>, key: string): ReadonlyMap<string, A> {
    const rest = this.of(map)
    rest.delete(key)
    return rest
  }
}

const withQuest = (quests: Map<string, Quest>, quest: Quest): ProjectState["quests"] =>
  withLatest(quests, quest, ({ set }) => set === "archived", limits.archivedQuestsMax)

const withBadge = (badges: Map<string, Badge>, badge: Badge): ProjectState["badges"] =>
  withLatest(badges, badge, ({ archived }) => archived, limits.archivedBadgesMax)

export const applyProject = (state: ProjectState, record: JournalRecord): ProjectState => {
  assertAfter(record.sequence, state.sequence)
  const copies = new Copies()
  let next = begun(state, record)
  for (const fact of record.facts) {
    if (movesDueTimes(fact, next)) next = { ...next, dueSequence: record.sequence }
    switch (fact.kind) {
      case "quest.created":
      case "quest.updated":
        next = { ...next, quests: withQuest(copies.of(next.quests), fact.quest) }
        break
      case "rule.created":
      case "rule.updated":
        next = { ...next, rules: withNext(copies.of(next.rules), fact.rule) }
        break
      case "rule.deleted":
        next = { ...next, rules: copies.without(next.rules, fact.ruleId) }
        break
      case "badge.created":
      case "badge.updated":
        next = { ...next, badges: withBadge(copies.of(next.badges), fact.badge) }
        if (fact.badge.archived) {
          next = { ...next, backfills: copies.without(next.backfills, fact.badge.id) }
        }
        break
      case "webhook.created":
      case "webhook.updated": {
        const webhook = { since: record.sequence, ...fact.webhook }
        next = { ...next, webhooks: withNext(copies.of(next.webhooks), webhook) }
        break
      }
      case "webhook.deleted":
        next = { ...next, webhooks: copies.without(next.webhooks, fact.webhookId) }
        break
      case "webhook.disabled": {
        const webhook = next.webhooks.get(fact.webhookId)
        if (webhook === undefined) break
        const disabled = disabledWebhook(webhook, fact.reason, record.at)
        next = { ...next, webhooks: withNext(copies.of(next.webhooks), disabled) }
        break
      }
      case "project.updated":
        next = withSettings(next, fact.settings, decidedAt(record))
        break
      case "testClock.moved":
        next = withTestClock(next, fact, record)
        break
      case "leaderboard.window_closed":
        assertCloses(fact.window, fact.index, next.closedThrough[fact.window])
        next = { ...next, closedThrough: { ...next.closedThrough, [fact.window]: fact.index } }
        break
      case "backfill.started": {
        const { badgeId, notify } = fact
        const startedAt = decidedAt(record)
        const run = { notify, startedAt, finishedAt: null, checked: 0, awarded: 0 }
        next = { ...next, backfills: copies.of(next.backfills).set(badgeId, run) }
        break
      }
      case "backfill.finished": {
        const { awarded, badgeId, checked } = fact
        const run = next.backfills.get(badgeId)
        if (run === undefined) break
        const finished = { ...run, finishedAt: decidedAt(record), checked, awarded }
        next = { ...next, backfills: copies.of(next.backfills).set(badgeId, finished) }
        break
      }
    }
  }
  return next
}

/** The state at the beginning of a record. */
const begun = (state: ProjectState, { facts, sequence }: JournalRecord): ProjectState => {
  const changes = facts.some(isDefinition) ? 1 : 0
  return { ...state, sequence, definitionsVersion: state.definitionsVersion + changes }
}

/** Whether the fact changes what a file of definitions has. */
const isDefinition = ({ kind }: Fact): boolean => /^(?:project|quest|badge|rule)\./.test(kind)

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

/** Whether the fact may move the times at which streaks break or quests end. */
const movesDueTimes = (fact: Fact, { quests, settings }: ProjectState): boolean => {
  if (fact.kind === "quest.updated") {
    const before = quests.get(fact.quest.id)
    const { endsAt, recurrence, set } = fact.quest
    return before?.endsAt !== endsAt || before.recurrence !== recurrence || before.set !== set
  }
  if (fact.kind === "project.updated") {
    const { streaks, timezone } = fact.settings
    return (
      !isSameTimeZone(timezone, settings.timezone) || keysOf(streaks) !== keysOf(settings.streaks)
    )
  }
  return false
}

const keysOf = (streaks: ReadonlyArray<StreakDefinition>): string =>
  JSON.stringify(streaks.map(({ key }) => key).sort())
