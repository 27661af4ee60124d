/**
 * The messages of webhooks and streams: the schema of each kind, which the catalogue has too, and the requests of webhooks
 * as OpenAPI describes them.
 */
import { Schema } from "effect"
import { exampleOf, triggerOf } from "../../domain/message/MessageCatalogue.ts"
import { messageSchema } from "../../domain/message/MessageData.ts"
import { type MessageKind, messageKinds } from "../../domain/message/MessageKind.ts"
import { typeName } from "./Common.ts"

type MessageOf<Kind extends MessageKind> = ReturnType<typeof messageSchema<Kind>>

/** The name of the schema of a kind's messages. */
const nameOf = (kind: MessageKind): string => `Message${typeName(kind)}`

const namedMessage = (kind: MessageKind) =>
  messageSchema(kind).annotate({
    identifier: nameOf(kind),
    description: triggerOf(kind),
    examples: [exampleOf(kind)],
  }) as { [Kind in MessageKind]: MessageOf<Kind> }[MessageKind]

const badgeEarned = exampleOf("badge.earned")

/** A message as streams and webhooks send it. */
export const Message = Schema.Union(messageKinds.map(namedMessage)).annotate({
  identifier: "Message",
  description: "A message; `type` is its kind.",
  examples: [badgeEarned],
})

const refTo = (kind: MessageKind): string => `#/components/schemas/${nameOf(kind)}`

/** The schema of messages in OpenAPI: one of the kinds' schemas, by `type`. */
export const messageAlternatives = {
  oneOf: messageKinds.map((kind) => ({ $ref: refTo(kind) })),
  discriminator: {
    propertyName: "type",
    mapping: Object.fromEntries(messageKinds.map((kind) => [kind, refTo(kind)])),
  },
}

/** The header fields of a message, by Standard Webhooks. */
export const webhookParameters = {
  WebhookId: {
    name: "webhook-id",
    in: "header",
    required: true,
    description: "The message's id, the same on every attempt: deduplicate by it.",
    schema: { type: "string", examples: [badgeEarned.id] },
  },
  WebhookTimestamp: {
    name: "webhook-timestamp",
    in: "header",
    required: true,
    description: "Time of the attempt, in seconds since 1970.",
    schema: { type: "integer", examples: [1_793_525_400] },
  },
  WebhookSignature: {
    name: "webhook-signature",
    in: "header",
    required: true,
    description:
      "Signatures, separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by dots.",
    schema: { type: "string", examples: ["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="] },
  },
}

/** The requests that webhooks send: one for each kind of message. */
export const webhookRequests = () =>
  Object.fromEntries(
    messageKinds.map((kind) => [
      kind,
      {
        post: {
          operationId: `messages.${kind}`,
          summary: kind,
          description: triggerOf(kind),
          security: [],
          parameters: Object.keys(webhookParameters).map((name) => ({
            $ref: `#/components/parameters/${name}`,
          })),
          requestBody: {
            required: true,
            content: { "application/json": { schema: { $ref: refTo(kind) } } },
          },
          responses: {
            "2XX": { description: "The message is received. The body of the reply is ignored." },
            "410": { description: "The receiver is gone. Laurel disables the webhook." },
            default: { description: "The attempt failed. Laurel repeats it later." },
          },
        },
      },
    ]),
  )
