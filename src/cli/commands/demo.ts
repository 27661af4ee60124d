/**
 * `laurel demo` sends every commit of a git repository to a real server as an event of its author.
 * The leaderboard must equal `git shortlog`, also after all commits are sent again.
 */

import { Console, Effect, Stream } from "effect"
import { Argument, Command } from "effect/cli"
import { type BatchSummary, createLaurel, type LeaderboardEntry } from "../../client/index.ts"
import { callerIdFault } from "../../domain/values/Ids.ts"
import { limits } from "../../Limits.ts"
import { type Commit, commits, countCommits, shortlogTotals } from "../demo/GitHistory.ts"
import { startThrowawayServer, type ThrowawayServer } from "../demo/ThrowawayServer.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { ProgressBar } from "../output/ProgressBar.ts"
import { amountOf, formatTable } from "../output/Table.ts"
import { firstSignal } from "../process/Signals.ts"

/* A commit as an event. */

const commitAction = "COMMIT_PUSHED"
/** The xp of one commit by the demo's rule. */
const commitXp = 10

const subjectCharactersMax = 500
/** The event must not be too old when it arrives. */
const underwayMs = 3_600_000

interface CommitEvent {
  readonly id: string
  readonly userId: string
  readonly action: typeof commitAction
  readonly occurredAt?: string
  readonly metadata: {
    readonly insertions: number
    readonly deletions: number
    readonly subject: string
    readonly authoredAt?: string
  }
}

/** Why an author cannot be a user, or `undefined`. */
export const authorFault = (email: string): string | undefined => {
  const fault = callerIdFault(email)
  return fault === undefined ? undefined : `a user's id ${fault}`
}

/**
 * The event of a commit whose author can be a user. Only events of the last 30 days may have
 * `occurredAt`; older commits have their date in the metadata.
 */
export const commitEvent = (commit: Commit, now: number): CommitEvent => {
  const { authoredAt, authorEmail, deletions, hash, insertions, subject } = commit
  const date = authoredAt === undefined ? undefined : new Date(authoredAt).toISOString()
  const isRecent =
    authoredAt !== undefined &&
    authoredAt <= now &&
    authoredAt >= now - limits.occurredAtPastMs + underwayMs
  const metadata = {
    insertions,
    deletions,
    // The cut may separate a pair of surrogates.
    subject: subject.slice(0, subjectCharactersMax).toWellFormed(),
    ...(date !== undefined && !isRecent && { authoredAt: date }),
  }
  return {
    id: hash,
    userId: authorEmail,
    action: commitAction,
    ...(date !== undefined && isRecent && { occurredAt: date }),
    metadata,
  }
}

/* The few operations that the demo needs, with the client that apps use. */

type BatchCounts = Pick<BatchSummary, "accepted" | "duplicates">

export type Standing = Pick<LeaderboardEntry, "rank" | "userId" | "xp" | "level">

export interface Client {
  readonly createRule: Effect.Effect<void, CommandFailed>
  readonly sendBatch: (
    events: ReadonlyArray<CommitEvent>,
  ) => Effect.Effect<BatchCounts, CommandFailed>
  /** The whole board, first rank first. */
  readonly readStandings: Effect.Effect<ReadonlyArray<Standing>, CommandFailed>
}

const minimal = { prefer: "return=minimal" }

