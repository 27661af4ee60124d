/** The real server (`laurel serve` in a process of its own), for benches over HTTP. */
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Scope } from "effect"
import { startServerOn, startThrowawayServer } from "../src/cli/demo/ThrowawayServer.ts"
import { readServerFile } from "../src/cli/process/AdminRequest.ts"
import { controls, type Running } from "./children.ts"
import { lessonAction, lessonXp } from "./events.ts"
import type { Target } from "./load/wrk.ts"

export interface Laurel extends Running<Target> {
  /**
   * Sends a body to a path (POST by default), or reads the path. Resolves with the reply; fails if
   * the reply is not a success.
   */
  readonly request: (path: string, body?: unknown, method?: "PATCH") => Promise<unknown>
  /** The sum of all users' xp. */
  readonly totalXp: () => Promise<number>
  readonly pid: number
  readonly process: ChildProcess
}

export interface LaurelOptions {
  /** An existing data directory; by default an empty one that is removed with the server. */
  readonly directory?: string
  /** Variables of its environment. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Starts a server whose one rule gives xp for each lesson. */
export const startLaurel = async ({ directory, settings }: LaurelOptions = {}): Promise<Laurel> => {
  const scope = await Effect.runPromise(Scope.make())
  const started =
    directory === undefined ? startThrowawayServer : startServerOn(directory, settings)
  const { key, process, url } = await Effect.runPromise(Scope.provide(started, scope))
  const request = requesting(url, key)
  const { rules } = (await request("/v1/rules")) as { readonly rules: ReadonlyArray<unknown> }
  if (rules.length === 0) await request("/v1/rules", lessonRule)
  return {
    ...controls(process),
    pid: process.pid!,
    process,
    answer: { key, port: Number(new URL(url).port) },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void)),
    request,
    totalXp: () => totalXpOf(request),
  }
}

export const lessonRule = { action: lessonAction, reward: { xp: lessonXp } }

/** Asks the server at `url` with a key: `Laurel.request`. */
export const requesting =
  (url: string, key: string): Laurel["request"] =>
  async (path, body, method) => {
    const response = await fetch(url + path, {
      ...(body !== undefined && { method: method ?? "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }

/** A key of the sandbox of a project of the server that runs on a data directory. */
export const createKey = async (
  directory: string,
  project: string,
  more: { readonly scope: "full" | "ingest" },
): Promise<string> => {
  const { adminUrl, token } = (await Effect.runPromise(readServerFile(directory)))!
  const reply = await fetch(`${adminUrl}/admin/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ project, environment: "sandbox", ...more }),
  })
  const { key } = (await reply.json()) as { readonly key?: string }
  if (key === undefined) throw new Error(`No key: ${reply.status}`)
  return key
}

/** The sum of all users' xp in the project of a key. */
export const totalXpOf = async (request: Laurel["request"]): Promise<number> => {
  let xp = 0
  let offset = 0
  let hasMore = true
  while (hasMore) {
    const page = (await request(`/v1/leaderboard?limit=100&offset=${offset}`)) as {
      readonly entries: ReadonlyArray<{ readonly xp: number }>
      readonly hasMore: boolean
    }
    for (const entry of page.entries) xp += entry.xp
    offset += page.entries.length
    hasMore = page.hasMore
  }
  return xp
}

/** Runs Laurel as `npm start` does. */
export const program = fileURLToPath(new URL("../src/laurel.sh", import.meta.url))

/** A server on a data directory that it may still be opening. No key is created. */
export const serve = (
  directory: string,
  port: number,
  settings: Readonly<Record<string, string>> = {},
): ChildProcess =>
  spawn("sh", [program, "serve"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      LAUREL_DATA_DIR: directory,
      LAUREL_PORT: String(port),
      LAUREL_ADMIN_PORT: "0",
      LAUREL_LOG_LEVEL: "warn",
      ...settings,
    },
  })

/**
 * Fails unless every event that was answered is on the leaderboard, once. At most `unread` more may
 * be: their replies were under way when a load ended.
 */
export const checkTotal = async (
  laurel: Pick<Laurel, "totalXp">,
  eventsAnswered: number,
  unread = 0,
  xpOfEvent = lessonXp,
): Promise<void> => {
  const events = (await laurel.totalXp()) / xpOfEvent
  if (events < eventsAnswered || events > eventsAnswered + unread) {
    throw new Error(`${eventsAnswered} events were answered, ${events} are on the leaderboard`)
  }
}
