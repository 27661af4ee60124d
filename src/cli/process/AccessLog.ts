/**
 * The access log: lines on a stream, which whoever collects logs reads. Node keeps what a pipe does not take in memory; so a
 * reader that stops or is slow costs lines, at most `accessLogBytesMax` of memory, and never holds a request. Lost lines are
 * counted. The lines of one turn of the event loop are one write.
 */
import { Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import type { Counter, Metrics } from "../../metrics/Metrics.ts"

/** A stream of the process, as far as the log needs it. */
export type LogStream = Pick<NodeJS.WriteStream, "write" | "writable" | "writableLength" | "on">

export class AccessLog {
  readonly #stream: LogStream
  readonly #bytesMax: number
  readonly #lost: Counter
  /** Of this turn. */
  #lines = ""
  #broken = false

  constructor(stream: LogStream, metrics: Metrics, bytesMax = limits.accessLogBytesMax) {
    this.#stream = stream
    this.#bytesMax = bytesMax
    this.#lost = metrics.counter("laurel_access_log_lost_lines_total")
    stream.on("error", this.#fail)
  }

  /** `entry` is a JSON object in ASCII, on one line. */
  readonly write = (entry: string): void => {
    const line = `{"time":"${new Date().toISOString()}",${entry.slice(1)}\n`
    const bytes = this.#stream.writableLength + this.#lines.length + line.length
    if (this.#isBroken || bytes > this.#bytesMax) {
      this.#lost.increment()
      return
    }
    if (this.#lines === "") setImmediate(this.#flush)
    this.#lines += line
  }

  readonly #flush = (): void => {
    const lines = this.#lines
    this.#lines = ""
    if (lines !== "" && !this.#isBroken) this.#stream.write(lines)
  }

  get #isBroken(): boolean {
    return this.#broken || !this.#stream.writable
  }

  /** The reader is gone: without a listener the process would end. */
  readonly #fail = (): void => {
    this.#broken = true
  }

  /** Ends when the reader has all lines, or the deadline has passed. */
  readonly close: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#flush()
    if (this.#isBroken) resume(Effect.void)
    else this.#stream.write("", () => resume(Effect.void))
  }).pipe(Effect.timeoutOption(limits.accessLogFlushMs), Effect.asVoid)
}

/** Writes until the scope closes. */
export const openAccessLog = (
  stream: LogStream,
  metrics: Metrics,
): Effect.Effect<AccessLog, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new AccessLog(stream, metrics)),
    ({ close }) => close,
  )
