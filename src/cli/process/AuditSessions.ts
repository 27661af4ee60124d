/** The sessions of PostgreSQL for the audit log of a cluster; `undefined`: the log is in the data directory. */
import { Context } from "effect"
import type { Sessions } from "../../storage/postgres/PgConnection.ts"

export const AuditSessions = Context.Reference<Pick<Sessions, "run"> | undefined>(
  "cli/process/AuditSessions",
  { defaultValue: () => undefined },
)
