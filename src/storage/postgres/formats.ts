/**
 * The format of data that one runner writes and other runners read: records, tables of webhooks,
 * the directory, forwarded requests. Formats let runners of two versions work side by side while a
 * cluster is upgraded.
 *
 * - Each runner publishes the newest format that it knows (`laurel_runner`,
 *   `cluster/RunnerRow.ts`). It knows all older formats.
 * - `laurel_partition.format` is the format in force. It is raised when all runners know a newer
 *   format, including runners that were silent for less than `formatWaitMs`. It is never lowered.
 *   An owner writes nothing in a newer format.
 * - A runner that does not know the format in force reads no record of the partition: each
 *   statement that reads records also reads the format. This check makes the rule safe. The wait
 *   for all runners only avoids refusals.
 *
 * A version that adds a format reads it from its first release on, and writes it once it is the
 * format in force.
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
 * From this format on, a project may be in any partition. A version that knows only format 1 serves
 * only partition 1.
 */
export const spreadFormat = 2

/**
 * The refusal of a row with a format that this version does not know; `undefined` if it knows the
 * format.
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

/** Fails if a partition has a newer format. */
export const checkFormat = (connection: PgConnection): InPostgres<void> =>
  Effect.flatMap(
    connection.run({ text: "SELECT max(format) AS format FROM laurel_partition" }),
    ([row]) => {
      const refusal = formatRefusal(row)
      return refusal === undefined ? Effect.void : Effect.fail(refusal)
    },
  )

/**
 * Raises the format in force to the newest format that all runners know which were seen within
 * `waitMs`.
 */
export const raiseFormat = (waitMs: number): Statement => ({
  name: "raise format",
  text: `UPDATE laurel_partition SET format = known.newest FROM (
  SELECT min(format) AS newest FROM laurel_runner
  WHERE seen_at > now() - $1::float8 * interval '1 millisecond'
) known WHERE laurel_partition.format < known.newest`,
  values: [waitMs],
})
