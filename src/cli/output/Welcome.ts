/**
 * The text of a start, and the key of the demo project at the first start. A terminal shows the
 * key. Without a terminal standard output may be a log, so the key goes to a file in the data
 * directory that only its owner can read.
 */
import fs from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import { ApiKeys, type CreatedKey } from "../../accounts/ApiKeys.ts"
import { firstProjectName } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { Engine } from "../../engine/Engine.ts"

/** On the first start, when no project exists, creates project `demo` and returns its key. */
export const createDemoKey: Effect.Effect<CreatedKey | undefined, LaurelError, Engine | ApiKeys> =
  Effect.gen(function* () {
    const { projects } = yield* (yield* Engine).readDirectory
    if (projects.size > 0) return undefined
    return yield* (yield* ApiKeys).create({
      project: firstProjectName,
      environment: "sandbox",
      scope: "full",
    })
  })

const fileName = "first-key"
const ownerOnly = 0o600

/** Writes a file that only its owner can read; fails if it exists. */
export const writeNew = (file: string, text: string): Promise<void> =>
  fs.writeFile(file, text, { flag: "wx", mode: ownerOnly, flush: true })

/**
 * Writes the key to the file `first-key` in the data directory, which only its owner can read.
 * Returns the absolute path. If the file exists, it stays unchanged, and the key goes to a file
 * with the id of the key in its name.
 */
const keepFirstKey = (
  directory: string,
  { id, key }: Pick<CreatedKey, "id" | "key">,
): Effect.Effect<string, NodeJS.ErrnoException> =>
  Effect.tryPromise({
    try: async () => {
      const file = path.resolve(directory, fileName)
      try {
        await writeNew(file, `${key}\n`)
        return file
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
        await writeNew(`${file}-${id}`, `${key}\n`)
        return `${file}-${id}`
      }
    },
    catch: (error) => error as NodeJS.ErrnoException,
  })

/** A key as `welcomeText` shows it: its text, or the file that has it. */
type ShownKey = { readonly text: string } | { readonly file: string }

/**
 * A terminal shows the first key. Without a terminal the key goes to a file. `undefined`: the file
 * could not be written.
 */
export const showOrKeep = (
  directory: string,
  created: CreatedKey,
): Effect.Effect<ShownKey | undefined> => {
  if (process.stdout.isTTY) return Effect.succeed({ text: created.key })
  return keepFirstKey(directory, created).pipe(
    Effect.tap((file) =>
      Effect.logInfo("Wrote the first key to a file; delete the file once you have the key").pipe(
        Effect.annotateLogs({ file }),
      ),
    ),
    Effect.map((file) => ({ file })),
    Effect.catch(({ message }) =>
      Effect.as(
        Effect.logError(
          "Could not write the first key to a file; create another key with `laurel keys create`",
        ).pipe(Effect.annotateLogs({ keyId: created.id, cause: message })),
        undefined,
      ),
    ),
  )
}

/**
 * The text that a start prints for people. The first start adds the key and three commands that
 * work unchanged. Without a key to show, the text has the command that creates a key.
 */
export const welcomeText = (
  url: string,
  { dashboard, directory, isTrial, shown }: WelcomeDetails,
  file = import.meta.filename,
): string => {
  const setting = isTrial ? "" : `LAUREL_DATA_DIR=${quoted(directory)} `
  return `
Laurel runs at ${url}, with its reference at ${url}/docs.
${isTrial ? trialText(directory) : ""}${dashboard === undefined ? "" : dashboardText(dashboard)}
${shown === undefined ? makeKeyText(setting + commandOf(file)) : firstStartText(url, shown)}`
}

interface WelcomeDetails {
  readonly shown?: ShownKey | undefined
  readonly dashboard?: string | undefined
  /** The data directory, an absolute path. */
  readonly directory: string
  /** Whether it is the default, since no setting names one. */
  readonly isTrial: boolean
}

/**
 * The command that people type for `laurel`. A checkout has a script of npm, an installed package has a
 * program for npx, and the image has only the files. `file`: the path of this module.
 */
const commandOf = (file: string): string => {
  if (file.endsWith(".ts")) return "npm run --silent laurel --"
  return file.includes("/node_modules/laurel/") ? "npx laurel" : "node src/laurel.js"
}

const trialText = (directory: string): string =>
  `The data is in ${directory}, for trying out: in a checkout, git clean -fdx deletes it. For data to keep, set LAUREL_DATA_DIR to a folder elsewhere.
`

/** A setup link, the file with the link, or, once an account exists, the address for signing in. */
const dashboardText = (dashboard: string): string => {
  if (dashboard.includes("#")) return `Create the first account of the dashboard: ${dashboard}\n`
  return dashboard.startsWith("http")
    ? `The dashboard: ${dashboard}\n`
    : `Create the first account of the dashboard with the link in this file, which only its owner can read: ${dashboard}\n`
}

const makeKeyText = (command: string): string => `Create a key:

  ${command} keys create --project NAME --environment sandbox
`

const firstStartText = (url: string, shown: ShownKey): string => {
  const [about, line, bearer] =
    "text" in shown
      ? ["is shown only once", shown.text, shown.text]
      : [
          "is in this file, which only its owner can read; delete the file once you have the key",
          shown.file,
          `$(cat ${quoted(shown.file)})`,
        ]
  const request = `curl -H "Authorization: Bearer ${bearer}"`
  const post = `${request} -H "Content-Type: application/json"`
  return `This is the first start: project "demo" was created. The key of its sandbox ${about}:

  ${line}

Create a rule that earns xp, send an event, read the leaderboard:

  ${post} -d '{"action":"LESSON_DONE","reward":{"xp":50}}' ${url}/v1/rules
  ${post} -d '{"userId":"ada","action":"LESSON_DONE"}' ${url}/v1/events
  ${request} ${url}/v1/leaderboard
`
}

/** A path as one word of a shell. */
const quoted = (file: string): string => `'${file.replaceAll("'", `'\\''`)}'`
