/**
 * Typed messages between the event loop and a thread or a process of its own. All threads and
 * processes of a server are reached in this way: those that write LMDB, send webhooks, check
 * passkeys and passwords, make the reference, seal segments, scan databases and run jobs about
 * archives.
 *
 * - Messages arrive in order. Those of a thread are structured clones; those of a process are lines
 *   of JSON.
 * - `ended` is called once, when the other side ends by itself, also by a crash. After it, and
 *   after `end`, the listener hears nothing more.
 * - The other side keeps this process alive only while it is held.
 * - `Questions` adds answers: a thread that starts with the first question and ends when idle.
 *
 * Effect's `Worker` is not used: a thread would load Effect before its first message, which takes
 * longer than most of these threads live. Nothing here loads Effect.
 */
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import { createInterface } from "node:readline"
import type { Writable } from "node:stream"
import { parentPort, type Worker } from "node:worker_threads"

export interface Listener<Report> {
  readonly heard: (report: Report) => void
  /** `error`: it crashed, or could not be started. */
  readonly ended: (code: number | null, signal: string | null, error?: Error) => void
}

export interface Channel<Order> {
  readonly tell: (order: Order) => void
  readonly hold: (isHeld: boolean) => void
  /** Ends the other side at once. */
  readonly end: () => Promise<unknown>
}

/** The channel to a thread that was just started. */
export const threadChannel = <Order, Report>(
  worker: Worker,
  listener: Listener<Report>,
): Channel<Order> => {
  let isOpen = true
  const ended: Listener<Report>["ended"] = (...how) => {
    if (isOpen) listener.ended(...how)
    isOpen = false
  }
  worker.on("message", (report) => {
    if (isOpen) listener.heard(report)
  })
  worker.on("error", (error: Error) => ended(null, null, error))
  worker.on("exit", (code) => ended(code, null))
  worker.unref()
  return {
    tell: (order) => worker.postMessage(order),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    end: () => {
      isOpen = false
      return worker.terminate()
    },
  }
}

/** The channel to a child process, from whose standard output the reports come. */
export class ProcessChannel<Order, Report> implements Channel<Order> {
  readonly #child: ChildProcess
  /** Ends the process; the listener hears of it. */
  readonly kill: () => void
  #isKilled = false
  #listener: Listener<Report> | undefined
  #silenceMs: number | undefined
  #silence: NodeJS.Timeout | undefined

