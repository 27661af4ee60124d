/** What each mechanic does: the list of all, and one. */
import { Schema } from "effect"
import { statuses } from "../../domain/project/Definition.ts"
import { comparedDays, mechanicNouns } from "../../domain/user/MechanicTally.ts"
import { limits } from "../../Limits.ts"
import { counted, oneOf, text, wholeNumber } from "./Common.ts"
import { ruleId } from "./examples/exampleIds.ts"
import { mechanic, mechanicList } from "./examples/mechanicExamples.ts"

/** How rare it is to have been reached: by the share of users. */
export const rarities = ["none", "very_rare", "rare", "uncommon", "common"] as const
/** The least share of each but `none` and `very_rare`. */
export const rareFrom = { common: 0.5, uncommon: 0.2, rare: 0.05 } as const

export const mechanicSorts = ["users", "completions", "xp", "name"] as const

/** `Reference.ts` describes the numbers. */
const days = Schema.optionalKey(wholeNumber(1, limits.mechanicDaysMax))

const kind = oneOf(mechanicNouns)

export const mechanicsQuery = {
  kind: Schema.optionalKey(
    kind.annotate({ description: "Only definitions of this kind.", examples: ["quest"] }),
  ),
  days,
  sort: Schema.optionalKey(
    oneOf(mechanicSorts).annotate({
      description:
        "`name`: in the order of kinds and names. The others: the largest number first. Default `users`.",
      examples: ["users"],
    }),
  ),
  limit: Schema.optionalKey(wholeNumber(1, limits.mechanicRowsMax)),
  format: Schema.optionalKey(
    oneOf(["json", "csv"]).annotate({
      description:
        "`csv`: the reply is a table, `text/csv`, with a row for each mechanic. Default `json`.",
      examples: ["json"],
    }),
  ),
}

export const MechanicsQuery = Schema.Struct(mechanicsQuery)

export const mechanicQuery = {
  days,
  format: Schema.optionalKey(
    oneOf(["json", "csv"]).annotate({
      description:
        "`csv`: the reply is a table, `text/csv`, with a row for each day. Default `json`.",
      examples: ["json"],
    }),
  ),
}

export const MechanicQuery = Schema.Struct(mechanicQuery)

export const mechanicParams = {
  kind: kind.annotate({ description: "The kind of the definition.", examples: ["rule"] }),
  key: text(1, limits.idCharactersMax).annotate({
    description: "The id or key of the definition.",
    examples: [ruleId],
  }),
}

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })
const perhaps = (description: string, example: number) =>
  Schema.NullOr(Schema.Int).annotate({ description, examples: [example] })
const share = (description: string, example: number) =>
  Schema.NullOr(Schema.Finite).annotate({ description, examples: [example] })
const date = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })

const row = {
  kind: kind.annotate({ description: "The kind of the definition.", examples: ["quest"] }),
  id: Schema.String.annotate({ description: "Its id.", examples: [mechanic.id] }),
  key: Schema.String.annotate({ description: "Its key.", examples: ["daily-lesson"] }),
  name: Schema.String.annotate({ description: "Its name or title.", examples: ["Daily lesson"] }),
  status: oneOf(statuses).annotate({ description: "Its status.", examples: ["active"] }),
  users: perhaps(
    "Users whom it reached: whom the rule rewarded, who started the quest, have the badge, kept a period of the streak, have a score on the leaderboard, had a place in the league, own the item, contributed to the goal. A leaderboard of teams reached the members of teams with a score of all time. Null: not known, see `leftOut`.",
    160,
  ),
  share: share("`users` / `allUsers`, to 4 decimals; null: not known, or there are no users.", 0.4),
  rarity: Schema.NullOr(oneOf(rarities)).annotate({
    description: `By \`share\`: \`common\` from ${rareFrom.common}, \`uncommon\` from ${rareFrom.uncommon}, \`rare\` from ${rareFrom.rare}, \`very_rare\` below, \`none\` without users. Null: not known.`,
    examples: ["uncommon"],
  }),
  completed: perhaps(
    "Users who completed the quest, earned the badge, own the item, or got the reward of a goal that does not recur; null for other kinds.",
    96,
  ),
  completions: perhaps(
    "How often it happened in the days, before any undo: events that the rule rewarded, completions of the quest, awards of the badge, periods of the streak that were kept, places taken in the league, records that the boost multiplied, units of the item bought, prizes of the leaderboard won, completions of the goal by everyone or by a team each. Null for leaderboards without prizes, and for definitions that have no place among those that are counted.",
    310,
  ),
  perDay: share("`completions` / the number of days, to 2 decimals.", 10.33),
  xp: perhaps(
    "Xp that it gave in the days, before any undo. Null for boosts, and where `completions` is null.",
    6200,
  ),
} as const

const head = {
  from: date("First day of `completions`.", "2026-10-03"),
  to: date("Last day: today.", "2026-11-01"),
  ...counted("users"),
  allUsers: count("All users of the environment.", 400),
}

export const MechanicRow = Schema.Struct(row).annotate({
  identifier: "MechanicRow",
  description: "What a mechanic did.",
  examples: [mechanicList.mechanics[0]],
})

export const MechanicList = Schema.Struct({
  ...head,
  total: count("How many mechanics there are; `limit` cuts the list.", 2),
  mechanics: Schema.Array(MechanicRow).annotate({ description: "In the order of `sort`." }),
}).annotate({
  identifier: "MechanicList",
  description: "What each mechanic did.",
  examples: [mechanicList],
})

