/** The parts of a record that is about to be appended, besides its decision. */
import type { JournalRecord, Kept } from "../../domain/record/Record.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Idempotency } from "../dedupe/Idempotency.ts"

/** `plain` with the members that most records lack. */
export const recordOf = (
  plain: JournalRecord,
  aheadMs: number,
  kept: Kept | undefined,
  trace: string | undefined,
): JournalRecord => {
  if (aheadMs === 0 && kept === undefined && trace === undefined) return plain
  return {
    ...plain,
    ...(aheadMs > 0 && { aheadMs }),
    ...(kept !== undefined && { kept }),
    ...(trace !== undefined && { trace }),
  }
}

export const keptOf = ({ fingerprint, key }: Idempotency, error: LaurelError | undefined): Kept =>
  error === undefined ? { key, fingerprint } : { key, fingerprint, error }
