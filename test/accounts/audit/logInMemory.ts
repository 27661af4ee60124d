/** An audit log that keeps its entries in a list. */
import { Effect } from "effect"
import type { AuditLog, NewAuditEntry } from "../../../src/accounts/audit/AuditLog.ts"

export const logInMemory = () => {
  const entries: Array<NewAuditEntry> = []
  const log: AuditLog = {
    admit: () => Effect.void,
    write: (entry) => Effect.sync(() => void entries.push(entry)),
    read: () => Effect.die("nobody reads it"),
  }
  return { entries, log }
}
