/** The days that a page of analytics asks for: two fields, and the faults of a range that cannot be read. */
import { Effect, Result } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { queryFaults, textField } from "./Forms.ts"
import { type Html, html } from "./Html.ts"

export interface Days {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The days in the query of an address. */
export const daysIn = (query: URLSearchParams): Days => ({
  from: query.get("from") || undefined,
  to: query.get("to") || undefined,
})

/** The result of the read, or the error whose faults the fields of `daysForm` show. */
export const orRangeFault = Effect.fnUntraced(function* <A>(
  read: Effect.Effect<A, LaurelError>,
): Effect.fn.Return<Result.Result<A, LaurelError>, LaurelError> {
  const found = yield* Effect.result(read)
  if (Result.isSuccess(found)) return found
  const { errors = [] } = found.failure
  const isRange = errors.every(({ pointer }) => /^query\/(from|to)$/.test(pointer))
  if (!isRange || errors.length === 0) return yield* Effect.fail(found.failure)
  return Result.fail<LaurelError>({ ...found.failure, errors: queryFaults(errors) })
})

/** `kept`: other parameters of the address. `others`: fields before those of the days. */
export const daysForm = (
  address: string,
  { from, to }: Days,
  error: LaurelError | undefined,
  {
    kept = {},
    others,
  }: { readonly kept?: Readonly<Record<string, string>>; readonly others?: Html | undefined } = {},
): Html => {
  const field = (name: string, label: string, value: string | undefined) =>
    textField({ name, label, type: "date", value: value ?? "", faults: error?.errors })
  return html`<form method="get" action="${address}" class="row fields">
${Object.entries(kept).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${others}
${field("from", "From", from)}
${field("to", "To", to)}
<button>Show</button></form>`
}
