/**
 * The version and commit of this Laurel, for `--version`, `/healthz`, metrics and telemetry. The
 * commit is in the file `commit`, which the build of the image writes, or in the `.git` folder of
 * the checkout. This file reads `.git` itself, once per start: running git costs a process, and git
 * refuses checkouts of other owners.
 */
import { readFileSync } from "node:fs"
import path from "node:path"
import manifest from "../package.json" with { type: "json" }

export const version: string = manifest.version

/** Where package.json is. */
const installation = path.resolve(import.meta.dirname, "..")

/**
 * The full hash of the commit in `root`; `unknown` without `.git`, or if the refs have another
 * format.
 */
export const commitOf = (root = installation): string => {
  const written = textOf(path.join(root, "commit"))
  if (isHash(written)) return written
  const link = /^gitdir: (.+)$/.exec(textOf(path.join(root, ".git")))?.[1]
  const git = path.resolve(root, link ?? ".git")
  const head = textOf(path.join(git, "HEAD"))
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1]
  const hash = ref === undefined ? head : hashOf(ref, git)
  return isHash(hash) ? hash : "unknown"
}

/** A worktree has its own HEAD and shares the refs of its repository. */
const hashOf = (ref: string, git: string): string => {
  const common = path.resolve(git, textOf(path.join(git, "commondir")))
  const loose = textOf(path.join(common, ref))
  if (loose !== "") return loose
  const lines = textOf(path.join(common, "packed-refs")).split("\n")
  return lines.find((line) => line.endsWith(` ${ref}`))?.split(" ")[0] ?? ""
}

const isHash = (text: string): boolean => /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(text)

const textOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return ""
  }
}
