/** The request for which something is done, for the audit log; empty where a command does it without a server. */
import { Context } from "effect"

export const RequestOrigin = Context.Reference<{
  /** The network address of the connection. */
  readonly address: string
  readonly requestId: string
}>("accounts/audit/RequestOrigin", { defaultValue: () => ({ address: "", requestId: "" }) })
