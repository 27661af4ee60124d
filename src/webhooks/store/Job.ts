/** What is still to be done because of a record, beyond its deliveries; `Jobs.ts` does it. */
import { compositeKey } from "../../storage/Keys.ts"

/** What is to be done because of a record, and how far it has come; named by the sequence of the record. */
export type Job = { readonly record: number } & (
  | { readonly kind: "purge"; readonly endpoint: number }
  /** Expand the records from `next` on, up to `record`, once more: `next` 0 is where `since` was. */
  | {
      readonly kind: "recover"
      readonly endpoint: number
      readonly since: number
      readonly next: number
    }
  /** Forget what was to be told of a user before `record`. */
  | { readonly kind: "erase"; readonly environment: string; readonly user: string }
)

export const jobPrefix = compositeKey("job")
export const jobKey = (record: number): Uint8Array => compositeKey("job", record)
