/** A PostgreSQL with the settings of production, for benches of a cluster. */
import { Postgres } from "../test/storage/postgres/Postgres.ts"
import { withTemporaryFolder } from "./millionUsers.ts"

const settings = { fsync: "on", full_page_writes: "on", shared_buffers: "128MB" }

/** Runs `use` with an empty PostgreSQL and a temporary folder, and removes both. */
export const withPostgres = <A>(
  use: (postgres: Postgres, folder: string) => Promise<A>,
): Promise<A> =>
  withTemporaryFolder(async (folder) => {
    const postgres = await Postgres.make(settings)
    try {
      return await use(postgres, folder)
    } finally {
      await postgres.remove()
    }
  })