const makeClient = ({ key, url }: ThrowawayServer): Client => {
  const laurel = createLaurel({ url, key })
  const ask = <Reply>(doing: string, call: (signal: AbortSignal) => Promise<Reply>) =>
    Effect.tryPromise({
      try: call,
      catch: (error) => commandFailed(exitCodes.unavailable, `${doing} failed: ${error}`),
    })

  return {
    createRule: Effect.asVoid(
      ask("Creating a rule", (signal) =>
        laurel.rules.create({ action: commitAction, reward: { xp: commitXp } }, { signal }),
      ),
    ),
    sendBatch: (events) =>
      Effect.gen(function* () {
        const summary = (yield* ask("Sending commits", (signal) =>
          laurel.events.trackBatch({ events }, { signal, headers: minimal }),
        )) as BatchSummary
        const [first] = summary.refusals
        if (first === undefined) return summary
        return yield* commandFailed(
          exitCodes.refused,
          `${summary.rejected} of ${events.length} events were refused, ` +
            `the first for commit ${events[first.index]?.id}: ${JSON.stringify(first)}`,
        )
      }),
    readStandings: Effect.gen(function* () {
      const standings: Array<Standing> = []
      let hasMore = true
      while (hasMore) {
        const query = { limit: limits.pageMax, offset: standings.length }
        const page = yield* ask("Reading the leaderboard", (signal) =>
          laurel.leaderboard.get(query, { signal }),
        )
        standings.push(...page.entries)
        hasMore = page.hasMore
      }
      return standings
    }),
  }
}

/* The leaderboard against git's own count. */

/**
 * One line for each author whose commits the leaderboard counts differently; none when all agree.
 */
export const differences = (
  expected: ReadonlyMap<string, number>,
  standings: ReadonlyArray<Standing>,
): ReadonlyArray<string> => {
  const found = new Map(standings.map(({ userId, xp }) => [userId, xp / commitXp]))
  const lines: Array<string> = []
  for (const author of new Set([...expected.keys(), ...found.keys()])) {
    const [byGit, byBoard] = [expected.get(author) ?? 0, found.get(author) ?? 0]
    if (byGit !== byBoard) {
      lines.push(
        `${JSON.stringify(author)}: ${byGit} commits in git, ${byBoard} on the leaderboard`,
      )
    }
  }
  return lines
}

const batchesAtOnce = 4
const standingsShown = 20
const differencesShown = 20

interface Sent {
  readonly accepted: number
  readonly duplicates: number
  /** Commits whose author cannot be a user, by e-mail. */
  readonly skipped: ReadonlyMap<string, number>
  readonly seconds: number
}

/** Sends the whole history. A repeat with the same `now` sends the same dates. */
const sendHistory = Effect.fnUntraced(function* (
  client: Client,
  history: Stream.Stream<Commit, CommandFailed>,
  progress: ProgressBar,
  now: number,
): Effect.fn.Return<Sent, CommandFailed> {
  const skipped = new Map<string, number>()
  let accepted = 0
  let duplicates = 0
  const startedAt = performance.now()
  const eventOf = (commit: Commit): ReadonlyArray<CommitEvent> => {
    const { authorEmail } = commit
    if (authorFault(authorEmail) === undefined) return [commitEvent(commit, now)]
    skipped.set(authorEmail, (skipped.get(authorEmail) ?? 0) + 1)
    return []
  }
  yield* history.pipe(
    Stream.flatMap((commit) => Stream.fromIterable(eventOf(commit))),
    Stream.grouped(limits.batchItemsMax),
    Stream.mapEffect((events) => client.sendBatch(events), { concurrency: batchesAtOnce }),
    Stream.runForEach((counts) =>
      Effect.sync(() => {
        accepted += counts.accepted
        duplicates += counts.duplicates
        progress.update(accepted + duplicates)
      }),
    ),
    Effect.ensuring(Effect.sync(() => progress.clear())),
  )
  return { accepted, duplicates, skipped, seconds: (performance.now() - startedAt) / 1_000 }
})

const number = (value: number): string => value.toLocaleString("en-US")

const throughput = (events: number, seconds: number): string =>
  `${seconds.toFixed(2)} s, ${number(Math.round(events / seconds))} events/s, git log included`

const standingsTable = (standings: ReadonlyArray<Standing>): string => {
  const table = formatTable(
    [
      { title: "Rank", align: "right", text: ({ rank }) => number(rank) },
      { title: "Author", align: "left", text: ({ userId }) => userId },
      { title: "Commits", align: "right", text: ({ xp }) => number(xp / commitXp) },
      { title: "XP", align: "right", text: ({ xp }) => number(xp) },
      { title: "Level", align: "right", text: ({ level }) => number(level) },
    ],
    standings.slice(0, standingsShown),
  )
  const left = standings.length - standingsShown
  return left > 0 ? `${table}\n      and ${number(left)} more` : table
}

