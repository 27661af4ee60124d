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
).annotate({ examples: ["xp.earned"] })

export const NewWebhook = Schema.Struct({
  url: text(1, limits.urlCharactersMax).annotate({
    description:
      "Where messages are sent: http or https (for production, https), a public address, no user name or password.",
    examples: ["https://example.com/laurel"],
  }),
  events: list(KindPattern, 1, limits.webhookKindsMax).annotate({
    description: `Which messages are sent: kinds, families (\`quest.*\`), or all (\`*\`). Kinds: ${messageKinds.map((kind) => `\`${kind}\``).join(", ")}.`,
  }),
  description: Schema.optionalKey(text(0, limits.descriptionCharactersMax, "multiple")),
}).annotate({
  identifier: "NewWebhook",
  examples: [{ url: "https://example.com/laurel", events: ["xp.earned"] }],
})

const fields = {
  id: Schema.String.annotate({ examples: ["whk_01a1fc1e64c07345932e273286b5ca30"] }),
  url: Schema.String.annotate({ examples: ["https://example.com/laurel"] }),
  events: Schema.Array(Schema.String).annotate({ examples: [["xp.earned"]] }),
  description: Schema.NullOr(Schema.String).annotate({ examples: ["Badges on the wall"] }),
  status: oneOf(["enabled", "disabled"]),
  createdAt: Time,
}

export const Webhook = Schema.Struct(fields).annotate({
  identifier: "Webhook",
  description: "An address that Laurel sends messages to.",
})

export const CreatedWebhook = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({
    description: "Signs the messages (`whsec_…`). It is shown this once.",
  }),
}).annotate({ identifier: "CreatedWebhook", description: "The webhook, with its secret." })

export const WebhookPage = Schema.Struct({
  webhooks: Schema.Array(Webhook).annotate({ description: "In the order of their creation." }),
  ...pageFields,
}).annotate({ identifier: "WebhookPage", description: "A page of the webhooks." })

export const Webhooks = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("create", "/v1/webhooks", {
      headers: idempotencyHeaders,
      payload: NewWebhook,
      success: CreatedWebhook.pipe(HttpApiSchema.status(201)),
      error: [...writeProblems, DefinitionConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Register a webhook",
          description: "The reply has the secret that signs its messages; it is not shown again.",
        }),
      ),
    HttpApiEndpoint.get("list", "/v1/webhooks", {
      query: pageQuery,
      success: WebhookPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List webhooks",
          description: "The webhooks of the key's project and environment, without their secrets.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Whom Laurel tells." }))
