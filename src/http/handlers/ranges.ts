/** The days that requests of analytics ask for, and shares. */
import { Effect } from "effect"
import {
  dayOf,
  firstDayOf,
  windowKindOf,
  windowOfDay,
  type Zone,
} from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import type { Wait } from "../../engine/read/CountOfAll.ts"
import { limits } from "../../Limits.ts"
import type { RetentionQuery } from "../api/Analytics.ts"

export interface Range {
  readonly first: number
  readonly last: number
}

type By = keyof typeof windowKindOf

/** How many periods there are without `from`. */
const defaultCount: Readonly<Record<By, number>> = { day: 30, week: 12, month: 12 }

/** The periods that a request asks for, by their indexes, as of `now` in `zone`. */
export const rangeOf = (
  { by = "day", from, to }: typeof RetentionQuery.Type,
  zone: Zone,
  now: number,
): Effect.Effect<Range, LaurelError<"invalid_request">> => {
  const kind = windowKindOf[by]
  const today = zone.dayAt(now)
  const lastDay = to === undefined ? today : dayOf(to)!
  const last = windowOfDay(kind, lastDay)
  const earliest = today - limits.analyticsDaysMax
  const outOfRange = (pointer: string, detail: string): Fault => {
    return { pointer, code: "out_of_range", detail }
  }
  const wanted = from === undefined ? last - defaultCount[by] + 1 : windowOfDay(kind, dayOf(from)!)
  // Without `from`, what is too long ago is left out.
  const first = from === undefined ? Math.max(wanted, windowOfDay(kind, earliest - 1) + 1) : wanted
  const faults: Array<Fault> = []
  if (firstDayOf(kind, first) < earliest) {
    const detail = `its ${by} must begin at most ${limits.analyticsDaysMax} days ago`
    faults.push(outOfRange("query/from", detail))
  }
  if (first > last) {
    faults.push(
      from === undefined
        ? outOfRange("query/to", `must be at most ${limits.analyticsDaysMax} days ago`)
        : outOfRange("query/to", "must not be before from"),
    )
  }
  // The day has begun in every time zone.
  if (lastDay > today + 1) faults.push(outOfRange("query/to", "must not be in the future"))
  return faults.length > 0 ? Effect.fail(invalidRequest(faults)) : Effect.succeed({ first, last })
}

const decimals = 10_000

export const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((decimals * part) / whole) / decimals

/** A table has all numbers, so it waits for a count; other replies wait briefly. */
export const waitOf = (format: "csv" | "json" | undefined): Wait =>
  format === "csv" ? "counted" : "briefly"
