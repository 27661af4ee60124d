/** Whether a restore has brought keys back into force that had ended in the replaced data. */
import { Clock, Effect, Result } from "effect"
import type { ReturnedKeys } from "../../engine/archive/Jobs.ts"
import { amountOf } from "../output/Amounts.ts"
import { attemptJob } from "./CommandJob.ts"

/** `unknown` is the reason for which they could not be compared; `keys` and `count` are then empty. */
export interface KeyComparison extends ReturnedKeys {
  readonly unknown: string | null
}

/** Compares the data directory with the folder of the data that it replaced. Never fails: the restore is done. */
export const compareKeys = Effect.fnUntraced(function* (
  restored: string,
  replaced: string | undefined,
): Effect.fn.Return<KeyComparison> {
  if (replaced === undefined) return { keys: [], count: 0, unknown: "No data was replaced" }
  const at = yield* Clock.currentTimeMillis
  const compared = yield* Effect.result(attemptJob("returnedKeys", { restored, replaced, at }))
  return Result.isSuccess(compared)
    ? { ...compared.success, unknown: null }
    : { keys: [], count: 0, unknown: compared.failure.detail.replace(/\.$/, "") }
})

/** Advice to the operator, a line each. */
export const comparisonWords = ({ count, keys, unknown }: KeyComparison): ReadonlyArray<string> => {
  if (unknown !== null) {
    return [
      `${unknown}: whether revoked keys are in force again could not be compared. \`laurel keys list\` shows the keys in force.`,
    ]
  }
  if (count === 0) return ["No key that had ended is in force again."]
  return [
    `${amountOf(count, "key")} that had ended ${count === 1 ? "is" : "are"} in force again. Revoke those that must not be:`,
    ...keys.map(
      ({ environment, hint, id, name, project, was }) =>
        `  ${id}  ${hint}…${name === "" ? "" : `  ${name}`}  (${project}, ${environment}; was ${was})`,
    ),
    ...(count > keys.length ? [`  and ${amountOf(count - keys.length, "more key")}`] : []),
  ]
}
