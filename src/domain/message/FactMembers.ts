/**
 * What the API shows of a fact about a user: the members of each kind. Histories, messages and
 * replies derive their shapes from these schemas, so that a member is declared once.
 */
import { Schema } from "effect"
import { capReasons } from "../record/BalanceFact.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import { OwnBoost, ownBoost } from "./BoostMembers.ts"
import { rankChanged, rankWon, text } from "./boardMembers.ts"
import { EnteredExperiment, enteredExperiment } from "./ExperimentMembers.ts"
import { goalMembers, goalOutcomes } from "./GoalMembers.ts"
import { purchased, refunded } from "./ItemMembers.ts"
import { leagueMembers } from "./LeagueMembers.ts"
import { expiring, inactive, questEnding } from "./ReminderMembers.ts"
import { Reward, shownAmounts } from "./RewardMembers.ts"

export { Reward }

const count = (example: number, description: string) =>
  Schema.Int.annotate({ description, examples: [example] })

export const Earned = Schema.Struct({
  earned: count(50, "Amount earned; negative where it was revoked."),
  total: count(1250, "Balance after this request."),
}).annotate({
  identifier: "Earned",
  description: "A balance and its change.",
  examples: [{ earned: 50, total: 1250 }],
})

const Level = count(5, "The level that the xp reach; the lowest is 1.")

export const LevelChange = Schema.Struct({ before: Level, after: Level }).annotate({
  identifier: "LevelChange",
  description: "The level before and after.",
  examples: [{ before: 5, after: 5 }],
})

export const Source = Schema.Struct({
  kind: Schema.Literals([
    "rule",
    "quest",
    "streak",
    "badge",
    "level",
    "leaderboard",
    "league",
    "item",
    "goal",
    "reward",
    "criteria",
  ]).annotate({
    description: "Kind of source.",
  }),
  id: Schema.NullOr(Schema.String).annotate({
    description:
      "Id of the rule, quest, streak, badge, leaderboard, league, item or goal, and of the currency of a level; null for other kinds.",
  }),
}).annotate({
  identifier: "Source",
  examples: [{ kind: "rule", id: "rul_01a1fc1e64c07345932e273286b5ca30" }],
  description:
    "The source: a rule, a quest, a milestone of a streak, a badge that pays, a level of a currency, a prize of a leaderboard, a reward of a league, an item that was bought, a shared goal, a reward or, for a badge, its own criteria.",
})

export const Capped = Schema.Struct({
  currency: text("Key of the currency.", "gems"),
  amount: count(3, "How many the user did not get."),
  by: Schema.Literals(capReasons).annotate({
    description:
      "The member of the currency that left no room. `earnLimit`: the user has earned as much in the period; `max`: the balance has reached it.",
    examples: ["max"],
  }),
}).annotate({
  identifier: "Capped",
  description: "The part of a credit that was cut.",
  examples: [{ currency: "gems", amount: 3, by: "max" }],
})

export const PendingCredit = Schema.Struct({
  currency: text("Key of the currency.", "gems"),
  amount: count(3, "How many."),
  spendableAt: Schema.String.annotate({
    description: "When they can be spent.",
    format: "date-time",
    examples: ["2026-11-15T00:00:00.000Z"],
  }),
}).annotate({
  identifier: "PendingCredit",
  description: "What was credited of a currency and cannot be spent yet.",
  examples: [{ currency: "gems", amount: 3, spendableAt: "2026-11-15T00:00:00.000Z" }],
})

export const Balances = shownAmounts(
  "All balances by currency, `xp` and `points` included. The outcome of an event, a spend or an undo has them only if the user has further currencies.",
  { xp: 1250, points: 340, gems: 12 },
).annotate({ identifier: "Balances" })

const LevelOfCurrency = Schema.NullOr(
  Schema.Struct({
    number: count(2, "Its place: the lowest level is 1."),
    key: Schema.NullOr(Schema.String).annotate({
      description: "Key of a named level; null: a curve makes the levels.",
      examples: ["silver"],
    }),
    name: Schema.NullOr(Schema.String).annotate({
      description: "Its name; null: it has none.",
      examples: ["Silver"],
    }),
  }).annotate({ identifier: "LevelOfCurrency", description: "A level of a currency." }),
)

