/** The kinds of messages, and the patterns that select kinds. */
import type { Fact } from "../record/Record.ts"

export const messageKinds = [
  "event.tracked",
  "xp.earned",
  "xp.revoked",
  "points.earned",
  "points.revoked",
  "points.spent",
  "points.refunded",
  "currency.earned",
  "currency.revoked",
  "currency.spent",
  "currency.refunded",
  "currency.expired",
  "currency.expiring",
  "currency.level_changed",
  "level.changed",
  "badge.earned",
  "badge.revoked",
  "boost.earned",
  "boost.revoked",
  "experiment.exposed",
  "metric.changed",
  "streak.extended",
  "streak.broken",
  "streak.at_risk",
  "streak.paused",
  "streak.repaired",
  "streak.repair_undone",
  "streak.milestone_reached",
  "streak.freezes_earned",
  "streak.freezes_revoked",
  "quest.started",
  "quest.progressed",
  "quest.completed",
  "quest.claimed",
  "quest.expired",
  "quest.claim_lapsed",
  "quest.ending",
  "quest.created",
  "quest.updated",
  "reward.granted",
  "reward.revoked",
  "item.purchased",
  "item.refunded",
  "leaderboard.window_closed",
  "leaderboard.disqualified",
  "leaderboard.team_disqualified",
  "leaderboard.rank_changed",
  "league.joined",
  "league.promoted",
  "league.stayed",
  "league.demoted",
  "league.closing",
  "league.disqualified",
  "league.window_closed",
  "goal.progressed",
  "goal.completed",
  "goal.rewarded",
  "goal.rewards_paid",
  "leaderboard.prize_won",
  "leaderboard.prizes_paid",
  "user.created",
  "user.opened",
  "user.inactive",
  "user.deleted",
  "user.merged",
  "team.joined",
  "team.left",
  "team.deleted",
  "test_clock.advanced",
  "webhook.disabled",
  "webhook.test",
] as const
export type MessageKind = (typeof messageKinds)[number]

const kinds: ReadonlySet<string> = new Set(messageKinds)
const families = new Set(messageKinds.map((kind) => kind.slice(0, kind.indexOf("."))))

/** Whether `text` is a kind, `*`, or an existing family such as `quest.*`. */
export const isKindPattern = (text: string): boolean =>
  text === "*" || kinds.has(text) || (text.endsWith(".*") && families.has(text.slice(0, -2)))

/** The kinds that match at least one of `patterns`. */
export const kindsOf = (patterns: ReadonlyArray<string>): ReadonlySet<MessageKind> =>
  new Set(
    messageKinds.filter((kind) =>
      patterns.some(
        (pattern) =>
          pattern === "*" ||
          pattern === kind ||
          (pattern.endsWith(".*") && kind.startsWith(pattern.slice(0, -1))),
      ),
    ),
  )

/**
 * The kind of the message of a fact; `undefined` if it has none. Most kinds have the name of the
 * fact.
 */
export const kindOfFact = (fact: Fact): MessageKind | undefined => {
  const { kind } = fact
  if (kind === "webhook.tested") return "webhook.test"
  if (kind === "testClock.moved") return fact.status === "ready" ? "test_clock.advanced" : undefined
  if (kind === "team.updated") return fact.judged && "leaderboard.team_disqualified"
  return kinds.has(kind) ? (kind as MessageKind) : undefined
}
