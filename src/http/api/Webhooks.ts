/** Operations on webhooks and their deliveries. */
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
  DeliveryCursor,
  DeliveryDetails,
  DeliveryPage,
  DeliveryStatusIn,
  deliveryParams,
} from "./DeliveryShapes.ts"
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
          description: `The reply has the secret that signs the messages (Standard Webhooks); it is shown only once. Each message is sent at least once, always with the same \`webhook-id\`. A 2xx within ${limits.webhookTimeoutMs / 1_000} seconds is success; other outcomes are retried for about three days. A 410, or five days of failures only, disables the webhook. An environment holds at most ${limits.webhooks} webhooks, unless the server's setting \`LAUREL_WEBHOOKS_MAX\` allows more.`,
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
          description: "Lists the webhooks of the key's project and environment, without secrets.",
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
          description: "Returns a webhook with its delivery counts, without its secret.",
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
            "Changes the members that the body names (JSON merge patch). Pending deliveries go to the new URL.",
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
          description: "Stops all deliveries and deletes the delivery log.",
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
          description: `Signs messages with a new secret and, for \`graceSeconds\`, also with the previous one, so that a receiver can switch while both are valid. Older secrets keep their own grace periods; at most ${limits.webhookSecretsMax} secrets sign at once. \`graceSeconds\` 0 ends all previous secrets.`,
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
            "Sends a `webhook.test` message at once, whatever the webhook's kinds and its circuit breaker.",
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
          summary: "Recover missed messages",
          description:
            "Sends, in the background, the messages since a time that failed, were dropped, or occurred while the webhook was disabled, as far as the journal keeps them. Successful deliveries are not repeated.",
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
            "Lists the webhook's deliveries, newest first. The log keeps about six days, and a bounded number per status.",
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
          description:
            "Returns a delivery with its message, all attempts and the start of each response.",
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
          summary: "Redeliver a message",
          description:
            "Sends the message again at once, with the same `webhook-id`, whatever the delivery's status. Returns 410 if the journal no longer has the message or its user was erased.",
        }),
      ),
    HttpApiEndpoint.get("catalogue", "/v1/webhook-events", {
      success: Catalogue,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List message kinds",
          description:
            "Lists every kind of message that webhooks and streams send, with a JSON Schema and an example.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({ title: "Webhooks", description: "URLs that receive messages." }),
  )
