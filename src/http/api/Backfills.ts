/** The award of a badge to those who qualify already. */
import { Schema } from "effect"
import { oneOf } from "./Checks.ts"
import { Time } from "./Common.ts"
import { backfills, startedBackfill } from "./examples/Definitions.ts"
import { countedBadgeId } from "./examples/Ids.ts"

export const BackfillRequest = Schema.Struct({
  notify: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Whether webhooks and streams tell of the badges that it gives. Default `false`.",
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
    description: "Whether messages tell of the badges that it gives.",
    examples: [false],
  }),
  startedAt: Time.annotate({ description: "When it was asked for." }),
}

export const StartedBackfill = Schema.Struct(asked).annotate({
  identifier: "StartedBackfill",
  description: "A backfill that was taken on; `Location` is where it can be watched.",
  examples: [startedBackfill],
})

export const Backfill = Schema.Struct({
  ...asked,
  status: oneOf(["waiting", "running", "finished"]).annotate({
    description: "`waiting`: the backfill of another badge comes first.",
    examples: ["running"],
  }),
  checked: Schema.Int.annotate({
    description: "How many users were looked at.",
    examples: [42_000],
  }),
  total: Schema.Int.annotate({
    description: "How many users there are to look at.",
    examples: [100_000],
  }),
  awarded: Schema.Int.annotate({
    description:
      "How many users got the badge by it. After a restart of the server it begins anew, and does not count those who had got it before.",
    examples: [1_250],
  }),
  finishedAt: Schema.NullOr(Time).annotate({
    description: "When all users had been looked at.",
    examples: [null],
  }),
}).annotate({
  identifier: "Backfill",
  description: "The award of a badge to those who qualify already.",
  examples: backfills,
})
