/**
 * `laurel init`: the files of a first app.
 *
 * The app has the versions of this Laurel. From npm's registry it gets them as every package. A Laurel
 * that was installed from a file copies the files of both packages into `packages/` of the app, so
 * that the app can be moved, shared and built into an image. A checkout has no such files yet, and
 * names the command that makes them.
 */
import { access, constants, copyFile, mkdir, readFile, writeFile } from "node:fs/promises"
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

/** The command line with the app's settings. A key of the terminal takes precedence. */
const laurelScript = `given=$LAUREL_KEY && set -a && . ./.env && LAUREL_KEY=\${given:-$LAUREL_KEY} && exec laurel`

interface Packages {
  /** What the app's manifest says of both packages. */
  readonly dependencies: Readonly<Record<string, string>>
  /** The files of the packages, by their places in the app. */
  readonly files: ReadonlyArray<readonly [place: string, from: string]>
  /** Whether `packages/` of the app has to be made in this checkout. */
  readonly isCheckout: boolean
}

const names = ["laurel", "laurel-client"] as const

/** Versions are exact: server and client change together. */
const published: Packages = {
  dependencies: Object.fromEntries(names.map((name) => [name, version])),
  files: [],
  isCheckout: false,
}

const places = names.map((name) => `packages/${name}-${version}.tgz`)

const fromFiles = (files: Packages["files"], isCheckout: boolean): Packages => ({
  dependencies: Object.fromEntries(names.map((name, index) => [name, `file:${places[index]}`])),
  files,
  isCheckout,
})

/**
 * `installation`: the folder of this Laurel. npm notes beside installed packages where each came
 * from: the address of a file is relative to the app.
 */
export const packagesOf = async (installation: string): Promise<Packages> => {
  if (path.basename(path.dirname(installation)) !== "node_modules") return fromFiles([], true)
  const modules = path.dirname(installation)
  const note = await readFile(path.join(modules, ".package-lock.json"), "utf8").catch(() => "{}")
  const { packages = {} } = JSON.parse(note) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>
  }
  const { resolved = "" } = packages["node_modules/laurel"] ?? {}
  if (!resolved.startsWith("file:")) return published
  const folder = path.dirname(path.resolve(path.dirname(modules), resolved.slice("file:".length)))
  const files = places.map((place) => [place, path.join(folder, path.basename(place))] as const)
  const areThere = await Promise.all(files.map(([, from]) => isThere(from)))
  return areThere.every(Boolean) ? fromFiles(files, false) : published
}

const manifestOf = (name: string, { dependencies }: Packages) => ({
  name,
  private: true,
  type: "module",
  scripts: {
    laurel: laurelScript,
    serve: withSettings("exec laurel serve"),
    setup: withSettings("exec node setup.mjs"),
    start: withSettings("exec node backend.mjs"),
  },
  dependencies,
})

/** npm's names: lower case, without a leading dot or underscore. */
const nameOf = (folder: string): string =>
  path
    .basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "") || "app"

const copyOfManifest = "COPY package.json package-lock.json ./\n"

const textsOf = async (
  folder: string,
  packages: Packages,
): Promise<ReadonlyArray<readonly [string, string]>> => {
  const isOfFiles = packages !== published
  const copied = Object.entries(files).map(async ([source, name]) => {
    const text = await readFile(new URL(`../starter/${source}`, import.meta.url), "utf8")
    return [
      name,
      isOfFiles
        ? text.replace(copyOfManifest, `${copyOfManifest}COPY packages ./packages\n`)
        : text,
    ] as const
  })
  const manifest = `${JSON.stringify(manifestOf(nameOf(folder), packages), undefined, 2)}\n`
  return [["package.json", manifest], ...(await Promise.all(copied))]
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

const writeAll = async (
  folder: string,
  texts: ReadonlyArray<readonly [string, string]>,
  files: Packages["files"],
): Promise<void> => {
  await mkdir(folder, { recursive: true })
  // `wx` and `COPYFILE_EXCL`: a file that appeared meanwhile is kept.
  for (const [name, text] of texts) await writeFile(path.join(folder, name), text, { flag: "wx" })
  for (const [name, from] of files) {
    const to = path.join(folder, name)
    await mkdir(path.dirname(to), { recursive: true })
    await copyFile(from, to, constants.COPYFILE_EXCL)
  }
}

const installation = path.resolve(import.meta.dirname, "../../..")

const write = (given: string) =>
  Effect.gen(function* () {
    const folder = path.resolve(given)
    const packages = yield* Effect.promise(() => packagesOf(installation))
    const texts = yield* Effect.promise(() => textsOf(folder, packages))
    const written = [...texts, ...packages.files].map(([name]) => name)
    const there = yield* Effect.filter(written, (name) =>
      Effect.promise(() => isThere(path.join(folder, name))),
    )
    if (there.length > 0) {
      return yield* commandFailed(
        exitCodes.refused,
        `${folder} has ${there.join(", ")} already. Nothing was written.`,
      )
    }
    yield* Effect.tryPromise({
      try: () => writeAll(folder, texts, packages.files),
      catch: (cause) =>
        commandFailed(
          exitCodes.cannotWrite,
          `cannot write to ${folder}: ${(cause as Error).message}`,
        ),
    })
    const enter = given === "." ? "" : `cd ${given} && `
    const pack = `Next, in the checkout of Laurel: npm run package:pack -- ${path.join(folder, "packages")}`
    yield* Console.log(
      [
        ...written.map((name) => `+ ${path.join(given, name)}`),
        ...(packages.isCheckout ? [pack] : []),
        `${packages.isCheckout ? "Then" : "Next"}: ${enter}npm install && npm run serve`,
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
