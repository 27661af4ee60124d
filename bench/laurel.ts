/** The real server (`laurel serve` in a process of its own), for benches over HTTP. */
import { Effect, Exit, Scope } from "effect"
import { startThrowawayServer } from "../src/cli/demo/ThrowawayServer.ts"
import { controls, type Running } from "./children.ts"
import { lessonAction, lessonXp } from "./events.ts"
import type { LoadOptions } from "./processes/load.ts"

export interface Laurel extends Running<Pick<LoadOptions, "key" | "port">> {
  /** The sum of all users' xp. */
  readonly totalXp: () => Promise<number>
  readonly pid: number
}

/** Starts a server on an empty data directory whose one rule gives xp for each lesson. */
export const startLaurel = async (): Promise<Laurel> => {
  const scope = await Effect.runPromise(Scope.make())
  const { key, process, url } = await Effect.runPromise(Scope.provide(startThrowawayServer, scope))
  const request = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(url + path, {
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  await request("/v1/rules", { action: lessonAction, reward: { xp: lessonXp } })
  return {
    ...controls(process),
    pid: process.pid!,
    answer: { key, port: Number(new URL(url).port) },
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void)),
    totalXp: async () => {
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
    },
  }
}

/** Fails unless every event that was answered is on the leaderboard, once. */
export const checkTotal = async (laurel: Laurel, eventsAnswered: number): Promise<void> => {
  const events = (await laurel.totalXp()) / lessonXp
  if (events !== eventsAnswered) {
    throw new Error(`${eventsAnswered} events were answered, ${events} are on the leaderboard`)
  }
}
