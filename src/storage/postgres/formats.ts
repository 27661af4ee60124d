/**
 * The format of what one runner writes and others read: records, tables of webhooks, the directory,
 * forwarded requests. It lets runners of two versions work side by side while a cluster is
 * upgraded.
 *
 * - Each runner publishes the newest format that it knows (`laurel_runner`,
 *   `cluster/RunnerRow.ts`); it knows all older ones.
 * - `laurel_partition.format` is the format in force. It is raised once all runners know a newer
 *   one, those included that were silent for less than `formatWaitMs`, and never lowered. An owner
 *   writes nothing newer than it.
 * - A runner that does not know the format in force reads no record of the partition: each
 *   statement that reads records reads the format with them. This check makes the rule safe; the
 *   wait for all runners only spares them the refusal.
 *
 * A version that adds a format reads it from its first release on, and has its owner write it once
 * the format in force is the new one.
 */
import { Effect } from "effect"
import {
  type InPostgres,
  type PgConnection,
  PgFailure,
  type Rows,
  type Statement,
} from "./PgConnection.ts"

/** The newest format that this version knows. */
export const newestFormat = 2

/**
 * Since this format a project may be in any partition. A version that knows only format 1 answers
 * for partition 1 alone.
 */
export const spreadFormat = 2

/**
 * The refusal of a row whose column `format` has one that this version does not know; `undefined`:
 * it knows it.
 */
export const formatRefusal = (row: Rows[number] | undefined): PgFailure | undefined => {
  const format = Number(row?.format ?? 0)
  if (format <= newestFormat) return undefined
  return new PgFailure({
    code: "newer",
    words: `The cluster writes format ${format}, made by a newer Laurel; this version supports formats up to ${newestFormat}. Start this server with the version of the others.`,
    isOutage: false,
    isRefusal: true,
  })
}

/** Fails where a partition has a newer format. */
export const checkFormat = (connection: PgConnection): InPostgres<void> =>
  Effect.flatMap(
    connection.run({ text: "SELECT max(format) AS format FROM laurel_partition" }),
    ([row]) => {
      const refusal = formatRefusal(row)
      return refusal === undefined ? Effect.void : Effect.fail(refusal)
    },
  )

/** Raises the format in force to the one that all runners know that were seen within `waitMs`. */
export const raiseFormat = (waitMs: number): Statement => ({
  name: "raise format",
  text: `UPDATE laurel_partition SET format = known.newest FROM (
  SELECT min(format) AS newest FROM laurel_runner
  WHERE seen_at > now() - $1::float8 * interval '1 millisecond'
) known WHERE laurel_partition.format < known.newest`,
  values: [waitMs],
})
