/** The catalogue of messages: for each kind, when it is sent, its schema and an example. */
import { Schema } from "effect"
import { ownBoost } from "./BoostMembers.ts"
import { boardEntries } from "./boardEntries.ts"
import { enteredExperiment } from "./ExperimentMembers.ts"
import { goalEntries, goalOutcome } from "./GoalMembers.ts"
import { leagueEntries } from "./LeagueMessages.ts"
import { type MessageData, messageSchema } from "./MessageData.ts"
import type { MessageKind } from "./MessageKind.ts"
import { purchaseEntries } from "./PurchaseMessages.ts"

const event = { kind: "event", id: "evt_0mi8k3f2a4c92" } as const
const clock = { kind: "clock", id: null } as const
const of = { sequence: 204_878, userId: "user-42", cause: event }
const first = {
  questId: "qst_01a1fc1e64c07345932e273286b5ca30",
  key: "first-steps",
  title: "Finish five lessons",
}
const rule = { kind: "rule", id: "rul_01a1fc1e64c07345932e273286b5ca30" } as const
const spendableAt = "2026-11-15T00:00:00.000Z"
const lastDay = "2027-11-01"
const boosts = [{ key: "happy-hour", factor: 2 }]
const taken = { kind: "revocation", id: "rwd_0mi8k3f2a4c92" } as const
const spendId = "spd_0mi8k3f2a4c92"
const covered = { key: "daily", from: "2026-10-30", to: "2026-10-31" }
const dayEnd = "2026-11-02T00:00:00.000Z"
const streakId = "stk_01a1fc1e64c07345932e273286b5ca30"
const webhookId = "whk_01a1fc1e64c07345932e273286b5ca30"
const lesson = {
  badgeId: "bdg_01a1fc1e64c07345932e273286b5ca30",
  key: "first-lesson",
  name: "First lesson",
  tier: { key: "bronze", name: "Bronze" },
}
const definition = {
  id: first.questId,
  key: first.key,
  title: first.title,
  status: "active",
  reward: { xp: 100, points: 0, badgeId: null },
  recurrence: "none",
  startsAt: null,
  endsAt: "2026-12-01T00:00:00.000Z",
  createdAt: "2026-11-01T09:30:00.000Z",
  updatedAt: "2026-11-01T09:30:00.000Z",
} as const

interface Entry<Kind extends MessageKind> {
  /** When it is sent. */
  readonly description: string
  readonly example: MessageData[Kind]
}

const falcons = { teamId: "falcons", teamKind: "club", name: "Falcons" }

const silver = { number: 1, key: "silver", name: "Silver" }

const { reached: _, reward: __, ...contributed } = goalOutcome
const revokedContribution = { ...contributed, contributed: -12, contribution: 228 }

const further = {
  currencies: { gems: { earned: 3, total: 100 } },
  capped: [{ currency: "gems", amount: 2, by: "max" }],
  pending: [{ currency: "gems", amount: 3, spendableAt }],
  freezes: { daily: { earned: 1, total: 2 } },
  boostsEarned: [ownBoost],
  experiments: [enteredExperiment],
  goals: [goalOutcome],
  levels: { gems: { before: null, after: silver } },
  balances: { xp: 1_250, points: 340, gems: 100 },
} as const