/** What a record did to further currencies. */
export const furtherOutcome = {
  currencies: Schema.optionalKey(
    Schema.Record(Schema.String, Earned).annotate({
      description: "Further currencies that changed, by key. Absent: none.",
      examples: [{ gems: { earned: 5, total: 12 } }],
    }),
  ),
  capped: Schema.optionalKey(
    Schema.Array(Capped).annotate({
      description: "What the user did not get because of a limit of a currency. Absent: nothing.",
      examples: [[{ currency: "gems", amount: 3, by: "max" }]],
    }),
  ),
  pending: Schema.optionalKey(
    Schema.Array(PendingCredit).annotate({
      description:
        "What was credited and cannot be spent yet, because of `pendingDays` of a currency. Absent: nothing.",
      examples: [[{ currency: "gems", amount: 3, spendableAt: "2026-11-15T00:00:00.000Z" }]],
    }),
  ),
  freezes: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        earned: count(1, "Freezes that the streak got; negative where they were revoked."),
        total: count(2, "Its freezes after this request."),
        capped: Schema.optionalKey(
          count(1, "Freezes that the streak did not get, since it has its maximum. Absent: none."),
        ),
      }).annotate({ identifier: "EarnedFreezes" }),
    ).annotate({
      description: "Freezes that a reward gave, by the key of the streak. Absent: none.",
      examples: [{ daily: { earned: 1, total: 2 } }],
    }),
  ),
  boostsEarned: Schema.optionalKey(
    Schema.Array(OwnBoost).annotate({
      description: "Personal boosts that a reward gave. Absent: none.",
      examples: [[ownBoost]],
    }),
  ),
  experiments: Schema.optionalKey(
    Schema.Array(EnteredExperiment).annotate({
      description:
        "Experiments that the user entered with this request, with the variant that stays the user's. Absent: none.",
      examples: [[enteredExperiment]],
    }),
  ),
  goals: goalOutcomes(Reward),
  levels: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        before: LevelOfCurrency.annotate({ description: "The level before; null: none." }),
        after: LevelOfCurrency.annotate({ description: "The level afterwards; null: none." }),
      }).annotate({
        identifier: "CurrencyLevelChange",
        description: "The level in a currency before and after.",
      }),
    ).annotate({
      description: "Levels in currencies that changed, by the key of the currency. Absent: none.",
      examples: [{ miles: { before: null, after: { number: 1, key: "silver", name: "Silver" } } }],
    }),
  ),
  balances: Schema.optionalKey(Balances),
}

const outcome = { xp: Earned, points: Earned, level: LevelChange, ...furtherOutcome }
const { boostsEarned: _, experiments: __, ...changed } = outcome
const undone = {
  ...changed,
  shortfall: Schema.Struct({
    xp: count(0, "Xp missing."),
    points: count(0, "Points missing."),
    currencies: Schema.optionalKey(
      shownAmounts("Missing amounts of further currencies, by key. Absent: none.", { gems: 2 }),
    ),
    freezes: Schema.optionalKey(
      shownAmounts("Used freezes, by the key of the streak. Absent: none.", { daily: 1 }),
    ),
  }).annotate({
    description: "The part already spent, which could not be revoked.",
    examples: [{ xp: 0, points: 0 }],
  }),
  expired: Schema.optionalKey(
    shownAmounts(
      "What had expired before, and so was not taken again, by currency. Absent: nothing.",
      { coins: 20 },
    ),
  ),
}
const balance = { amount: count(50, "How many."), total: count(1250, "Balance afterwards.") }

