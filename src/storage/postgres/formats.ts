/**
 * The format of a cluster: that of the data which one runner writes and others read, that is
 * records, tables of webhooks, the directory and forwarded requests. It is the format of all data
 * (`../format.ts`), and `laurel_partition.format` has it. A runner of another format reads and
 * writes nothing: a start checks the format before it changes a table, and each statement that
 * reads records also reads the format.
 */
import { Effect } from "effect"
import { dataFormat, otherFormat } from "../format.ts"
import {
  type InPostgres,
  type PgConnection,
  PgFailure,
  type Rows,
  undefinedTable,
} from "./PgConnection.ts"

/** The refusal of a row with another format; `undefined` if it has this version's. */
export const formatRefusal = (row: Rows[number] | undefined): PgFailure | undefined => {
  const format = Number(row?.format ?? dataFormat)
  if (format === dataFormat) return undefined
  return new PgFailure({
    code: "format",
    words: `The cluster ${otherFormat(format)}. Nothing was changed.`,
    isOutage: false,
    isRefusal: true,
  })
}

// Tables whose rows have no format are older than all formats with a number in a row.
const formatText = `SELECT format FROM (
  SELECT coalesce((to_jsonb(laurel_partition) ->> 'format')::int, 1) AS format FROM laurel_partition
) AS formats WHERE format <> ${dataFormat} LIMIT 1`

/** Fails if a partition has another format. */
export const checkFormat = (connection: PgConnection): InPostgres<void> =>
  connection.run({ text: formatText }).pipe(
    Effect.catchIf(
      ({ code }) => code === undefinedTable,
      () => Effect.succeed([]),
    ),
    Effect.flatMap(([row]) => {
      const refusal = formatRefusal(row)
      return refusal === undefined ? Effect.void : Effect.fail(refusal)
    }),
  )
