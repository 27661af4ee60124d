/** The verbs of `Engine`, over the parts of an engine in this process. */
import { Effect, Exit, Stream } from "effect"
import { leadingTo } from "../domain/decide/Merge.ts"
import type { ProjectCommand } from "../domain/decide/Project.ts"
import { timeIn } from "../domain/project/Project.ts"
import type { UserCommand } from "../domain/record/Record.ts"
import { toReply } from "./actor/Requests.ts"
import type { Background, Upkeep } from "./Background.ts"
import { BoardReader } from "./boards/ReadBoard.ts"
import type { EngineOptions } from "./Engine.ts"
import {
  Engine,
  type EngineCommands,
  type EngineReads,
  type Idempotency,
  type UserMessage,
} from "./Engine.ts"
import { makeIsErased } from "./erasure/Erasures.ts"
import { makeSimulate } from "./read/Simulation.ts"
import { readTeamMembers } from "./read/TeamMemberList.ts"
import { UserList } from "./read/UserList.ts"
import type { Snapshotter } from "./snapshot/Snapshotter.ts"
import type { EngineState } from "./state/EngineState.ts"
import type { Writes } from "./Writes.ts"

export const verbsOf = (
  state: EngineState,
  writes: Writes,
  background: Background,
  { snapshotter }: Upkeep,
  { listBounds, onBroken }: EngineOptions,
): Engine["Service"] =>
  Engine.of({
    ...commandsOf(state, writes),
    ...readsOf(state, writes, background, listBounds),
    feed: writes.feed,
    drain: drainOf(writes, snapshotter, onBroken),
    now: state.now,
  })

/**
 * A mailbox does not know the kinds of its commands: the casts restore the codes of each kind's
 * refusals.
 */
const commandsOf = (
  { directory, environments }: EngineState,
  { requests }: Writes,
): EngineCommands => {
  const askUser = <Command extends UserCommand>(
    environment: string,
    { command, userId }: UserMessage<Command>,
    asked?: Idempotency,
  ) => {
    const user = requests.toUser(environment, userId)
    const answered =
      asked === undefined
        ? requests.one(user, command)
        : requests.once(environment, user, command, asked)
    return Effect.map(answered, toReply<Command>)
  }
  const askProject = (environment: string, command: ProjectCommand, asked?: Idempotency) =>
    Effect.suspend(() => {
      const project = requests.to(environments.of(environment).project)
      const answered =
        asked === undefined || asked.reserved
          ? requests.one(project, command, asked)
          : requests.once(environment, project, command, asked)
      return Effect.map(answered, ({ record, replayed }) => ({ reply: record, replayed }))
    })
  const reserve = (environment: string, asked: Idempotency) => requests.reserve(environment, asked)
  return {
    askUser: askUser as EngineCommands["askUser"],
    askUserWithCallback: (...asked) => requests.withCallback(...asked),
    askUsers: (environment, messages) => requests.batch(environment, messages),
    tellUsers: (environment, messages) => requests.tally(environment, messages),
    askProject: askProject as EngineCommands["askProject"],
    askDirectory: (command) =>
      Effect.map(requests.one(requests.to(directory), command), ({ record }) => record),
    reserve: reserve as EngineCommands["reserve"],
  }
}

