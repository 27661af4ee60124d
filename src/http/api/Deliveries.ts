/** The deliveries of sources: signed webhooks of other services, which need no API key. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { BodyBytesMax, OpenTo, SourceSigned, text } from "./Common.ts"
import { projectId, sourceId } from "./examples/exampleIds.ts"
import { sampleBody, sourceReply } from "./examples/sourceExamples.ts"
import { deliveryProblems } from "./SourceProblems.ts"

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const part = (description: string, example: string) =>
  text(1, limits.idCharactersMax).annotate({ description, examples: [example] })

const header = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

export const Delivery = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "SourceDelivery",
  description: "The body of the service's webhook.",
  examples: [sampleBody],
})

export const DeliveryReply = Schema.Struct({
  received: Schema.Literal(true).annotate({ description: "The signature is valid." }),
  events: count("Events made of the delivery.", sourceReply.events),
  duplicates: count("Events that were there already.", sourceReply.duplicates),
  refused: count(
    "Events that were refused. A repeat would be refused as well; the source has the reason.",
    sourceReply.refused,
  ),
}).annotate({
  identifier: "SourceDeliveryReply",
  description: "The durable outcome of a delivery. Services do not look at it.",
  examples: [sourceReply],
})

export const Deliveries = HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.post("receive", "/v1/ingest/:project/:environment/:source", {
      params: {
        project: part("The project's id.", projectId),
        environment: part("`sandbox` or `production`.", "sandbox"),
        source: part("The source's id.", sourceId),
      },
      headers: {
        "stripe-signature": header("Stripe's signature of a delivery."),
        "x-hub-signature-256": header("GitHub's signature of a delivery."),
        "x-github-event": header("GitHub's name of the kind of event."),
        "x-github-delivery": header("GitHub's id of the delivery."),
        "webhook-id": header("The id of the delivery, by Standard Webhooks."),
        "webhook-timestamp": header("The time of the signature, by Standard Webhooks."),
        "webhook-signature": header("The signatures of the delivery, by Standard Webhooks."),
      },
      payload: Delivery,
      success: DeliveryReply,
      error: deliveryProblems,
    })
      .annotate(OpenTo, ["ingest"])
      .annotate(BodyBytesMax, limits.sourceBodyBytesMax)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Receive a delivery of a source",
          description: `The address that a service gets as the URL of its webhook. No API key is needed: the signature must be that of the body with a valid secret of the source. A signature of Stripe or of Standard Webhooks may be at most ${limits.sourceToleranceMs / 60_000} minutes old. The reply is 200 once what the mappings make of the delivery is durable, also if nothing matched or events were refused, since a repeat would not help; services repeat a delivery on 429 and 503. A delivery without a valid signature is refused before its JSON is read, and counts for no rate limit; another counts as one request.`,
        }),
      ),
  )
  .middleware(SourceSigned)
  .annotateMerge(
    OpenApi.annotations({
      title: "Deliveries of sources",
      description: "Signed webhooks of other services.",
    }),
  )
