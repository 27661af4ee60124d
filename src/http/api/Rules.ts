/** What actions are worth. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Action,
  ApiKey,
  Gives,
  idempotencyHeaders,
  OpenTo,
  pageFields,
  pageQuery,
  Time,
} from "./Common.ts"
import { DefinitionConflict, readProblems, writeProblems } from "./Problems.ts"

export const NewRule = Schema.Struct({
  action: Action,
  reward: Gives,
  enabled: Schema.optionalKey(Schema.Boolean.annotate({ description: "Default `true`." })),
}).annotate({
  identifier: "NewRule",
  examples: [{ action: "LESSON_DONE", reward: { xp: 50 } }],
})

export const Rule = Schema.Struct({
  id: Schema.String.annotate({ examples: ["rul_01a1fc1e64c07345932e273286b5ca30"] }),
  action: Action,
  reward: Schema.Struct({ xp: Schema.Int.annotate({ examples: [50] }) }),
  enabled: Schema.Boolean,
  createdAt: Time,
  updatedAt: Time,
}).annotate({ identifier: "Rule", description: "What every event with an action earns." })

export const RulePage = Schema.Struct({
  rules: Schema.Array(Rule).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({ identifier: "RulePage", description: "A page of the rules." })

export const Rules = HttpApiGroup.make("rules")
  .add(
    HttpApiEndpoint.post("create", "/v1/rules", {
      headers: idempotencyHeaders,
      payload: NewRule,
      success: Rule.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a rule",
          description: "From now on, every event with this action earns the reward.",
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/rules", {
      query: pageQuery,
      success: RulePage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List rules",
          description: "The rules of the key's project and environment.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Rules", description: "What actions are worth." }))
