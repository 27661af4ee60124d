/** Operations that take the messages of event trackers. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { BatchRefusal } from "./Batches.ts"
import { ApiKey, BodyBytesMax, OpenTo } from "./Common.ts"
import { posthogBatch, segmentBatch, trackerReply } from "./examples/trackerExamples.ts"
import { BatchTooLarge, writeProblems } from "./Problems.ts"

const messages = (description: string, examples: ReadonlyArray<object>) =>
  Schema.Struct({
    batch: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)).annotate({
      description,
      examples: [examples as ReadonlyArray<Record<string, unknown>>],
    }),
  })

const SegmentBatch = messages(
  `At most ${limits.batchItemsMax} messages. \`track\`, \`identify\` and \`alias\` count; other types are ignored.`,
  segmentBatch.batch,
).annotate({
  identifier: "SegmentBatch",
  description: "The body that Segment's libraries send. Other members are ignored.",
  examples: [segmentBatch],
})

const PosthogBatch = messages(
  `At most ${limits.batchItemsMax} messages. Those with names that begin with \`$\` are ignored, except \`$identify\`, \`$set\` and \`$create_alias\`.`,
  posthogBatch.batch,
).annotate({
  identifier: "PosthogBatch",
  description: "The body that PostHog's libraries send. Other members are ignored.",
  examples: [posthogBatch],
})

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

export const TrackerReply = Schema.Struct({
  success: Schema.Literal(true).annotate({
    description: "The messages were read. Trackers do not look at the other members.",
  }),
  accepted: count("Messages applied.", 2),
  duplicates: count("Events that were applied before.", 0),
  ignored: count("Messages of a kind that Laurel has no use for.", 0),
  rejected: count("Messages refused.", 0),
  refusals: Schema.Array(
    Schema.Struct({
      index: count("Place in the batch, from 0.", 1),
      ...BatchRefusal.fields,
    }),
  ).annotate({ description: "What was refused, in the order of the batch." }),
}).annotate({
  identifier: "TrackerReply",
  description: "The durable outcome of a tracker's batch.",
  examples: [trackerReply],
})

const words =
  "Each event becomes an event of Laurel: its name in capitals with underscores is the action (`Order Completed` is `ORDER_COMPLETED`), its properties are the metadata, and the tracker's id of the message is the event's id, so that a repeated batch counts once. A time in the future counts as now. Traits become the user's display name (`name`), the attribute `avatarUrl` (`avatar`) and attributes, except those that name or reach a person, such as `email`. An alias merges the former id into the user. An active source of the tracker's kind may change this by mappings and rules. Changes of profiles and merges need a key with the scope `full`. A refusal does not affect the other messages."

const reading = { success: TrackerReply, error: [...writeProblems, BatchTooLarge] } as const

export const Ingest = HttpApiGroup.make("ingest")
  .add(
    HttpApiEndpoint.post("segment", "/v1/ingest/segment/batch", {
      payload: SegmentBatch,
      ...reading,
    })
      .annotate(OpenTo, ["ingest"])
      .annotate(BodyBytesMax, limits.trackerBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Take events from Segment's libraries",
          description: `${words} The key is also taken as the user name of basic authentication, as the libraries send their write key.`,
        }),
      ),
    HttpApiEndpoint.post("posthog", "/v1/ingest/posthog/batch/", {
      payload: PosthogBatch,
      ...reading,
    })
      .annotate(OpenTo, ["ingest"])
      .annotate(BodyBytesMax, limits.trackerBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Take events from PostHog's libraries",
          description: `${words} The library's \`api_key\` is not used: send the key in the header.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Trackers",
      description: "Events of apps that already use an event tracker.",
    }),
  )
