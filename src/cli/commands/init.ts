/** `laurel init`: the files of a first app. */
import { access, mkdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { version } from "../../Build.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"

/**
 * The files in `starter/`, and their names in the app. npm leaves a `.gitignore` out of a package,
 * and people leave a `.env` out of a repository.
 */
const files = {
  "README.md": "README.md",
  "definitions.json": "definitions.json",
  "backend.mjs": "backend.mjs",
  "page.html": "page.html",
  "setup.mjs": "setup.mjs",
  env: ".env",
  gitignore: ".gitignore",
  Dockerfile: "Dockerfile",
  "compose.yaml": "compose.yaml",
}

const withSettings = (command: string) => `set -a && . ./.env && set +a && ${command}`

/** Versions are exact: server and client change together. */
const manifestOf = (name: string) => ({
  name,
  private: true,
  type: "module",
  scripts: {
    serve: withSettings("exec laurel serve"),
    setup: withSettings("exec node setup.mjs"),
    start: withSettings("exec node backend.mjs"),
  },
  dependencies: { laurel: version, "laurel-client": version },
})

/** npm's names: lower case, without a leading dot or underscore. */
const nameOf = (folder: string): string =>
  path
    .basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "") || "app"

const textsOf = async (folder: string): Promise<ReadonlyArray<readonly [string, string]>> => {
  const copied = Object.entries(files).map(async ([source, name]) => {
    const text = await readFile(new URL(`../starter/${source}`, import.meta.url), "utf8")
    return [name, text] as const
  })
  const manifest = `${JSON.stringify(manifestOf(nameOf(folder)), undefined, 2)}\n`
  return [["package.json", manifest], ...(await Promise.all(copied))]
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

const write = (given: string) =>
  Effect.gen(function* () {
    const folder = path.resolve(given)
    const texts = yield* Effect.promise(() => textsOf(folder))
    const there = yield* Effect.filter(texts, ([name]) =>
      Effect.promise(() => isThere(path.join(folder, name))),
    )
    if (there.length > 0) {
      const names = there.map(([name]) => name).join(", ")
      return yield* commandFailed(
        exitCodes.refused,
        `${folder} has ${names} already. Nothing was written.`,
      )
    }
    yield* Effect.tryPromise({
      try: async () => {
        await mkdir(folder, { recursive: true })
        // `wx`: a file that appeared meanwhile is kept.
        for (const [name, text] of texts)
          await writeFile(path.join(folder, name), text, { flag: "wx" })
      },
      catch: (cause) => cause,
    }).pipe(
      Effect.catch((cause) =>
        commandFailed(
          exitCodes.cannotWrite,
          `cannot write to ${folder}: ${(cause as Error).message}`,
        ),
      ),
    )
    yield* Console.log(
      [
        ...texts.map(([name]) => `+ ${path.join(given, name)}`),
        `Next: ${given === "." ? "" : `cd ${given} && `}npm install && npm run serve`,
        "Then, in a second terminal: npm run setup && npm start",
      ].join("\n"),
    )
  })

const folder = Argument.String("FOLDER").pipe(
  Argument.withDescription("The folder of the app, which may be new. Default: this one"),
  Argument.withDefault("."),
)

export const init = Command.make("init", { folder }, ({ folder }) => write(folder)).pipe(
  Command.withShortDescription("Write the files of a first app"),
  Command.withDescription(
    "Write the files of a first app: definitions, a back end, a page with live progress, and a compose file. Overwrites no file.",
  ),
)
