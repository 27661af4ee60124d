/** Shapes of deliveries. */
import { Schema } from "effect"
import { exampleOf } from "../../domain/message/MessageCatalogue.ts"
import { messageKinds } from "../../domain/message/MessageKind.ts"
import { limits } from "../../Limits.ts"
import { check, oneOf, text } from "./Checks.ts"
import { Time } from "./Common.ts"
import { deliveryId, messageId } from "./examples/Ids.ts"
import { delivery, deliveryDetails, deliveryPage } from "./examples/Webhooks.ts"
import { Message } from "./Messages.ts"
import { webhookParams } from "./WebhookShapes.ts"

const deliveryStatus = oneOf(["pending", "succeeded", "failed", "dropped"])
export const DeliveryStatusIn = deliveryStatus.annotate({
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
  nextCursor: Schema.NullOr(Schema.String).annotate({
    description: "Cursor to the next, older page; null: no more.",
    examples: ["d4e3i.0"],
  }),
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

/** The end of a page of a log. */
export interface DeliveryPlace {
  readonly sequence: number
  readonly index: number
}

/** The cursor for the page after a place. */
export const deliveryCursor = ({ index, sequence }: DeliveryPlace): string =>
  `d${sequence.toString(36)}.${index.toString(36)}`

/** The place of a cursor that `deliveryCursor` made; `undefined` for any other text. */
export const deliveryPlaceOf = (cursor: string): DeliveryPlace | undefined => {
  const parts = /^d([0-9a-z]{1,11})\.([0-9a-z]{1,4})$/.exec(cursor)
  if (parts === null) return undefined
  const [sequence, index] = [parts[1]!, parts[2]!].map((digits) => Number.parseInt(digits, 36))
  const place = { sequence: sequence!, index: index! }
  return Number.isSafeInteger(sequence) && deliveryCursor(place) === cursor ? place : undefined
}

export const DeliveryCursor = Schema.String.check(
  check(
    "invalid_format",
    "must be a `nextCursor` of an earlier page",
    (cursor) => deliveryPlaceOf(cursor) !== undefined,
  ),
).annotate({ description: "The `nextCursor` of the page before.", examples: ["d4e3i.0"] })

export const deliveryParams = {
  ...webhookParams,
  deliveryId: text(1, limits.idCharactersMax).annotate({
    description: "The delivery's id.",
    examples: [deliveryId],
  }),
}
