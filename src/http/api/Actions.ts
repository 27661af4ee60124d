/** The actions of the events that an environment has had. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { Action, ApiKey, OpenTo, Time } from "./Common.ts"
import { actionsSeen } from "./examples/Actions.ts"
import { readProblems } from "./Problems.ts"

const count = Schema.Int.annotate({
  description:
    "Number of events accepted, without duplicates. Undone events and those of erased users stay counted.",
  examples: [1204],
})

export const ActionSeen = Schema.Struct({
  action: Action,
  count,
  lastReceivedAt: Time.annotate({ description: "When the last event was received." }),
  matched: Schema.Boolean.annotate({
    description:
      "Whether an enabled rule, a published quest, a badge or the `actions` of a streak name the action now. `QUEST_COMPLETE` is always known.",
    examples: [true],
  }),
}).annotate({
  identifier: "ActionSeen",
  description: "The events of an action.",
  examples: [actionsSeen.actions[0]],
})

export const ActionsSeen = Schema.Struct({
  actions: Schema.Array(ActionSeen).annotate({ description: "The last received first." }),
  others: Schema.Struct({
    count,
    lastReceivedAt: Schema.NullOr(Time).annotate({
      description: "When the last event was received; null: none was.",
    }),
  }).annotate({ description: "The events of all further actions, together." }),
}).annotate({
  identifier: "ActionsSeen",
  description: "The actions of an environment's events.",
  examples: [actionsSeen],
})

export const Actions = HttpApiGroup.make("actions")
  .add(
    HttpApiEndpoint.get("list", "/v1/actions", {
      success: ActionsSeen,
      error: readProblems,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List actions seen",
        description: `Returns the actions of all events so far, imported ones included, with their number and last time, and whether a definition knows them: a misspelt action is one with \`matched: false\`. The first ${limits.actionsCountedMax} actions of an environment are listed; at most ${limits.actionsUnmatchedMax} of them are actions that no definition knew at their first event. The events of further ones are counted together as \`others\`.`,
      }),
    ),
  )
  .annotateEndpoints(OpenTo, ["read"])
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Actions", description: "The actions that your events have." }),
  )
