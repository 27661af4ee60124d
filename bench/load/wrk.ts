/**
 * Closed loops by wrk: each connection sends a request, waits for its reply and sends the next. wrk
 * costs a fraction of any server's processor time, most of it in the kernel, so that almost all of
 * the machine is left to the server.
 */
import { spawn } from "node:child_process"
import { randomUUIDv7 } from "node:crypto"
import { fileURLToPath } from "node:url"

export interface Target {
  readonly host?: string
  readonly port: number
  readonly key: string
}

/** How users of requests are drawn: `next` takes each in turn. */
export type Choice = "uniform" | "zipf" | "next"

export interface WrkOptions extends Target {
  /**
   * `event`: POST of events; `user`: GET of a user; `page`: GET of 100 members of the leaderboard,
   * anywhere.
   */
  readonly kind: "event" | "user" | "page"
  /** Events are of `users` users; pages begin at an offset below. */
  readonly users: number
  readonly choice?: Choice
  /** 1 by default: the body is the event itself; more: a batch. */
  readonly events?: number
  /** A batch asks only for counts and refusals. */
  readonly minimal?: boolean
  /** Whether events have ids; they do by default. */
  readonly withIds?: boolean
  readonly connections: number
  readonly seconds: number
}

/** Times are microseconds. */
export interface WrkReport {
  readonly requests: number
  readonly durationUs: number
  /** Of `requests`, those with a status of 400 and more. */
  readonly refused: number
  readonly broken: number
  readonly timeouts: number
  readonly bytes: number
  readonly p50Us: number
  readonly p99Us: number
  readonly p999Us: number
  readonly maxUs: number
  /** Pairs of an upper bound and the number of replies. */
  readonly histogram: ReadonlyArray<readonly [microseconds: number, count: number]>
  /** Processor time of wrk itself for each request. */
  readonly loadUs: number
}

const script = fileURLToPath(new URL("requests.lua", import.meta.url))

/** Runs wrk once. Fails if wrk is not installed or a request fails. */
export const wrk = (options: WrkOptions): Promise<WrkReport> =>
  new Promise((resolve, reject) => {
    const {
      choice = "uniform",
      connections,
      events = 1,
      host = "127.0.0.1",
      minimal = false,
      seconds,
      withIds = true,
    } = options
    const { key, kind, port, users } = options
    const url = `http://${host}:${port}/`
    // Of a UUIDv7, all but the last 12 digits.
    const run = withIds ? randomUUIDv7().slice(0, 24) : "none"
    const given = { kind, key, run, users, choice, events, minimal, threads: 1 }
    const child = spawn(
      "wrk",
      [
        ...[
          "-t1",
          `-c${connections}`,
          `-d${seconds}s`,
          "--timeout",
          "30s",
          "-s",
          script,
          url,
          "--",
        ],
        ...Object.entries(given).map(([name, value]) => `${name}=${value}`),
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    )
    let printed = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text
      })
    }
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") return reject(error)
      reject(new Error("wrk is missing; install it: apt-get install wrk"))
    })
    child.once("close", (code) => {
      const line = /^REPORT (.*)$/m.exec(printed)
      if (code !== 0 || line === null) return reject(new Error(`wrk failed: ${printed}`))
      const report = JSON.parse(line[1]!) as WrkReport
      const { broken, refused, requests, timeouts } = report
      if (requests === 0 || refused + broken + timeouts > 0) {
        return reject(
          new Error(
            `${kind}: of ${requests} requests ${refused} were refused, ${timeouts} timed out; ${broken} connections broke`,
          ),
        )
      }
      resolve(report)
    })
  })
