/** Steps of a quest. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { distinct, list } from "./Checks.ts"
import { CountedAction, Key, ShownWhere, SumPath, Target, Where } from "./Definitions.ts"

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
  action: CountedAction,
  where: Schema.optionalKey(Where),
  target: StepTarget,
  sumPath: Schema.optionalKey(Schema.NullOr(SumPath)),
}).annotate({
  identifier: "NewQuestStep",
  description:
    "A step: a number of events with this action that satisfy `where`, or with `sumPath` the sum of a number of theirs.",
})

export const QuestStep = Schema.Struct({
  key: StepKey,
  action: CountedAction,
  where: ShownWhere,
  target: StepTarget,
  sumPath: Schema.NullOr(SumPath).annotate({
    description: "The path to the number that the step sums; null: it counts events.",
    examples: [null],
  }),
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
