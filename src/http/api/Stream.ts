/** The operation that streams messages. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { messageNameOf } from "../../domain/message/Message.ts"
import { describeMessage } from "../../domain/message/MessageCatalogue.ts"
import { isKindPattern, messageKinds } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { check } from "./Checks.ts"
import { ApiKey, OpenTo, Time, UserId } from "./Common.ts"
import { Gone, readProblems, StreamQuota } from "./Problems.ts"

const patternsOf = (text: string): ReadonlyArray<string> => text.split(",")

export const KindPatterns = Schema.String.check(
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

/** The example of a message in the reference. */
const { data, ...envelope } = describeMessage("badge.earned").example
export const messageExample = {
  ...envelope,
  data: data as { readonly [name: string]: Schema.Json },
}

/** A message as streams and webhooks send it; the catalogue has the schema of `data`. */
export const Message = Schema.Struct({
  id: Schema.String.annotate({
    description: "The message's id, the same on every attempt.",
    examples: ["msg_0mi8k3f2a4c92_1"],
  }),
  type: Schema.Literals(messageKinds).annotate({
    description: "The kind of message.",
    examples: [messageExample.type],
  }),
  timestamp: Time,
  project: Schema.String.annotate({
    description: "The project's id.",
    examples: ["prj_01a1fc1e64c07345932e273286b5ca30"],
  }),
  environment: Schema.Literals(["sandbox", "production"]).annotate({
    description: "The environment.",
    examples: ["production"],
  }),
  data: Schema.Record(Schema.String, Schema.Json).annotate({
    description: "The message's content, depending on `type`. `sequence` increases with time.",
    examples: [{ sequence: 204_878, userId: "user-42" }],
  }),
}).annotate({
  identifier: "Message",
  description: "A message.",
  examples: [messageExample],
})

export const Stream = HttpApiGroup.make("stream")
  .add(
    HttpApiEndpoint.get("open", "/v1/stream", {
      query: {
        events: Schema.optionalKey(KindPatterns),
        userId: Schema.optionalKey(
          UserId.annotate({
            description:
              "Only messages about this user, who may be one that does not exist yet. Default: all messages of the environment.",
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
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Follow the messages",
          description: `Streams the messages of the key's project and environment as Server-Sent Events, in order, once they are durable. To resume after the last message received, send its \`id\` as \`Last-Event-ID\`; no message is lost while the journal keeps it. With \`userId\`, the stream has the messages about that user alone; it resumes with at most ${limits.userStreamPastCharactersMax / 1024 / 1024} MiB of messages, and not after an erasure of the user: the reply is then 410, and the client loads the user's state. After ${limits.streamHeartbeatMs / 1_000} seconds without a message, the stream sends an \`id\` without data as its position, which Server-Sent Events clients remember. An environment has at most ${limits.streamsOfEnvironmentMax} streams, a server ${limits.streamsMax}. Streams of one user are counted apart: a user has at most ${limits.streamsOfUserMax}, of which one more ends the oldest, and a server ${limits.userStreamsMax}. When the server has no place left, the newest stream of the environment with the most streams ends in favour of an environment with fewer. A stream also ends when its key is revoked and when the server shuts down.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Stream", description: "Live messages." }))
