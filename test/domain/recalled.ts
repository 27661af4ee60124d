/** Decides as the actor does: again, with as much of the user's history as the decision asks for. */
import { Result } from "effect"
import type { Decision } from "../../src/domain/decide/Draft.ts"
import { HistoryNeeded, Past } from "../../src/domain/record/Past.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { LaurelError } from "../../src/domain/values/Errors.ts"

/** `records`: the user's, oldest first. */
export const decideRecalling = (
  records: ReadonlyArray<JournalRecord>,
  decide: (past?: Past) => Result.Result<Decision, LaurelError | HistoryNeeded>,
): Result.Result<Decision, LaurelError> => {
  const decided = decide()
  if (Result.isSuccess(decided)) return Result.succeed(decided.success)
  if (!(decided.failure instanceof HistoryNeeded)) return Result.fail(decided.failure)
  const past = new Past(decided.failure.backfilled)
  for (const record of records.toReversed()) {
    past.add(record)
    if (decided.failure.isMet(past, record.at)) break
  }
  return Result.mapError(decide(past), (failure) => {
    if (failure instanceof HistoryNeeded) throw new Error("The decision asked twice")
    return failure
  })
}
