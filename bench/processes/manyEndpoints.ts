/**
 * A message to 10,000 endpoints, while none hangs and while 1,000 hang; and the latency of requests
 * meanwhile.
 */
import { Effect, Fiber } from "effect"
import { limits } from "../../src/Limits.ts"
import { answer } from "../children.ts"
import { heapBytes } from "../heap.ts"
import { median } from "../statistics.ts"
import { delivering, outcome, webhookTo } from "./deliveries.ts"

export interface Phase {
  /** Until the last of those that answer has the message, milliseconds, the median of rounds. */
  readonly roundMs: number
  readonly askP50Ms: number
  readonly askP99Ms: number
  readonly bytes: number
}

export interface ManyEndpointsReport {
  readonly endpoints: number
  readonly hanging: number
  readonly quiet: { readonly askP50Ms: number; readonly askP99Ms: number }
  readonly allAnswer: Phase
  readonly someHang: Phase
}

const environments = Array.from({ length: 10 }, (_, index) => `prj_${index}:sandbox`)
const rounds = 5
const askEveryMs = 5

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(share * (values.length - 1))]!

const reward = (amount: number) =>
  ({ userId: "ada", command: { kind: "reward", type: "xp", amount } }) as const

await answer(({ directory }: { readonly directory: string }) => {
  let hang = false
  let received = 0
  const hangs = (url: string) => url.endsWith("7/")
  return delivering(
    directory,
    (url, settle) => {
      if (!hangs(url)) received++
      if (hang && hangs(url)) {
        setTimeout(() => settle(outcome(null)), limits.webhookTimeoutMs).unref()
      } else setImmediate(() => settle(outcome(204)))
    },
    ({ engine }) =>
      Effect.gen(function* () {
        const urls = environments.flatMap((environment) =>
          Array.from({ length: limits.webhooksMax }, (_, index) => ({
            environment,
            url: `https://${environment.slice(4, 5)}.example.com/${index}/`,
          })),
        )
        yield* Effect.forEach(
          urls,
          ({ environment, url }) =>
            engine.askProject(environment, webhookTo(url, "reward.granted")),
          { concurrency: 200, discard: true },
        )
        const answering = urls.filter(({ url }) => !hangs(url)).length

        const asking = Effect.fnUntraced(function* (into: Array<number>) {
          while (true) {
            const at = performance.now()
            yield* engine.askUser("prj_other:sandbox", reward(1))
            into.push(performance.now() - at)
            yield* Effect.sleep(askEveryMs)
          }
        })
        const asksDuring = <A>(work: Effect.Effect<A, unknown>) =>
          Effect.gen(function* () {
            const asks: Array<number> = []
            const fiber = yield* Effect.forkChild(asking(asks))
            const result = yield* work
            yield* Fiber.interrupt(fiber)
            return { result, askP50Ms: quantile(asks, 0.5), askP99Ms: quantile(asks, 0.99) }
          })
        const round = Effect.gen(function* () {
          const at = performance.now()
          const before = received
          yield* Effect.forEach(environments, (each) => engine.askUser(each, reward(1)), {
            concurrency: "unbounded",
            discard: true,
          })
          while (received < before + answering) yield* Effect.sleep(1)
          return performance.now() - at
        })
        const phase = Effect.gen(function* () {
          const { result, ...asks } = yield* asksDuring(
            Effect.forEach(Array.from({ length: rounds }), () => Effect.delay(round, 300)),
          )
          return { roundMs: median(result), ...asks, bytes: heapBytes() } satisfies Phase
        })
        // The first rounds only warm up, and show who answers.
        yield* round
        yield* round
        const { result: _, ...quiet } = yield* asksDuring(Effect.sleep(2_000))
        const allAnswer = yield* phase
        hang = true
        const someHang = yield* phase
        return {
          endpoints: urls.length,
          hanging: urls.length - answering,
          quiet,
          allAnswer,
          someHang,
        } satisfies ManyEndpointsReport
      }),
  )
})