const readsOf = (
  state: EngineState,
  { actors, commit, history, requests }: Writes,
  background: Background,
  listBounds: EngineOptions["listBounds"],
): EngineReads => {
  const { backfills, experiments, metricsOfAll, segmentCounts, testClocks } = background
  const { directory, environments } = state
  const broken = requests.broken
  const userNow: EngineReads["userNow"] = (environment, userId) =>
    Exit.succeed(environments.of(environment).userAt(userId))
  const idNow: EngineReads["idNow"] = (environment, userId) => {
    const there = environments.of(environment)
    return leadingTo(userId, (id) => there.durableOf(id))
  }
  const readUser: EngineReads["readUser"] = (...asked) => Effect.suspend(() => userNow(...asked))
  const projectNow = (environment: string) => environments.of(environment).project.durable
  const simulate = makeSimulate({
    ...state,
    turns: actors.turns,
    commit,
    history,
    readUser,
    broken,
  })
  return {
    simulate: (environment, { command, userId }, drafts) =>
      simulate(environment, { command, userId: idNow(environment, userId) }, drafts),
    readUser,
    userNow,
    attributeNow: (environment, ...asked) => environments.of(environment).attributeOf(...asked),
    idNow,
    readHistory: (environment, userId, ...asked) =>
      Stream.suspend(() =>
        Stream.mapError(history.read(environment, idNow(environment, userId), ...asked), broken),
      ),
    readRecord: (environment, sequence) =>
      Effect.mapError(history.findAny(environment, sequence), broken),
    readNamed: (environment, userId, key) =>
      Effect.suspend(() =>
        Effect.mapError(history.findNamed(environment, idNow(environment, userId), key), broken),
      ),
    // An alias has the time of its creation.
    isErased: makeIsErased(
      (environment, userId) => Effect.sync(() => environments.of(environment).durableOf(userId)),
      (...place) =>
        Effect.map(
          Effect.mapError(history.find(...place), broken),
          (record) => record !== undefined,
        ),
    ),
    timeIn: (environment) => timeIn(projectNow(environment), state.now()),
    testClockReady: (environment) => testClocks.ready(environments.of(environment)),
    readEnvironments: Effect.sync(() => [...environments].map(({ id }) => id)),
    readProject: (environment) => Effect.sync(() => projectNow(environment)),
    projectNow,
    readBackfill: (environment, badgeId) =>
      Effect.sync(() => backfills.progress(environment, badgeId)),
    readSegmentCount: (environment, segmentId) =>
      Effect.sync(() => segmentCounts.read(environments.of(environment), segmentId)),
    readExperiment: (environment, ...asked) =>
      experiments.read(environments.of(environment), ...asked),
    readLastResult: (environment, ...asked) =>
      experiments.readLast(environments.of(environment), ...asked),
    readMetricSeries: (environment, query) =>
      Effect.sync(() => metricsOfAll.read(environments.of(environment), query)),
    ...listsOf(state, broken, listBounds),
    readDirectory: Effect.sync(() => directory.durable),
    directoryNow: () => directory.durable,
    erasedAt: (environment, userId) => environments.of(environment).counts.erased.lastOf(userId),
    ...countReadsOf(state, background),
    ...boardReadsOf(state, idNow, new BoardReader({ ...state, readUser, broken })),
  }
}

const countReadsOf = (
  { environments, now }: EngineState,
  {
    activeUsers,
    contributors,
    mechanics,
    retention,
    usersOfRange,
  }: Pick<Background, "activeUsers" | "contributors" | "mechanics" | "retention" | "usersOfRange">,
): Pick<
  EngineReads,
  | "goalTotals"
  | "readContributors"
  | "readActions"
  | "readActiveUsers"
  | "readActivity"
  | "readCounts"
  | "readDayCounts"
  | "readMechanicDays"
  | "readMechanics"
  | "readPaths"
  | "readRecapDays"
  | "readReminders"
  | "readRetention"
  | "readUsersOfRange"
> => ({
  readContributors: (environment, wait) =>
    Effect.suspend(() => contributors.read(environments.of(environment), wait)),
  readMechanics: (environment, wait) =>
    Effect.suspend(() => mechanics.read(environments.of(environment), wait)),
  readMechanicDays: (environment) =>
    Effect.sync(() => environments.of(environment).counts.mechanics),
  readUsersOfRange: (environment, from, to, wait) =>
    Effect.suspend(() => usersOfRange.read(environments.of(environment), from, to, wait)),
  readRecapDays: (environment) => Effect.sync(() => environments.of(environment).counts.recapDays),
  readReminders: (environment) => Effect.sync(() => environments.of(environment).counts.reminders),
  readActiveUsers: (environment, wait) =>
    Effect.suspend(() => activeUsers.read(environments.of(environment), wait)),
  readRetention: (environment, some, wait) =>
    Effect.suspend(() => retention.read(environments.of(environment), some, wait)),
  readDayCounts: (environment) => Effect.sync(() => environments.of(environment).counts.days),
  goalTotals: (environment) => environments.of(environment).counts.goals,
  readCounts: (environment) => Effect.sync(() => environments.of(environment).counts.copy()),
  readActions: (environment) =>
    Effect.sync(() => environments.of(environment).counts.actions.copy()),
  readPaths: (environment, action) =>
    Effect.sync(() => environments.of(environment).counts.paths.of(action, now())),
  readActivity: (environment) =>
    Effect.sync(() => {
      const { counts, project } = environments.of(environment)
      return counts.activity.perMinute(timeIn(project.durable, now()))
    }),
})

