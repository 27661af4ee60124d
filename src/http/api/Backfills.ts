/** Shapes of backfills: awards of a badge to users who already qualify. */
import { Schema } from "effect"
import { oneOf } from "./Checks.ts"
import { Time } from "./Common.ts"
import { backfills, startedBackfill } from "./examples/Definitions.ts"
import { countedBadgeId } from "./examples/Ids.ts"

export const BackfillRequest = Schema.Struct({
  notify: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether webhooks and streams report the awarded badges. Default `false`.",
      examples: [false],
    }),
  ),
}).annotate({ identifier: "BackfillRequest", examples: [{ notify: true }, {}] })

const asked = {
  badgeId: Schema.String.annotate({
    description: "The badge's id.",
    examples: [countedBadgeId],
  }),
  notify: Schema.Boolean.annotate({
    description: "Whether webhooks and streams report the awarded badges.",
    examples: [false],
  }),
  startedAt: Time.annotate({ description: "Start of the backfill." }),
}

export const StartedBackfill = Schema.Struct(asked).annotate({
  identifier: "StartedBackfill",
  description: "An accepted backfill; `Location` has its progress.",
  examples: [startedBackfill],
})

export const Backfill = Schema.Struct({
  ...asked,
  status: oneOf(["waiting", "running", "finished"]).annotate({
    description: "`waiting`: another backfill runs first.",
    examples: ["running"],
  }),
  checked: Schema.Int.annotate({
    description: "Number of users checked.",
    examples: [42_000],
  }),
  total: Schema.Int.annotate({
    description: "Number of users to check.",
    examples: [100_000],
  }),
  awarded: Schema.Int.annotate({
    description:
      "Number of users awarded. A server restart restarts the backfill, and earlier awards are not counted again.",
    examples: [1_250],
  }),
  finishedAt: Schema.NullOr(Time).annotate({
    description: "End of the backfill; null: not finished.",
    examples: [null],
  }),
}).annotate({
  identifier: "Backfill",
  description: "The award of a badge to users who already qualify.",
  examples: backfills,
})
