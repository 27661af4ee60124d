/** A job of a record, beyond its deliveries; `outbox/Jobs.ts` runs it. */
import { compositeKey } from "../../storage/Keys.ts"

/** A job and its progress, named by the sequence of its record. */
export type Job = { readonly record: number } & (
  | { readonly kind: "purge"; readonly endpoint: number }
  /** Expand the records from `next` to `record` again; `next` 0 stands for the first record since `since`. */
  | {
      readonly kind: "recover"
      readonly endpoint: number
      readonly since: number
      readonly next: number
    }
  /** Erase the messages about a user from before `record`. */
  | { readonly kind: "erase"; readonly environment: string; readonly user: string }
)

export const jobPrefix = compositeKey("job")
export const jobKey = (record: number): Uint8Array => compositeKey("job", record)
