/** The access log on a pipe of the operating system, whose reader stops, returns or ends. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { AccessLog, type LogStream } from "../../../src/cli/process/Logging.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"

/** A process that reads what it is sent and writes it to its own output. */
const reading = (program = "cat", ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] })),
    (child) =>
      Effect.promise(async () => {
        child.kill("SIGKILL")
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
      }),
  )

const linesOf = async ({ stdout }: ChildProcess): Promise<ReadonlyArray<string>> => {
  let text = ""
  for await (const piece of stdout!) text += piece
  return text.split("\n").slice(0, -1)
}

const bytesMax = 64 * 1_024
const entry = (n: number) => `{"n":${n},"path":"${"x".repeat(1_000)}"}`

it.live(
  "A reader of the access log that stops loses lines beyond the limit, and gets all others in order",
  () =>
    Effect.gen(function* () {
      const child = yield* reading()
      const metrics = new Metrics()
      const stream = child.stdin as unknown as LogStream
      const log = new AccessLog(stream, metrics, bytesMax)
      const lost = () => metrics.value("laurel_access_log_lost_lines_total")
      child.kill("SIGSTOP")
      let most = 0
      for (let n = 0; n < 2_000; n++) {
        log.write(entry(n))
        most = Math.max(most, stream.writableLength)
        if (n % 50 === 0) yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
      }
      expect(lost()).toBeGreaterThan(1_000)
      expect(most).toBeLessThanOrEqual(bytesMax)
      expect(most).toBeGreaterThan(bytesMax / 2)
      child.kill("SIGCONT")
      yield* log.close
      const lostThen = lost()
      const lines = linesOf(child)
      log.write(entry(2_000))
      yield* log.close
      child.stdin.end()
      const written = (yield* Effect.promise(() => lines)).map((line) => JSON.parse(line))
      expect(written.length).toBe(2_001 - lostThen)
      const numbers = written.map(({ n }) => n)
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
      expect(numbers.at(-1)).toBe(2_000)
      for (const { time } of written) expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    }),
)

const goneAfter = (how: (child: ChildProcess) => Promise<unknown>, ...command: Array<string>) =>
  Effect.gen(function* () {
    const child = yield* reading(...command)
    const metrics = new Metrics()
    const log = new AccessLog(child.stdin as unknown as LogStream, metrics, bytesMax)
    yield* Effect.promise(() => how(child))
    const lost = () => metrics.value("laurel_access_log_lost_lines_total")
    while (lost() === 0) {
      log.write(entry(1))
      yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
    }
    yield* log.close
  })

it.live(
  "A reader of the access log that ends delays and ends nothing; its lines are counted as lost",
  () =>
    goneAfter((child) => {
      child.kill("SIGKILL")
      return once(child, "exit")
    }),
)

it.live(
  "A reader that closes the pipe and continues delays and ends nothing; its lines are counted as lost",
  () =>
    goneAfter(
      ({ stdout }) => once(stdout!, "data"),
      "sh",
      "-c",
      "exec <&-; echo closed; exec sleep 600",
    ),
)
