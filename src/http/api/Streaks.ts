/** Operations on streaks: days, weeks or months in a row that users keep. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { weekdays } from "../../domain/project/Boost.ts"
import { streakPeriods } from "../../domain/project/StreakDefinition.ts"
import { calendarStatuses } from "../../domain/user/StreakCalendar.ts"
import { dayOf } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import {
  Action,
  ApiKey,
  check,
  DateText,
  distinct,
  integer,
  list,
  oneOf,
  pageFields,
  Time,
  text,
  UserId,
} from "./Common.ts"
import {
  actionOrMetric,
  amountsBy,
  CountedMetric,
  listQuery,
  NewReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  ShownMetric,
  shownMembers,
  statusWords,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { streak, streakPage } from "./examples/definitionExamples.ts"
import { streakId } from "./examples/exampleIds.ts"
import { streakCalendar, streakStanding } from "./examples/userExamples.ts"
import {
  ChangeConflict,
  readProblems,
  StreakNotFound,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["Daily lesson"],
})
const Every = oneOf(streakPeriods).annotate({
  description:
    "What the streak is of: days, ISO weeks, which begin on Monday, or months, by the user's calendar. It never changes. Default `day`.",
  examples: ["day"],
})
const Need = Schema.Struct({
  action: Schema.optionalKey(Schema.NullOr(Action)),
  metric: Schema.optionalKey(Schema.NullOr(CountedMetric)),
  target: Schema.optionalKey(
    integer(1, limits.sumTargetMax).annotate({
      description:
        "Events with this action in a period, or what they add to the metric. Default 1.",
      examples: [2],
    }),
  ),
})
  .check(Schema.makeFilter(actionOrMetric, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewStreakNeed",
    description: "What a user does in each period: events with an action, or progress in a metric.",
    examples: [{ action: "LESSON_DONE", target: 2 }],
  })
const Needs = list(Need, 0, limits.streakNeedsMax)
  .check(distinct<typeof Need.Type>([], ({ action, metric }) => action ?? metric))
  .annotate({
    description: "What keeps a period. Default: one event with any action.",
    examples: [[{ action: "LESSON_DONE" }]],
  })
const Match = oneOf(["all", "any"]).annotate({
  description: "Whether a period takes all of the needs, or any. Default `all`.",
  examples: ["all"],
})
const RestDays = list(oneOf(weekdays), 0, weekdays.length - 1)
  .check(distinct<string>([], (day) => day))
  .annotate({
    description:
      "Days of the week that are never missed: they break no streak and use up no freeze. An event on one counts as on any other day. Only for streaks of days. Default: none.",
    examples: [["saturday", "sunday"]],
  })
const freezes = integer(0, limits.streakFreezesMax)
const Freezes = Schema.Struct({
  initial: Schema.optionalKey(
    freezes.annotate({ description: "Freezes of a new streak. Default 0." }),
  ),
  max: Schema.optionalKey(
    freezes.annotate({ description: "Maximum number of freezes. Default: `initial`." }),
  ),
  everyDays: Schema.optionalKey(
    Schema.NullOr(integer(1, limits.streakEveryDaysMax)).annotate({
      description:
        "The streak gains a freeze at each multiple of this length: days, or weeks or months as the streak is of. Default: never.",
    }),
  ),
}).annotate({
  identifier: "NewStreakFreezes",
  description: "Freezes: each forgives one missed period. Default: none.",
  examples: [{ initial: 1, max: 3, everyDays: 7 }],
})
const Milestone = Schema.Struct({
  target: integer(1, limits.streakMilestoneTargetMax).annotate({
    description: "The length of the streak at which it pays.",
    examples: [7],
  }),
  reward: NewReward,
}).annotate({
  identifier: "NewStreakMilestone",
  description: "A reward for a length.",
  examples: [{ target: 7, reward: { points: 50 } }],
})
const Milestones = list(Milestone, 0, limits.streakMilestonesMax)
  .check(distinct<typeof Milestone.Type>(["target"], ({ target }) => target))
  .annotate({
    description:
      "Rewards for lengths. Each pays a user once, ever, when a streak grows to its length. If the event that reached it is undone, the next event that counts for the streak pays it. Default: none.",
    examples: [[{ target: 7, reward: { points: 50 } }]],
  })

const AtRisk = Schema.Struct({
  hoursBefore: integer(1, limits.streakAtRiskHoursMax).annotate({
    description: `Hours before the end, at most ${limits.streakAtRiskDayHoursMax} for a streak of days.`,
    examples: [4],
  }),
}).annotate({
  identifier: "StreakAtRisk",
  description:
    "The message `streak.at_risk`, so many hours before the day, week or month ends for the user: nothing has kept it, the streak is running, and it is no rest day. Once for each, also if a freeze will cover it; none while the streak is paused, and none to users with the attribute of `unless` in the setting `reminders`. Default: none.",
  examples: [{ hoursBefore: 4 }],
})

export const CalendarDay = DateText.annotate({
  description: "A date in the user's time zone.",
  examples: ["2026-11-01"],
})

const pausedDays = {
  from: CalendarDay.annotate({
    description: "First day, in the user's time zone. It may be past.",
    examples: ["2026-12-24"],
  }),
  to: CalendarDay.annotate({
    description: `Last day, included; at most ${limits.streakPauseDaysMax} days in all.`,
    examples: ["2026-12-26"],
  }),
}
const isPauseLength = check<{ readonly from: string; readonly to: string }>(
  "out_of_range",
  `must last from 1 to ${limits.streakPauseDaysMax} days`,
  ({ from, to }) => {
    const days = (dayOf(to) ?? 0) - (dayOf(from) ?? 0) + 1
    return days >= 1 && days <= limits.streakPauseDaysMax
  },
)

export const PausedDays = Schema.Struct(pausedDays)
  .check(isPauseLength)
  .annotate({
    identifier: "PausedDays",
    description: "Days that are not missed.",
    examples: [{ from: "2026-12-24", to: "2026-12-26" }],
  })

const Pause = Schema.Struct({
  ...pausedDays,
  segment: Schema.optionalKey(
    Schema.NullOr(
      text(1, limits.keyCharactersMax).annotate({
        description: "Key of the segment whose users it is for. Default: everyone.",
        examples: ["travellers"],
      }),
    ),
  ),
})
  .check(isPauseLength)
  .annotate({
    identifier: "NewStreakPause",
    description: "Days that are not missed.",
    examples: [{ from: "2026-12-24", to: "2026-12-26" }],
  })
const Pauses = list(Pause, 0, limits.streakPausesMax)
  .check(
    distinct<typeof Pause.Type>([], ({ from, segment, to }) => `${from} ${to} ${segment ?? ""}`),
  )
  .annotate({
    description:
      "Days on which nothing is missed, for everyone or for a segment; a week or a month with such a day is not missed either. Events count on them. A pause covers each user once: when the user reaches its first day, or soon after an edit if that is past, also a streak that has broken on its days. The segment is looked at then. What a pause has covered stays so, also if it is removed or shortened. Default: none.",
    examples: [[{ from: "2026-12-24", to: "2026-12-26" }]],
  })

const Price = amountsBy(integer(1, limits.amountMax)).annotate({
  description:
    "What a repair costs, by currency, `points` included: currencies that can be spent. Default: nothing.",
  examples: [{ gems: 5 }],
})
const Repair = Schema.Struct({
  withinDays: integer(1, limits.streakRepairDaysMax).annotate({
    description:
      "Days after the day, week or month that broke the streak: so long it can be repaired.",
    examples: [3],
  }),
  price: Schema.optionalKey(Schema.NullOr(Price)),
}).annotate({
  identifier: "NewStreakRepair",
  description:
    "How users repair a broken streak: `POST /v1/users/:id/streaks/:key/repair`. Default: they cannot.",
  examples: [{ withinDays: 3, price: { gems: 5 } }],
})

const { segment: _made, ...made } = newMembers("name")
const { segment: _patched, ...patched } = patchMembers
const { segment: _shown, ...shown } = shownMembers

export const NewStreak = Schema.Struct({
  ...made,
  name: Name,
  every: Schema.optionalKey(Every),
  needs: Schema.optionalKey(Needs),
  match: Schema.optionalKey(Match),
  restDays: Schema.optionalKey(RestDays),
  freezes: Schema.optionalKey(Freezes),
  milestones: Schema.optionalKey(Milestones),
  atRisk: Schema.optionalKey(AtRisk),
  pauses: Schema.optionalKey(Pauses),
  repair: Schema.optionalKey(Repair),
}).annotate({
  identifier: "NewStreak",
  description: "A streak to create.",
  examples: [
    {
      key: "evening",
      name: "Evening lesson",
      needs: [{ action: "LESSON_DONE" }],
      freezes: { initial: 1, max: 3, everyDays: 7 },
      atRisk: { hoursBefore: 4 },
      repair: { withinDays: 3, price: { points: 50 } },
    },
    {
      name: "Three runs a week",
      every: "week",
      needs: [{ action: "RUN_DONE", target: 3 }],
      milestones: [{ target: 4, reward: { points: 50 } }],
    },
    { name: "5 km a day", needs: [{ metric: "kilometres-run", target: 5 }] },
  ],
})

export const StreakPatch = Schema.Struct({
  ...patched,
  name: Schema.optionalKey(Name),
  needs: Schema.optionalKey(Schema.NullOr(Needs)),
  match: Schema.optionalKey(Schema.NullOr(Match)),
  restDays: Schema.optionalKey(Schema.NullOr(RestDays)),
  freezes: Schema.optionalKey(
    Schema.NullOr(Freezes).annotate({
      description: "Freezes, all of them: a member that is not sent has its default; null: none.",
      examples: [{ initial: 1, max: 3, everyDays: 7 }],
    }),
  ),
  milestones: Schema.optionalKey(Schema.NullOr(Milestones)),
  atRisk: Schema.optionalKey(
    Schema.NullOr(AtRisk).annotate({
      description: "When the message `streak.at_risk` is sent; null: never.",
      examples: [{ hoursBefore: 4 }],
    }),
  ),
  pauses: Schema.optionalKey(
    Schema.NullOr(Pauses).annotate({
      description: "All pauses; null: none. What a pause has covered stays so.",
      examples: [[{ from: "2026-12-24", to: "2026-12-26" }]],
    }),
  ),
  repair: Schema.optionalKey(
    Schema.NullOr(Repair).annotate({
      description: "How users repair the streak, all of it; null: they cannot.",
      examples: [{ withinDays: 3, price: { gems: 5 } }],
    }),
  ),
}).annotate({
  identifier: "StreakPatch",
  examples: [{ restDays: ["sunday"] }, { status: "paused" }],
})

const target = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })
const counted = {
  action: Schema.NullOr(Schema.String).annotate({
    description: "The action of the events; null: the need is by a metric.",
    examples: ["LESSON_DONE"],
  }),
  metric: ShownMetric,
}

const ShownPrice = Schema.NullOr(Schema.Record(Schema.String, Schema.Int)).annotate({
  description: "What it costs, by currency; null: nothing.",
  examples: [{ gems: 5 }],
})

export const Streak = Schema.Struct({
  id: Schema.String.annotate({ description: "Laurel's id of the streak.", examples: [streakId] }),
  ...shown,
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Daily lesson"] }),
  every: oneOf(streakPeriods).annotate({
    description: "What the streak is of: days, ISO weeks or months.",
    examples: ["day"],
  }),
  needs: Schema.Array(
    Schema.Struct({
      ...counted,
      target: target("Events in a period, or what they add to the metric.", 1),
    }).annotate({
      identifier: "StreakNeed",
      description: "What a user does in each period.",
    }),
  ).annotate({ description: "What keeps a period; empty: one event with any action." }),
  match: oneOf(["all", "any"]).annotate({
    description: "Whether a period takes all of the needs, or any.",
    examples: ["all"],
  }),
  restDays: Schema.Array(oneOf(weekdays)).annotate({
    description: "Days of the week that are never missed.",
    examples: [["saturday", "sunday"]],
  }),
  freezes: Schema.Struct({
    initial: target("Freezes of a new streak.", 1),
    max: target("Maximum number of freezes.", 3),
    everyDays: Schema.NullOr(Schema.Int).annotate({
      description: "The streak gains a freeze at each multiple of this length; null: never.",
      examples: [7],
    }),
  }).annotate({
    identifier: "StreakFreezes",
    description: "Freezes: each forgives one missed period.",
    examples: [streak.freezes],
  }),
  milestones: Schema.Array(
    Schema.Struct({
      target: target("The length of the streak at which it pays.", 7),
      reward: Reward,
    }).annotate({ identifier: "StreakMilestone", description: "A reward for a length." }),
  ).annotate({ description: "Rewards for lengths, the shortest first." }),
  atRisk: Schema.NullOr(AtRisk).annotate({
    description: "When the message `streak.at_risk` is sent; null: never.",
    examples: [streak.atRisk],
  }),
  pauses: Schema.Array(
    Schema.Struct({
      ...pausedDays,
      segment: Schema.NullOr(Schema.String).annotate({
        description: "Key of the segment whose users it is for; null: everyone.",
        examples: ["travellers"],
      }),
    }).annotate({ identifier: "StreakPause", description: "Days that are not missed." }),
  ).annotate({ description: "Days on which nothing is missed.", examples: [streak.pauses] }),
  repair: Schema.NullOr(
    Schema.Struct({
      withinDays: target("Days after the break within which it is possible.", 3),
      price: ShownPrice,
    }).annotate({ identifier: "StreakRepair", description: "How users repair the streak." }),
  ).annotate({
    description: "How users repair a broken streak; null: they cannot.",
    examples: [streak.repair],
  }),
}).annotate({
  identifier: "Streak",
  description: "A streak: days, weeks or months in a row, by the user's calendar.",
  examples: [streak],
})

export const StreakPage = Schema.Struct({
  streaks: Schema.Array(Streak).annotate({ description: "In the order of creation." }),
  ...pageFields("streaks"),
}).annotate({
  identifier: "StreakPage",
  description: "A page of the streaks.",
  examples: [streakPage],
})

/** A streak of a user. */
export const UserStreak = Schema.Struct({
  key: Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: ["Daily lesson"] }),
  every: oneOf(streakPeriods).annotate({
    description: "What the streak is of.",
    examples: ["day"],
  }),
  current: target("Its length now; 0: broken, or not begun.", 3),
  best: target("Its greatest length.", 7),
  lastDay: Schema.NullOr(Schema.String).annotate({
    description:
      "The last day that was kept, in the user's time zone, or the first day of the last week or month; null: none.",
    examples: ["2026-11-01"],
  }),
  freezes: target("Remaining freezes.", 1),
  breaksAt: Schema.NullOr(Time).annotate({
    description:
      "When it breaks without further events, all freezes used up; null: it is broken or over.",
    examples: ["2026-11-04T00:00:00.000Z"],
  }),
  pauses: Schema.Array(
    Schema.Struct(pausedDays).annotate({ identifier: "UserStreakPause" }),
  ).annotate({
    description: "Days that pauses cover, the oldest first.",
    examples: [[{ from: "2026-10-24", to: "2026-10-25" }]],
  }),
  repair: Schema.NullOr(
    Schema.Struct({
      from: CalendarDay.annotate({
        description:
          "First day that it covers: it begins the day, week or month that broke the streak.",
        examples: ["2026-10-30"],
      }),
      to: CalendarDay.annotate({
        description: "Last day that it covers.",
        examples: ["2026-10-31"],
      }),
      until: CalendarDay.annotate({
        description: "The last day on which it is possible.",
        examples: ["2026-11-02"],
      }),
      price: ShownPrice,
    }).annotate({ identifier: "StreakRepairOffer" }),
  ).annotate({
    description: "The repair that is possible now, if the balances suffice; null: none.",
    examples: [{ from: "2026-10-30", to: "2026-10-31", until: "2026-11-02", price: { gems: 5 } }],
  }),
  period: Schema.Struct({
    firstDay: Schema.String.annotate({
      description: "Its first day, in the user's time zone.",
      examples: ["2026-11-01"],
    }),
    endsAt: Time,
    kept: Schema.Boolean.annotate({
      description: "Whether it is kept already.",
      examples: [true],
    }),
    needs: Schema.Array(
      Schema.Struct({
        ...counted,
        current: Schema.Finite.annotate({
          description: "How much so far, at most `target`; once the period is kept, `target`.",
          examples: [1],
        }),
        target: target("Events in a period, or what they add to the metric.", 1),
      }).annotate({ identifier: "StreakNeedProgress" }),
    ).annotate({ description: "The needs, and how far they are." }),
  }).annotate({
    identifier: "StreakPeriod",
    description: "The present day, week or month; for a streak that has ended the last one.",
  }),
  milestones: Schema.Array(
    Schema.Struct({
      target: target("The length at which it pays.", 7),
      paid: Schema.Boolean.annotate({
        description: "Whether it has paid the user.",
        examples: [true],
      }),
    }).annotate({ identifier: "StreakMilestoneProgress" }),
  ).annotate({ description: "The milestones, the shortest first." }),
}).annotate({ identifier: "UserStreak", description: "A streak of the user." })

