/**
 * The directory (accounts, keys, projects) of a cluster as its runners read it: one row, that the owner of partition 1 writes
 * and all others copy. The journal of partition 1 remains its truth.
 *
 * Row 1 is that one. Where partition 1 was replaced by older data, row 0 is the directory before (`ForgottenProjects.ts`).
 *
 * A row of a later owner stays: the write of an earlier one finds a newer epoch there, or in the fence.
 */

import { Effect } from "effect"
import type { DirectoryState } from "../domain/project/Directory.ts"
import { decodeDirectory, encodeDirectory } from "../engine/records/Codec.ts"
import {
  type InPostgres,
  PgFailure,
  type Run,
  type Statement,
  undefinedTable,
} from "../storage/postgres/PgConnection.ts"
import { encodeValue, openValue } from "../storage/SealedValue.ts"

export const directoryPartition = 1

/** Tells runners of a new row. */
export const directoryChannel = "laurel_directory"

/** A place in the history of the directory. */
export interface DirectoryPlace {
  readonly epoch: number
  readonly sequence: number
}

const writeText = `WITH owner AS (
  SELECT epoch FROM laurel_partition WHERE id = ${directoryPartition} AND epoch = $1::bigint
), written AS (
  INSERT INTO laurel_directory AS row (id, epoch, sequence, state)
  SELECT 1, epoch, $2::bigint, $3::bytea FROM owner
  ON CONFLICT (id) DO UPDATE
  SET epoch = EXCLUDED.epoch, sequence = EXCLUDED.sequence, state = EXCLUDED.state
  WHERE (row.epoch, row.sequence) <= (EXCLUDED.epoch, EXCLUDED.sequence)
  RETURNING epoch
)
SELECT pg_notify('${directoryChannel}', '') FROM written`

/** Returns one row; none where there is a later owner. */
export const writeStatement = (epoch: number, state: DirectoryState): Statement => ({
  name: "write directory",
  text: writeText,
  values: [epoch, state.sequence, encodeValue(encodeDirectory(state))],
})

const readText = `SELECT epoch, sequence,
  CASE WHEN epoch = $1::bigint AND sequence = $2::bigint THEN NULL ELSE state END AS state
FROM laurel_directory WHERE id = 1`

/** Returns the state where it is at another place than `known`. */
export const readStatement = ({ epoch, sequence }: DirectoryPlace): Statement => ({
  name: "read directory",
  text: readText,
  values: [epoch, sequence],
})

/** The directory that was replaced; returns no row, or one. */
export const readReplaced: Statement = {
  name: "read replaced directory",
  text: "SELECT state FROM laurel_directory WHERE id = 0",
}

/** By the owner: what was replaced is known again. */
export const removeReplaced = (epoch: number): Statement => ({
  name: "remove replaced directory",
  text: `DELETE FROM laurel_directory WHERE id = 0 AND EXISTS (
  SELECT FROM laurel_partition WHERE id = ${directoryPartition} AND epoch = $1::bigint)`,
  values: [epoch],
})

/** The state of a row, or a predicate ("is damaged"). */
export const stateOf = (value: Uint8Array): DirectoryState | string => {
  const body = openValue(value)
  if (typeof body === "string") return body
  try {
    return decodeDirectory(body)
  } catch {
    return "is no directory"
  }
}

/** Before all rows. */
export const nowhere: DirectoryPlace = { epoch: -1, sequence: -1 }

/** The directory as it was published last, read once; `undefined`: it never was. */
export const readDirectory = (run: Run): InPostgres<DirectoryState | undefined> =>
  run(readStatement(nowhere)).pipe(
    Effect.catchIf(
      ({ code }) => code === undefinedTable,
      () => Effect.succeed([]),
    ),
    Effect.flatMap(([row]) => {
      if (row === undefined) return Effect.undefined
      const state = stateOf(row.state as Uint8Array)
      if (typeof state !== "string") return Effect.succeed(state)
      const words = `The directory in PostgreSQL ${state}`
      return new PgFailure({ code: "damaged", words, isOutage: false, isRefusal: false })
    }),
  )
