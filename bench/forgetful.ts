/** The storage in memory, except that it forgets what is written: keeping it on the heap would cost more than what is measured. */
import { Effect } from "effect"
import * as MemoryStorage from "../src/storage/MemoryStorage.ts"
import type { Storage } from "../src/storage/Storage.ts"

export const forgetful = (): Storage["Service"] => ({
  ...MemoryStorage.make(),
  append: () => Effect.void,
  writeEntries: () => Effect.void,
})