const entries: { readonly [Kind in MessageKind]: Entry<Kind> } = {
  "event.tracked": {
    description: "An event was accepted. Its effects have messages of their own.",
    example: {
      ...of,
      eventId: event.id,
      action: "LESSON_DONE",
      occurredAt: "2026-11-01T09:30:00.000Z",
      receivedAt: "2026-11-01T09:30:00.000Z",
      metadata: { lesson: 7 },
      xp: { earned: 50, total: 1_250 },
      points: { earned: 5, total: 340 },
      ...further,
      level: { before: 4, after: 5 },
    },
  },
  "xp.earned": {
    description: "A user earned xp from one source.",
    example: { ...of, amount: 50, total: 1_250, source: rule, boosts },
  },
  "xp.revoked": {
    description: "Xp were revoked with an event or a reward.",
    example: { ...of, cause: taken, amount: 50, total: 1_200 },
  },
  "points.earned": {
    description: "A user earned points from one source.",
    example: { ...of, amount: 5, total: 340, source: rule, boosts, spendableAt, lastDay },
  },
  "points.revoked": {
    description: "Points were revoked with an event or a reward.",
    example: { ...of, cause: taken, amount: 5, total: 335 },
  },
  "points.spent": {
    description: "A user spent points, or an item cost some.",
    example: {
      ...of,
      cause: { kind: "spend", id: spendId },
      spendId,
      amount: 120,
      total: 220,
      reason: "Streak freeze",
    },
  },
  "points.refunded": {
    description: "A spend or a purchase was revoked, which returns points.",
    example: {
      ...of,
      cause: { kind: "revocation", id: spendId },
      spendId,
      amount: 120,
      total: 340,
      shortfall: 0,
    },
  },
  "currency.earned": {
    description: "A user earned a currency other than xp and points from one source.",
    example: {
      ...of,
      currency: "gems",
      amount: 5,
      total: 12,
      source: rule,
      boosts,
      spendableAt,
      lastDay,
    },
  },
  "currency.revoked": {
    description: "An amount of a currency was revoked with an event or a reward.",
    example: { ...of, cause: taken, currency: "gems", amount: 5, total: 7 },
  },
  "currency.spent": {
    description:
      "A user spent a currency other than points, or an item cost some: one message for each currency.",
    example: {
      ...of,
      cause: { kind: "spend", id: spendId },
      spendId,
      currency: "gems",
      amount: 3,
      total: 9,
      reason: "Streak freeze",
    },
  },
  "currency.refunded": {
    description: "A spend or a purchase was revoked: one message for each currency.",
    example: {
      ...of,
      cause: { kind: "revocation", id: spendId },
      spendId,
      currency: "gems",
      amount: 3,
      total: 12,
      shortfall: 0,
    },
  },
  "currency.expired": {
    description:
      "An amount of a currency, or of points, ended: one message for each currency and midnight.",
    example: { ...of, cause: clock, currency: "coins", amount: 20, total: 80 },
  },
  "currency.expiring": {
    description:
      "Amounts of a currency, or of points, end within `expiryDays` days (`reminders` of the project), at an hour of the user's day. Once for each day of expiry.",
    example: {
      ...of,
      cause: clock,
      currency: "coins",
      amount: 20,
      expiresAt: dayEnd,
      endings: [{ amount: 20, expiresAt: dayEnd }],
    },
  },
  "currency.level_changed": {
    description:
      "A user is in another level of a currency, higher or lower: one message for any number of levels.",
    example: {
      ...of,
      currency: "miles",
      from: null,
      to: { number: 1, key: "silver", name: "Silver" },
    },
  },
  "level.changed": {
    description: "A user's level rose or fell: one message for any number of levels.",
    example: { ...of, from: 3, to: 5, levels: [4, 5] },
  },
  "badge.earned": {
    description: "A user earned a badge.",
    example: { ...of, ...lesson, source: { kind: "criteria", id: null } },
  },
  "badge.revoked": {
    description: "A badge was revoked.",
    example: { ...of, cause: taken, ...lesson },
  },
  "boost.earned": {
    description: "A reward gave a user a personal boost, which runs for some minutes.",
    example: { ...of, ...ownBoost, source: rule },
  },
  "boost.revoked": {
    description: "An undo took back a personal boost: it counts for no later event.",
    example: { ...of, cause: taken, ...ownBoost },
  },
  "experiment.exposed": {
    description:
      "A user entered an experiment with the first contact while it runs. The variant stays the user's.",
    example: { ...of, ...enteredExperiment },
  },
  "metric.changed": {
    description: "An event counted for a metric, or such an event was revoked.",
    example: { ...of, key: "lessons", total: 42 },
  },
  "streak.extended": {
    description: "A user's streak grew by a day, a week or a month.",
    example: { ...of, key: "daily", current: 7, best: 12 },
  },
  "streak.broken": {
    description: "A user missed a day, a week or a month without a freeze left.",
    example: { ...of, cause: clock, key: "daily", length: 7, best: 12 },
  },
  "user.inactive": {
    description:
      "A user has had no event for so many days (`reminders` of the project), at an hour of the user's day.",
    example: { ...of, cause: clock, days: 7, lastDay: "2026-10-25" },
  },
  "streak.at_risk": {
    description:
      "The day, week or month ends soon, and nothing has kept the user's streak yet (`atRisk` of the streak).",
    example: { ...of, cause: clock, key: "daily", current: 7, freezes: 0, endsAt: dayEnd },
  },
  "streak.paused": {
    description:
      "A pause covers days of a user's streak. A streak that broke on these days may run again.",
    example: { ...of, cause: { kind: "pause", id: null }, ...covered, current: 7 },
  },
  "streak.repaired": {
    description:
      "A spend repaired a user's streak: it runs on as if freezes had covered the days from `from` to `to`.",
    example: { ...of, cause: { kind: "spend", id: spendId }, ...covered, current: 7 },
  },
  "streak.repair_undone": {
    description:
      "The spend that repaired a user's streak was revoked: the streak is what it would be without the repair.",
    example: { ...of, cause: { kind: "revocation", id: spendId }, ...covered, current: 0 },
  },
  "streak.milestone_reached": {
    description: "A user's streak reached a milestone, which pays once.",
    example: { ...of, streakId, key: "daily", name: "Daily lesson", target: 7 },
  },
  "streak.freezes_earned": {
    description: "A reward gave a user freezes for a streak, up to its maximum.",
    example: { ...of, key: "daily", amount: 1, total: 2, source: rule },
  },
  "streak.freezes_revoked": {
    description: "Freezes that a reward gave were revoked with it, as far as they were left.",
    example: { ...of, cause: taken, key: "daily", amount: 1, total: 1 },
  },
  "quest.started": {
    description: "A user's first event counted for a step of a quest.",
    example: { ...of, ...first },
  },
  "quest.progressed": {
    description: "An event counted for a quest step.",
    example: { ...of, ...first, step: "lessons", current: 2, target: 5, progress: 0.4 },
  },
  "quest.completed": {
    description: "A user completed a quest.",
    example: { ...of, ...first, times: 1, claimable: true },
  },
  "quest.claimed": {
    description: "A user claimed a completed quest with `claim: manual`, which paid.",
    example: { ...of, ...first },
  },
  "quest.claim_lapsed": {
    description:
      "A user completed a quest with a manual claim, and did not claim it in its period.",
    example: { ...of, ...first, cause: clock },
  },
  "quest.expired": {
    description: "A quest or its period ended before a user who had started it completed it.",
    example: { ...of, cause: clock, ...first },
  },
  "quest.ending": {
    description:
      "A quest, or its period, that the user has begun and not completed ends within `questDays` days (`reminders` of the project), at an hour of the user's day. Once for each period.",
    example: { ...of, cause: clock, ...first, endsAt: dayEnd, progress: 0.6 },
  },
  "quest.created": {
    description: "A quest was created.",
    example: { sequence: of.sequence, quest: definition },
  },
  "quest.updated": {
    description: "A quest's definition was changed or archived.",
    example: { sequence: of.sequence, quest: { ...definition, status: "archived" } },
  },
  "reward.granted": {
    description: "A reward was granted by hand.",
    example: {
      ...of,
      cause: { kind: "reward", id: taken.id },
      rewardId: taken.id,
      reward: { xp: 50, points: 0, badgeId: null },
      type: "xp",
      amount: 50,
      badgeId: null,
      reason: "Helped a friend",
      xp: { earned: 50, total: 1_250 },
      points: { earned: 0, total: 340 },
      ...further,
      level: { before: 4, after: 5 },
    },
  },
  "reward.revoked": {
    description: "A reward was revoked.",
    example: {
      ...of,
      cause: taken,
      rewardId: taken.id,
      xp: { earned: -50, total: 1_200 },
      points: { earned: 0, total: 340 },
      currencies: { gems: { earned: -3, total: 97 } },
      capped: [],
      freezes: { daily: { earned: -1, total: 1 } },
      goals: [revokedContribution],
      levels: { gems: { before: silver, after: null } },
      balances: { xp: 1_200, points: 340, gems: 97 },
      level: { before: 5, after: 4 },
      shortfall: { xp: 0, points: 0 },
      expired: { gems: 2 },
      pending: [],
    },
  },
  "leaderboard.disqualified": {
    description: "A user was taken off a leaderboard, or is listed there again.",
    example: {
      ...of,
      cause: { kind: "disqualify", id: null },
      leaderboard: { id: "ldb_01a1fc1e64c07345932e273286b5ca30", key: "gem-hunters" },
      disqualified: true,
    },
  },
  "leaderboard.team_disqualified": {
    description: "A team was taken off a leaderboard of teams, or is listed there again.",
    example: {
      sequence: of.sequence,
      ...falcons,
      leaderboard: { id: "ldb_01a1fc1e64c07345932e273286b5ca31", key: "club-cup" },
      disqualified: true,
    },
  },
  ...boardEntries,
  ...purchaseEntries(of, further),
  "team.joined": {
    description: "A user joined a team.",
    example: { ...of, cause: { kind: "join", id: null }, ...falcons },
  },
  "team.left": {
    description: "A user left a team, also by joining another one of its kind.",
    example: { ...of, cause: { kind: "join", id: null }, ...falcons },
  },
  "team.deleted": {
    description: "A team was deleted. Its members are in no team of its kind any more.",
    example: { sequence: of.sequence, ...falcons },
  },
  ...leagueEntries(of, clock),
  ...goalEntries(of),
  "user.opened": {
    description: "The balances, streaks and badges of a user from before were set.",
    example: {
      ...of,
      cause: { kind: "opening", id: null },
      balances: { xp: 1_250, points: 340 },
      level: 5,
      streaks: [{ key: "daily", current: 12, best: 40 }],
      badges: [{ ...lesson, earnedAt: "2025-03-01T00:00:00.000Z" }],
    },
  },
  "user.created": {
    description: "A user was created by a first event, reward or profile.",
    example: of,
  },
  "user.deleted": {
    description: "A user was erased. Undelivered messages about the user are dropped.",
    example: { sequence: of.sequence, userId: of.userId },
  },
  "test_clock.advanced": {
    description:
      "An advance of the test clock of a sandbox has ended: all that became due on the way is decided.",
    example: { sequence: of.sequence, advancedTo: "2026-12-24T00:00:00.000Z" },
  },
  "user.merged": {
    description:
      "Another user was merged into this one. What the two reach together, such as a badge, has messages of its own.",
    example: {
      ...of,
      cause: { kind: "merge", id: null },
      from: "visitor-7",
      gained: { xp: 50, points: 10 },
      totals: { xp: 1_250, points: 40 },
    },
  },
  "webhook.disabled": {
    description: "Laurel disabled a webhook; sent to all other webhooks.",
    example: {
      sequence: of.sequence,
      webhookId,
      description: "Badges on the wall",
      reason: "failing",
      disabledAt: "2026-11-01T09:30:00.000Z",
    },
  },
  "webhook.test": {
    description: "A test was requested; sent to the tested webhook, whatever its subscriptions.",
    example: { sequence: of.sequence, webhookId },
  },
}

/** When the messages of a kind are sent. */
export const triggerOf = (kind: MessageKind): string => entries[kind].description

/** A complete example of a message. */
export const exampleOf = <Kind extends MessageKind>(kind: Kind) => ({
  id: "msg_0mi8k3f2a4c92_1",
  type: kind,
  timestamp: "2026-11-01T09:30:00.000Z",
  project: "prj_01a1fc1e64c07345932e273286b5ca30",
  environment: "production" as const,
  data: entries[kind].example,
})

/** A kind's trigger, JSON Schema (draft 2020-12) and example. */
export const describeMessage = (kind: MessageKind) => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(messageSchema(kind))
  return {
    kind,
    description: triggerOf(kind),
    schema: Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions },
    example: exampleOf(kind),
  }
}