  /** `endsWith`: "close" waits for the end of the output as well, which grandchildren may share. */
  constructor(
    child: ChildProcess,
    endsWith: "exit" | "close" = "close",
    kill: () => void = () => child.kill("SIGKILL"),
  ) {
    this.#child = child
    this.kill = () => {
      this.#isKilled = true
      kill()
    }
    createInterface({ input: child.stdout! }).on("line", (line) => {
      this.within(this.#silenceMs)
      this.#listener?.heard(JSON.parse(line))
    })
    const ended: Listener<Report>["ended"] = (...how) => this.#mute()?.ended(...how)
    child.on("error", (error) => ended(null, null, error))
    child.on(endsWith, (code, signal) => ended(code, signal))
    // The end of the process reports the same error.
    for (const pipe of this.#pipes) pipe.on("error", () => {})
  }

  /** Whether the process takes orders: a killed one has no exit code until its end is reported. */
  get isOpen(): boolean {
    const { exitCode, pid, signalCode } = this.#child
    return pid !== undefined && exitCode === null && signalCode === null && !this.#isKilled
  }

  /**
   * Reports go to `listener` from now on; `undefined`: nobody waits for one. The process ends after
   * `silenceMs` without a report; `undefined`: it may be silent for ever.
   */
  listen(listener: Listener<Report> | undefined, silenceMs?: number): void {
    this.#listener = listener
    this.hold(listener !== undefined)
    this.within(silenceMs)
  }

  /** Changes the time without a report after which the process ends. */
  within(silenceMs: number | undefined): void {
    clearTimeout(this.#silence)
    this.#silenceMs = silenceMs
    if (silenceMs === undefined) return
    this.#silence = setTimeout(this.kill, silenceMs)
    if (this.#listener === undefined) this.#silence.unref()
  }

  /** Writes to the pipe with this number, by default standard input. */
  tell(order: Order, pipe = 0): void {
    ;(this.#child.stdio[pipe] as Writable).write(`${JSON.stringify(order)}\n`)
  }

  hold(isHeld: boolean): void {
    for (const handle of [this.#child, ...this.#pipes]) isHeld ? handle.ref() : handle.unref()
  }

  async end(): Promise<void> {
    this.#mute()
    if (this.isOpen) this.kill()
  }

  #mute(): Listener<Report> | undefined {
    clearTimeout(this.#silence)
    const listener = this.#listener
    this.#listener = undefined
    return listener
  }

  get #pipes(): ReadonlyArray<Socket> {
    return this.#child.stdio.filter((pipe) => pipe !== null) as unknown as ReadonlyArray<Socket>
  }
}

/* Questions to a thread. */

type Asked<Question> = readonly [number: number, question: Question]
type Answered<Answer> = readonly [number: number, answer: Answer]
/** The order to end after the questions under way. */
const close = "close"

/** A question took longer than its deadline. */
export class TooLate extends Error {}

export interface QuestionsOptions {
  /** The thread ends after this time without a question. */
  readonly idleMs: number
  /** A question that takes longer ends the thread, and all questions under way fail. */
  readonly deadlineMs?: number
  /** Whether questions under way keep this process alive. */
  readonly holds?: boolean
}

interface Waiting<Answer> extends PromiseWithResolvers<Answer> {
  readonly late: NodeJS.Timeout | undefined
}

/** A thread that answers questions (`answerQuestions`) while there are any. */
export class Questions<Question, Answer> {
  readonly #startWorker: () => Worker
  readonly #options: QuestionsOptions
  readonly #waiting = new Map<number, Waiting<Answer>>()
  #channel: Channel<Asked<Question> | typeof close> | undefined
  /** The end of a thread that was told to end. */
  #ending: PromiseWithResolvers<void> | undefined
  #number = 0
  #idle: NodeJS.Timeout | undefined

  constructor(startWorker: () => Worker, options: QuestionsOptions) {
    this.#startWorker = startWorker
    this.#options = options
  }

  /** The number of questions under way. */
  get size(): number {
    return this.#waiting.size
  }

  /** Starts the thread if it does not run. */
  start(): void {
    if (this.#channel !== undefined || this.#ending !== undefined) return
    this.#channel = threadChannel(this.#startWorker(), {
      heard: ([number, answer]: Answered<Answer>) => {
        this.#take(number)?.resolve(answer)
        if (this.#waiting.size === 0) this.#rest()
      },
      ended: (code, _, error) => {
        this.#ending?.resolve()
        this.#ending = undefined
        this.#fail(error ?? new Error(`its thread exited with ${code}`))
      },
    })
    this.#rest()
  }

  /** The answer. Rejects if the thread ends before, with `TooLate` after the deadline. */
  async ask(question: Question): Promise<Answer> {
    while (this.#ending !== undefined) await this.#ending.promise
    this.start()
    clearTimeout(this.#idle)
    const { deadlineMs, holds = false } = this.#options
    const late = deadlineMs === undefined ? undefined : setTimeout(this.#giveUp, deadlineMs)
    const waiting = { ...Promise.withResolvers<Answer>(), late }
    const number = ++this.#number
    this.#waiting.set(number, waiting)
    this.#channel!.hold(holds)
    this.#channel!.tell([number, question])
    return waiting.promise
  }

  /** Ends the thread after the questions under way. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    if (this.#channel !== undefined) {
      this.#ending = Promise.withResolvers()
      this.#channel.hold(true)
      this.#channel.tell(close)
      this.#channel = undefined
    }
    await this.#ending?.promise
  }

  readonly #giveUp = (): void => {
    void this.#channel?.end()
    this.#fail(new TooLate())
  }

  /** No thread runs any more. */
  #fail(cause: Error): void {
    clearTimeout(this.#idle)
    this.#channel = undefined
    for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(cause)
  }

  #take(number: number): Waiting<Answer> | undefined {
    const waiting = this.#waiting.get(number)
    clearTimeout(waiting?.late)
    this.#waiting.delete(number)
    return waiting
  }

  #rest(): void {
    clearTimeout(this.#idle)
    this.#channel?.hold(false)
    this.#idle = setTimeout(() => void this.close(), this.#options.idleMs).unref()
  }
}

/** In a thread: answers the questions. `closed` runs at its end. */
export const answerQuestions = <Question, Answer>(
  answer: (question: Question) => Answer | Promise<Answer>,
  closed: () => Promise<void> = async () => {},
): void => {
  const port = parentPort!
  port.on("message", async (order: Asked<Question> | typeof close) => {
    if (order === close) {
      await closed()
      port.close()
    } else {
      port.postMessage([order[0], await answer(order[1])] satisfies Answered<Answer>)
    }
  })
}
