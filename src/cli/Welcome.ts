/** What the first start prints: the key of the demo project, and what to do with it. */
import { Effect } from "effect"
import { ApiKeys } from "../accounts/ApiKeys.ts"
import type { LaurelError } from "../domain/Errors.ts"
import { Engine } from "../engine/Engine.ts"

/** On the first start, when no project exists, creates project `demo` and returns the text of its key. */
export const createDemoKey: Effect.Effect<string | undefined, LaurelError, Engine | ApiKeys> =
  Effect.gen(function* () {
    const { projects } = yield* (yield* Engine).readDirectory
    if (projects.size > 0) return undefined
    const { key } = yield* (yield* ApiKeys).create({
      project: "demo",
      environment: "sandbox",
      scope: "full",
      tier: "enterprise",
    })
    return key
  })

/** The text for a person at the terminal; each of its three commands works as it stands. */
export const welcomeText = (url: string, key: string): string => {
  const request = `curl -H "Authorization: Bearer ${key}"`
  const post = `${request} -H "Content-Type: application/json"`
  return `
Laurel runs at ${url}, with its reference at ${url}/docs.

This is the first start: project "demo" was created. The key of its sandbox is shown only this once:

  ${key}

Say what earns xp, send an event, read the leaderboard:

  ${post} -d '{"action":"LESSON_DONE","reward":{"xp":50}}' ${url}/v1/rules
  ${post} -d '{"userId":"ada","action":"LESSON_DONE"}' ${url}/v1/events
  ${request} ${url}/v1/leaderboard
`
}
