/**
 * A storage in memory that drops all writes: keeping them on the heap would cost more than the
 * measured code.
 */
import { Effect } from "effect"
import type { Storage } from "../src/storage/Storage.ts"
import * as MemoryStorage from "../test/storage/MemoryStorage.ts"

export const forgetful = (): Storage["Service"] => ({
  ...MemoryStorage.make(),
  append: () => Effect.void,
  writeEntries: () => Effect.void,
})
