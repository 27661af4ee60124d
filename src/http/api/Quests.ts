/** Operations on quests. */
import { Schema } from "effect"
import { HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Reward } from "../../domain/message/FactMembers.ts"
import { questClaims, questRecurrences } from "../../domain/project/Definition.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, distinct, list, OpenTo, oneOf, pageFields, text } from "./Common.ts"
import {
  actionOrMetric,
  CountedAction,
  CountedMetric,
  Key,
  listQuery,
  NewQuestReward,
  newMembers,
  patchMembers,
  patchWords,
  pathOf,
  RewardPatch,
  ShownMetric,
  ShownWhere,
  SumPath,
  shownMembers,
  statusWords,
  Target,
  Where,
} from "./DefinitionShapes.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import { countedQuest, quest, questPage } from "./examples/definitionExamples.ts"
import { questId } from "./examples/exampleIds.ts"
import {
  ChangeConflict,
  QuestNotFound,
  readProblems,
  UseConflict,
  writeProblems,
} from "./Problems.ts"

/* Steps of a quest. */

const StepKey = Key.annotate({
  description: "Your key of the step, unique within the quest.",
  examples: ["lessons"],
})

const StepTarget = Target.annotate({
  description: "Number of events, or sum, that completes the step.",
  examples: [3],
})

export const NewQuestStep = Schema.Struct({
  key: StepKey,
  action: Schema.optionalKey(Schema.NullOr(CountedAction)),
  where: Schema.optionalKey(Where),
  target: StepTarget,
  sumPath: Schema.optionalKey(Schema.NullOr(SumPath)),
  metric: Schema.optionalKey(Schema.NullOr(CountedMetric)),
})
  .check(Schema.makeFilter(actionOrMetric, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewQuestStep",
    description:
      "A step: a number of events with this action that satisfy `where`, or with `sumPath` the sum of a number of theirs; or what the events of the period add to a metric.",
  })

export const QuestStep = Schema.Struct({
  key: StepKey,
  action: Schema.NullOr(Schema.String).annotate({
    description: "The action of the events; null: the step is by a metric.",
    examples: ["LESSON_DONE"],
  }),
  where: ShownWhere,
  target: StepTarget,
  sumPath: Schema.NullOr(SumPath).annotate({
    description: "The path to the number that the step sums; null: it counts events.",
    examples: [null],
  }),
  metric: ShownMetric,
}).annotate({ identifier: "QuestStep" })

export const Steps = list(NewQuestStep, 0, limits.questStepsMax)
  .check(distinct<typeof NewQuestStep.Type>(["key"], ({ key }) => key))
  .annotate({
    description:
      "The quest completes with its last step. Without steps, a `QUEST_COMPLETE` event that names the quest completes it.",
    examples: [
      [
        {
          key: "lessons",
          action: "LESSON_DONE",
          where: [{ path: "score", op: "gte", value: 90 }],
          target: 3,
        },
      ],
    ],
  })

const Title = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: ["First steps"],
})
const Recurrence = oneOf(questRecurrences).annotate({
  description:
    "A recurring quest restarts each day, ISO week or month in the project's time zone, and gives its reward once per period. Default `none`.",
  examples: ["none"],
})

const Prerequisites = list(text(1, limits.idCharactersMax), 0, limits.prerequisitesMax)
  .check(distinct<string>([], (prerequisite) => prerequisite))
  .annotate({
    description:
      "Keys of quests that a user must complete first (ids are accepted); until then no event counts for this one. Cycles are refused.",
    examples: [["sign-up"]],
  })

const OptIn = Schema.Boolean.annotate({
  description:
    "Whether a user must start the quest, with `POST /v1/users/{id}/quests/{quest}/start`, before events count for it, and again in each period if it recurs. Events that occurred before the start do not count. Default `false`.",
  examples: [true],
})
const Claim = oneOf(questClaims).annotate({
  description:
    "`manual`: a quest that its steps completed pays when a `QUEST_COMPLETE` event claims it, in the same period; what is not claimed until the period ends is lost. A quest that does not recur can be claimed after its end too, until it is archived. A quest without steps is completed and paid by one `QUEST_COMPLETE` event either way. Default `auto`: it pays at once.",
  examples: ["auto"],
})

export const NewQuest = Schema.Struct({
  title: Title,
  reward: NewQuestReward,
  ...newMembers("title"),
  steps: Schema.optionalKey(Steps),
  recurrence: Schema.optionalKey(Recurrence),
  prerequisites: Schema.optionalKey(Prerequisites),
  optIn: Schema.optionalKey(OptIn),
  claim: Schema.optionalKey(Claim),
}).annotate({
  identifier: "NewQuest",
  description: "A quest to create.",
  examples: [
    { title: "First steps", reward: { xp: 100 } },
    {
      title: "Three good lessons",
      reward: { xp: 100, points: 10 },
      steps: [
        {
          key: "lessons",
          action: "LESSON_DONE",
          where: [{ path: "score", op: "gte", value: 90 }],
          target: 3,
        },
      ],
      recurrence: "weekly",
    },
    {
      title: "Run 42 km",
      reward: { xp: 500 },
      steps: [{ key: "km", action: "RUN_DONE", sumPath: "km", target: 42 }],
      optIn: true,
      claim: "manual",
    },
    {
      title: "20 km a week",
      reward: { xp: 100 },
      steps: [{ key: "distance", metric: "kilometres-run", target: 20 }],
      recurrence: "weekly",
    },
  ],
})

