import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { ProjectSettings } from "../../../src/domain/project/Project.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { Ticker } from "../../../src/engine/time/Ticker.ts"
import { limits } from "../../../src/Limits.ts"
import { Unavailable } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { currencyWith, leagueWith, questWith, streakWith } from "../../domain/definitions.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  anEnvironment,
  event,
  type Fixture,
  recordsOf,
  sandbox,
  startInMemory,
} from "../fixture.ts"

const quiet = {
  clockCheckMs: 3_600_000,
  snapshotIntervalMs: 3_600_000,
}

const at = (time: string) => TestClock.setTime(Date.parse(time))

const settings = ({ engine }: Fixture, change: Partial<Omit<ProjectSettings, "levelCurve">>) =>
  engine.askProject(sandbox, { kind: "updateSettings", change })

const daily = { kind: "createStreak", streak: streakWith({}) } as const

const tap = ({ engine }: Fixture, userId: string) => engine.askUser(sandbox, event(userId, "TAP"))

/**
 * Lets groups of users be checked until `enough`, which needs turns of the event loop besides time.
 */
const passUntil = Effect.fnUntraced(function* (enough: () => boolean) {
  for (let step = 0; step < 1_000 && !enough(); step++) {
    yield* TestClock.adjust(limits.agendaPauseMs / 4)
    yield* yieldToEventLoop
  }
})

/** The facts of ticks: `["2026-11-06T00:00:00.000Z", "ada", "streak.broken"]`. */
const noted = (records: ReadonlyArray<JournalRecord>) =>
  records
    .flatMap(({ at, cause, facts, subject }) =>
      cause.kind === "tick" && subject.actor === "user"
        ? [[new Date(at).toISOString(), subject.userId, ...facts.map(({ kind }) => kind)]]
        : [],
    )
    .toSorted((one, other) => (one.join() < other.join() ? -1 : 1))

