/** Why the engine takes no command at the moment. */
import { laurelError } from "../../domain/values/Errors.ts"

export const shuttingDown = laurelError("shutting_down", "Retry when the server is back.", {
  retryAfterSeconds: 5,
})
export const storageUnavailable = laurelError("storage_unavailable", "Nothing was changed.", {
  retryAfterSeconds: 5,
})
export const overloaded = laurelError("overloaded", "Nothing was changed.", {
  retryAfterSeconds: 1,
})
