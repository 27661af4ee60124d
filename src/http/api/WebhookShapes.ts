/** Shapes of webhooks. */
import { Schema } from "effect"
import { describeMessage } from "../../domain/message/MessageCatalogue.ts"
import { isKindPattern, messageKinds } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { check, integer, list, oneOf, text } from "./Checks.ts"
import { pageFields, Time, TimeIn } from "./Common.ts"
import { deliveryId, messageId, webhookId } from "./examples/Ids.ts"
import {
  countedWebhook,
  createdWebhook,
  recovery,
  rotatedSecret,
  sent,
  webhook,
  webhookPage,
} from "./examples/Webhooks.ts"

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
  createdAt: Time,
  updatedAt: Time,
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
  ...pageFields,
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

export const webhookParams = {
  id: text(1, limits.idCharactersMax).annotate({
    description: "The webhook's id.",
    examples: [webhookId],
  }),
}
