/** Operations on the settings of an environment, and the simulation of an event. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  Earned,
  furtherOutcome,
  LevelChange,
  Tier,
  Times,
} from "../../domain/message/FactMembers.ts"
import { environmentNames, tiers } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import { NewBadge } from "./Badges.ts"
import { NewBoost } from "./Boosts.ts"
import {
  Action,
  ApiKey,
  distinct,
  faultAt,
  list,
  mergePatch,
  OpenTo,
  oneOf,
  Time,
  text,
  timeZone,
  UserId,
  versionFields,
} from "./Common.ts"
import { NewCurrency } from "./Currencies.ts"
import { patchWords } from "./DefinitionShapes.ts"
import { changeHeaders, readHeaders } from "./EntityTags.ts"
import {
  boosts,
  changedMetrics,
  Event,
  matched,
  QuestOutcome,
  repeatMembers,
  StreakOutcome,
  withheld,
} from "./Events.ts"
import { project } from "./examples/definitionExamples.ts"
import {
  badgeId,
  boostId,
  currencyId,
  goalId,
  questId,
  ruleId,
  streakId,
} from "./examples/exampleIds.ts"
import { simulation } from "./examples/userExamples.ts"
import { NewGoal } from "./Goals.ts"
import { LevelCurve, LevelCurvePatch } from "./LevelCurves.ts"
import { NewMetric } from "./Metrics.ts"
import {
  BadgeNotFound,
  BoostNotFound,
  ChangeConflict,
  CurrencyNotFound,
  DefinitionConflict,
  EventConflict,
  GoalNotFound,
  QuestNotFound,
  RuleNotFound,
  readProblems,
  StreakNotFound,
  UseConflict,
  VersionConflict,
  writeProblems,
} from "./Problems.ts"
import { NewQuest } from "./Quests.ts"
import { Reminders, RemindersPatch } from "./Reminders.ts"
import { NewRule } from "./Rules.ts"
import { NewStreak } from "./Streaks.ts"

/* The settings of an environment: time zone, level curve, actions of clients. */

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people. Default: the project name of its keys.",
  examples: ["Language school"],
})

const TimeZone = timeZone.annotate({
  description:
    "The IANA time zone of days, weeks and months for leaderboards, limits, recurring quests, and users without a time zone.",
  examples: ["Europe/Berlin"],
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
  clientActions: Schema.optionalKey(Schema.NullOr(ClientActions)),
  reminders: RemindersPatch,
}).annotate({
  identifier: "ProjectPatch",
  description: "A change of settings.",
  examples: [
    { timezone: "Europe/Berlin" },
    { levelCurve: { kind: "table", thresholds: [0, 100, 300, 1000] } },
  ],
})

/*
 * Simulated events: the outcome that an event would have, with the present definitions or with
 * drafts.
 */

const Given = Schema.Struct({
  source: Schema.Struct({
    kind: oneOf(["rule", "quest", "streak", "badge", "level", "criteria"]).annotate({
      description:
        "The source: a rule, a completed quest, a milestone of a streak, a badge that pays, a level of a currency, or a badge's own criteria.",
      examples: ["rule"],
    }),
    id: Schema.NullOr(Schema.String).annotate({
      description: "The id of the rule, quest, streak or badge, or of the currency of a level.",
      examples: ["rul_01a1fc1e64c07345932e273286b5ca30"],
    }),
  }).annotate({ description: "The source." }),
  xp: Schema.Int.annotate({ description: "Experience points.", examples: [50] }),
  points: Schema.Int.annotate({ description: "Points.", examples: [0] }),
  currencies: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Int).annotate({
      description: "Amounts of further currencies, by key. Absent: none.",
      examples: [{ gems: 5 }],
    }),
  ),
  freezes: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Int).annotate({
      description: "Freezes, by the key of the streak. Absent: none.",
      examples: [{ daily: 1 }],
    }),
  ),
  boosts: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: "The keys of personal boosts. Absent: none.",
      examples: [["double-xp"]],
    }),
  ),
  badges: Schema.Array(Schema.String).annotate({
    description: "The ids of badges.",
    examples: [[]],
  }),
}).annotate({ identifier: "Given", description: "The amounts and badges from one source." })

const segments = Schema.Array(Schema.String).annotate({
  description:
    "The keys of the segments that the user is in, of those that the definitions of the event name.",
  examples: [["active-learners"]],
})

export const Simulation = Schema.Struct({
  userId: UserId,
  action: Action,
  ...repeatMembers("event"),
  occurredAt: Time,
  xp: Earned,
  points: Earned,
  ...furtherOutcome,
  level: LevelChange,
  badges: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotate({ description: "The badge's id." }),
      key: Schema.String.annotate({ description: "The badge's key." }),
      name: Schema.String.annotate({ description: "Name for people." }),
      tier: Schema.optionalKey(Tier),
      times: Schema.optionalKey(Times),
    }),
  ).annotate({
    description: "Badges that the event would earn.",
    examples: [
      [
        {
          id: "bdg_01a1fc1e64c07345932e273286b5ca30",
          key: "first-lesson",
          name: "First lesson",
        },
      ],
    ],
  }),
  quests: Schema.Array(QuestOutcome).annotate({
    description: "Quests that the event would count for.",
  }),
  streaks: Schema.Array(StreakOutcome).annotate({
    description: "Streaks that the event would extend.",
  }),
  boosts,
  metrics: changedMetrics("Metrics that the event would count for"),
  matched,
  withheld,
  segments,
  given: Schema.Array(Given).annotate({
    description: "The sources, in the order of their effect.",
  }),
}).annotate({
  identifier: "Simulation",
  description: "The outcome that an event would have.",
  examples: [simulation],
})

