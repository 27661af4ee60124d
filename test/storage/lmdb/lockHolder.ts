/** A process that takes the `OpeningLock` of a folder, says so, and keeps the lock until the process ends. */
import { OpeningLock } from "../../../src/storage/lmdb/OpeningLock.ts"

OpeningLock.open(process.argv[2]!).hold(() => {
  process.send!("held")
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
