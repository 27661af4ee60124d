/** What holds for a whole environment, and how to try it out. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { environmentNames, tiers } from "../../domain/project/Directory.ts"
import { levelCurveKinds } from "../../domain/project/Level.ts"
import { limits } from "../../Limits.ts"
import { distinct, faultAt, integer, list, number, oneOf, text, timeZone } from "./Checks.ts"
import { Action, ApiKey, Earned, LevelChange, mergePatch, OpenTo, Time, UserId } from "./Common.ts"
import { Key, patchWords } from "./Definitions.ts"
import { Event, QuestOutcome, StreakOutcome } from "./Events.ts"
import { project, streak } from "./examples/Definitions.ts"
import { simulation } from "./examples/Events.ts"
import {
  EventConflict,
  QuestNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "What people call the project. Default: the name in its keys.",
  examples: ["Language school"],
})

export const TimeZone = timeZone.annotate({
  description:
    "An IANA time zone: in it days, weeks and months begin, for leaderboards, limits, quests that recur, and users without one of their own.",
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
            : [faultAt([index], "out_of_range", "must be more than the one before it")]
        }),
      { toJsonSchema: () => [{}, true] },
    ),
  )
  .annotate({
    description:
      "For `table`: the xp at which each level begins, from 0. The last one is the top level.",
    examples: [[0, 100, 300, 1000]],
  })

const LevelCurvePatch = Schema.Struct({
  kind: Schema.optionalKey(
    oneOf(levelCurveKinds).annotate({
      description:
        "`quadratic`: level n begins at base·n·(n−1) xp. `linear`: every level takes `xpPerLevel`. `geometric`: level 1 takes `base`, every further level `factor` times as much as the one before it, rounded. `table`: as `thresholds` say.",
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
    "How xp make levels. A new curve changes every user's level at once and leaves their xp alone. With another `kind`, nothing is kept of the curve before.",
})

export const LevelCurve = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("quadratic").annotate({
      description: "Level n begins at base·n·(n−1) xp.",
    }),
    base: Schema.Int.annotate({ description: "Half of what level 1 takes.", examples: [50] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("linear").annotate({ description: "Every level takes the same." }),
    xpPerLevel: Schema.Int.annotate({ description: "What a level takes.", examples: [500] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("geometric").annotate({
      description: "Every level takes a factor more than the one before it.",
    }),
    base: Schema.Int.annotate({ description: "What level 1 takes.", examples: [100] }),
    factor: Schema.Finite.annotate({ description: "How much more.", examples: [1.5] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("table").annotate({ description: "Every level as it is said." }),
    thresholds: Schema.Array(Schema.Int).annotate({
      description: "The xp at which each level begins; the last one is the top level.",
      examples: [[0, 100, 300, 1000]],
    }),
  }),
]).annotate({
  identifier: "LevelCurve",
  description: "How xp make levels.",
  examples: [{ kind: "quadratic", base: 50 }],
})

const StreakKey = Key.annotate({
  description: "Your name of the streak. Users keep what they have of it under this key.",
  examples: ["daily"],
})

const freezes = integer(0, limits.streakFreezesMax)

const NewStreak = Schema.Struct({
  key: StreakKey,
  actions: Schema.optionalKey(
    list(Action, 0, limits.streakActionsMax)
      .check(distinct<string>([], (action) => action))
      .annotate({
        description: "The actions of which one a day is enough. Default: every action.",
        examples: [["LESSON_DONE"]],
      }),
  ),
  freezes: Schema.optionalKey(
    Schema.Struct({
      initial: Schema.optionalKey(
        freezes.annotate({ description: "How many a streak begins with. Default 0." }),
      ),
      max: Schema.optionalKey(
        freezes.annotate({ description: "How many it can hold. Default: `initial`." }),
      ),
      everyDays: Schema.optionalKey(
        Schema.NullOr(integer(1, limits.streakEveryDaysMax)).annotate({
          description: "It gains one whenever its days reach a multiple of this. Default: never.",
        }),
      ),
    }).annotate({
      identifier: "NewStreakFreezes",
      description: "Days that may be missed, each for one freeze. Default: none.",
      examples: [{ initial: 1, max: 3, everyDays: 7 }],
    }),
  ),
}).annotate({ identifier: "NewStreak" })

export const Streak = Schema.Struct({
  key: StreakKey,
  actions: Schema.Array(Schema.String).annotate({
    description: "The actions that count; empty: every action.",
    examples: [["LESSON_DONE"]],
  }),
  freezes: Schema.Struct({
    initial: Schema.Int.annotate({
      description: "How many a streak begins with.",
      examples: [1],
    }),
    max: Schema.Int.annotate({ description: "How many it can hold.", examples: [3] }),
    everyDays: Schema.NullOr(Schema.Int).annotate({
      description: "After how many days it gains one; null: never.",
      examples: [7],
    }),
  }).annotate({
    identifier: "StreakFreezes",
    description: "Days that may be missed.",
    examples: [streak.freezes],
  }),
}).annotate({
  identifier: "Streak",
  description: "Days in a row, in the user's time zone, on each of which something counted.",
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
            "All streaks that the project has; one that badges are earned by can not be left out.",
        }),
    ),
  ),
}).annotate({
  identifier: "ProjectPatch",
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

export const Project = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the project.",
    examples: ["prj_01a1fc1e64c07345932e273286b5ca30"],
  }),
  environment: oneOf(environmentNames).annotate({
    description: "The environment of the key, whose settings these are.",
    examples: ["sandbox"],
  }),
  name: Schema.String.annotate({
    description: "What people call the project.",
    examples: ["Language school"],
  }),
  timezone: Schema.String.annotate({
    description: "The IANA time zone in which days, weeks and months begin.",
    examples: ["Europe/Berlin"],
  }),
  levelCurve: LevelCurve,
  streaks: Schema.Array(Streak).annotate({ description: "All streaks that users can have." }),
  tier: oneOf(tiers).annotate({
    description: "The tier of the key that asks, which can not be changed here.",
    examples: ["free"],
  }),
}).annotate({
  identifier: "Project",
  description: "What holds for a whole environment.",
  examples: [project],
})

const Given = Schema.Struct({
  source: Schema.Struct({
    kind: oneOf(["rule", "quest", "criteria"]).annotate({
      description: "What gives it: a rule, a quest that is completed, or a badge's own criteria.",
      examples: ["rule"],
    }),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The id of the rule or quest.",
      examples: ["rul_01a1fc1e64c07345932e273286b5ca30"],
    }),
  }).annotate({ description: "What gives it." }),
  xp: Schema.Int.annotate({ description: "Experience points.", examples: [50] }),
  points: Schema.Int.annotate({ description: "Points.", examples: [0] }),
  badges: Schema.Array(Schema.String).annotate({
    description: "The ids of badges.",
    examples: [[]],
  }),
}).annotate({ identifier: "Given", description: "What comes from one source." })

export const Simulation = Schema.Struct({
  userId: UserId,
  action: Action,
  duplicate: Schema.Boolean.annotate({
    description:
      "An event with this `id` was there already: it would change nothing; this is the first outcome.",
    examples: [false],
  }),
  occurredAt: Time,
  xp: Earned,
  points: Earned,
  level: LevelChange,
  badges: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ description: "The badge's id." }),
      name: Schema.String.annotate({ description: "What people call it." }),
    }),
  ).annotate({
    description: "Badges that it would earn.",
    examples: [[{ id: "bdg_01a1fc1e64c07345932e273286b5ca30", name: "First lesson" }]],
  }),
  quests: Schema.Array(QuestOutcome).annotate({ description: "Quests that it would concern." }),
  streaks: Schema.Array(StreakOutcome).annotate({ description: "Streaks that it would extend." }),
  given: Schema.Array(Given).annotate({
    description: "Where all of it would come from, in the order in which it takes effect.",
  }),
}).annotate({
  identifier: "Simulation",
  description: "What an event would do.",
  examples: [simulation],
})

export const Projects = HttpApiGroup.make("project")
  .add(
    HttpApiEndpoint.get("get", "/v1/project", { success: Project, error: readProblems })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the project",
          description: "The settings of the key's project and environment.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/project", {
      payload: mergePatch(ProjectPatch),
      success: Project,
      error: [...writeProblems, UseConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change the project",
          description: `${patchWords}

A new level curve counts for everybody at once, without touching xp; no message tells of levels that change by it. Another time zone counts from now on: a window of the leaderboard that is closed stays closed. A streak that is left out counts no more; who had it has it again when it comes back under its key.`,
        }),
      ),
    HttpApiEndpoint.post("simulate", "/v1/project/simulate", {
      payload: Event,
      success: Simulation,
      error: [...writeProblems, QuestNotFound, EventConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Simulate an event",
          description:
            "Answers what the event would do now, and changes nothing: to try rules, quests and badges before users meet them. It is refused where the event would be. An `Idempotency-Key` is not looked at: nothing happens that could happen twice, and the answer is that of now.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Project", description: "What holds for a whole environment." }),
  )
