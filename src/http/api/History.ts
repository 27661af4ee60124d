/** A user's history: facts with their causes. `domain/message/HistoryFact.ts` makes them. */
import { Schema } from "effect"
import { factMembers, type ShownKind, shownKinds } from "../../domain/message/FactMembers.ts"
import { HistoryCause, type HistoryFact } from "../../domain/message/HistoryFact.ts"
import { oneOf, pageEndFields, Time, typeName } from "./Common.ts"
import { causes, historyPage } from "./examples/userExamples.ts"

const Cause = HistoryCause.annotate({
  identifier: "HistoryCause",
  description: "The cause.",
  examples: causes,
})

/** The schema of a kind of fact with its members. */
const factOf = <const Kind extends ShownKind>(kind: Kind, description: string) =>
  Schema.Struct({
    kind: Schema.Literal(kind),
    at: Time,
    sequence: Schema.Int.annotate({
      description: "The record's sequence number; facts with the same number happened together.",
      examples: [204_878],
    }),
    ...factMembers[kind],
    cause: Cause,
  }).annotate({ identifier: `History${typeName(kind)}`, description })

const descriptions: { readonly [Kind in ShownKind]: string } = {
  "event.tracked": "An event was accepted: the sum of its effects.",
  "event.revoked": "An event was revoked: the sum of its effects.",
  "reward.granted": "A reward was granted: the sum of its effects.",
  "reward.revoked": "A reward was revoked: the sum of its effects.",
  "xp.earned": "The user earned xp from one source.",
  "xp.revoked": "Xp were revoked.",
  "points.earned": "The user earned points from one source.",
  "points.revoked": "Points were revoked.",
  "points.spent": "The user spent points, or an item cost some.",
  "points.refunded": "A spend or a purchase was revoked.",
  "currency.earned": "The user earned a currency other than xp and points from one source.",
  "currency.refilled":
    "What time added to the balance of a currency with `refill`, as of the record that came next.",
  "currency.revoked": "An amount of a currency was revoked.",
  "currency.spent": "The user spent a currency other than points, or an item cost some.",
  "currency.refunded": "A spend or a purchase was revoked.",
  "currency.expired": "An amount of a currency, or of points, ended.",
  "currency.expiring": "Amounts of a currency were about to end.",
  "currency.capped": "The user did not get a part of a credit, because of a limit of the currency.",
  "currency.level_changed": "The level in a currency changed.",
  "level.changed": "The level changed.",
  "badge.earned": "The user earned a badge.",
  "boost.earned": "The user got a personal boost, for some minutes.",
  "boost.revoked": "An undo took a personal boost back.",
  "badge.revoked": "A badge was revoked.",
  "experiment.exposed": "The user entered an experiment, with a variant.",
  "metric.changed": "An event counted for a metric, or such an event was revoked.",
  "quest.started": "The user began a quest.",
  "quest.progressed": "An event counted for a quest step.",
  "quest.completed": "The user completed a quest.",
  "quest.claimed": "The user claimed a completed quest, which paid.",
  "quest.claim_revoked": "The claim of a quest was revoked.",
  "quest.repeated": "A completed quest was claimed again; nothing was earned.",
  "quest.reverted": "Progress in a quest, or its completion, was revoked.",
  "quest.expired": "The quest ended before the user completed it.",
  "quest.claim_lapsed": "The period of a completed quest ended before the user claimed it.",
  "quest.ending": "The quest was about to end, and the user had not completed it.",
  "streak.extended": "A streak grew.",
  "streak.counted": "A late event was credited to a past day, week or month of a streak.",
  "streak.broken": "A streak ended.",
  "streak.at_risk": "A day, week or month of a streak ended soon, and nothing had kept it.",
  "leaderboard.disqualified": "A leaderboard lists the user no more, or again.",
  "leaderboard.rank_changed":
    "A leaderboard with `announceRanks` announced the user's rank in an open window.",
  "streak.paused": "A pause covered days of a streak.",
  "streak.repaired": "A spend repaired a streak.",
  "streak.repair_undone": "The spend that repaired a streak was revoked, and the repair with it.",
  "leaderboard.prize_won": "The user won a prize of a leaderboard.",
  "streak.milestone_reached": "A streak reached a milestone, which pays once.",
  "streak.milestone_revoked": "The event that reached a milestone was revoked.",
  "streak.freezes_earned": "A reward gave freezes to a streak.",
  "streak.freezes_revoked": "Freezes that a reward gave were revoked, as far as they were left.",
  "streak.freezes_capped": "Freezes that a streak did not get, since it has its maximum.",
  "team.joined": "The user joined a team.",
  "team.left": "The user left a team, also by joining another one of its kind.",
  "league.disqualified": "A league ranks the user no more, or again.",
  "league.joined": "The user joined a cohort of a league.",
  "league.promoted": "A window of a league closed, and the user moved up a division.",
  "league.stayed": "A window of a league closed, and the user stayed in the division.",
  "league.demoted": "A window of a league closed, and the user moved down a division.",
  "league.closing": "A window of a league in which the user had a place was about to end.",
  "goal.contributed": "An event or a reward counted for a shared goal, or was revoked.",
  "goal.progressed": "The user's contribution reached 25, 50 or 75 % of a shared goal.",
  "goal.completed": "The user's contribution reached the target of a shared goal.",
  "goal.rewarded": "The user got the reward of a shared goal.",
  "item.purchased": "The user bought an item: the sum of its effects.",
  "item.refunded": "A purchase was revoked: the sum of its effects.",
  "user.created": "The user was created.",
  "user.opened": "Balances, streaks and badges from before were set.",
  "user.updated": "The user's profile was changed.",
  "user.inactive": "The user had no event for so many days.",
  "user.merged": "Another user was merged into this one.",
}

const facts = shownKinds.map((kind) => factOf(kind, descriptions[kind]))

export const Fact = (Schema.Union(facts) as unknown as Schema.Codec<HistoryFact>).annotate({
  identifier: "HistoryFact",
  description: "One fact of a user's history.",
})

export const HistoryKindIn = oneOf(shownKinds).annotate({
  description: "Only facts of this kind.",
  examples: ["xp.earned"],
})

export const HistoryPage = Schema.Struct({
  facts: Schema.Array(Fact).annotate({
    description:
      "Newest first. A page may have fewer than `limit` facts although more follow: `hasMore` says whether they do.",
  }),
  ...pageEndFields("history"),
}).annotate({
  identifier: "HistoryPage",
  description: "A page of a user's history.",
  examples: [historyPage],
})
