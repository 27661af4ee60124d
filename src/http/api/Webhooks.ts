/** Operations on webhooks and their deliveries. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { describeMessage, exampleOf } from "../../domain/message/MessageCatalogue.ts"
import { isKindPattern, messageKinds } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  check,
  idempotencyHeaders,
  integer,
  list,
  NoBodyIsEmpty,
  OpenTo,
  oneOf,
  pageEndFields,
  pageFields,
  pageQuery,
  Time,
  TimeIn,
  text,
  versionFields,
} from "./Common.ts"
import { definitionEndpoints } from "./definitionEndpoints.ts"
import {
  countedWebhook,
  createdWebhook,
  delivery,
  deliveryDetails,
  deliveryPage,
  recovery,
  rotatedSecret,
  sent,
  webhook,
  webhookPage,
} from "./examples/definitionExamples.ts"
import { deliveryId, messageId, webhookId } from "./examples/exampleIds.ts"
import {
  bodyProblems,
  DeliveryNotFound,
  Gone,
  IdempotencyKeyReused,
  KeyInProgress,
  RotationConflict,
  readProblems,
  WebhookConflict,
  WebhookNotFound,
} from "./Problems.ts"
import { Message } from "./Stream.ts"

/* Webhooks. */

const KindPattern = Schema.String.check(
  check("invalid_value", "must be a known kind, a family such as quest.*, or *", isKindPattern),
).annotate({ examples: ["xp.earned"] })

const Url = text(1, limits.urlCharactersMax).annotate({
  description:
    "URL of the receiver: http or https (https in production), a public address or one that the server allows with `LAUREL_WEBHOOK_ALLOW_CIDR`, no user name or password. The address is checked now and at every connection.",
  examples: ["https://example.com/laurel"],
})

const Events = list(KindPattern, 1, limits.webhookKindsMax).annotate({
  description: `The messages to send: kinds, families (\`quest.*\`), or all (\`*\`). Kinds: ${messageKinds.map((kind) => `\`${kind}\``).join(", ")}; \`GET /v1/webhook-events\` describes them.`,
  examples: [["xp.earned", "quest.*"]],
})

const Description = text(0, limits.descriptionCharactersMax, "multiple").annotate({
  description: "Description for people.",
  examples: ["Badges on the wall"],
})

export const NewWebhook = Schema.Struct({
  url: Url,
  events: Events,
  description: Schema.optionalKey(Description),
}).annotate({
  identifier: "NewWebhook",
  examples: [{ url: "https://example.com/laurel", events: ["xp.earned"] }],
})

export const WebhookPatch = Schema.Struct({
  url: Schema.optionalKey(Url),
  events: Schema.optionalKey(Events),
  description: Schema.optionalKey(
    Schema.NullOr(Description).annotate({ description: "Description for people." }),
  ),
  status: Schema.optionalKey(
    oneOf(["enabled", "disabled"]).annotate({
      description:
        "`disabled`: nothing is sent, and new messages are missed (`recover` sends them); pending deliveries resume when the webhook is enabled.",
    }),
  ),
}).annotate({ identifier: "WebhookPatch", examples: [{ status: "enabled" }] })

const fields = {
  id: Schema.String.annotate({ description: "The webhook's id.", examples: [webhookId] }),
  url: Schema.String.annotate({
    description: "URL of the receiver.",
    examples: ["https://example.com/laurel"],
  }),
  events: Schema.Array(Schema.String).annotate({
    description: "Messages to send: kinds, families or all.",
    examples: [["xp.earned"]],
  }),
  description: Schema.NullOr(Schema.String).annotate({
    description: "Description for people.",
    examples: ["Badges on the wall"],
  }),
  status: oneOf(["enabled", "disabled"]).annotate({ description: "Whether messages are sent." }),
  disabledReason: Schema.NullOr(
    oneOf(["gone", "failing", "manual"]).annotate({
      description:
        "`gone`: the receiver answered 410. `failing`: five days of failures only. `manual`: disabled through the API.",
    }),
  ).annotate({ examples: [null] }),
  disabledAt: Schema.NullOr(Time).annotate({ examples: [null] }),
  ...versionFields,
}

export const Webhook = Schema.Struct(fields).annotate({
  identifier: "Webhook",
  description: "A URL that receives messages.",
  examples: [webhook],
})

export const CreatedWebhook = Schema.Struct({
  ...fields,
  secret: Schema.String.annotate({
    description: "Signing secret (`whsec_…`), shown only once.",
  }),
}).annotate({
  identifier: "CreatedWebhook",
  description: "The webhook, with its secret.",
  examples: [createdWebhook],
})

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

