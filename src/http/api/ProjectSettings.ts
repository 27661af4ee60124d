/** The settings of an environment: time zone, level curve, streaks, actions of clients. */
import { Schema } from "effect"
import { levelCurveKinds } from "../../domain/project/Level.ts"
import { limits } from "../../Limits.ts"
import { distinct, faultAt, integer, list, number, oneOf, text, timeZone } from "./Checks.ts"
import { Action } from "./Common.ts"
import { Key } from "./Definitions.ts"
import { streak } from "./examples/Definitions.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people. Default: the project name of its keys.",
  examples: ["Language school"],
})

export const TimeZone = timeZone.annotate({
  description:
    "The IANA time zone of days, weeks and months for leaderboards, limits, recurring quests, and users without a time zone.",
  examples: ["Europe/Berlin"],
})

const curveXp = integer(1, limits.amountMax)

const Thresholds = list(integer(0, limits.balanceMax), 1, limits.levelThresholdsMax)
  .check(
    Schema.makeFilter<ReadonlyArray<number>>(
      (thresholds) =>
        thresholds.flatMap((threshold, index) => {
          const before = thresholds[index - 1]
          if (before === undefined) {
            return threshold === 0 ? [] : [faultAt([index], "out_of_range", "must be 0")]
          }
          return threshold > before
            ? []
            : [faultAt([index], "out_of_range", "must be greater than the previous one")]
        }),
      { toJsonSchema: () => [{}, true] },
    ),
  )
  .annotate({
    description:
      "For `table`: the xp at which each level begins, from 0. The last one begins the top level.",
    examples: [[0, 100, 300, 1000]],
  })

const LevelCurvePatch = Schema.Struct({
  kind: Schema.optionalKey(
    oneOf(levelCurveKinds).annotate({
      description:
        "`quadratic`: level n begins at base·n·(n−1) xp. `linear`: every level takes `xpPerLevel`. `geometric`: level 1 takes `base`, each further level `factor` times the previous one, rounded. `table`: levels begin at `thresholds`.",
      examples: ["quadratic"],
    }),
  ),
  base: Schema.optionalKey(
    curveXp.annotate({ description: "For `quadratic` and `geometric`.", examples: [50] }),
  ),
  xpPerLevel: Schema.optionalKey(
    curveXp.annotate({ description: "For `linear`.", examples: [500] }),
  ),
  factor: Schema.optionalKey(
    number(limits.levelFactorMin, limits.levelFactorMax).annotate({
      description: "For `geometric`.",
      examples: [1.5],
    }),
  ),
  thresholds: Schema.optionalKey(Thresholds),
}).annotate({
  identifier: "LevelCurvePatch",
  description:
    "Maps xp to levels. A new curve changes every user's level at once; xp stay. Changing `kind` replaces the whole curve.",
})

export const LevelCurve = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("quadratic").annotate({
      description: "Level n begins at base·n·(n−1) xp.",
    }),
    base: Schema.Int.annotate({ description: "Half of the xp of level 1.", examples: [50] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("linear").annotate({ description: "Every level takes the same xp." }),
    xpPerLevel: Schema.Int.annotate({ description: "Xp per level.", examples: [500] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("geometric").annotate({
      description: "Each level takes a constant factor more than the previous one.",
    }),
    base: Schema.Int.annotate({ description: "Xp of level 1.", examples: [100] }),
    factor: Schema.Finite.annotate({ description: "Growth factor.", examples: [1.5] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("table").annotate({ description: "Explicit levels." }),
    thresholds: Schema.Array(Schema.Int).annotate({
      description: "Xp at which each level begins; the last one begins the top level.",
      examples: [[0, 100, 300, 1000]],
    }),
  }),
]).annotate({
  identifier: "LevelCurve",
  description: "Maps xp to levels.",
  examples: [{ kind: "quadratic", base: 50 }],
})

const StreakKey = Key.annotate({
  description: "Your key of the streak; users' days are stored under it.",
  examples: ["daily"],
})

const freezes = integer(0, limits.streakFreezesMax)

const NewStreak = Schema.Struct({
  key: StreakKey,
  actions: Schema.optionalKey(
    list(Action, 0, limits.streakActionsMax)
      .check(distinct<string>([], (action) => action))
      .annotate({
        description: "Actions that count; one event a day is enough. Default: every action.",
        examples: [["LESSON_DONE"]],
      }),
  ),
  freezes: Schema.optionalKey(
    Schema.Struct({
      initial: Schema.optionalKey(
        freezes.annotate({ description: "Freezes of a new streak. Default 0." }),
      ),
      max: Schema.optionalKey(
        freezes.annotate({ description: "Maximum number of freezes. Default: `initial`." }),
      ),
      everyDays: Schema.optionalKey(
        Schema.NullOr(integer(1, limits.streakEveryDaysMax)).annotate({
          description:
            "The streak gains a freeze at each multiple of this number of days. Default: never.",
        }),
      ),
    }).annotate({
      identifier: "NewStreakFreezes",
      description: "Freezes: each forgives one missed day. Default: none.",
      examples: [{ initial: 1, max: 3, everyDays: 7 }],
    }),
  ),
}).annotate({ identifier: "NewStreak" })

export const Streak = Schema.Struct({
  key: StreakKey,
  actions: Schema.Array(Schema.String).annotate({
    description: "Actions that count; empty: every action.",
    examples: [["LESSON_DONE"]],
  }),
  freezes: Schema.Struct({
    initial: Schema.Int.annotate({
      description: "Freezes of a new streak.",
      examples: [1],
    }),
    max: Schema.Int.annotate({ description: "Maximum number of freezes.", examples: [3] }),
    everyDays: Schema.NullOr(Schema.Int).annotate({
      description:
        "The streak gains a freeze at each multiple of this number of days; null: never.",
      examples: [7],
    }),
  }).annotate({
    identifier: "StreakFreezes",
    description: "Freezes: each forgives one missed day.",
    examples: [streak.freezes],
  }),
}).annotate({
  identifier: "Streak",
  description: "A streak: consecutive days, in the user's time zone, with a counted event.",
})

const ClientActions = list(Action, 0, limits.clientActionsMax)
  .check(distinct<string>([], (action) => action))
  .annotate({
    description:
      "The actions that users may send themselves, with a user token. A user can send them at any time and with any metadata: list only what users may claim, and give their rules limits. Default: none.",
    examples: [["LESSON_OPENED"]],
  })

export const ProjectPatch = Schema.Struct({
  name: Schema.optionalKey(Schema.NullOr(Name)),
  timezone: Schema.optionalKey(TimeZone),
  levelCurve: Schema.optionalKey(LevelCurvePatch),
  streaks: Schema.optionalKey(
    Schema.NullOr(
      list(NewStreak, 0, limits.streaksMax)
        .check(distinct<typeof NewStreak.Type>(["key"], ({ key }) => key))
        .annotate({
          description:
            "The full list of the project's streaks. A streak used by badges cannot be removed.",
        }),
    ),
  ),
  clientActions: Schema.optionalKey(Schema.NullOr(ClientActions)),
}).annotate({
  identifier: "ProjectPatch",
  description: "A change of settings.",
  examples: [
    { timezone: "Europe/Berlin" },
    { levelCurve: { kind: "table", thresholds: [0, 100, 300, 1000] } },
    {
      streaks: [
        {
          key: "daily",
          actions: ["LESSON_DONE"],
          freezes: { initial: 1, max: 3, everyDays: 7 },
        },
      ],
    },
  ],
})
