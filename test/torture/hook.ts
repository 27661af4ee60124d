/**
 * Loaded before the program (`--import`), never by it: carries out one plan of faults inside the process, at named
 * steps of its work with the disk. The plan is the JSON of `Plan` in `TORTURE_PLAN`. It reports its steps on stderr.
 * `TORTURE_CLOCK` lets the wall clock jump, once or again and again; `TORTURE_DETOURS` leads connections through proxies;
 * `TORTURE_LIMITS` replaces limits that have no setting.
 */
import fs from "node:fs"
import net from "node:net"

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

/** How far the clock jumps, at most, and how often; without `everyMs`, so far with each message from the parent process. */
export interface ClockPlan {
  readonly jumpMs: number
  readonly everyMs?: number
}

/** Ports on this machine, and those of the proxies that connections to them take. */
export type Detours = Readonly<Record<string, number>>

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

/** Moves `Date`; the clocks that only go forward stay. */
const jump = ({ everyMs, jumpMs }: ClockPlan): void => {
  const Real = Date
  let offsetMs = 0
  globalThis.Date = class extends Real {
    constructor(...args: ReadonlyArray<never>) {
      super(...(args.length === 0 ? ([Real.now() + offsetMs] as const) : (args as [never])))
    }
    static override now(): number {
      return Real.now() + offsetMs
    }
  } as DateConstructor
  if (everyMs !== undefined) {
    setInterval(() => {
      offsetMs = Math.round((Math.random() * 2 - 1) * jumpMs)
    }, everyMs).unref()
    return
  }
  process.on("message", (message: number) => {
    offsetMs = message
    say(`the clock is ${offsetMs} ms off`)
  })
  // It does not keep the process from its end.
  process.channel?.unref()
}

const detour = (detours: Detours): void => {
  const connect = net.connect as Any
  const calls = net as unknown as Record<string, Any>
  calls.connect = (...args) => {
    const [options, ...rest] = args
    const { port } = (options ?? {}) as { readonly port?: number | string }
    const through = detours[String(port)]
    return through === undefined
      ? connect(...args)
      : connect({ ...(options as object), port: through }, ...rest)
  }
}

const role = process.argv[1]?.endsWith("worker.ts") ? "worker" : "server"
const plan: Plan | undefined = JSON.parse(process.env.TORTURE_PLAN ?? "null") ?? undefined
const clock: ClockPlan | undefined = JSON.parse(process.env.TORTURE_CLOCK ?? "null") ?? undefined
const detours: Detours | undefined = JSON.parse(process.env.TORTURE_DETOURS ?? "null") ?? undefined
if (plan?.role === role) carryOut(plan)
if (clock !== undefined && role === "server") jump(clock)
if (detours !== undefined) detour(detours)
if (process.env.TORTURE_LIMITS !== undefined) {
  const { limits } = await import("../../src/Limits.ts")
  Object.assign(limits, JSON.parse(process.env.TORTURE_LIMITS))
}