export const CountedWebhook = Schema.Struct({
  ...fields,
  deliveries: Schema.Struct({
    pending: count("Deliveries waiting for an attempt.", 3),
    succeeded: count("Successful deliveries.", 48_120),
    failed: count("Deliveries given up after the last attempt.", 12),
    dropped: count(
      "Deliveries not sent: too many were pending, they waited too long, or their user was erased.",
      0,
    ),
  }).annotate({
    identifier: "DeliveryCounts",
    description: "Number of deliveries per status.",
  }),
  lastSuccessAt: Schema.NullOr(Time).annotate({
    description: "Start of the last successful attempt; null: none.",
  }),
  failing: Schema.Boolean.annotate({
    description:
      "Whether attempts have failed and none has succeeded since; false again after a new URL or enabling.",
    examples: [false],
  }),
}).annotate({
  identifier: "CountedWebhook",
  description: "A webhook with its delivery counts.",
  examples: [countedWebhook],
})

export const WebhookPage = Schema.Struct({
  webhooks: Schema.Array(Webhook).annotate({ description: "In the order of creation." }),
  ...pageFields("webhooks"),
}).annotate({
  identifier: "WebhookPage",
  description: "A page of the webhooks.",
  examples: [webhookPage],
})

export const Rotation = Schema.Struct({
  graceSeconds: Schema.optionalKey(
    integer(0, limits.webhookGraceSecondsMax).annotate({
      description:
        "Seconds for which the previous secret also signs. 0: all previous secrets end now. Default 86,400.",
      examples: [86_400],
    }),
  ),
}).annotate({ identifier: "Rotation", examples: [{ graceSeconds: 3_600 }, {}] })

export const RotatedSecret = Schema.Struct({
  secret: Schema.String.annotate({ description: "The new secret, shown only once." }),
  previousSecretExpiresAt: Schema.NullOr(Time).annotate({
    description: "Time until which the previous secret also signs; null: it has ended.",
  }),
}).annotate({
  identifier: "RotatedSecret",
  description: "The new secret.",
  examples: [rotatedSecret],
})

export const Sent = Schema.Struct({
  deliveryId: Schema.String.annotate({
    description: "The delivery's id.",
    examples: [deliveryId],
  }),
  messageId: Schema.String.annotate({
    description: "The message's id, sent as `webhook-id`.",
    examples: [messageId],
  }),
}).annotate({
  identifier: "Sent",
  description: "An accepted delivery.",
  examples: [sent],
})

export const RecoveryRequest = Schema.Struct({
  since: TimeIn.annotate({
    description: "Recover messages since this time; not in the future.",
  }),
}).annotate({
  identifier: "RecoveryRequest",
  examples: [{ since: "2026-11-01T09:30:00.000Z" }],
})

export const Recovery = Schema.Struct({ since: Time, until: Time }).annotate({
  identifier: "Recovery",
  description: "The period under recovery.",
  examples: [recovery],
})

const { example, schema, ...told } = describeMessage("webhook.test")
type JsonObject = { readonly [name: string]: Schema.Json }
const kindExample = {
  ...told,
  schema: schema as JsonObject,
  example: example as unknown as JsonObject,
}

export const Catalogue = Schema.Struct({
  kinds: Schema.Array(
    Schema.Struct({
      kind: oneOf(messageKinds).annotate({ description: "The kind, as in `type`." }),
      description: Schema.String.annotate({ description: "When the message is sent." }),
      schema: Schema.Record(Schema.String, Schema.Json).annotate({
        description: "A JSON Schema (draft 2020-12) of the message's body.",
      }),
      example: Schema.Record(Schema.String, Schema.Json).annotate({
        description: "A message of this kind.",
      }),
    }).annotate({ identifier: "MessageKind", description: "A kind of message." }),
  ).annotate({ description: "All kinds." }),
}).annotate({
  identifier: "MessageCatalogue",
  description: "All kinds of message.",
  examples: [{ kinds: [kindExample] }],
})

const webhookParams = {
  id: text(1, limits.idCharactersMax).annotate({
    description: "The webhook's id.",
    examples: [webhookId],
  }),
}

/* Deliveries. */

const deliveryStatus = oneOf(["pending", "succeeded", "failed", "dropped"])
const DeliveryStatusIn = deliveryStatus.annotate({
  description: "Only deliveries with this status.",
  examples: ["failed"],
})

const responseFields = {
  at: Time.annotate({ description: "Start of the attempt." }),
  durationMs: Schema.Int.annotate({ description: "Duration in milliseconds.", examples: [87] }),
  status: Schema.NullOr(Schema.Int).annotate({
    description: "The HTTP status; null: no response.",
    examples: [503],
  }),
  error: Schema.NullOr(Schema.String).annotate({
    description:
      "Reason for no response: `address_refused` (the name is unknown, or leads to no address that webhooks may reach: see `LAUREL_WEBHOOK_ALLOW_CIDR`), `connection_failed`, `connection_refused`, `connection_reset`, `dns_failure`, `invalid_response`, `timeout`, `tls_failure`.",
    examples: [null],
  }),
}

