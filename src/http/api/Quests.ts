/** What users can take on. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { questStatuses } from "../../domain/Quest.ts"
import { limits } from "../../Limits.ts"
import { oneOf, text } from "./Checks.ts"
import { ApiKey, Gives, idempotencyHeaders, OpenTo, pageFields, pageQuery, Time } from "./Common.ts"
import { DefinitionConflict, readProblems, writeProblems } from "./Problems.ts"

const Title = text(1, limits.titleCharactersMax).annotate({ examples: ["First steps"] })
const Description = text(0, limits.descriptionCharactersMax, "multiple")

export const NewQuest = Schema.Struct({
  title: Title,
  reward: Gives,
  description: Schema.optionalKey(Description),
  status: Schema.optionalKey(
    oneOf(["draft", "active"]).annotate({ description: "Default `active`." }),
  ),
}).annotate({
  identifier: "NewQuest",
  examples: [{ title: "First steps", reward: { xp: 100 } }],
})

export const Quest = Schema.Struct({
  id: Schema.String.annotate({ examples: ["qst_01a1fc1e64c07345932e273286b5ca30"] }),
  title: Schema.String.annotate({ examples: ["First steps"] }),
  description: Schema.NullOr(Schema.String).annotate({ examples: ["Finish the first lesson"] }),
  status: oneOf(questStatuses).annotate({ examples: ["active"] }),
  reward: Schema.Struct({ xp: Schema.Int.annotate({ examples: [100] }) }),
  createdAt: Time,
  updatedAt: Time,
}).annotate({
  identifier: "Quest",
  description: "What users can complete, with what it gives.",
})

export const QuestPage = Schema.Struct({
  quests: Schema.Array(Quest).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({ identifier: "QuestPage", description: "A page of the quests." })

export const Quests = HttpApiGroup.make("quests")
  .add(
    HttpApiEndpoint.post("create", "/v1/quests", {
      headers: idempotencyHeaders,
      payload: NewQuest,
      success: Quest.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a quest",
          description:
            "While it is active, each user can complete it once, with a `QUEST_COMPLETE` event that names it.",
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/quests", {
      query: { status: Schema.optionalKey(oneOf(questStatuses)), ...pageQuery },
      success: QuestPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List quests",
          description: "The quests of the key's project and environment, all or with one status.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Quests", description: "What users can take on." }))