/** The boosts that multiplied what was earned. */
export const AppliedBoosts = Schema.Array(
  Schema.Struct({
    key: text("The boost's key.", "happy-hour"),
    factor: Schema.Finite.annotate({
      description: "Its factor at that time.",
      examples: [2],
    }),
  }).annotate({ identifier: "AppliedBoost", description: "A boost that multiplied an amount." }),
).annotate({
  description: "The boosts that multiplied it, rounded down once. Absent if there is none.",
  examples: [[{ key: "happy-hour", factor: 2 }]],
})
const earned = { ...balance, source: Source, boosts: Schema.optionalKey(AppliedBoosts) }
const spendable = {
  spendableAt: Schema.optionalKey(
    Schema.String.annotate({
      description: "When the amount can be spent. Absent: at once.",
      format: "date-time",
      examples: ["2026-11-15T00:00:00.000Z"],
    }),
  ),
}
const ending = {
  lastDay: Schema.optionalKey(
    text("The last day of it, in the user's calendar. Absent: it never ends.", "2027-11-01"),
  ),
}
const currency = { currency: text("Key of the currency.", "gems") }
/** A tier of a badge, as facts and replies name it. */
export const Tier = Schema.Struct({
  key: text("The tier's key.", "gold"),
  name: text("The tier's name.", "Gold"),
}).annotate({
  identifier: "BadgeTierRef",
  description: "The tier of the badge. Absent if the badge has no tiers.",
  examples: [{ key: "gold", name: "Gold" }],
})

/** How often a user has a repeatable badge. */
export const Times = Schema.Int.annotate({
  description: "How often the user has a repeatable badge now. Absent for other badges.",
  examples: [3],
})

const badge = {
  badgeId: text("The badge's id.", "bdg_01a1fc1e64c07345932e273286b5ca30"),
  key: text("The badge's key.", "first-lesson"),
  name: text("The badge's name.", "First lesson"),
  tier: Schema.optionalKey(Tier),
  times: Schema.optionalKey(Times),
}
const quest = {
  questId: text("The quest's id.", "qst_01a1fc1e64c07345932e273286b5ca30"),
  key: text("The quest's key.", "first-steps"),
  title: text("The quest's title.", "First steps"),
}
const share = Schema.Finite.annotate({
  description: "Completed share of the quest, 0 to 1.",
  examples: [0.6],
})
/** Whether a completed quest waits to be claimed. */
export const claimable = Schema.Literal(true).annotate({
  description:
    "Present if the quest is completed and its reward waits: a `QUEST_COMPLETE` event claims it. Absent otherwise.",
  examples: [true],
})
const key = text("Key of the streak.", "daily")
const best = count(7, "Its greatest length.")
const streak = { key, current: count(3, "Days, weeks or months in a row."), best }
const freezes = {
  key,
  amount: count(1, "How many freezes."),
  total: count(2, "The streak's freezes afterwards."),
}
const atRisk = {
  key,
  current: count(7, "Its length."),
  freezes: count(0, "Freezes that are left; one will cover the day, week or month."),
  endsAt: Schema.String.annotate({
    description: "When the day, week or month ends for the user.",
    format: "date-time",
    examples: ["2026-11-02T00:00:00.000Z"],
  }),
}
const paused = {
  key,
  from: text("First day of the pause.", "2026-10-30"),
  to: text("Last day of the pause.", "2026-10-31"),
  current: count(7, "The streak's length afterwards."),
}
const repaired = {
  key,
  from: text("First day that the repair covers.", "2026-10-30"),
  to: text("Last day that the repair covers.", "2026-10-31"),
  current: count(7, "The streak's length afterwards."),
}
/** What a spend repaired, and what its refund took back. */
export const Repaired = Schema.Struct(repaired).annotate({
  identifier: "RepairedStreak",
  description:
    "The repair of a streak that a spend paid, or that its refund took back. Absent: it repaired none.",
  examples: [{ key: "daily", from: "2026-10-30", to: "2026-10-31", current: 7 }],
})
const milestone = {
  streakId: text("The streak's id.", "stk_01a1fc1e64c07345932e273286b5ca30"),
  key,
  name: text("The streak's name.", "Daily lesson"),
  target: count(7, "The length at which the milestone pays."),
}