/** The streaks of a user. */
export const UserStreaks = Schema.Struct({
  userId: UserId,
  streaks: Schema.Array(UserStreak).annotate({
    description: "Every streak that is neither a draft nor archived.",
  }),
}).annotate({
  identifier: "UserStreaks",
  description: "A user's streaks as of now.",
  examples: [{ userId: "user-42", streaks: [streakStanding] }],
})

/** A streak that a request changed. */
export const ChangedStreak = Schema.Struct({ userId: UserId, streak: UserStreak }).annotate({
  identifier: "ChangedStreak",
  description: "The user's streak as of now.",
  examples: [{ userId: "user-42", streak: streakStanding }],
})

export const StreakKey = text(1, limits.idCharactersMax).annotate({
  description: "The streak's id or key.",
  examples: ["daily"],
})

/** The days, weeks or months of a user's streak. */
export const StreakCalendar = Schema.Struct({
  userId: UserId,
  key: Schema.String.annotate({ description: "Key of the streak.", examples: ["daily"] }),
  every: oneOf(streakPeriods).annotate({
    description: "What the streak is of.",
    examples: ["day"],
  }),
  periods: Schema.Array(
    Schema.Struct({
      firstDay: Schema.String.annotate({
        description: "The day, or the first day of the week or month.",
        examples: ["2026-11-01"],
      }),
      status: oneOf(calendarStatuses).annotate({
        description:
          "`kept`; `paused`: not kept, and covered by a pause; `repaired`: missed, and covered by a repair; `frozen`: missed, and covered by a freeze; `rest`: a rest day without an event that counts; `missed`; `skipped`: a day that a change of time zone skipped or cut short, so that it is not missed; `open`: the present one, which is not kept yet.",
        examples: ["kept"],
      }),
    }).annotate({ identifier: "StreakCalendarPeriod" }),
  ).annotate({ description: "The oldest first." }),
}).annotate({
  identifier: "StreakCalendar",
  description: "The calendar of a user's streak.",
  examples: [streakCalendar],
})

