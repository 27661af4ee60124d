/**
 * One seeded run of a world with several leaderboards at once: of a currency, a metric, a streak and a
 * largest value, of users and teams, with windows of days, weeks, months and of some days, in the zones of
 * the project and of users, with grace, groups, a segment, prizes, starts and ends. Events come late and are
 * undone, also after a close; users are hidden, disqualified, renamed, merged and erased, and change teams, which
 * are disqualified and deleted; definitions change, boards are made over existing data. Snapshots are slow, the disk is
 * full. The power fails at any append and any write, and
 * the server stays off for days. The model follows the journal, so it needs no answers.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import { type Board, hasScores, isOfTeams } from "../../src/domain/project/BoardDefinition.ts"
import type { BoardPrize } from "../../src/domain/project/BoardPrize.ts"
import type { JournalRecord, UserCommand } from "../../src/domain/record/Record.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import {
  currencyWith,
  metricWith,
  ruleWith,
  segmentWith,
  streakWith,
} from "../domain/definitions.ts"
import { sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { modelPrizes } from "./BoardModel.ts"
import { dayIn } from "./MixedCalendar.ts"
import { MixedModel, nothingSeen } from "./MixedModel.ts"
import { givenBy, wonWith } from "./MixedRows.ts"
import { compareBoards } from "./mixedReads.ts"
import { Random } from "./random.ts"
import { beginnings, openDying, SnapshotDisk, troubleSnapshot } from "./windowEngine.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
/** Also the first and the last zone of the world. */
const userZones = [...zones, "Pacific/Kiritimati", "Etc/GMT+12", null]
const cities = ["Berlin", "constructor", "🦊".repeat(200), 7, ""]

const named = ["all_time", "daily", "weekly", "monthly"] as const
const [xp, gems] = [{ currency: "xp" }, { currency: "gems" }] as const

const prizesOf = (windows: ReadonlyArray<BoardPrize["window"]>): ReadonlyArray<BoardPrize> =>
  windows.flatMap((window) =>
    modelPrizes.map(({ points, ...wins }): BoardPrize => {
      const { gems, xp } = wonWith(points)
      const reward = { xp, points, badgeId: null, currencies: { gems } }
      return { window, ...wins, reward }
    }),
  )

/** How often each of these happened in all runs. */
export const happened = {
  ...nothingSeen,
  paid: 0,
  toMembers: 0,
  /** Starts that found a payout under way. */
  resumed: 0,
  backfills: 0,
}