const Part = Schema.Struct({
  key: Schema.String.annotate({
    description: "The key of the tier or division; the length of a milestone.",
    examples: ["gold"],
  }),
  name: Schema.String.annotate({ description: "Its name.", examples: ["Gold"] }),
  users: count("Users who have it.", 12),
  share: share("Of `users` of the mechanic.", 0.075),
}).annotate({
  identifier: "MechanicPart",
  description: "A tier of a badge, a milestone of a streak, or a division of a league.",
  examples: [{ key: "gold", name: "Gold", users: 12, share: 0.075 }],
})

const Step = Schema.Struct({
  key: Schema.String.annotate({ description: "The key of the step.", examples: ["lessons"] }),
  target: count("Its target.", 3),
  begun: count("Users who did something for the step, or completed the quest.", 150),
  finished: count("Users who reached the target, or completed the quest.", 110),
  waiting: count("Users who are in the quest and have not finished the step.", 50),
}).annotate({
  identifier: "MechanicStep",
  description: "A step of a quest, of the latest period of each user.",
  examples: [mechanic.steps[0]],
})

const Funnel = Schema.Struct({
  finished: count("A number of steps, in any order.", 1),
  users: count("Users who finished at least so many.", 120),
  share: share("Of all who started.", 0.75),
}).annotate({
  identifier: "MechanicFunnel",
  description: "How many users get how far in a quest.",
  examples: [mechanic.funnel[1]],
})

const seconds = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const Times = Schema.Struct({
  users: count("Users whose time is known; of a goal, teams, or everyone as one.", 96),
  p10: seconds("A tenth of the times is not longer.", 43_008),
  p25: seconds("A quarter.", 86_016),
  median: seconds("Half of them.", 172_032),
  p75: seconds("Three quarters.", 344_064),
  p90: seconds("Nine tenths.", 602_112),
}).annotate({
  identifier: "MechanicTimes",
  description:
    "Seconds from the start of the quest to its completion, from the creation of the user to the first award of the badge, or from the beginning of the goal or of its latest period to its completion; rounded down by less than 1 %.",
  examples: [mechanic.timeToComplete],
})

const Returned = Schema.Struct({
  day: count(`The number of days after the first active day: ${comparedDays.join(", ")}.`, 14),
  of: count("Users who count and for whom this day has ended in every time zone.", 60),
  users: count("Those of them with an event on this very day.", 27),
  share: share("`users` / `of`, to 4 decimals.", 0.45),
}).annotate({
  identifier: "MechanicReturned",
  description: "Who came back on a day.",
  examples: [mechanic.firstWeek.reached[1]],
})

const FirstWeek = Schema.Struct({
  since: date(
    "Users count who began on this day or later: on it the definition began.",
    "2026-08-01",
  ),
  reached: Schema.Array(Returned).annotate({
    description:
      "Those who completed or earned it, or whom the rule rewarded, by the end of their first 7 days.",
  }),
  others: Schema.Array(Returned).annotate({ description: "Those who did not." }),
  note: Schema.String.annotate({
    description: "What the comparison does not show.",
    examples: [mechanic.firstWeek.note],
  }),
}).annotate({
  identifier: "MechanicFirstWeek",
  description:
    "Who came back, of those who reached the mechanic in their first week and of the others.",
  examples: [mechanic.firstWeek],
})

const Day = Schema.Struct({
  date: date("The day.", "2026-11-01"),
  completions: count("As in the row.", 12),
  xp: count("As in the row.", 240),
}).annotate({
  identifier: "MechanicDay",
  description: "What the mechanic did on a day.",
  examples: [mechanic.days[1]],
})

const LeftOut = Schema.Struct({
  figure: Schema.String.annotate({ description: "The member that is null.", examples: ["xp"] }),
  reason: Schema.String.annotate({
    description: "Why.",
    examples: ["Only rules, quests and badges give xp."],
  }),
}).annotate({
  identifier: "MechanicLeftOut",
  description: "A figure that is not known, and why.",
  examples: [mechanic.leftOut[0]],
})

export const Mechanic = Schema.Struct({
  ...row,
  ...head,
  parts: Schema.Array(Part).annotate({
    description:
      "Tiers of a badge, milestones of a streak, divisions of a league; or none, as before users were counted.",
  }),
  steps: Schema.Array(Step).annotate({
    description: "The steps of a quest; or none, as before users were counted.",
  }),
  funnel: Schema.Array(Funnel).annotate({
    description:
      "By the number of finished steps, from 0; empty without steps, and before users were counted.",
  }),
  timeToComplete: Schema.NullOr(Times).annotate({
    description: "How long it took; null: not known, see `leftOut`, or nobody completed it.",
  }),
  firstWeek: Schema.NullOr(FirstWeek).annotate({
    description: "Retention beside that of the others; null: not known, see `leftOut`.",
  }),
  days: Schema.Array(Day).annotate({
    description: "A row for each day, oldest first; empty: the days are not counted.",
  }),
  leftOut: Schema.Array(LeftOut).annotate({ description: "The figures that are not known." }),
}).annotate({
  identifier: "Mechanic",
  description: "What one mechanic did.",
  examples: [mechanic],
})