export const QuestPatch = Schema.Struct({
  title: Schema.optionalKey(Title),
  reward: Schema.optionalKey(RewardPatch),
  ...patchMembers,
  steps: Schema.optionalKey(Schema.NullOr(Steps)),
  recurrence: Schema.optionalKey(Schema.NullOr(Recurrence)),
  prerequisites: Schema.optionalKey(Schema.NullOr(Prerequisites)),
  optIn: Schema.optionalKey(OptIn),
  claim: Schema.optionalKey(Claim),
}).annotate({ identifier: "QuestPatch", examples: [{ status: "paused" }] })

const fields = {
  id: Schema.String.annotate({ description: "Laurel's id of the quest.", examples: [questId] }),
  title: Schema.String.annotate({
    description: "Name for people.",
    examples: ["First steps"],
  }),
  ...shownMembers,
  reward: Reward,
  steps: Schema.Array(QuestStep).annotate({
    description: "The quest completes with its last step.",
  }),
  recurrence: oneOf(questRecurrences).annotate({
    description: "Whether the quest restarts each day, ISO week or month.",
    examples: ["none"],
  }),
  prerequisites: Schema.Array(Schema.String).annotate({
    description: "Keys of quests that a user must complete first.",
    examples: [[]],
  }),
  optIn: Schema.Boolean.annotate({
    description: "Whether events count only once the user has started the quest.",
    examples: [false],
  }),
  claim: oneOf(questClaims).annotate({
    description: "Whether a completed quest pays at once, or when the user claims it.",
    examples: ["auto"],
  }),
}

export const Quest = Schema.Struct(fields).annotate({
  identifier: "Quest",
  description: "A quest with its reward.",
  examples: [quest],
})

export const CountedQuest = Schema.Struct({
  ...fields,
  counts: Schema.Struct({
    inProgress: Schema.Int.annotate({
      description: "Number of users with unfinished progress, in the period in which they began.",
      examples: [12],
    }),
    completed: Schema.Int.annotate({
      description: "Number of users who completed the quest at least once.",
      examples: [340],
    }),
  }).annotate({ identifier: "QuestCounts", description: "Number of participants." }),
}).annotate({
  identifier: "CountedQuest",
  description: "A quest with its number of participants.",
  examples: [countedQuest],
})

export const QuestPage = Schema.Struct({
  quests: Schema.Array(Quest).annotate({ description: "In the order of creation." }),
  ...pageFields("quests"),
}).annotate({
  identifier: "QuestPage",
  description: "A page of the quests.",
  examples: [questPage],
})

const params = pathOf("quest", questId)

export const Quests = HttpApiGroup.make("quests")
  .add(
    ...definitionEndpoints({
      path: "/v1/quests",
      params,
      readers: OpenTo.clients,
      notFound: QuestNotFound,
      create: {
        payload: NewQuest,
        success: Quest,
        summary: "Create a quest",
        description: `While the quest is active, each user can complete it once, or once per period if it recurs: by events that match its steps or, without steps, with a \`QUEST_COMPLETE\` event that names it. An environment holds at most ${limits.questsMax} quests that are not archived.`,
      },
      list: {
        query: listQuery("quests"),
        success: QuestPage,
        summary: "List quests",
        description:
          "Lists the quests of the key's project and environment: all except archived ones, or all with the given current status. Publishable keys see active quests only.",
      },
      get: {
        success: CountedQuest,
        summary: "Read a quest",
        description: "Returns a quest and its numbers of participants, to clients an active one.",
      },
      update: {
        payload: QuestPatch,
        success: Quest,
        error: [...writeProblems, QuestNotFound, ChangeConflict],
        summary: "Change a quest",
        description: `${patchWords}

Users keep their progress. Steps are matched by key: a new step begins at 0, a removed one is dropped, and one with another action or other conditions continues from its count. If a target is lowered below a user's count, the next matching event completes the step. A new title and reward apply to completions from now on. Without \`startsAt\`, events count from the publication of the quest on, and for a step that is added afterwards from then on. A paused quest counts nothing. A later start, a pause and new prerequisites suspend progress. Progress expires at the end (\`expired\`) and restarts from 0 if the end is then moved to later; moving a future end has no effect on progress. With a new \`optIn\`, users who have begun go on. A new \`claim\` applies to completions from now on; what waits to be claimed can still be claimed. A paused or archived quest cannot be claimed. A new recurrence restarts everybody, including users who completed the quest, in the current period. Otherwise, completions of the current period stay.

${statusWords}`,
      },
      delete: {
        success: HttpApiSchema.NoContent.annotate({ description: "The quest is archived." }),
        error: [...readProblems, QuestNotFound, UseConflict],
        summary: "Archive a quest",
        description:
          "Nobody can begin or complete the quest any more. Unfinished progress expires; users who completed it keep its reward. The quest still reads by its id or key and in the list with `status=archived`. A quest that is a prerequisite of another cannot be archived (409 `in_use`): change the other quest first. Archiving twice returns 404.",
      },
    }),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Quests", description: "Quests that users can complete." }),
  )
