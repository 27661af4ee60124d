/**
 * Builds the npm package of the server into a folder, ready for `npm pack` or `npm publish`:
 *
 *     npm run package:build -- FOLDER
 *
 * Node strips types from files of a checkout, but not from files below `node_modules`. So the
 * package has each file of `src/` as JavaScript, with spaces in place of the types: lines and
 * columns in stack traces are those of the source. The dashboard strips the types of its own
 * scripts when it starts, so these stay TypeScript.
 *
 * `npm-shrinkwrap.json`, made from `package-lock.json`, has the versions of all packages that the
 * tests ran with. npm follows it if the package comes from a registry, not if it comes from a file.
 */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import path from "node:path"
import manifest from "../package.json" with { type: "json" }
import { commitOf } from "../src/Build.ts"

const root = path.resolve(import.meta.dirname, "..")

/** Sources that a browser loads: the dashboard's, and those of the client that they import. */
const served = /^src\/(dashboard\/browser|client)\//
/** Files that only a checkout needs: tours of the code, and files of the client's own package. */
const left = new RegExp(
  [
    "^src/README",
    "^src/dashboard/README",
    "^src/client/(build|elements|queue|react|recap|text-storage|watch|webhook)",
    "^src/client/(generated/types|package\\.json|tsconfig)",
    "tsconfig\\.json$",
  ].join("|"),
)
/** Pages of the guide outside of `src/`. */
export const pages = [
  "README.md",
  "LICENSE",
  "snapshots/README.md",
  "deploy/README.md",
  "deploy/settings.md",
]

const specifier = /(\bfrom |\bimport |\bimport\(|\bnew URL\()"((?:\.{1,2}\/)?[\w./-]+)\.ts"/g

const javaScriptOf = (source: string): string =>
  stripTypeScriptTypes(source).replace(specifier, '$1"$2.js"')

const copy = (file: string, target: string): void => {
  const to = path.join(target, file)
  mkdirSync(path.dirname(to), { recursive: true })
  copyFileSync(path.join(root, file), to)
}

const sources = (): ReadonlyArray<string> =>
  readdirSync(path.join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !left.test(file) && !file.includes("/dist/"))
    .toSorted()

const addSource = (file: string, target: string): void => {
  const isBrowsers = file.startsWith("src/dashboard/browser/")
  if (!file.endsWith(".ts") || served.test(file)) copy(file, target)
  if (!file.endsWith(".ts") || isBrowsers) return
  const to = path.join(target, `${file.slice(0, -".ts".length)}.js`)
  mkdirSync(path.dirname(to), { recursive: true })
  writeFileSync(to, javaScriptOf(readFileSync(path.join(root, file), "utf8")))
}

/** The manifest without what only a checkout needs. */
const packed = () => {
  const {
    dependencies,
    description,
    license,
    name,
    optionalDependencies,
    overrides,
    type,
    version,
  } = manifest
  const { "msgpackr-extract": extract } = overrides
  return {
    name,
    version,
    description,
    license,
    type,
    bin: { laurel: "src/laurel.sh" },
    files: ["src", ...pages, "commit", "npm-shrinkwrap.json", "LICENSES.md"],
    os: ["linux", "darwin"],
    cpu: ["x64", "arm64"],
    dependencies,
    optionalDependencies,
    overrides: { "msgpackr-extract": extract },
  }
}

export const buildPackage = (target: string): void => {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const file of sources()) addSource(file, target)
  const entry = path.join(target, "src/laurel.js")
  writeFileSync(entry, readFileSync(entry, "utf8").replace("./main.ts", "./main.js"))
  chmodSync(path.join(target, "src/laurel.sh"), 0o755)
  for (const file of pages) copy(file, target)
  writeFileSync(path.join(target, "commit"), commitOf(root))
  writeFileSync(path.join(target, "package.json"), `${JSON.stringify(packed(), undefined, 2)}\n`)
  copy("package-lock.json", target)
  const lock = [
    "install",
    "--package-lock-only",
    "--ignore-scripts",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
  ]
  execFileSync("npm", lock, { cwd: target, stdio: ["ignore", "ignore", "inherit"] })
  const lockFile = path.join(target, "package-lock.json")
  copyFileSync(lockFile, path.join(target, "npm-shrinkwrap.json"))
  rmSync(lockFile)
  writeFileSync(path.join(target, "LICENSES.md"), licencesOf(target))
}

/** A table of the packages that npm installs with this one. */
const licencesOf = (target: string): string => {
  const lock = readFileSync(path.join(target, "npm-shrinkwrap.json"), "utf8")
  const { packages } = JSON.parse(lock) as {
    readonly packages: { readonly [folder: string]: { version: string; license?: string } }
  }
  const rows = Object.entries(packages)
    .filter(([folder]) => folder !== "")
    .map(([folder, { license = "unknown", version }]) => {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)
      return `| ${name} | ${version} | ${license} |`
    })
  return `# Licences of the packages that Laurel uses

Each package has the text of its licence in its own folder.

| package | version | licence |
| --- | --- | --- |
${[...new Set(rows)].toSorted().join("\n")}
`
}

if (import.meta.main) {
  const [target = path.join(root, "dist")] = process.argv.slice(2)
  buildPackage(path.resolve(target))
}
