/**
 * Loaded before the program (`--import`), never by it: carries out one plan of faults inside the process, at named
 * steps of its work with the disk. The plan is the JSON of `Plan` in `TORTURE_PLAN`. It reports its steps on stderr.
 */
import fs from "node:fs"

/** The calls through which journal and archives reach the disk. */
export type Call = "open" | "writev" | "fdatasync" | "fsync" | "ftruncate" | "rename" | "unlink"

export interface Plan {
  /** The server itself, or the process that makes and checks archives. */
  readonly role: "server" | "worker"
  readonly call: Call
  /** A part of the path that the call is about. */
  readonly path: string
  /** The number of the call, from 1. */
  readonly nth: number
  /** The process is killed before the call, or when it is done; or the disk is full for a while. */
  readonly effect: "kill before" | "kill after" | "no space"
  readonly forMs: number
}

/** How far the clock jumps, at most, and how often. */
export interface ClockPlan {
  readonly jumpMs: number
  readonly everyMs: number
}

type Any = (...args: Array<unknown>) => unknown
type Callback = (error: Error | null, ...values: Array<unknown>) => void

const calls = fs as unknown as Record<string, Any>
const say = (text: string): void => {
  fs.writeSync(2, `torture: ${text}\n`)
}
const kill = (text: string): void => {
  say(text)
  process.kill(process.pid, "SIGKILL")
}

const carryOut = (plan: Plan): void => {
  const paths = new Map<number, string>()
  const open = calls.open!
  calls.open = (...args) => {
    const callback = args.pop() as Callback
    open(...args, (error: Error | null, descriptor: number) => {
      if (error === null) paths.set(descriptor, String(args[0]))
      callback(error, descriptor)
    })
  }
  const pathOf = ([first]: ReadonlyArray<unknown>): string =>
    typeof first === "number" ? (paths.get(first) ?? "") : String(first)
  let seen = 0
  let fullUntil: number | undefined
  const wrap = (name: string, whenFull: boolean): void => {
    const original = calls[name]!
    calls[name] = (...args) => {
      const where = pathOf(args)
      if (!where.includes(plan.path)) return original(...args)
      const step = `${name} ${where}`
      if (name === plan.call && ++seen === plan.nth) {
        if (plan.effect === "kill before") kill(`killed before ${step}`)
        if (plan.effect === "kill after") {
          const callback = args.pop() as Callback
          return original(...args, (...results: Parameters<Callback>) => {
            kill(`killed after ${step}`)
            callback(...results)
          })
        }
        if (plan.effect === "no space") {
          say(`no space from ${step} on`)
          fullUntil = performance.now() + plan.forMs
        }
      }
      // Only a file that is made needs space.
      const makesFile = (Number(args[1]) & fs.constants.O_CREAT) !== 0
      const needsSpace = whenFull && (name !== "open" || makesFile)
      if (needsSpace && fullUntil !== undefined && performance.now() < fullUntil) {
        const callback = args.pop() as Callback
        setImmediate(callback, Object.assign(new Error("no space"), { code: "ENOSPC" }))
        return
      }
      return original(...args)
    }
  }
  for (const name of ["writev", "open"]) wrap(name, true)
  for (const name of ["ftruncate", "fdatasync", "fsync", "rename", "unlink"]) wrap(name, false)
}

const jump = ({ everyMs, jumpMs }: ClockPlan): void => {
  const real = Date.now
  let offsetMs = 0
  Date.now = () => real() + offsetMs
  setInterval(() => {
    offsetMs = Math.round((Math.random() * 2 - 1) * jumpMs)
  }, everyMs).unref()
}

const role = process.argv[1]?.endsWith("worker.ts") ? "worker" : "server"
const plan: Plan | undefined = JSON.parse(process.env.TORTURE_PLAN ?? "null") ?? undefined
const clock: ClockPlan | undefined = JSON.parse(process.env.TORTURE_CLOCK ?? "null") ?? undefined
if (plan?.role === role) carryOut(plan)
if (clock !== undefined && role === "server") jump(clock)