class World {
  readonly random: Random
  readonly model = new MixedModel()
  readonly state = new MemoryStorage.MemoryState()
  readonly disk = { appendsLeft: Infinity, lastAppendKept: false, writesLeft: Infinity }
  readonly snapshots = new SnapshotDisk()
  readonly journal: Array<JournalRecord> = []
  readonly users = Array.from({ length: 10 }, (_, index) =>
    index % 3 === 0 ? `constructor${index}` : "🦊".repeat(100 + index),
  )
  readonly teamIds = ["t1", "t2", "t3"]
  running!: Effect.Success<ReturnType<typeof openDying>>
  now = 0
  #followed = 0
  #changes = 0
  #seasons = 0
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
    this.random = new Random(seed)
  }

  readonly open = Effect.suspend(() =>
    Effect.map(
      openDying(this.state, this.disk, this.#seed, this.journal, this.snapshots.over),
      (running) => {
        this.running = running
      },
    ),
  )

  follow(): void {
    while (this.#followed < this.journal.length) {
      this.model.follow(this.journal[this.#followed++]!)
    }
  }

  /** The answer is that of the records: a refusal has none. */
  ask(userId: string, command: UserCommand): Effect.Effect<void> {
    return Effect.ignore(this.running.engine.askUser(sandbox, { userId, command } as never))
  }

  change(command: ProjectCommand): Effect.Effect<void> {
    return Effect.ignore(this.running.engine.askProject(sandbox, command))
  }

  readonly pass = Effect.fnUntraced(function* (this: World, ms: number) {
    yield* TestClock.adjust(ms)
    this.now = yield* Clock.currentTimeMillis
  })

  /* Definitions. */

  readonly begin = Effect.gen({ self: this }, function* () {
    const { random } = this
    const reward = (gives: { xp: number; gems: number }) => ({
      xp: gives.xp,
      ...(gives.gems > 0 && { currencies: { gems: gives.gems } }),
    })
    const [TAP, PUSH] = [reward(givenBy.TAP), reward(givenBy.PUSH)]
    const actions = ["TAP", "PUSH"]
    const size = metricWith({ id: "mtr_size", actions, aggregate: "max", value: "size" })
    const commands: ReadonlyArray<ProjectCommand> = [
      { kind: "updateSettings", change: { timezone: random.pick(zones) } },
      { kind: "createCurrency", currency: currencyWith({ id: "cur_gems" }) },
      { kind: "createRule", rule: ruleWith({ id: "rul_tap", action: "TAP", reward: TAP }) },
      { kind: "createRule", rule: ruleWith({ id: "rul_push", action: "PUSH", reward: PUSH }) },
      { kind: "createMetric", metric: metricWith({ id: "mtr_taps" }) },
      { kind: "createMetric", metric: size },
      { kind: "createSegment", segment: segmentWith({ id: "seg_pros" }) },
      { kind: "createStreak", streak: streakWith({ id: "stk_daily" }) },
      {
        kind: "updateLeaderboard",
        leaderboardId: "xp",
        change: { prizes: prizesOf(["daily", "weekly"]) },
      },
      ...this.teamIds.map(
        (teamId): ProjectCommand => ({
          kind: "putTeam",
          teamId,
          team: { kind: "club", name: teamId },
        }),
      ),
      ...this.#boards().map(
        (leaderboard): ProjectCommand => ({ kind: "createLeaderboard", leaderboard }),
      ),
    ]
    for (const command of commands) yield* this.running.engine.askProject(sandbox, command)
  })

  #boards() {
    const { random } = this
    const graces = [0, 60, 705]
    const graceMinutes = () => random.pick(graces)
    const span = { days: random.pick([2, 3, 14]), anchor: "2026-10-23" }
    const timed = ["daily", "days"] as const
    return [
      {
        id: "ldb_grace",
        name: "Grace",
        score: gems,
        windows: [...named, span],
        graceMinutes: graceMinutes(),
        groupBy: "city",
        prizes: prizesOf(timed),
      },
      {
        id: "ldb_local",
        name: "Local",
        score: xp,
        windows: ["weekly", "monthly", span],
        timeZone: "user",
        graceMinutes: graceMinutes(),
        prizes: prizesOf(["weekly", "days"]),
      },
      {
        id: "ldb_clubs",
        name: "Clubs",
        score: gems,
        entrants: "teams",
        teamKind: "club",
        windows: [...named, span],
        graceMinutes: graceMinutes(),
        prizes: prizesOf(timed),
      },
      {
        id: "ldb_taps",
        name: "Taps",
        score: { metric: "taps" },
        segment: "pros",
        windows: ["all_time", "daily", "weekly"],
        order: "asc",
        ties: "first",
        groupBy: "city",
        prizes: prizesOf(["daily"]),
      },
      { id: "ldb_size", name: "Size", score: { metric: "size" }, windows: ["all_time"] },
      { id: "ldb_run", name: "Run", score: { streak: "daily" }, groupBy: "city" },
    ] as const
  }

  /** A leaderboard that ends, of users or of teams. */
  #season(): ProjectCommand {
    const { now, random } = this
    const id = `ldb_season${++this.#seasons}`
    const startsAt = random.pick([null, null, now, now + hour])
    const ofTeams = { entrants: "teams", teamKind: "club" } as const
    const leaderboard = {
      id,
      name: id,
      score: random.pick([xp, gems]),
      windows: ["all_time", "daily"],
      startsAt,
      endsAt: now + random.integer(2 * hour, 6 * day),
      graceMinutes: random.pick([0, 60]),
      prizes: prizesOf(["all_time"]),
      ...(random.chance(0.4) && ofTeams),
    } as const
    return { kind: "createLeaderboard", leaderboard }
  }

  /** Changes the definitions of the project. */
  readonly define = Effect.suspend(() => {
    const { now, random } = this
    const ended = [...this.model.boards.values()].filter(
      (board) => hasScores(board) && board.endsAt !== null && !this.model.calendar.isFinal(board),
    )
    const board = random.pick(["ldb_grace", "ldb_clubs", "ldb_taps", "xp", ...ended.map(idOf)])
    const edit = (change: object): ProjectCommand => ({
      kind: "updateLeaderboard",
      leaderboardId: board,
      change,
    })
    const teamId = random.pick(this.teamIds)
    const name = `Name ${++this.#changes}`
    const kind = random.next()
    if (kind < 0.2) {
      return this.change({ kind: "updateSettings", change: { timezone: random.pick(zones) } })
    }
    if (kind < 0.3) return this.change(edit({ prizes: random.pick([[], prizesOf(["daily"])]) }))
    if (kind < 0.4)
      return this.change(edit({ status: random.pick(["paused", "active", "active"]) }))
    if (kind < 0.55 && ended.length > 0) {
      const leaderboardId = random.pick(ended).id
      if (random.chance(0.4)) return this.change({ kind: "closeLeaderboard", leaderboardId })
      const change = { endsAt: now + random.integer(hour, 6 * day) }
      return this.change({ kind: "updateLeaderboard", leaderboardId, change })
    }
    if (kind < 0.7 && ended.length < 2) return this.change(this.#season())
    if (kind < 0.73) return this.change({ kind: "putTeam", teamId, team: { name } })
    if (kind < 0.82) {
      const leaderboard = random.pick([...this.model.boards.values()].filter(isOfTeams)).id
      const disqualified = random.chance(0.5)
      return this.change({ kind: "disqualifyTeam", teamId, leaderboard, disqualified })
    }
    if (kind < 0.87) {
      const team = { kind: "club", name }
      const made = this.change({ kind: "putTeam", teamId, team })
      return Effect.andThen(this.change({ kind: "deleteTeam", teamId }), made)
    }
    return this.#count
  })

  /** Makes a metric over existing data and its leaderboard; then its backfill begins. */
  readonly #count = Effect.suspend(() => {
    if (this.model.pushesSince !== undefined) {
      return this.change({ kind: "startMetricBackfill", metricId: "mtr_pushes" })
    }
    const metric = metricWith({ id: "mtr_pushes", actions: ["PUSH"] })
    const score = { metric: "pushes" }
    const windows = ["all_time", "daily"] as const
    const leaderboard = { id: "ldb_pushes", name: "Pushes", score, windows }
    return Effect.andThen(
      this.change({ kind: "createMetric", metric }),
      this.change({ kind: "createLeaderboard", leaderboard }),
    )
  })

  /* Users. */

  readonly asked = Effect.suspend(() => {
    const { now, random } = this
    const userId = random.pick(this.users)
    const kind = random.next()
    if (kind < 0.45) {
      const action = random.pick(["TAP", "TAP", "PUSH"])
      const occurredAt = now - (random.chance(0.35) ? random.integer(0, 3 * day) : 0)
      const metadata = { size: random.integer(1, 9) }
      return this.ask(userId, { kind: "event", action, occurredAt, metadata })
    }
    if (kind < 0.52) {
      return this.ask(userId, { kind: "reward", type: "xp", amount: random.integer(1, 4) })
    }
    if (kind < 0.64) return this.#undo
    if (kind < 0.78) return this.ask(userId, this.#profile())
    if (kind < 0.86) {
      const teamId = random.pick(this.teamIds)
      return this.ask(userId, { kind: random.pick(["join", "join", "join", "leave"]), teamId })
    }
    if (kind < 0.91) {
      const boards = [...this.model.boards.values()].filter((board) => !isOfTeams(board))
      const leaderboard = random.pick(boards).id
      return this.ask(userId, {
        kind: "disqualify",
        leaderboard,
        disqualified: random.chance(0.5),
      })
    }
    if (kind < 0.96) return this.ask(userId, { kind: "merge", into: random.pick(this.users) })
    return this.ask(userId, { kind: "erasure" })
  })

  readonly #undo = Effect.suspend(() => {
    const standing = [...this.model.entries.values()].filter(
      ({ action, undone }) => action !== null && !undone,
    )
    if (standing.length === 0) return Effect.void
    const { at, by, sequence } = this.random.pick(standing.slice(-15))
    return this.ask(by, { kind: "revocation", of: "event", sequence, at })
  })

  #profile(): UserCommand {
    const { random } = this
    const change = random.pick([
      { hidden: random.chance(0.4) },
      { timezone: random.pick(userZones) },
      { displayName: `Ada ${++this.#changes}` },
      { attributes: { city: random.pick(cities), plan: random.pick(["pro", "pro", "free"]) } },
      { attributes: { city: random.pick(cities), plan: random.pick(["pro", "pro", "free"]) } },
    ])
    return { kind: "profile", change }
  }

  /** Some commands at once. */
  some(count: number): Effect.Effect<void> {
    const commands = Array.from({ length: count }, () =>
      this.random.chance(0.06) ? this.define : this.asked,
    )
    return Effect.forEach(commands, (one) => one, { concurrency: "unbounded", discard: true })
  }

  /** The power fails while commands are under way, often while a window closes. */
  readonly crash = Effect.gen({ self: this }, function* () {
    const { disk, random } = this
    disk.lastAppendKept = random.chance(0.5)
    if (random.chance(0.7)) disk.appendsLeft = random.integer(0, 8)
    else disk.writesLeft = random.integer(0, 15)
    const asked = yield* Effect.forkChild(this.some(random.integer(0, 5)), {
      startImmediately: true,
    })
    const zone = this.model.calendar.zone
    let midnight = Math.ceil(this.now / hour) * hour
    while (dayIn(zone, midnight) === dayIn(zone, this.now)) midnight += hour / 4
    const grace = random.pick([0, 0, 60, 705]) * minute
    const until = random.chance(0.7) ? midnight - this.now + grace : random.integer(1, 600) * minute
    yield* this.pass(until)
    const more = yield* Effect.forkChild(this.some(random.integer(0, 3)), {
      startImmediately: true,
    })
    for (let turn = random.integer(0, 12); turn > 0; turn--) yield* yieldToEventLoop
    yield* this.running.close("kill")
    yield* Effect.andThen(Fiber.interrupt(asked), Fiber.interrupt(more))
    if (random.chance(0.4)) yield* this.pass(random.integer(1, 3 * day))
    this.follow()
    if (this.model.payouts.open.size > 0) happened.resumed++
    yield* this.open
    // Before the background goes on, or meanwhile.
    yield* this.some(random.integer(0, 3))
  })

  /** A snapshot of some of what happens meanwhile, which fails or is cut off. */
  readonly trouble = Effect.gen({ self: this }, function* () {
    const { random } = this
    const asked: Array<Fiber.Fiber<void>> = []
    // Some wait for the disk.
    const others = [this.define, Effect.suspend(() => this.some(random.integer(1, 3)))].map((one) =>
      Effect.gen(function* () {
        asked.push(yield* Effect.forkChild(one, { startImmediately: true }))
        for (let turn = random.integer(0, 12); turn > 0; turn--) yield* yieldToEventLoop
      }),
    )
    const isDead = yield* troubleSnapshot(this.snapshots, random, this.pass(5 * hour), others)
    if (!isDead) {
      // Actors that met the full disk start again.
      yield* this.pass(limits.actorRestartWindowMs)
      return
    }
    yield* this.running.close("kill")
    yield* Fiber.interruptAll(asked)
    this.follow()
    yield* this.open
  })

  /** Waits until all windows that are over have closed, and nothing is left to pay, to merge or to count. */
  readonly settle = Effect.gen({ self: this }, function* () {
    for (let turn = 0; ; turn++) {
      yield* Effect.andThen(this.pass(1), yieldToEventLoop)
      this.follow()
      if (turn < 6) continue
      const late = this.model.overdue(this.now)
      if (late.length === 0 && !(yield* this.#isBusy)) return
      if (turn > 20 && late.some((name) => this.model.lingering.has(name))) {
        const change = { metadata: { change: ++this.#changes } }
        yield* this.change({ kind: "updateLeaderboard", leaderboardId: "ldb_grace", change })
      }
      if (turn > 100) yield* this.pass(limits.mergeRetryMs)
      expect([turn < 300, late]).toEqual([true, late])
    }
  })

  readonly #isBusy = Effect.gen({ self: this }, function* () {
    const { engine } = this.running
    const { backfills, payouts } = yield* engine.readProject(sandbox)
    if (payouts.size > 0) return true
    for (const { finishedAt } of backfills.values()) if (finishedAt === null) return true
    for (const userId of this.model.people.keys()) {
      const user = yield* engine.readUser(sandbox, userId)
      if (user?.leadsTo?.done === false || (user?.erasing ?? 0) > 0) return true
      for (const { recalculating } of user?.metrics.values() ?? []) if (recalculating) return true
    }
    return false
  })

  addUp(): void {
    const { payouts, seen } = this.model
    for (const name of Object.keys(seen) as ReadonlyArray<keyof typeof seen>) {
      happened[name] += seen[name]
    }
    happened.paid += payouts.seen.paid
    happened.toMembers += payouts.seen.toMembers
    if (this.model.isBackfilled) happened.backfills++
  }
}

const idOf = ({ id }: Board): string => id

export const simulateMixedBoards = Effect.fnUntraced(function* (seed: number, steps: number) {
  const world = new World(seed)
  const { random } = world
  yield* TestClock.setTime(Date.parse(random.pick(beginnings)))
  yield* world.open
  yield* world.pass(0)
  yield* world.begin
  yield* world.settle
  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (kind < 0.5) yield* world.some(random.integer(1, 4))
    else if (kind < 0.6) yield* world.define
    else if (kind < 0.8) yield* world.pass(random.integer(1, 600) * minute)
    else if (kind < 0.86) yield* world.pass(random.integer(1, 6) * day)
    else if (kind < 0.94) yield* world.crash
    else if (kind < 0.985) yield* world.trouble
    else {
      yield* world.running.close()
      yield* world.open
    }
    yield* world.settle
    yield* compareBoards(world.running.engine, world.model, world.now)
  }
  expect(world.running.broken).toEqual([])
  yield* world.running.close()
  world.addUp()
})