const team = {
  teamId: text("Your id of the team.", "falcons"),
  teamKind: text("The kind of the team.", "club"),
  name: text("The team's name.", "Falcons"),
}

export const profileMembers = {
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "Name shown on leaderboards; null: none.",
    examples: ["Ada"],
  }),
  timezone: Schema.NullOr(Schema.String).annotate({
    description: "Canonical IANA time zone; null: the project's.",
    examples: ["Europe/Berlin"],
  }),
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ).annotate({
    description: "The user's custom attributes.",
    examples: [{ plan: "pro", seats: 5 }],
  }),
  hidden: Schema.Boolean.annotate({
    description: "Hidden from every leaderboard.",
    examples: [false],
  }),
}

/** A granted reward. */
export const granted = {
  reward: Reward,
  type: Schema.NullOr(Schema.Literals(["xp", "points", "badge"])).annotate({
    description: "The part, if the reward has only one; null if it has several.",
    examples: ["xp"],
  }),
  amount: Schema.NullOr(Schema.Int).annotate({
    description: "Amount of the only part; null for a badge and for several parts.",
    examples: [100],
  }),
  badgeId: Schema.NullOr(Schema.String).annotate({
    description: "Id of the badge granted; null: none.",
    examples: [null],
  }),
}

const metric = {
  key: text("Key of the metric.", "lessons"),
  total: Schema.NullOr(Schema.Finite).annotate({
    description:
      "The user's total afterwards; null: no event is left for a `max`, `min` or `last`.",
    examples: [42],
  }),
}