const listsOf = (
  { environments, now, storage }: EngineState,
  broken: Writes["requests"]["broken"],
  bounds: EngineOptions["listBounds"],
): Pick<EngineReads, "allUsers" | "listTeamMembers" | "listUsers"> => {
  const userList = new UserList(storage, now, bounds)
  return {
    listUsers: (environment, query) =>
      Effect.mapError(userList.read(environments.of(environment), query), broken),
    allUsers: (environment, query) =>
      Stream.suspend(() =>
        Stream.mapError(userList.all(environments.of(environment), query), broken),
      ),
    listTeamMembers: (environment, query) =>
      Effect.suspend(() =>
        Effect.mapError(readTeamMembers(storage, environments.of(environment), query), broken),
      ),
  }
}

const boardReadsOf = (
  { environments }: EngineState,
  idNow: EngineReads["idNow"],
  boardReader: BoardReader,
): Pick<
  EngineReads,
  | "listCohorts"
  | "oldestCohorts"
  | "unsettledCohorts"
  | "readCohort"
  | "lookUpOnBoard"
  | "readBoard"
  | "readTeamBoard"
  | "readBoardGroups"
  | "readBoardScores"
  | "readCountsAtLeast"
  | "readRank"
> => ({
  readBoard: (environment, query) =>
    Effect.suspend(() => {
      const { around } = query
      const about = around === undefined ? {} : { around: idNow(environment, around) }
      return boardReader.read(environments.of(environment), { ...query, ...about })
    }),
  readTeamBoard: (environment, query) =>
    Effect.suspend(() => boardReader.readTeams(environments.of(environment), query)),
  lookUpOnBoard: (environment, query, userIds) =>
    Effect.suspend(() => {
      const ids = new Set(userIds.map((userId) => idNow(environment, userId)))
      return boardReader.lookUp(environments.of(environment), query, [...ids])
    }),
  readBoardGroups: (environment, query) =>
    Effect.suspend(() => boardReader.readGroups(environments.of(environment), query)),
  readBoardScores: (environment, query, percents) =>
    Effect.suspend(() => boardReader.scoresAt(environments.of(environment), query, percents)),
  readRank: (environment, userId) =>
    Effect.sync(() => {
      const { boards } = environments.of(environment)
      return boards.allTime.rankOf(idNow(environment, userId))
    }),
  readCohort: (environment, cohort) => environments.of(environment).cohorts.read(cohort),
  listCohorts: (environment, { division, leagueId, window }) =>
    environments.of(environment).cohorts.list(leagueId, window, division),
  oldestCohorts: (environment, leagueId) => {
    const { cohorts, project } = environments.of(environment)
    return cohorts.oldestOf(leagueId, project.durable)
  },
  unsettledCohorts: (environment, league) => {
    const { cohorts, project } = environments.of(environment)
    return cohorts.unsettledIn(league, project.durable)
  },
  readCountsAtLeast: (environment, xps) =>
    Effect.sync(() => xps.map((xp) => environments.of(environment).boards.allTime.countFrom(xp))),
})

/**
 * Refuses further commands, waits for the answers to accepted ones, and takes the last snapshot.
 */
const drainOf = (
  { actors, batches, commit, intake }: Writes,
  snapshotter: Snapshotter,
  onBroken: EngineOptions["onBroken"],
): Effect.Effect<void> =>
  Effect.gen(function* () {
    intake.close()
    batches.changed()
    yield* actors.answers.idle
    if (!(yield* commit.settled)) {
      if (!commit.fenced) {
        yield* Effect.logError(
          "The journal still takes no records: dropping those that are not in it",
        )
      }
      return
    }
    yield* snapshotter.take.pipe(
      Effect.catchTag("Unavailable", (error) =>
        Effect.annotateLogs(
          Effect.logError("No last snapshot; the next start replays the journal"),
          { cause: error.message },
        ),
      ),
      Effect.catchTag("Broken", (cause) => Effect.sync(() => onBroken(cause))),
    )
  })
