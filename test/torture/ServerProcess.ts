/** The real program in a process of its own, with or without the hook that makes it fail. */
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { limits } from "../../src/Limits.ts"
import type { ClockPlan, Detours, Plan } from "./hook.ts"

const present = resolve(import.meta.dirname, "../..")
const hook = resolve(import.meta.dirname, "hook.ts")

/** The faults injected into a server. */
export interface Trouble {
  readonly plan?: Plan
  readonly clock?: ClockPlan
  readonly detours?: Detours
  /** Limits that have no setting, such as times over which a server measures. */
  readonly limits?: Partial<Record<keyof typeof limits, number>>
  /** The folder with the sources; without it the present ones. */
  readonly sources?: string
  /** More settings. */
  readonly settings?: Readonly<Record<string, string>>
}

export type End = number | NodeJS.Signals

export class ServerProcess {
  readonly process: ChildProcess
  readonly ended: Promise<End>
  stdout = ""
  stderr = ""
  /** Characters of all that came from stderr. */
  written = 0
  hasEnded = false
  url = ""
  readonly #waiting = new Set<() => void>()

  constructor(
    args: ReadonlyArray<string>,
    directory: string,
    { clock, detours, limits, plan, settings, sources = present }: Trouble = {},
  ) {
    const troubled = [plan, clock, detours, limits].some((each) => each !== undefined)
    this.process = spawn(process.execPath, [join(sources, "src/main.ts"), ...args], {
      // The last one is for messages to the hook.
      stdio: ["ignore", "pipe", "pipe", ...(clock !== undefined ? (["ipc"] as const) : [])],
      env: {
        PATH: process.env.PATH ?? "",
        ...(process.env.NODE_COMPILE_CACHE !== undefined && {
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        }),
        LAUREL_DATA_DIR: directory,
        LAUREL_PORT: "0",
        LAUREL_ADMIN_PORT: "0",
        // All the time, so that every fault meets one.
        LAUREL_SNAPSHOT_INTERVAL: "100 millis",
        ...settings,
        ...(troubled && { NODE_OPTIONS: `--import ${hook}` }),
        ...(plan !== undefined && { TORTURE_PLAN: JSON.stringify(plan) }),
        ...(clock !== undefined && { TORTURE_CLOCK: JSON.stringify(clock) }),
        ...(detours !== undefined && { TORTURE_DETOURS: JSON.stringify(detours) }),
        ...(limits !== undefined && { TORTURE_LIMITS: JSON.stringify(limits) }),
      },
    })
    const look = () => {
      for (const each of this.#waiting) each()
    }
    this.process.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text
      look()
    })
    this.process.stderr!.setEncoding("utf8").on("data", (text: string) => {
      // Only the end matters, and long runs log much.
      this.stderr = (this.stderr + text).slice(-100_000)
      this.written += text.length
      look()
    })
    this.ended = new Promise((end) => {
      this.process.on("close", (code, signal) => {
        this.hasEnded = true
        look()
        end(code ?? signal!)
      })
    })
  }

  /** Whether stderr matches the pattern after so many characters. */
  hasWritten(pattern: RegExp, after = 0): boolean {
    const dropped = this.written - this.stderr.length
    return pattern.test(this.stderr.slice(Math.max(0, after - dropped)))
  }

  /** Whether stderr came to match the pattern after so many characters; `false` if the process ended before. */
  heard(pattern: RegExp, after = 0): Promise<boolean> {
    return new Promise((heard) => {
      const look = () => {
        const matches = this.hasWritten(pattern, after)
        if (!matches && !this.hasEnded) return
        this.#waiting.delete(look)
        heard(matches)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<End> {
    this.process.kill(signal)
    return this.ended
  }

  /** Starts a server; it is ready, or it has ended. */
  static async serve(directory: string, trouble: Trouble = {}): Promise<ServerProcess> {
    const server = new ServerProcess(["serve"], directory, trouble)
    if (await server.heard(/"message":"Ready".*\n/)) {
      server.url = JSON.parse(await readFile(join(directory, "server.json"), "utf8")).url
    }
    return server
  }
}

/** Runs a command to its end. */
export const command = async (args: ReadonlyArray<string>, directory: string): Promise<string> => {
  const running = new ServerProcess(args, directory)
  const end = await running.ended
  if (end !== 0) throw new Error(`laurel ${args.join(" ")} ended with ${end}: ${running.stderr}`)
  return running.stdout
}