export const Streaks = HttpApiGroup.make("streaks")
  .add(
    ...definitionEndpoints({
      path: "/v1/streaks",
      params: pathOf("streak", streakId),
      readers: ["read"],
      notFound: StreakNotFound,
      create: {
        payload: NewStreak,
        success: Streak,
        summary: "Create a streak",
        description: `It counts events that arrive from now on. An event counts for the period of the user's calendar in which it occurred, in the time zone that the user had then; a late one may repair a break. An environment has at most ${limits.streaksMax} streaks that are not archived, and at most ${limits.archivedStreaksMax} archived ones. Until a period is kept, its events are counted for the latest ${limits.streakCountsMax} such periods of a user.`,
      },
      list: {
        query: listQuery("streaks"),
        success: StreakPage,
        summary: "List streaks",
        description:
          "Lists the streaks of the key's project and environment: all except archived ones, or all with the given status.",
      },
      get: {
        success: Streak,
        summary: "Read a streak",
        description: "Returns a streak by its id or key.",
      },
      update: {
        payload: StreakPatch,
        success: Streak,
        error: [...writeProblems, StreakNotFound, ChangeConflict],
        summary: "Change a streak",
        description: `${patchWords}

An edit neither pays nor takes: kept periods stay, and earlier ones have the freezes and rest days of their time. A paused streak counts on, and pays no milestones. After \`endsAt\` nothing changes it: a streak that was unbroken then stays so.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The streak is archived." }),
        error: [...readProblems, StreakNotFound, UseConflict],
        summary: "Archive a streak",
        description:
          "It counts no more, and replies no longer show it. A streak that badges or segments ask for cannot be archived (409 `in_use`). Archiving twice returns 404.",
      },
    }),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Streaks",
      description: "Days, weeks or months in a row that users keep.",
    }),
  )