describe("Time that passes", () => {
  it.effect("breaks streaks at the end of the user's day, and only of users who missed a day", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, daily)
      yield* settings(fixture, { timezone: "Europe/Berlin" })
      yield* fixture.engine.askUser(sandbox, {
        userId: "far",
        command: { kind: "profile", change: { timezone: "Asia/Tokyo" } },
      })
      for (const userId of ["ada", "bob", "far"]) yield* tap(fixture, userId)
      yield* at("2026-11-05T12:00:00Z")
      yield* tap(fixture, "bob")
      yield* at("2026-11-08T12:00:00Z")
      expect(noted(fixture.committed)).toEqual([
        ["2026-11-05T15:00:00.000Z", "far", "streak.broken"],
        ["2026-11-05T23:00:00.000Z", "ada", "streak.broken"],
        ["2026-11-06T23:00:00.000Z", "bob", "streak.broken"],
      ])
      expect((yield* fixture.engine.readUser(sandbox, "ada"))?.streaks.get("daily")?.broken).toBe(
        true,
      )
    }),
  )

  it.effect("warns of streaks at risk once a day, also over kills, and not after the day", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const streak = streakWith({
        freezes: { initial: 5, max: 5, everyDays: null },
        atRisk: { hoursBefore: 4 },
      })
      const first = yield* startInMemory({ state }, quiet)
      yield* first.engine.askProject(sandbox, { kind: "createStreak", streak })
      for (const userId of ["ada", "bob"]) yield* tap(first, userId)
      yield* at("2026-11-05T12:00:00Z")
      yield* tap(first, "bob")
      yield* at("2026-11-05T20:00:00Z")
      expect(noted(recordsOf(state))).toEqual([
        ["2026-11-05T20:00:00.000Z", "ada", "streak.at_risk"],
      ])
      yield* first.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      yield* at("2026-11-06T19:00:00Z")
      yield* second.close("kill")
      // The server is away in the last hours of the sixth, until the seventh.
      yield* at("2026-11-07T12:00:00Z")
      yield* startInMemory({ state }, quiet)
      yield* at("2026-11-07T22:00:00Z")
      expect(noted(recordsOf(state))).toEqual([
        ["2026-11-05T20:00:00.000Z", "ada", "streak.at_risk"],
        ["2026-11-07T20:00:00.000Z", "ada", "streak.at_risk"],
        ["2026-11-07T20:00:00.000Z", "bob", "streak.at_risk"],
      ])
    }),
  )

  it.effect("reminds of users who stay away, also over kills, and again after they returned", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      // The user is there before the setting.
      for (const userId of ["ada", "bob"]) yield* tap(first, userId)
      const reminders = { hour: 10, inactiveDays: [1, 5], unless: null }
      yield* first.engine.askProject(sandbox, { kind: "updateSettings", change: { reminders } })
      yield* at("2026-11-05T11:00:00Z")
      yield* first.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      yield* at("2026-11-05T12:00:00Z")
      // Her next reminder is sooner than that of the fifth day, which was due next.
      yield* tap(second, "ada")
      yield* at("2026-11-07T12:00:00Z")
      yield* second.close("kill")
      // The server is away for more than a day after the fifth day of one.
      yield* at("2026-11-10T10:30:00Z")
      yield* startInMemory({ state }, quiet)
      yield* at("2026-11-12T12:00:00Z")
      expect(noted(recordsOf(state))).toEqual([
        ["2026-11-05T10:00:00.000Z", "ada", "user.inactive"],
        ["2026-11-05T10:00:00.000Z", "bob", "user.inactive"],
        ["2026-11-06T10:00:00.000Z", "ada", "user.inactive"],
        ["2026-11-10T10:30:00.000Z", "ada", "user.inactive"],
      ])
    }),
  )

  it.effect("reminds once of quests and amounts that end, also over kills and edits", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      const endsAt = Date.parse("2026-11-08T00:00:00Z")
      const steps = [{ key: "taps", action: "TAP", where: [], target: 9 }]
      yield* first.engine.askProject(sandbox, {
        kind: "createQuest",
        quest: questWith({ id: "qst_1", steps, endsAt }),
      })
      const coins = currencyWith({ id: "cur_coins", key: "coins", expiry: { afterDays: 4 } })
      yield* first.engine.askProject(sandbox, { kind: "createCurrency", currency: coins })
      yield* tap(first, "ada")
      // He has only coins, and no event.
      const reward = { currencies: { coins: 3 } }
      yield* first.engine.askUser(sandbox, { userId: "bob", command: { kind: "reward", reward } })
      const remind = (fixture: Fixture, questDays: number) =>
        settings(fixture, {
          reminders: { hour: 10, inactiveDays: [], unless: null, questDays, expiryDays: 2 },
        })
      yield* remind(first, 1)
      // The edit moves the reminder of the quest a day earlier.
      yield* remind(first, 2)
      yield* at("2026-11-06T11:00:00Z")
      yield* first.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      yield* remind(second, 1)
      yield* at("2026-11-07T10:30:00Z")
      yield* second.close("kill")
      yield* startInMemory({ state }, quiet)
      yield* at("2026-11-07T23:00:00Z")
      expect(noted(recordsOf(state))).toEqual([
        ["2026-11-06T10:00:00.000Z", "ada", "quest.ending"],
        ["2026-11-07T10:00:00.000Z", "bob", "currency.expiring"],
      ])
    }),
  )

  it.effect("reminds once of a league's window, with the ranks then, over kills and edits", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T08:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      const { createdAt: _, set: __, updatedAt: ___, version: ____, ...league } = leagueWith({})
      yield* first.engine.askProject(sandbox, { kind: "createLeague", league })
      const grant = (fixture: Fixture, userId: string, amount: number) =>
        fixture.engine.askUser(sandbox, {
          userId,
          command: { kind: "reward", type: "xp", amount },
        })
      const remind = (fixture: Fixture, leagueDays: number) =>
        settings(fixture, {
          reminders: { hour: 10, inactiveDays: [], unless: null, leagueDays },
        })
      // Without an event or a streak, the place alone makes them due.
      yield* grant(first, "ada", 5)
      yield* grant(first, "bob", 3)
      yield* grant(first, "cyd", 9)
      yield* first.engine.askUser(sandbox, {
        userId: "cyd",
        command: { kind: "profile", change: { timezone: "Asia/Tokyo" } },
      })
      yield* remind(first, 1)
      yield* first.close("kill")
      const second = yield* startInMemory({ state }, quiet)
      yield* at("2026-11-04T11:00:00Z")
      yield* passUntil(() => noted(recordsOf(state)).length === 2)
      yield* second.close("kill")
      const third = yield* startInMemory({ state }, quiet)
      yield* remind(third, 2)
      yield* grant(third, "bob", 4)
      yield* at("2026-11-04T12:00:00Z")
      yield* third.close()
      yield* startInMemory({ state }, quiet)
      yield* at("2026-11-04T13:00:00Z")
      // In Tokyo the hour came before the first score.
      expect(noted(recordsOf(state))).toEqual([
        ["2026-11-04T10:00:00.000Z", "ada", "league.closing"],
        ["2026-11-04T10:00:00.000Z", "bob", "league.closing"],
      ])
      const told = recordsOf(state)
        .flatMap(({ facts }) => facts)
        .filter((fact) => fact.kind === "league.closing")
        .map(({ of, outcome, rank, size }) => [rank, of, size, outcome])
      expect(told.toSorted()).toEqual([
        [2, 3, 3, "stayed"],
        [3, 3, 3, "stayed"],
      ])
    }),
  )

  it.effect("is recorded at once if a start finds a due user in the middle of a second", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* first.engine.askProject(sandbox, daily)
      yield* tap(first, "ada")
      yield* first.close()
      yield* at("2026-11-06T12:00:00.300Z")
      const second = yield* startInMemory({ state }, quiet)
      yield* passUntil(() => noted(second.committed).length > 0)
      const [[time] = []] = noted(second.committed)
      expect(time).toMatch(/^2026-11-06T12:00:00\.3/)
      yield* second.close()
    }),
  )

  it.effect("writes no record for a user who proves not to be due", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, daily)
      for (let day = 4; day < 10; day++) {
        yield* at(`2026-11-0${day}T12:00:00Z`)
        yield* tap(fixture, "ada")
      }
      const ofUsers = fixture.committed.filter(({ subject }) => subject.actor === "user")
      expect(ofUsers.length).toBe(6)
    }),
  )

  it.effect("wakes cold users who are due, also after a restart, and no others", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const state = new MemoryStorage.MemoryState()
      const first = yield* startInMemory({ state }, quiet)
      yield* first.engine.askProject(sandbox, daily)
      for (let user = 0; user < 300; user++) yield* tap(first, `u${user}`)
      yield* first.close()
      yield* at("2026-11-05T12:00:00Z")
      const second = yield* startInMemory({ state }, quiet)
      for (let user = 0; user < 300; user += 3) yield* tap(second, `u${user}`)
      yield* second.close("kill")
      yield* at("2026-11-05T23:59:59Z")
      const third = yield* startInMemory({ state }, quiet)
      yield* passUntil(() => noted(third.committed).length >= 200)
      yield* TestClock.adjust(60_000)
      const broken = noted(third.committed).map(([, userId]) => userId)
      expect(broken.length).toBe(200)
      expect(new Set(broken).size).toBe(200)
      expect(broken.some((userId) => Number(userId!.slice(1)) % 3 === 0)).toBe(false)
      yield* third.close()
    }),
  )

  it.effect(
    "ends quests of users who are midway, also if the end was edited while users were cold",
    () =>
      Effect.gen(function* () {
        yield* at("2026-11-04T12:00:00Z")
        const state = new MemoryStorage.MemoryState()
        const first = yield* startInMemory({ state }, quiet)
        const quest = questWith({
          id: "qst_1",
          steps: [{ key: "taps", action: "TAP", where: [], target: 5 }],
        })
        yield* first.engine.askProject(sandbox, { kind: "createQuest", quest })
        for (const userId of ["ada", "bob"]) yield* tap(first, userId)
        yield* first.close()
        const second = yield* startInMemory({ state }, quiet)
        yield* second.engine.askProject(sandbox, {
          kind: "updateQuest",
          questId: "qst_1",
          change: { endsAt: Date.parse("2026-11-06T00:00:00Z") },
        })
        // The edit is known, the users' values are older: a start looks at them again.
        yield* second.close("kill")
        const third = yield* startInMemory({ state }, quiet)
        yield* TestClock.adjust(60_000)
        expect(noted(third.committed)).toEqual([])
        yield* at("2026-11-06T00:00:00Z")
        yield* TestClock.adjust(1_000)
        expect(noted(third.committed)).toEqual([
          ["2026-11-06T00:00:00.000Z", "ada", "quest.expired"],
          ["2026-11-06T00:00:00.000Z", "bob", "quest.expired"],
        ])
        yield* third.close()
      }),
  )

  it.effect("is checked again for all users when the zone changes", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T23:30:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, daily)
      yield* tap(fixture, "ada")
      yield* at("2026-11-04T23:30:01Z")
      // In Tokyo the fifth had begun before the streak's day was over: it breaks at the end of the
      // sixth.
      yield* settings(fixture, { timezone: "Asia/Tokyo" })
      yield* at("2026-11-06T14:59:59Z")
      expect(noted(fixture.committed)).toEqual([])
      yield* at("2026-11-06T15:00:00Z")
      expect(noted(fixture.committed)).toEqual([
        ["2026-11-06T15:00:00.000Z", "ada", "streak.broken"],
      ])
    }),
  )

  it.effect("is recorded at a bounded rate, for every user in the end", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      const fixture = yield* startInMemory({}, quiet)
      yield* fixture.engine.askProject(sandbox, daily)
      for (let user = 0; user < 1_000; user++) yield* tap(fixture, `u${user}`)
      yield* at("2026-11-06T00:00:00Z")
      const group = limits.agendaGroupUsersMax
      yield* passUntil(() => noted(fixture.committed).length > 0)
      expect(noted(fixture.committed).length).toBeLessThanOrEqual(group)
      yield* passUntil(() => noted(fixture.committed).length === 1_000)
      const times = noted(fixture.committed).map(([time]) => Date.parse(time!))
      expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(4 * limits.agendaPauseMs)
    }),
  )

  it.effect("is recorded later if nothing can be written", () =>
    Effect.gen(function* () {
      yield* at("2026-11-04T12:00:00Z")
      let full = false
      const fixture = yield* startInMemory(
        {
          onAppend: () =>
            Effect.suspend(() =>
              full
                ? Effect.fail(new Unavailable({ operation: "test", reason: "disk_full" }))
                : Effect.void,
            ),
        },
        quiet,
      )
      yield* fixture.engine.askProject(sandbox, daily)
      yield* tap(fixture, "ada")
      yield* at("2026-11-05T23:59:00Z")
      full = true
      yield* Effect.forkChild(Effect.exit(tap(fixture, "bob")), { startImmediately: true })
      yield* at("2026-11-06T00:01:00Z")
      expect(noted(fixture.committed)).toEqual([])
      full = false
      yield* passUntil(() => noted(fixture.committed).length > 0)
      expect(noted(fixture.committed)).toMatchObject([[expect.anything(), "ada", "streak.broken"]])
    }),
  )
})