/** By kind of fact. */
export const factMembers = {
  "leaderboard.prize_won": { ...rankWon, reward: Reward },
  "leaderboard.rank_changed": rankChanged,
  "event.tracked": outcome,
  "event.revoked": undone,
  "reward.granted": outcome,
  "reward.revoked": undone,
  "xp.earned": earned,
  "xp.revoked": balance,
  "points.earned": { ...earned, ...spendable, ...ending },
  "points.revoked": balance,
  "points.spent": balance,
  "points.refunded": {
    ...balance,
    shortfall: count(0, "Points missing, since their events or rewards were revoked."),
  },
  "currency.earned": { ...currency, ...earned, ...spendable, ...ending },
  "currency.refilled": { ...currency, ...balance },
  "currency.revoked": { ...currency, ...balance },
  "currency.spent": { ...currency, ...balance },
  "currency.refunded": {
    ...currency,
    ...balance,
    shortfall: count(0, "Amount missing, since its events or rewards were revoked."),
  },
  "currency.expired": { ...currency, ...balance },
  "currency.expiring": expiring,
  "currency.capped": { ...Capped.fields, source: Source },
  "currency.level_changed": {
    ...currency,
    from: LevelOfCurrency.annotate({
      description: "The level before; null: none.",
      examples: [null],
    }),
    to: LevelOfCurrency.annotate({
      description: "The level afterwards, which may be lower; null: none.",
      examples: [{ number: 1, key: "silver", name: "Silver" }],
    }),
  },
  "level.changed": {
    from: count(4, "The level before."),
    to: count(5, "The level afterwards; lower if xp were revoked."),
  },
  "badge.earned": { ...badge, source: Source },
  "badge.revoked": badge,
  "boost.earned": { ...OwnBoost.fields, source: Source },
  "boost.revoked": OwnBoost.fields,
  "experiment.exposed": EnteredExperiment.fields,
  "metric.changed": metric,
  "quest.started": quest,
  "quest.progressed": {
    ...quest,
    step: text("The key of the step.", "lessons"),
    current: Schema.Finite.annotate({
      description: "Events counted for the step, or their sum, which may exceed the target.",
      examples: [3],
    }),
    target: count(5, "The target of the step."),
    progress: share,
  },
  "quest.completed": {
    ...quest,
    times: count(1, "The user's completions, this one included."),
    claimable: Schema.optionalKey(claimable),
  },
  "quest.claimed": quest,
  "quest.claim_revoked": { ...quest, claimable: Schema.optionalKey(claimable) },
  "quest.repeated": quest,
  "quest.reverted": {
    ...quest,
    status: Schema.Literals(["not_started", "in_progress"]).annotate({
      description: "The user's status afterwards.",
      examples: ["in_progress"],
    }),
    progress: share,
  },
  "quest.expired": quest,
  "quest.claim_lapsed": quest,
  "quest.ending": { ...quest, ...questEnding, progress: share },
  "leaderboard.disqualified": {
    leaderboard: Schema.Struct({
      id: text("Id of the leaderboard.", "ldb_01a1fc1e64c07345932e273286b5ca30"),
      key: text("Key of the leaderboard.", "gem-hunters"),
    }).annotate({
      identifier: "NamedLeaderboard",
      description: "The leaderboard.",
      examples: [{ id: "ldb_01a1fc1e64c07345932e273286b5ca30", key: "gem-hunters" }],
    }),
    disqualified: Schema.Boolean.annotate({
      description: "Whether the leaderboard lists the user no more, or again.",
      examples: [true],
    }),
  },
  "streak.extended": streak,
  "streak.counted": streak,
  "streak.broken": { key, length: count(7, "Length of the streak."), best },
  "streak.at_risk": atRisk,
  "streak.paused": paused,
  "streak.repaired": repaired,
  "streak.repair_undone": repaired,
  "streak.milestone_reached": milestone,
  "streak.milestone_revoked": milestone,
  "streak.freezes_earned": { ...freezes, source: Source },
  "streak.freezes_revoked": freezes,
  "streak.freezes_capped": { ...freezes, source: Source },
  "team.joined": team,
  "team.left": team,
  ...leagueMembers,
  ...goalMembers(Reward),
  "item.purchased": { ...purchased, ...outcome },
  "item.refunded": { ...refunded, ...undone },
  "user.created": {},
  "user.opened": {
    balances: Balances,
    level: Level,
    streaks: Schema.Array(Schema.Struct(streak).annotate({ identifier: "OpenedStreak" })).annotate({
      description: "The streaks that the user had, as of the opening.",
      examples: [[{ key: "daily", current: 12, best: 40 }]],
    }),
    badges: Schema.Array(
      Schema.Struct({
        ...badge,
        earnedAt: Schema.String.annotate({
          description: "When the user earned it.",
          format: "date-time",
          examples: ["2025-03-01T00:00:00.000Z"],
        }),
      }).annotate({ identifier: "OpenedBadge" }),
    ).annotate({
      description: "The badges that the user had.",
      examples: [
        [
          {
            badgeId: "bdg_01a1fc1e64c07345932e273286b5ca30",
            key: "first-lesson",
            name: "First lesson",
            earnedAt: "2025-03-01T00:00:00.000Z",
          },
        ],
      ],
    }),
  },
  "user.updated": {
    profile: Schema.Struct(profileMembers).annotate({
      description: "The whole profile afterwards.",
      examples: [
        {
          displayName: "Ada",
          timezone: "Europe/Berlin",
          attributes: { plan: "pro" },
          hidden: false,
        },
      ],
    }),
  },
  "user.inactive": inactive,
  "user.merged": {
    from: text("The former id, which leads to the user now.", "visitor-7"),
    gained: shownAmounts("What the balances gained, by currency.", { xp: 50, points: 10 }),
    totals: shownAmounts("These balances afterwards.", { xp: 1250, points: 40 }),
  },
} as const satisfies { readonly [Kind in Fact["kind"]]?: Schema.Struct.Fields }

/** The kinds of facts that the API shows. */
export type ShownKind = keyof typeof factMembers
export const shownKinds = Object.keys(factMembers) as ReadonlyArray<ShownKind>

export type MembersOf<Kind extends ShownKind> = Schema.Struct<(typeof factMembers)[Kind]>["Type"]

/** Whether the API shows the fact. */
export const isShown = (fact: Fact): fact is FactOf<ShownKind> =>
  Object.hasOwn(factMembers, fact.kind)
