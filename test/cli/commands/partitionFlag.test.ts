/** Commands about several partitions. */
import { Deferred, Effect, Fiber, Result } from "effect"
import { expect, it } from "vitest"
import { forEachPartition } from "../../../src/cli/commands/flags.ts"
import { commandFailed } from "../../../src/cli/output/ExitCode.ts"
import { ofPartition, partitionNumber, readConfig } from "../../../src/config/Config.ts"

const config = Result.getOrThrow(
  readConfig({ LAUREL_DATA_DIR: "/data", LAUREL_CLUSTER: "postgres://laurel@db/laurel" }).config,
)
const configs = [2, 3, 4, 5, 1].map((number) => ofPartition(config, number))

it("A command runs for a number of partitions at once, for the last one after all others, and reports failures in order", () =>
  Effect.runPromise(
    Effect.gen(function* () {
      const running: Array<number> = []
      const gates = new Map(configs.map((one) => [partitionNumber(one), Deferred.makeUnsafe()]))
      const command = yield* Effect.forkChild(
        Effect.flip(
          forEachPartition(
            configs,
            "failure",
            (one) => {
              const number = partitionNumber(one)
              running.push(number)
              const failure = commandFailed(60 + number, "failed")
              return Effect.andThen(
                Deferred.await(gates.get(number)!),
                number % 2 === 1 ? Effect.fail(failure) : Effect.void,
              )
            },
            2,
          ),
        ),
        { startImmediately: true },
      )
      const end = (number: number) =>
        Effect.andThen(Deferred.succeed(gates.get(number)!, undefined), Effect.yieldNow)
      const until = (count: number) =>
        Effect.suspend(function loop(): Effect.Effect<void> {
          return running.length >= count
            ? Effect.void
            : Effect.andThen(Effect.yieldNow, Effect.suspend(loop))
        })
      expect(running).toEqual([2, 3])
      yield* end(3)
      yield* until(3)
      expect(running).toEqual([2, 3, 4])
      yield* end(2)
      yield* until(4)
      expect(running).toEqual([2, 3, 4, 5])
      yield* end(4)
      yield* end(5)
      yield* until(5)
      yield* end(1)
      const { exitCode, lines } = yield* Fiber.join(command)
      expect(exitCode).toBe(63)
      expect(lines).toEqual([3, 5, 1].map((number) => `Partition ${number}: failed`))
    }),
  ))
