/** The days of a recap. */
import { Effect } from "effect"
import { dateOf, dayOf, type Zone } from "../../domain/values/Calendar.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import type { RecapQuery } from "../api/Recaps.ts"

export interface Range {
  readonly from: number
  readonly to: number
}

/** The days that a request asks for, as of `now` in `zone`. */
export const rangeOf = (
  query: typeof RecapQuery.Type,
  zone: Zone,
  now: number,
): Effect.Effect<Range, LaurelError<"invalid_request">> => {
  const today = zone.dayAt(now)
  const to = query.to === undefined ? today : dayOf(query.to)!
  const from = dayOf(query.from ?? `${dateOf(to).slice(0, 4)}-01-01`)!
  const faults: Array<Fault> = []
  if (to > today) {
    const detail = "must not be in the future"
    faults.push({ pointer: "query/to", code: "out_of_range", detail })
  }
  if (from > to) {
    const detail = "must not be after to"
    faults.push({ pointer: "query/from", code: "out_of_range", detail })
  }
  if (to - from > limits.recapDaysMax) {
    const detail = `must be at most ${limits.recapDaysMax} days before to`
    faults.push({ pointer: "query/from", code: "out_of_range", detail })
  }
  return faults.length > 0 ? Effect.fail(invalidRequest(faults)) : Effect.succeed({ from, to })
}
