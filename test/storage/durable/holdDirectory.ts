/** A program that opens the data directory of its argument, appends three records, says so and stays. */
import { Effect } from "effect"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { batchOf } from "../../../src/storage/Frames.ts"

const bodies = [1, 2, 3].map((sequence) => Buffer.from(`record ${sequence}`))

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const store = yield* DurableStorage.make({ directory: process.argv[2]! })
      yield* store.append(batchOf(1, bodies, [0, 0, 1]))
      process.stdout.write("held\n")
      // Standard input keeps the process alive until it is killed.
      yield* Effect.promise(
        () => new Promise((resolve) => process.stdin.once("end", resolve).resume()),
      )
    }),
  ),
)
