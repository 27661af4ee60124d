/** The operation that streams messages. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { messageNameOf } from "../../domain/message/Message.ts"
import { exampleOf, triggerOf } from "../../domain/message/MessageCatalogue.ts"
import { messageSchema } from "../../domain/message/MessageData.ts"
import { isKindPattern, type MessageKind, messageKinds } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { ApiKey, check, OpenTo, typeName, UserId, UserNamed } from "./Common.ts"
import { Gone, readProblems, StreamQuota } from "./Problems.ts"

/*
 * The messages of webhooks and streams: the schema of each kind, which the catalogue also shows,
 * and the requests that webhooks send, in the form of OpenAPI.
 */

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

/** A message of a stream or a webhook. */
export const Message = Schema.Union(messageKinds.map(namedMessage)).annotate({
  identifier: "Message",
  description: "A message; `type` is its kind.",
  examples: [badgeEarned],
})

const refTo = (kind: MessageKind): string => `#/components/schemas/${nameOf(kind)}`

/** The OpenAPI schema of all messages: one schema for each kind, chosen by `type`. */
export const messageAlternatives = {
  oneOf: messageKinds.map((kind) => ({ $ref: refTo(kind) })),
  discriminator: {
    propertyName: "type",
    mapping: Object.fromEntries(messageKinds.map((kind) => [kind, refTo(kind)])),
  },
}

/** The header fields of a webhook's request (Standard Webhooks). */
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

/** The requests that webhooks send, one for each kind of message. */
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

const patternsOf = (text: string): ReadonlyArray<string> => text.split(",")

const KindPatterns = Schema.String.check(
  check(
    "invalid_value",
    "must be known kinds, families such as quest.*, or *, separated by commas",
    (text) => patternsOf(text).every(isKindPattern),
  ),
  check(
    "too_long",
    `must name at most ${limits.webhookKindsMax}`,
    (text) => patternsOf(text).length <= limits.webhookKindsMax,
  ),
).annotate({
  description: "Messages to send: kinds, families (`quest.*`) or all (`*`), separated by commas.",
  examples: ["xp.earned,quest.*"],
})

export const Stream = HttpApiGroup.make("stream")
  .add(
    HttpApiEndpoint.get("open", "/v1/stream", {
      query: {
        events: Schema.optionalKey(KindPatterns),
        userId: Schema.optionalKey(
          UserId.annotate({
            description:
              "Only messages about this user, who may be one that does not exist yet. Default: all messages of the environment; with a user token, those about its user.",
          }),
        ),
      },
      headers: {
        "last-event-id": Schema.optionalKey(
          Schema.String.check(
            check(
              "invalid_value",
              "must be the id of a message",
              (id) => messageNameOf(id) !== undefined,
            ),
          ),
        ).annotate({
          description:
            "The `id` of the last message received: the stream resumes after it. Default: the stream starts with the next message.",
        }),
      },
      success: HttpApiSchema.StreamSse({ data: Message }),
      error: [...readProblems, Gone, StreamQuota],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, ({ query }) => query.userId)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Follow the messages",
          description: `Streams the messages of the key's project and environment as Server-Sent Events, in order, once they are durable. To resume after the last message received, send its \`id\` as \`Last-Event-ID\`; no message is lost while the journal keeps it. With \`userId\`, the stream has the messages about that user alone; it resumes with at most ${limits.userStreamPastCharactersMax / 1024 / 1024} MiB of messages from ${limits.userStreamPastRecordsMax} of the user's changes, and not after an erasure of the user: the reply is then 410, and the client loads the user's state. At its beginning and after ${limits.streamHeartbeatMs / 1_000} seconds without a message, the stream sends an \`id\` without data as its position, which Server-Sent Events clients remember. An environment has at most ${limits.streamsOfEnvironmentMax} streams, a server ${limits.streamsMax}. Streams of one user are counted apart: a user has at most ${limits.streamsOfUserMax}, of which one more ends the oldest, and a server ${limits.userStreamsMax}. When the server has no place left, the newest stream of the environment with the most streams ends in favour of an environment with fewer. A stream also ends when its key is revoked, when its user token expires, and when the server shuts down.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Stream", description: "Live messages." }))
