/** The secret with which runners of a cluster forward requests to each other: made by the first runner, kept in PostgreSQL. */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { InPostgres, PgConnection } from "../storage/postgres/PgConnection.ts"

const secretBytes = 32

export const readSecret = (connection: PgConnection): InPostgres<string> =>
  Effect.gen(function* () {
    yield* connection.run({
      text: "INSERT INTO laurel_secret VALUES (1, $1) ON CONFLICT DO NOTHING",
      values: [randomBytes(secretBytes).toString("base64url")],
    })
    const [row] = yield* connection.run({ text: "SELECT secret FROM laurel_secret WHERE id = 1" })
    return String(row?.secret)
  })
