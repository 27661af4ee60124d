/** Whom Laurel tells. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { isKindPattern, messageKinds } from "../../domain/Webhook.ts"
import { limits } from "../../Limits.ts"
import { check, list, oneOf, text } from "./Checks.ts"
import { ApiKey, idempotencyHeaders, OpenTo, pageFields, pageQuery, Time } from "./Common.ts"
import { DefinitionConflict, readProblems, writeProblems } from "./Problems.ts"

export const KindPattern = Schema.String.check(
  check("invalid_value", "must be a known kind, a family such as quest.*, or *", isKindPattern),
).annotate({
  description: `A kind of message, all of a family (\`quest.*\`), or all (\`*\`). Kinds: ${messageKinds.map((kind) => `\`${kind}\``).join(", ")}.`,
  examples: ["xp.earned"],
})

export const NewWebhook = Schema.Struct({
  url: text(1, limits.urlCharactersMax).annotate({
    description:
      "Where messages are sent: http or https (for production, https), a public address, no user name or password.",
    examples: ["https://example.com/laurel"],
  }),
  events: list(KindPattern, 1, limits.webhookKindsMax),
  description: Schema.optionalKey(text(0, limits.descriptionCharactersMax, "multiple")),
}).annotate({
  identifier: "NewWebhook",
  examples: [{ url: "https://example.com/laurel", events: ["xp.earned"] }],
})

const fields = {
  id: Schema.String.annotate({ examples: ["whk_01a1fc1e64c07345932e273286b5ca30"] }),
  url: Schema.String,
  events: Schema.Array(Schema.String),
  description: Schema.NullOr(Schema.String),
  status: oneOf(["enabled", "disabled"]),
  createdAt: Time,
}

export const Webhook = Schema.Struct(fields).annotate({ identifier: "Webhook" })

export const CreatedWebhook = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({
    description: "Signs the messages (`whsec_…`). It is shown this once.",
  }),
}).annotate({ identifier: "CreatedWebhook" })

export const WebhookPage = Schema.Struct({
  webhooks: Schema.Array(Webhook).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({ identifier: "WebhookPage" })

export const Webhooks = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("create", "/v1/webhooks", {
      headers: idempotencyHeaders,
      payload: NewWebhook,
      success: CreatedWebhook.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(OpenApi.annotations({ summary: "Register a webhook" })),
    HttpApiEndpoint.get("list", "/v1/webhooks", {
      query: pageQuery,
      success: WebhookPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List webhooks",
          description: "Without their secrets.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Whom Laurel tells." }))
