/** Git repositories made for a test, through `git fast-import`, which takes any bytes for names and e-mails. */
import { spawnSync } from "node:child_process"
import fs from "node:fs"
import path from "node:path"

export interface CommitOptions {
  /** A name and an e-mail between angle brackets; bytes where it is not UTF-8. */
  readonly author: string | Buffer
  readonly subject?: string
  readonly branch?: string
  /** Epoch seconds. */
  readonly authoredAt?: number
  /** The whole content of the commit's one file. */
  readonly content?: string
  /** The branch that is merged into this commit's. */
  readonly merges?: string
}

const run = (folder: string, args: ReadonlyArray<string>, input?: Buffer): string => {
  const git = spawnSync("git", ["-C", folder, ...args], { input, encoding: "utf8" })
  if (git.status !== 0) throw new Error(`git ${args[0]}: ${git.stderr}`)
  return git.stdout
}

/** Makes a repository in the folder with these commits, oldest first, and a mailmap. */
export const makeRepository = (
  folder: string,
  commits: ReadonlyArray<CommitOptions>,
  mailmap?: string,
): void => {
  fs.mkdirSync(folder)
  run(folder, ["init", "--quiet", "--initial-branch=main"])
  const known = new Set<string>()
  const chunks: Array<Buffer> = []
  const text = (line: string) => chunks.push(Buffer.from(line))
  for (const [index, commit] of commits.entries()) {
    const { authoredAt = 1_600_000_000 + index, branch = "main", merges, subject = "Work" } = commit
    text(`commit refs/heads/${branch}\nauthor `)
    chunks.push(Buffer.from(commit.author))
    text(` ${authoredAt} +0100\ncommitter Committer <committer@example.org> ${authoredAt} +0000\n`)
    text(`data ${Buffer.byteLength(subject)}\n${subject}\n`)
    if (!known.has(branch) && branch !== "main") text("from refs/heads/main\n")
    if (merges !== undefined) text(`merge refs/heads/${merges}\n`)
    const content = commit.content ?? `${index}\n`
    text(`M 644 inline file-${branch}.txt\ndata ${Buffer.byteLength(content)}\n${content}\n`)
    known.add(branch)
  }
  run(folder, ["fast-import", "--quiet"], Buffer.concat(chunks))
  if (mailmap !== undefined) fs.writeFileSync(path.join(folder, ".mailmap"), mailmap)
}
