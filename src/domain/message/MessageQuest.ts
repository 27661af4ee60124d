/** The quest in messages about its definition. */
import { Schema } from "effect"
import { questRecurrences, statuses } from "../project/Definition.ts"
import { Reward } from "./FactMembers.ts"

const text = (description: string) => Schema.String.annotate({ description })
const time = (description: string) => Schema.String.annotate({ description, format: "date-time" })

export const MessageQuest = Schema.Struct({
  id: text("Id of the quest."),
  key: text("Key of the quest."),
  title: text("Title of the quest."),
  status: Schema.Literals(statuses).annotate({ description: "Status of the quest." }),
  reward: Reward,
  recurrence: Schema.Literals(questRecurrences).annotate({
    description: "How often the quest starts again.",
  }),
  startsAt: Schema.NullOr(time("Start of the quest.")),
  endsAt: Schema.NullOr(time("End of the quest.")),
  createdAt: time("Time of creation."),
  updatedAt: time("Time of the last change."),
}).annotate({
  identifier: "MessageQuest",
  description: "The quest afterwards; `GET /v1/quests/{id}` has all of it.",
})