describe("The check of users who are due", () => {
  const questState = { steps: {}, startedAt: 1, completedAt: null, expired: false, times: 0 }
  const user = applyUser(undefined, {
    sequence: 1,
    at: 1,
    subject: { actor: "user", environment: sandbox, userId: "u" },
    cause: { kind: "tick" },
    facts: [{ kind: "user.created" }],
  })!

  /** How many of 40 users with so many quests each are checked in each turn of the event loop. */
  const looksByTurn = Effect.fnUntraced(function* (questsOfUser: number) {
    const environment = anEnvironment()
    const ids = Array.from({ length: 40 }, (_, n) => `u${n}`)
    for (const id of ids) environment.agenda.set(environment.boards.members.admit(id), 1)
    const quests = new Map(
      Array.from({ length: questsOfUser }, (_, n) => [`q${n}`, { ...questState, period: n }]),
    )
    let turn = 0
    const next = () => {
      turn++
      timer = setImmediate(next)
    }
    let timer = setImmediate(next)
    const looks = new Map<number, number>()
    const asked = yield* Deferred.make<void>()
    const ticker = new Ticker({
      clockCheckMs: 60_000,
      environments: [environment],
      now: () => 5_000,
      dueSooner: Latch.makeUnsafe(false),
      peek: () => {
        looks.set(turn, (looks.get(turn) ?? 0) + 1)
        return { ...user, quests }
      },
      askUsers: () => Effect.as(Deferred.succeed(asked, undefined), []),
      recount: () => {},
      advance: () => Effect.succeed(0),
    })
    const fiber = yield* Effect.forkChild(ticker.run)
    yield* Deferred.await(asked)
    yield* Fiber.interrupt(fiber)
    clearImmediate(timer)
    return [...looks.values()]
  })

  it("takes fewer users in a turn the more quests they have", () =>
    Effect.gen(function* () {
      expect(yield* looksByTurn(0)).toEqual([40])
      const looks = yield* looksByTurn(2_000)
      expect([Math.max(...looks), looks.length]).toEqual([1, 40])
    }).pipe(Effect.runPromise))
})
