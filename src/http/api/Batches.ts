/** What batches of events, rewards and openings have in common. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { check, idempotencyHeaders } from "./Common.ts"
import { batchRefusal, batchSummary } from "./examples/userExamples.ts"
import { Fault } from "./Problems.ts"

export const ok = Schema.Literal(true).annotate({
  description: "It was applied, now or by an earlier request.",
})

export const BatchRefusal = Schema.Struct({
  ok: Schema.Literal(false).annotate({ description: "It was refused." }),
  status: Schema.Int.annotate({ description: "The HTTP status that it would get, sent alone." }),
  code: Schema.String.annotate({ description: "The error code, as in a problem." }),
  detail: Schema.String.annotate({ description: "Explanation for people." }),
  errors: Schema.Array(Fault).annotate({ description: "All faults of what is invalid." }),
}).annotate({
  identifier: "BatchRefusal",
  description: "The refusal of one item of a batch.",
  examples: [batchRefusal],
})

/** The counts in the reply to a batch of `items`. */
export const batchCounts = (items: string) => ({
  accepted: Schema.Int.annotate({ description: `Number of ${items} applied.`, examples: [1] }),
  duplicates: Schema.Int.annotate({
    description: `Number of ${items} that were there already: with the \`id\` of an earlier one of the same user or, of openings, with the content of the user's.`,
    examples: [0],
  }),
  differing: Schema.Int.annotate({
    description:
      "Number of duplicates whose body differs from that of the first. After `return=minimal`, send the batch again without it to learn which: duplicates change nothing.",
    examples: [0],
  }),
  rejected: Schema.Int.annotate({ description: `Number of ${items} refused.`, examples: [0] }),
})

export const BatchSummary = Schema.Struct({
  ...batchCounts("events, rewards or openings"),
  refusals: Schema.Array(
    Schema.Struct({
      index: Schema.Int.annotate({ description: "Place in the request, from 0.", examples: [1] }),
      ...BatchRefusal.fields,
    }),
  ).annotate({ description: "What was refused, in the order of the request." }),
}).annotate({
  identifier: "BatchSummary",
  description: "The durable outcome of a batch with `Prefer: return=minimal`.",
  examples: [batchSummary],
})

export const batchHeaders = {
  ...idempotencyHeaders,
  prefer: Schema.optionalKey(
    Schema.String.check(
      check(
        "too_long",
        `must have at most ${limits.preferCharactersMax} characters`,
        (field) => field.length <= limits.preferCharactersMax,
        { maxLength: limits.preferCharactersMax },
      ),
    ).annotate({
      description:
        "`return=minimal` (RFC 7240) asks for counts and refusals without the outcomes of the others, which costs less. Other preferences are ignored. A replayed reply has the form of the first one.",
    }),
  ),
}

/** What a batch of `items` promises, for its description. */
export const batchWords = (items: string) =>
  `The body has at most ${limits.batchBodyBytesMax} bytes, and each of the ${items} at most ${limits.eventBytesMax}, including white space and escapes. A refusal does not affect the others. A batch of n ${items} counts as n requests, or as one per ${limits.rateLimitUnitBytes} bytes of its body where that is more; one that counts as more than the project's limit gets 413 \`batch_too_large\`, because no wait lets it pass. A batch waits up to ${limits.batchRoomWaitMs / 1_000} seconds for room; 503 \`overloaded\` means that nothing of it was applied. 503 \`storage_unavailable\` means that the outcome of some ${items} is unknown: repeat the batch with the same ids or \`Idempotency-Key\`. Results above ${limits.recordBytesMax / 1_048_576} MiB are not kept for an \`Idempotency-Key\`: a repeat then reports the ${items} as duplicates.`
