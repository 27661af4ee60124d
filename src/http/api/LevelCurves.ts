/** Curves that make levels of an amount: of xp in the settings, of further currencies. */
import { Schema } from "effect"
import { levelCurveKinds } from "../../domain/project/Level.ts"
import { limits } from "../../Limits.ts"
import { faultAt, integer, list, number, oneOf } from "./Common.ts"

const curveXp = integer(1, limits.amountMax)

const Thresholds = list(integer(0, limits.balanceMax), 1, limits.levelThresholdsMax)
  .check(
    Schema.makeFilter<ReadonlyArray<number>>(
      (thresholds) =>
        thresholds.flatMap((threshold, index) => {
          const before = thresholds[index - 1]
          if (before === undefined) {
            return threshold === 0 ? [] : [faultAt([index], "out_of_range", "must be 0")]
          }
          return threshold > before
            ? []
            : [faultAt([index], "out_of_range", "must be greater than the previous one")]
        }),
      { toJsonSchema: () => [{}, true] },
    ),
  )
  .annotate({
    description:
      "For `table`: the xp at which each level begins, from 0. The last one begins the top level.",
    examples: [[0, 100, 300, 1000]],
  })

export const LevelCurvePatch = Schema.Struct({
  kind: Schema.optionalKey(
    oneOf(levelCurveKinds).annotate({
      description:
        "`quadratic`: level n begins at base·n·(n−1) xp. `linear`: every level takes `xpPerLevel`. `geometric`: level 1 takes `base`, each further level `factor` times the previous one, rounded. `table`: levels begin at `thresholds`.",
      examples: ["quadratic"],
    }),
  ),
  base: Schema.optionalKey(
    curveXp.annotate({ description: "For `quadratic` and `geometric`.", examples: [50] }),
  ),
  xpPerLevel: Schema.optionalKey(
    curveXp.annotate({ description: "For `linear`.", examples: [500] }),
  ),
  factor: Schema.optionalKey(
    number(limits.levelFactorMin, limits.levelFactorMax).annotate({
      description: "For `geometric`.",
      examples: [1.5],
    }),
  ),
  thresholds: Schema.optionalKey(Thresholds),
}).annotate({
  identifier: "LevelCurvePatch",
  description:
    "Maps xp to levels. A new curve changes every user's level at once; xp stay. Changing `kind` replaces the whole curve.",
})

export const LevelCurve = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("quadratic").annotate({
      description: "Level n begins at base·n·(n−1) xp.",
    }),
    base: Schema.Int.annotate({ description: "Half of the xp of level 1.", examples: [50] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("linear").annotate({ description: "Every level takes the same xp." }),
    xpPerLevel: Schema.Int.annotate({ description: "Xp per level.", examples: [500] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("geometric").annotate({
      description: "Each level takes a constant factor more than the previous one.",
    }),
    base: Schema.Int.annotate({ description: "Xp of level 1.", examples: [100] }),
    factor: Schema.Finite.annotate({ description: "Growth factor.", examples: [1.5] }),
  }),
  Schema.Struct({
    kind: Schema.Literal("table").annotate({ description: "Explicit levels." }),
    thresholds: Schema.Array(Schema.Int).annotate({
      description: "Xp at which each level begins; the last one begins the top level.",
      examples: [[0, 100, 300, 1000]],
    }),
  }),
]).annotate({
  identifier: "LevelCurve",
  description: "Maps xp, or the amount of another currency, to levels.",
  examples: [{ kind: "quadratic", base: 50 }],
})