const deliveryFields = {
  id: Schema.String.annotate({ description: "The delivery's id.", examples: [deliveryId] }),
  messageId: Schema.String.annotate({
    description: "The message's id, sent as `webhook-id`.",
    examples: [messageId],
  }),
  type: oneOf(messageKinds).annotate({ description: "The kind of message." }),
  status: deliveryStatus.annotate({
    description:
      "`pending`: waiting for an attempt. `failed`: given up after the last attempt. `dropped`: discarded unsent.",
  }),
  attempts: Schema.Int.annotate({ description: "Number of attempts.", examples: [2] }),
  nextAttemptAt: Schema.NullOr(Time).annotate({
    description: "Due time of the next attempt; null: none.",
  }),
  lastResponse: Schema.NullOr(
    Schema.Struct(responseFields).annotate({
      identifier: "DeliveryResponse",
      description: "The outcome of an attempt.",
    }),
  ).annotate({ description: "The outcome of the last attempt; null: none yet." }),
  dropReason: Schema.NullOr(
    oneOf(["erased", "expired", "gone"]).annotate({
      description:
        "`erased`: the user was erased. `expired`: the delivery waited too long. `gone`: the journal no longer has the message.",
    }),
  ).annotate({ examples: [null] }),
  createdAt: Time.annotate({ description: "Time of the message's event." }),
}

export const Delivery = Schema.Struct(deliveryFields).annotate({
  identifier: "Delivery",
  description: "One message to one webhook.",
  examples: [delivery],
})

export const DeliveryPage = Schema.Struct({
  deliveries: Schema.Array(Delivery).annotate({ description: "Newest first." }),
  ...pageEndFields("deliveries"),
}).annotate({
  identifier: "DeliveryPage",
  description: "A page of a webhook's deliveries.",
  examples: [deliveryPage],
})

export const DeliveryDetails = Schema.Struct({
  ...deliveryFields,
  responses: Schema.Array(
    Schema.Struct({
      ...responseFields,
      body: Schema.String.annotate({
        description: "The first KiB of the response.",
        examples: ["try again later"],
      }),
    }).annotate({ identifier: "DeliveryAttempt", description: "The outcome of an attempt." }),
  ).annotate({ description: "The outcome of each attempt, oldest first." }),
  message: Schema.NullOr(Message).annotate({
    description:
      "The message, the body of the request; null: the journal no longer has it, or its user was erased.",
  }),
}).annotate({
  identifier: "DeliveryDetails",
  description: "A delivery with its attempts.",
  examples: [{ ...deliveryDetails, message: exampleOf("xp.earned") }],
})

const deliveryParams = {
  ...webhookParams,
  deliveryId: text(1, limits.idCharactersMax).annotate({
    description: "The delivery's id.",
    examples: [deliveryId],
  }),
}

const post = [...readProblems, WebhookNotFound, WebhookConflict, IdempotencyKeyReused] as const
const accepted = HttpApiSchema.status(202)

export const Webhooks = HttpApiGroup.make("webhooks")
  .add(
    ...definitionEndpoints({
      path: "/v1/webhooks",
      params: webhookParams,
      readers: ["read"],
      notFound: WebhookNotFound,
      create: {
        payload: NewWebhook,
        success: CreatedWebhook,
        summary: "Register a webhook",
        description: `The reply has the secret that signs the messages (Standard Webhooks); it is shown only once. Each message is sent at least once, always with the same \`webhook-id\`. A 2xx within ${limits.webhookTimeoutMs / 1_000} seconds is success; other outcomes are retried for about three days. A 410, or five days of failures only, disables the webhook. An environment holds at most ${limits.webhooks} webhooks, unless the server's setting \`LAUREL_WEBHOOKS_MAX\` allows more.`,
      },
      list: {
        query: pageQuery("webhooks"),
        success: WebhookPage,
        summary: "List webhooks",
        description: "Lists the webhooks of the key's project and environment, without secrets.",
      },
      get: {
        success: CountedWebhook,
        summary: "Get a webhook",
        description: "Returns a webhook with its delivery counts, without its secret.",
      },
      update: {
        payload: WebhookPatch,
        success: Webhook,
        error: [...readProblems, ...bodyProblems, WebhookNotFound, KeyInProgress],
        summary: "Change a webhook",
        description:
          "Changes the members that the body names (JSON merge patch). Pending deliveries go to the new URL.",
      },
      delete: {
        success: HttpApiSchema.NoContent,
        error: [...readProblems, WebhookNotFound, KeyInProgress],
        summary: "Delete a webhook",
        description: "Stops all deliveries and deletes the delivery log.",
      },
    }),
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
        ...pageQuery("deliveries"),
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
