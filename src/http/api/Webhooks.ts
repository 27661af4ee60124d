/** Whom Laurel tells. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  idempotencyHeaders,
  limitQuery,
  mergePatch,
  NoBodyIsEmpty,
  OpenTo,
  pageQuery,
} from "./Common.ts"
import {
  bodyProblems,
  DefinitionConflict,
  DeliveryNotFound,
  Gone,
  IdempotencyKeyReused,
  RotationConflict,
  readProblems,
  WebhookConflict,
  WebhookNotFound,
  writeProblems,
} from "./Problems.ts"
import {
  Catalogue,
  CountedWebhook,
  CreatedWebhook,
  DeliveryCursor,
  DeliveryDetails,
  DeliveryPage,
  DeliveryStatusIn,
  deliveryParams,
  NewWebhook,
  Recovery,
  RecoveryRequest,
  RotatedSecret,
  Rotation,
  Sent,
  Webhook,
  WebhookPage,
  WebhookPatch,
  webhookParams,
} from "./WebhookShapes.ts"

const post = [...readProblems, WebhookNotFound, WebhookConflict, IdempotencyKeyReused] as const
const accepted = HttpApiSchema.status(202)

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
          description: `The reply has the secret that signs its messages, as Standard Webhooks say; it is not shown again. A message is sent at least once, and each time with the same \`webhook-id\`; 2xx within ${limits.webhookTimeoutMs / 1_000} seconds is success, anything else is tried again for about three days. 410 disables the webhook, as five days of nothing but failures do. An environment holds at most ${limits.webhooksMax} webhooks.`,
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
    HttpApiEndpoint.get("get", "/v1/webhooks/:id", {
      params: webhookParams,
      success: CountedWebhook,
      error: [...readProblems, WebhookNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a webhook",
          description: "With the numbers of its deliveries, and without its secret.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/v1/webhooks/:id", {
      params: webhookParams,
      payload: mergePatch(WebhookPatch),
      success: Webhook,
      error: [...readProblems, ...bodyProblems, WebhookNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a webhook",
          description:
            "Changes the members that are there (JSON merge patch). What is pending is sent to the new address.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/v1/webhooks/:id", {
      params: webhookParams,
      error: [...readProblems, WebhookNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a webhook",
          description: "Nothing more is sent to it, and its log is forgotten.",
        }),
      ),
    HttpApiEndpoint.post("rotateSecret", "/v1/webhooks/:id/rotate-secret", {
      params: webhookParams,
      headers: idempotencyHeaders,
      payload: Rotation,
      success: RotatedSecret,
      error: [
        ...readProblems,
        ...bodyProblems,
        WebhookNotFound,
        RotationConflict,
        IdempotencyKeyReused,
      ],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Replace the secret",
          description: `From now on messages are signed with a new secret, and for \`graceSeconds\` also with the one before, so that a receiver can change over while both are right. Those before that one sign as long as they were to; at most ${limits.webhookSecretsMax} sign at once. With \`graceSeconds\` 0 none of those before signs any more.`,
        }),
      ),
    HttpApiEndpoint.post("test", "/v1/webhooks/:id/test", {
      params: webhookParams,
      headers: idempotencyHeaders,
      success: Sent.pipe(accepted),
      error: post,
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a test",
          description:
            "Sends a `webhook.test` message, whatever kinds the webhook asks for, at once, however it got on before.",
        }),
      ),
    HttpApiEndpoint.post("recover", "/v1/webhooks/:id/recover", {
      params: webhookParams,
      headers: idempotencyHeaders,
      payload: RecoveryRequest,
      success: Recovery.pipe(accepted),
      error: [...post, ...bodyProblems],
    })
      .annotate(OpenTo, [])
      .annotate(NoBodyIsEmpty, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Recover what was missed",
          description:
            "Sends everything from a time on that failed, was dropped, or happened while the webhook was disabled, as far as the journal is kept, in the background. What succeeded is not sent again.",
        }),
      ),
    HttpApiEndpoint.get("deliveries", "/v1/webhooks/:id/deliveries", {
      params: webhookParams,
      query: {
        status: Schema.optionalKey(DeliveryStatusIn),
        cursor: Schema.optionalKey(DeliveryCursor),
        limit: limitQuery,
      },
      success: DeliveryPage,
      error: [...readProblems, WebhookNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List deliveries",
          description:
            "The webhook's log, newest first. It is kept for about six days, and of each status the newest.",
        }),
      ),
    HttpApiEndpoint.get("delivery", "/v1/webhooks/:id/deliveries/:deliveryId", {
      params: deliveryParams,
      success: DeliveryDetails,
      error: [...readProblems, WebhookNotFound, DeliveryNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a delivery",
          description: "With what became of each attempt, and the start of each reply.",
        }),
      ),
    HttpApiEndpoint.post("redeliver", "/v1/webhooks/:id/deliveries/:deliveryId/redeliver", {
      params: deliveryParams,
      headers: idempotencyHeaders,
      success: Sent.pipe(accepted),
      error: [...post, DeliveryNotFound, Gone],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Deliver once more",
          description:
            "Sends the same message once more, at once, whatever became of it; with the same `webhook-id`. 410 when the message is not kept any more, or its user was erased since.",
        }),
      ),
    HttpApiEndpoint.get("catalogue", "/v1/webhook-events", {
      success: Catalogue,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List kinds of message",
          description:
            "Every kind of message that webhooks and the stream send, with a JSON Schema and an example.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Whom Laurel tells." }))
