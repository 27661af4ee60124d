/** The operation that streams messages. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { messageNameOf } from "../../domain/message/Message.ts"
import { isKindPattern } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { check } from "./Checks.ts"
import { ApiKey, OpenTo, UserId, UserNamed } from "./Common.ts"
import { Message } from "./Messages.ts"
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