const replaced = (noun: string, id: string) =>
  Schema.optionalKey(
    text(1, limits.idCharactersMax).annotate({
      description: `The id of the ${noun} that the draft replaces. Default: the draft is a new ${noun}.`,
      examples: [id],
    }),
  )

/** A check that the id of a replaced definition comes with its draft. */
const strayIds = (preview: Readonly<Record<string, unknown>>) =>
  ["rule", "quest", "badge", "boost", "currency", "streak", "goal"].flatMap((noun) =>
    preview[noun] === undefined && preview[`${noun}Id`] !== undefined
      ? [faultAt([`${noun}Id`], "unknown_member", `requires a ${noun}`)]
      : [],
  )

export const PreviewRequest = Schema.Struct({
  event: Event,
  settings: Schema.optionalKey(ProjectPatch),
  currency: Schema.optionalKey(NewCurrency),
  currencyId: replaced("currency", currencyId),
  metric: Schema.optionalKey(NewMetric),
  badge: Schema.optionalKey(NewBadge),
  badgeId: replaced("badge", badgeId),
  boost: Schema.optionalKey(NewBoost),
  boostId: replaced("boost", boostId),
  quest: Schema.optionalKey(NewQuest),
  questId: replaced("quest", questId),
  rule: Schema.optionalKey(NewRule),
  ruleId: replaced("rule", ruleId),
  streak: Schema.optionalKey(NewStreak),
  streakId: replaced("streak", streakId),
  goal: Schema.optionalKey(NewGoal),
  goalId: replaced("goal", goalId),
})
  .check(Schema.makeFilter(strayIds, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "PreviewRequest",
    description:
      "An event, and drafts of settings, a currency, a badge, a streak, a boost, a quest, a rule and a goal.",
    examples: [
      {
        event: { userId: "user-42", action: "LESSON_DONE", metadata: { score: 93 } },
        rule: { action: "LESSON_DONE", reward: { xp: 50 } },
      },
      {
        event: { userId: "user-42", action: "LESSON_DONE" },
        settings: { levelCurve: { kind: "linear", xpPerLevel: 500 } },
      },
    ],
  })

export const Project = Schema.Struct({
  id: Schema.String.annotate({
    description: "Laurel's id of the project.",
    examples: ["prj_01a1fc1e64c07345932e273286b5ca30"],
  }),
  environment: oneOf(environmentNames).annotate({
    description: "The key's environment, which these settings belong to.",
    examples: ["sandbox"],
  }),
  name: Schema.String.annotate({
    description: "Name for people.",
    examples: ["Language school"],
  }),
  timezone: Schema.String.annotate({
    description: "The IANA time zone of days, weeks and months.",
    examples: ["Europe/Berlin"],
  }),
  levelCurve: LevelCurve,
  clientActions: Schema.Array(Schema.String).annotate({
    description: "The actions that users may send themselves, with a user token.",
    examples: [["LESSON_OPENED"]],
  }),
  reminders: Reminders,
  tier: oneOf(tiers).annotate({
    description:
      "The tier of the project (read only). Each environment of the project has its rate limit.",
    examples: ["free"],
  }),
  version: versionFields.version,
}).annotate({
  identifier: "Project",
  description: "Settings of an environment.",
  examples: [project],
})

export const Projects = HttpApiGroup.make("project")
  .add(
    HttpApiEndpoint.get("get", "/v1/project", {
      headers: readHeaders,
      success: Project,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the project",
          description: "Returns the settings of the key's project and environment.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/project", {
      headers: changeHeaders,
      payload: mergePatch(ProjectPatch),
      success: Project,
      error: [...writeProblems, UseConflict, VersionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change the project",
          description: `${patchWords}

A new level curve applies to every user at once, without a message; xp stay. A new time zone applies from now on; closed windows of the leaderboard stay closed.`,
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
            "Returns the outcome that the event would have now, and changes nothing. Use it to test rules, quests and badges. It is refused where the event would be refused. An `Idempotency-Key` is ignored.",
        }),
      ),
    HttpApiEndpoint.post("preview", "/v1/project/preview", {
      payload: PreviewRequest,
      success: Simulation,
      error: [
        ...writeProblems,
        QuestNotFound,
        RuleNotFound,
        BadgeNotFound,
        BoostNotFound,
        CurrencyNotFound,
        StreakNotFound,
        GoalNotFound,
        EventConflict,
        DefinitionConflict,
        ChangeConflict,
      ],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Simulate an event with drafts",
          description:
            "Returns the outcome that the event would have once the drafts were saved, and changes nothing. A draft with an id replaces every member of that definition but key and metadata, and the status if the draft has none; `settings` is merged. A `metric` is a new one, since the others never change what they count. A new definition has the id `rul_draft`, `qst_draft`, `bdg_draft`, `bst_draft`, `cur_draft`, `mtr_draft` or `gol_draft` in the reply. It is refused where a draft or the event would be refused; faults of a draft have pointers below `/rule`, `/quest`, `/badge`, `/boost`, `/currency`, `/metric`, `/goal` or `/settings`, those of the event below `/event`. An `Idempotency-Key` is ignored.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Project", description: "Settings of an environment." }),
  )
