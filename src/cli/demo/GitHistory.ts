/**
 * The history of a git repository, read through the `git` program: commits as a stream, and git's
 * own counts of commits. No code of the repository is run, and the user's settings of `git log`
 * have no effect.
 *
 * The output of git may not be UTF-8, since git recodes only commits that name their encoding.
 * Other bytes become U+FFFD, here as in the counts. E-mails are mapped by the mailmap, as in `git
 * shortlog -e`.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { Effect, Stream } from "effect"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"

export interface Commit {
  readonly hash: string
  readonly authorEmail: string
  /** Epoch milliseconds; `undefined` if the commit has no valid date. */
  readonly authoredAt: number | undefined
  readonly subject: string
  /** Lines; a binary file counts as 0. */
  readonly insertions: number
  readonly deletions: number
}

type GitProcess = ChildProcessByStdio<null, Readable, Readable>

/** Variables that would point git to another repository. */
const redirections = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"]

const gitEnvironment = (): NodeJS.ProcessEnv => {
  const environment: NodeJS.ProcessEnv = { ...process.env, LC_ALL: "C" }
  for (const variable of redirections) delete environment[variable]
  return environment
}

const settings = [
  "core.quotePath=true",
  "log.showSignature=false",
  "log.showRoot=true",
  "i18n.logOutputEncoding=UTF-8",
].flatMap((setting) => ["-c", setting])

interface Git {
  readonly process: GitProcess
  /** Resolves with the fault once git has ended and its output was read. */
  readonly failure: Promise<CommandFailed | undefined>
}

const startGit = (repository: string, args: ReadonlyArray<string>): Git => {
  const git = spawn("git", ["-C", repository, ...settings, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: gitEnvironment(),
  })
  let complaint = ""
  git.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  const failure = new Promise<CommandFailed | undefined>((resolve) => {
    git.once("error", (error) =>
      resolve(commandFailed(exitCodes.refused, `git cannot be run: ${error.message}`)),
    )
    git.once("close", (code, signal) => {
      const words = complaint.trim() || `it ended with ${signal ?? `exit code ${code}`}`
      resolve(
        code === 0
          ? undefined
          : commandFailed(
              exitCodes.refused,
              `git could not read ${JSON.stringify(repository)}: ${words}`,
            ),
      )
    })
  })
  return { process: git, failure }
}

/** The output of git, parsed by `parse`. git ends with the stream, also after a failure. */
const outputOf = <A>(
  repository: string,
  args: ReadonlyArray<string>,
  parse: (output: AsyncIterable<Uint8Array>) => AsyncIterable<A>,
): Stream.Stream<A, CommandFailed> =>
  Stream.unwrap(
    Effect.acquireRelease(
      Effect.sync(() => startGit(repository, args)),
      (git) =>
        Effect.promise(() => {
          git.process.kill()
          return git.failure
        }),
    ).pipe(
      Effect.map((git) =>
        Stream.concat(
          Stream.fromAsyncIterable(parse(git.process.stdout), (error) =>
            commandFailed(exitCodes.refused, `git's output could not be read: ${error}`),
          ),
          Stream.drain(
            Stream.fromEffect(
              Effect.flatMap(
                Effect.promise(() => git.failure),
                (failure) => (failure === undefined ? Effect.void : Effect.fail(failure)),
              ),
            ),
          ),
        ),
      ),
    ),
  )

async function* textOf(output: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  for await (const bytes of output) yield decoder.decode(bytes, { stream: true })
  yield decoder.decode()
}

const wholeOutput = (repository: string, args: ReadonlyArray<string>) =>
  Effect.map(Stream.runCollect(outputOf(repository, args, textOf)), (texts) => texts.join(""))

/** The number of commits reachable from all refs and HEAD. Fails outside a repository. */
export const countCommits = (repository: string): Effect.Effect<number, CommandFailed> =>
  Effect.map(wholeOutput(repository, ["rev-list", "--all", "--count"]), (text) =>
    Number(text.trim()),
  )

/**
 * Hash, e-mail, date in seconds and subject between NULs, which none of them can contain; then the
 * lines of `--numstat`.
 */
const logFormat = "--format=%x00%H%x00%aE%x00%at%x00%s%x00"
const partsPerCommit = 5

/** Every commit including merges, newest first. */
export const commits = (repository: string): Stream.Stream<Commit, CommandFailed> =>
  outputOf(
    repository,
    [
      "log",
      "--all",
      "--numstat",
      "--no-renames",
      "--no-ext-diff",
      "--no-textconv",
      "--no-color",
      "--encoding=UTF-8",
      logFormat,
    ],
    parseCommits,
  )

async function* parseCommits(output: AsyncIterable<Uint8Array>): AsyncIterable<Commit> {
  // The lines of the commit before, then hash, e-mail, date, subject.
  let parts: Array<string> = []
  let unfinished = ""
  let commit: Omit<Commit, "insertions" | "deletions"> | undefined
  for await (const text of textOf(output)) {
    const pieces = (unfinished + text).split("\0")
    unfinished = pieces.pop()!
    for (const piece of pieces) {
      parts.push(piece)
      if (parts.length < partsPerCommit) continue
      const [linesBefore, hash, authorEmail, seconds, subject] = parts as [
        string,
        string,
        string,
        string,
        string,
      ]
      if (commit !== undefined) yield { ...commit, ...changedLines(linesBefore) }
      commit = { hash, authorEmail, authoredAt: epochMs(seconds), subject }
      parts = []
    }
  }
  if (commit !== undefined) yield { ...commit, ...changedLines(unfinished) }
}

const epochMs = (seconds: string): number | undefined => {
  const ms = Number(seconds) * 1_000
  return seconds === "" || Number.isNaN(new Date(ms).getTime()) ? undefined : ms
}

const changedLines = (numstat: string): Pick<Commit, "insertions" | "deletions"> => {
  let insertions = 0
  let deletions = 0
  for (const [, added, removed] of numstat.matchAll(/^(\d+)\t(\d+)\t/gm)) {
    insertions += Number(added)
    deletions += Number(removed)
  }
  return { insertions, deletions }
}

/**
 * The counts of `git shortlog -sne --all`, summed by e-mail: git also separates authors by name.
 */
export const shortlogTotals = (
  repository: string,
): Effect.Effect<ReadonlyMap<string, number>, CommandFailed> =>
  Effect.map(wholeOutput(repository, ["shortlog", "-sne", "--all"]), (text) => {
    const totals = new Map<string, number>()
    // A name can contain any character except a line break and `<`.
    for (const [, count, email] of text.matchAll(/^ *(\d+)\t[^<\n]*<([^>\n]*)>$/gm)) {
      totals.set(email!, (totals.get(email!) ?? 0) + Number(count))
    }
    return totals
  })
