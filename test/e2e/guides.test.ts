/** The guides beside the client: their blocks run as they stand, and print what they show. */
import { describe, expect, it } from "vitest"
import { Shell, stepsOf } from "./guide.ts"
import { Server, temporaryFolder } from "./program.ts"
import { startTrophy } from "./trophy.ts"

/** Ids and numbers of records differ from run to run, and times within an hour. */
const comparable = (text: string): unknown =>
  JSON.parse(text, (name, value) => {
    if (/^((event|reward|spend|purchase|request)Id|sequence|nextCursor|advancedByMs)$/.test(name))
      return typeof value
    if (typeof value !== "string") return value
    // Only the hours after an advance of the test clock, to 2030, are known.
    return value
      .replace(/^([a-z]{3}_).{32}$/, "$1")
      .replace(/^(\d{4}-\d\d-\d\dT\d\d):.*Z$/, (_, hour) => (hour < "2030" ? "now" : hour))
  })

describe("A guide", () => {
  it.each([
    "streak",
    "happy-hour",
    "segments",
    "currencies",
    "badges",
    "quests",
    "reminders",
    "moving-in",
    "importing",
    "coming-from",
    "language-app",
    "leaderboards",
    "leagues",
    "goals",
    "retention",
    "mechanics",
    "experiments",
    "teams",
    "shop",
    "season",
    "recipes",
    "event",
  ])("is true from its first block to its last: %s", async (name) => {
    const folder = await temporaryFolder()
    const server = await Server.start(folder)
    const variables = { LAUREL_DATA_DIR: folder, LAUREL_URL: server.url }
    const trophy =
      name === "coming-from"
        ? { TROPHY_URL: await startTrophy(), TROPHY_API_KEY: "a-key-of-trophy" }
        : {}
    const shell = new Shell({ ...process.env, ...variables, ...trophy })
    const addressed = (text: string) => text.replaceAll("http://127.0.0.1:8080", server.url)
    for (const { commands, shown } of await stepsOf(`src/client/${name}.md`)) {
      const printed = await shell.run(addressed(commands))
      if (shown === undefined) expect(printed).toBe("")
      else if (shown.kind === "text") expect(printed).toBe(addressed(shown.text))
      else expect(comparable(printed)).toEqual(comparable(shown.text))
    }
    expect(await server.stop()).toBe(0)
  })
})