const shown = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length <= differencesShown
    ? lines
    : [...lines.slice(0, differencesShown), `and ${lines.length - differencesShown} more`]

/**
 * The commits that git counts per author with a valid user id. Fails when the history grew
 * meanwhile.
 */
const expectedTotals = Effect.fnUntraced(function* (repository: string, total: number) {
  const totals = yield* shortlogTotals(repository)
  if ((yield* countCommits(repository)) !== total) {
    return yield* commandFailed(
      exitCodes.refused,
      "The repository got new commits during the demo, so the counts cannot be compared. Run it again.",
    )
  }
  return new Map([...totals].filter(([email]) => authorFault(email) === undefined))
})

const check = Effect.fnUntraced(function* (
  expected: ReadonlyMap<string, number>,
  standings: ReadonlyArray<Standing>,
) {
  const lines = differences(expected, standings)
  if (lines.length === 0) return
  return yield* commandFailed(
    exitCodes.refused,
    "The leaderboard differs from git shortlog -sne --all:",
    ...shown(lines),
  )
})

const runDemo = Effect.fnUntraced(function* (repository: string) {
  const total = yield* countCommits(repository)
  if (total === 0) {
    return yield* Console.log(`${repository} has no commits to send.`)
  }
  const client = makeClient(yield* startThrowawayServer)
  yield* client.createRule
  const now = Date.now()
  const history = commits(repository)

  const first = yield* sendHistory(client, history, new ProgressBar("Sending", total), now)
  for (const [email, count] of first.skipped) {
    yield* Console.log(
      `Skipped ${count} commits of ${JSON.stringify(email)}: ${authorFault(email)}.`,
    )
  }
  const standings = yield* client.readStandings
  if (standings.length > 0) yield* Console.log(`${standingsTable(standings)}\n`)
  yield* Console.log(
    `Sent ${number(first.accepted)} commits: ${throughput(first.accepted, first.seconds)}.`,
  )
  const expected = yield* expectedTotals(repository, total)
  yield* check(expected, standings)
  yield* Console.log(
    `OK: the commits of ${amountOf(standings.length, "author")} are those that git shortlog -sne --all counts.`,
  )

  const again = yield* sendHistory(client, history, new ProgressBar("Sending again", total), now)
  yield* expectedTotals(repository, total)
  if (again.accepted !== 0 || again.duplicates !== first.accepted) {
    return yield* commandFailed(
      exitCodes.refused,
      `The repeat counted ${again.accepted} commits as new and ${again.duplicates} as duplicates.`,
    )
  }
  const standingsAgain = yield* client.readStandings
  if (JSON.stringify(standingsAgain) !== JSON.stringify(standings)) {
    yield* check(expected, standingsAgain)
    return yield* commandFailed(exitCodes.refused, "The repeat changed the leaderboard.")
  }
  yield* Console.log(
    `OK: repeated all commits, ${throughput(again.duplicates, again.seconds)}; ` +
      `all ${number(again.duplicates)} were duplicates and nothing changed.`,
  )
})

const interrupted = Effect.flatMap(firstSignal, (signal) =>
  Effect.fail(commandFailed(exitCodes.refused, `Stopped by ${signal}.`)),
)

export const demo = Command.make(
  "demo",
  {
    path: Argument.String("path").pipe(
      Argument.withDescription("Git repository. Default: the one of the current folder"),
      Argument.withDefault("."),
    ),
  },
  ({ path }) => Effect.raceFirst(Effect.scoped(runDemo(path)), interrupted),
).pipe(
  Command.withShortDescription("Try Laurel on the history of a git repository"),
  Command.withDescription(
    "Send the history of a git repository to a temporary server, print the leaderboard, and compare it with git shortlog -sne --all. The server and its data are removed.",
  ),
)
