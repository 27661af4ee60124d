import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import {
  isFactFor,
  type Message,
  messageAt,
  messageId,
  messageKindAt,
  messageNameOf,
} from "../../../src/domain/message/Message.ts"
import { describeMessage } from "../../../src/domain/message/MessageCatalogue.ts"
import { messageSchema } from "../../../src/domain/message/MessageData.ts"
import {
  isKindPattern,
  kindsOf,
  type MessageKind,
  messageKinds,
} from "../../../src/domain/message/MessageKind.ts"
import { firstVersion } from "../../../src/domain/project/Definition.ts"
import type { Fact, JournalRecord, Spending } from "../../../src/domain/record/Record.ts"
import type { JudgedTeam } from "../../../src/domain/record/TeamFact.ts"
import { recordId } from "../../../src/domain/values/Ids.ts"
import { limits } from "../../../src/Limits.ts"
import { World } from "../decide/World.ts"
import {
  boostWith,
  experimentWith,
  levelWith,
  prizePayment,
  questWith,
  ruleWith,
} from "../definitions.ts"
import { played } from "../played.ts"

const messagesOf = (record: JournalRecord): ReadonlyArray<Message> =>
  record.facts.flatMap((_, index) =>
    messageKindAt(record, index) === undefined ? [] : [messageAt(record, index)],
  )

const decode = (message: Message) =>
  Schema.decodeUnknownSync(messageSchema(message.type) as unknown as Schema.Codec<unknown>, {
    onExcessProperty: "error",
  })(JSON.parse(JSON.stringify(message)))

const projectRecord = (...facts: ReadonlyArray<Fact>): JournalRecord => ({
  sequence: 9,
  at: Date.parse("2026-11-04T12:00:00Z"),
  subject: { actor: "project", environment: "prj_1:production" },
  cause: { kind: "request" },
  facts,
})

/** A user's life in which everything happens that a user's record can tell of. */
const everything = (): World => {
  const world = new World("2026-11-02T12:00:00Z")
  const milestones = [{ target: 1, reward: { xp: 0, points: 0, badgeId: null } }]
  world.streak({ milestones, atRisk: { hoursBefore: 4 } })
  world.badge({ id: "medal", name: "Medal" })
  world.rule({ id: "rul_tap", reward: { xp: 150, points: 3 } })
  world.quest({
    id: "qst_taps",
    title: "Tap twice",
    reward: { xp: 500, points: 1, badgeId: "medal" },
    steps: [{ key: "taps", action: "TAP", where: [], target: 2 }],
  })
  world.quest({
    id: "qst_short",
    endsAt: Date.parse("2026-11-03T00:00:00Z"),
    steps: [{ key: "taps", action: "TAP", where: [], target: 9 }],
  })
  world.metric({ key: "taps" })
  world.track("TAP", { metadata: { lesson: 7 } })
  const second = world.track()
  const granted = world.grant(5, "points")
  world.undo(second)
  world.refund(world.spend(2, { reason: "Freeze" }))
  world.undo(granted)
  world.currency({ id: "cur_gems", key: "gems" })
  const gems = world.give({ gems: 5 })
  world.refund(world.spend({ gems: 2 }))
  world.undo(gems)
  const levels = { of: "balance", table: [levelWith("one", 1)] } as const
  world.currency({ id: "cur_coins", key: "coins", expiry: { afterDays: 1 }, levels })
  world.give({ coins: 1 })
  const swipe = { key: "swipe", action: "SWIPE", where: [], target: 1 }
  world.quest({ id: "qst_swipe", steps: [swipe], claim: "manual" })
  world.track("SWIPE")
  world.complete("qst_swipe")
  world.quest({ id: "qst_lapsed", steps: [swipe], claim: "manual" })
  world.track("SWIPE")
  world.quest({ id: "qst_lapsed", steps: [swipe], claim: "manual", set: "archived" })
  world.streak({ id: "stk_iced", key: "iced", freezes: { initial: 0, max: 1, everyDays: null } })
  world.undo(world.do({ kind: "reward", reward: { freezes: { iced: 1 } } }))
  const own = boostWith({ id: "bst_own", key: "own", personal: true })
  world.define({ kind: "experiment.created", experiment: experimentWith({}) })
  world.define({ kind: "boost.created", boost: own })
  world.undo(world.do({ kind: "reward", reward: { boost: { key: "own", minutes: 5 } } }))
  world.do({ kind: "pause", streak: "daily", from: 20_000, to: 20_001 })
  world.do({ kind: "disqualify", leaderboard: "xp", disqualified: true })
  const team = { id: "a", number: 1, kind: "club", name: "A", attributes: {}, ...firstVersion(0) }
  world.define({ kind: "team.created", team })
  world.do({ kind: "join", teamId: "a" })
  world.do({ kind: "leave", teamId: "a" })
  world.at("2026-11-03T21:00:00Z")
  world.do({ kind: "tick" })
  world.quest({
    id: "qst_ending",
    endsAt: Date.parse("2026-11-06T00:00:00Z"),
    steps: [{ key: "swipes", action: "SWIPE", where: [], target: 9 }],
  })
  world.currency({ id: "cur_slow", key: "slow", expiry: { afterDays: 5 } })
  world.give({ slow: 1 })
  world.track("SWIPE")
  const ends = { questDays: 1, expiryDays: 9 }
  world.settings({ reminders: { inactiveDays: [1, 2, 3], hour: 12, unless: null, ...ends } })
  world.at("2026-11-05T12:00:00Z")
  world.do({ kind: "tick" })
  world.streak({ repair: { withinDays: 9, price: null } })
  world.refund(world.do<Spending>({ kind: "spend", currencies: {}, repair: "daily" }))
  world.item({ price: { points: 1 } })
  world.giveBack(world.buy("itm_1"))
  const visitor = new World("2026-11-05T12:00:00Z")
  visitor.grant(5)
  world.do(prizePayment("u1", world.now))
  world.absorb(visitor, "visitor")
  world.do({ kind: "erasure" })
  return world
}

describe("A message", () => {
  const { records } = everything()
  const told = records.flatMap(messagesOf)

  it("is made of each public fact, and matches its schema", () => {
    const mover = new World()
    const { record } = mover.do({ kind: "opening", balances: { xp: 1 } })
    const all = [...told, ...messagesOf(record), ...played().records.flatMap(messagesOf)]
    for (const message of all) expect(decode(message)).toEqual(message)
    const expected = messageKinds.filter((kind) =>
      /^(?!webhook|test_clock|leaderboard\.(w|prizes|team)|league\.window|goal\.rewards|quest\.(cr|up)|team\.del)/.test(
        kind,
      ),
    )
    expect([...new Set(all.map(({ type }) => type))].toSorted()).toEqual(expected.toSorted())
  })

  it("says who, when, and why", () => {
    const [first] = records
    const [created, tracked] = ["user.created", "event.tracked"].map((kind) =>
      told.find(({ type }) => type === kind),
    )
    const eventId = recordId("evt", first!)
    expect(created).toEqual({
      id: messageId({ ...first!, index: 0 }),
      type: "user.created",
      timestamp: "2026-11-02T12:00:00.000Z",
      project: "p",
      environment: "sandbox",
      data: { sequence: first!.sequence, userId: "u1", cause: { kind: "event", id: eventId } },
    })
    expect(tracked?.data).toEqual({
      sequence: first!.sequence,
      userId: "u1",
      cause: { kind: "event", id: eventId },
      eventId,
      action: "TAP",
      occurredAt: "2026-11-02T12:00:00.000Z",
      receivedAt: "2026-11-02T12:00:00.000Z",
      metadata: { lesson: 7 },
      xp: { earned: 150, total: 150 },
      points: { earned: 3, total: 3 },
      level: { before: 1, after: 2 },
    })
  })

  it("of an erased user has the id only", () => {
    const { data } = told.find(({ type }) => type === "user.deleted")!
    expect(data).toEqual({ sequence: records.at(-1)!.sequence, userId: "u1" })
  })

  it("of a revocation names the event or reward, and the shortfall", () => {
    const revoked = told.filter(({ type }) => type.endsWith(".revoked"))
    const event = recordId("evt", records[1]!)
    const reward = recordId("rwd", records[2]!)
    expect(revoked.map(({ data, type }) => [type, "cause" in data && data.cause.id])).toEqual([
      ["badge.revoked", event],
      ["xp.revoked", event],
      ["points.revoked", event],
      ["points.revoked", reward],
      ["reward.revoked", reward],
      ["currency.revoked", recordId("rwd", records[7]!)],
      ["reward.revoked", recordId("rwd", records[7]!)],
      ["reward.revoked", expect.stringMatching(/^rwd_/)],
      ["boost.revoked", expect.stringMatching(/^rwd_/)],
      ["reward.revoked", expect.stringMatching(/^rwd_/)],
    ])
    expect(revoked.at(4)?.data).toMatchObject({
      points: { earned: -5 },
      shortfall: { xp: 0, points: 0 },
    })
  })

  it("has an id that is a function of the record, and leads back to it", () => {
    const ids = told.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(records.flatMap(messagesOf).map(({ id }) => id)).toEqual(ids)
    for (const record of records) {
      for (const { id } of messagesOf(record)) {
        expect(messageNameOf(id)).toMatchObject({ sequence: record.sequence, at: record.at })
      }
    }
    for (const index of [0, 35, 36, 1_000]) {
      const name = { sequence: 2 ** 40, at: 1_793_620_800_000, index }
      expect(messageNameOf(messageId(name))).toEqual(name)
    }
    for (const other of [
      "",
      "msg_",
      "msg_1_1",
      "evt_0mi8k3f2a4c92_1",
      `${ids[0]} `,
      `${ids[0]}_`,
    ]) {
      expect(messageNameOf(other)).toBeUndefined()
    }
    expect(messageNameOf(ids[0]!.replace(/_0$/, "_00"))).toBeUndefined()
  })

  it("of a change of level lists the levels gained, the highest ones of too many", () => {
    const world = new World()
    const levels = (amount: number) => {
      const { record } = world.grant(amount)
      const { data } = messagesOf(record).find(({ type }) => type === "level.changed")!
      return data as Message<"level.changed">["data"]
    }
    expect(levels(300)).toMatchObject({ from: 1, to: 3, levels: [2, 3] })
    const { levels: many, to } = levels(limits.amountMax)
    expect([many.length, many.at(-1), many[0]]).toEqual([
      limits.messageLevelsMax,
      to,
      to - limits.messageLevelsMax + 1,
    ])
    const fallen = world.undo({ record: world.records[1]! })
    const { data } = messagesOf(fallen.record).find(({ type }) => type === "level.changed")!
    expect(data).toMatchObject({ from: to, to: 3, levels: [] })
  })

  it("is not made of imported history, nor of awards for the past unless asked for", () => {
    const world = new World()
    expect(messagesOf(world.track("TAP", { imported: true }).record)).toEqual([])
    world.grant(1)
    const backfilled = (badgeId: string, notify: boolean) => {
      world.badge({ id: badgeId, criteria: { kind: "xp", target: 1 } })
      const { record } = world.do({ kind: "backfill", badgeId, notify })
      expect(record.facts.map(({ kind }) => kind)).toContain("badge.earned")
      return messagesOf(record).map(({ type }) => type)
    }
    expect(backfilled("late", false)).toEqual([])
    expect(backfilled("later", true)).toEqual(["badge.earned"])
  })

  it("of an environment matches its schema", () => {
    const record = projectRecord(
      { kind: "quest.created", quest: questWith({ startsAt: 1, endsAt: 2 }) },
      { kind: "quest.updated", quest: questWith({ set: "archived" }) },
      {
        kind: "leaderboard.window_closed",
        window: "weekly",
        index: 2_965,
        startsAt: 0,
        endsAt: 604_800_000,
        total: 3,
      },
      {
        kind: "leaderboard.prizes_paid",
        payout: "ldb_xp weekly 2965",
        place: {
          boardId: "ldb_xp",
          key: "xp",
          window: "weekly",
          index: 2_965,
          startsAt: 0,
          endsAt: 604_800_000,
        },
        paid: 3,
      },
      { kind: "webhook.disabled", webhookId: "whk_1", description: null, reason: "gone" },
      { kind: "webhook.tested", webhookId: "whk_1" },
      // Only the end of an advance has a message.
      { kind: "testClock.moved", aheadMs: 1, target: 5, status: "advancing" },
      { kind: "testClock.moved", aheadMs: 5, target: 5, status: "ready" },
      { kind: "rule.updated", rule: ruleWith({}) },
      { kind: "webhook.recovered", webhookId: "whk_1", since: 0 },
    )
    const messages = messagesOf(record)
    for (const message of messages) expect(decode(message)).toEqual(message)
    expect(messages.map(({ type }) => type)).toEqual([
      "quest.created",
      "quest.updated",
      "leaderboard.window_closed",
      "leaderboard.prizes_paid",
      "webhook.disabled",
      "webhook.test",
      "test_clock.advanced",
    ])
    expect(messages.map(({ environment, project }) => `${project}:${environment}`)).toEqual(
      messages.map(() => "prj_1:production"),
    )
    expect(messages[0]?.data).toMatchObject({ quest: { status: "ended" } })
    expect(messages[1]?.data).toMatchObject({ quest: { status: "archived" } })
  })

  it("of a test is for the webhook tested, of a disabled one for all others", () => {
    const tested: Fact = { kind: "webhook.tested", webhookId: "whk_1" }
    const disabled: Fact = {
      kind: "webhook.disabled",
      webhookId: "whk_1",
      description: null,
      reason: "gone",
    }
    const whom = (fact: Fact) => ["whk_1", "whk_2"].filter((id) => isFactFor(fact, id))
    expect(whom(tested)).toEqual(["whk_1"])
    expect(whom(disabled)).toEqual(["whk_2"])
    expect(whom({ kind: "user.created" })).toEqual(["whk_1", "whk_2"])
  })

  it("takes less than 20 KiB at the largest", () => {
    const wide = "🏆"
    const world = new World()
    const blank = JSON.stringify({ m: "" }).length
    const metadata = { m: "a".repeat(limits.metadataBytesMax - blank) }
    const subject = {
      actor: "user",
      environment: `prj_${"f".repeat(32)}:production`,
      userId: wide.repeat(limits.idCharactersMax),
    } as const
    const tracked = world.track(`A${"Z".repeat(63)}`, { metadata }).record
    const reason = wide.repeat(limits.reasonCharactersMax)
    const granted = world.do({
      kind: "reward",
      type: "xp",
      amount: limits.amountMax,
      reason,
    }).record
    const title = wide.repeat(limits.titleCharactersMax)
    const step = wide.repeat(limits.titleCharactersMax)
    const progressed: Fact = {
      kind: "quest.progressed",
      questId: `qst_${"f".repeat(32)}`,
      key: "k".repeat(limits.keyCharactersMax),
      title,
      period: 0,
      step,
      current: limits.balanceMax,
      target: limits.balanceMax,
      progress: 1 / 3,
    }
    const quest = questWith({ title, reward: { xp: limits.amountMax, points: limits.amountMax } })
    const records: ReadonlyArray<JournalRecord> = [
      { ...tracked, subject },
      { ...granted, subject },
      { ...tracked, subject, facts: [progressed] },
      { ...projectRecord({ kind: "quest.created", quest }), sequence: limits.balanceMax },
      projectRecord({
        kind: "webhook.disabled",
        webhookId: "whk_1",
        description: wide.repeat(limits.descriptionCharactersMax),
        reason: "failing",
      }),
    ]
    const sizes = records
      .flatMap(messagesOf)
      .map((message) => Buffer.byteLength(JSON.stringify(message)))
    expect(Math.max(...sizes)).toBeLessThan(limits.messageBytesMax)
    expect(Math.max(...sizes)).toBeGreaterThan(limits.metadataBytesMax)
  })
})

describe("The message of a team that a leaderboard lists no more, or again", () => {
  const team = { id: "a", number: 1, kind: "club", name: "A", attributes: {}, ...firstVersion(0) }
  const judge = (judged?: JudgedTeam) =>
    messagesOf(projectRecord({ kind: "team.updated", team, ...(judged && { judged }) }))

  it("names the team and the leaderboard; other changes of a team have no message", () => {
    const board = { boardId: "ldb_cup", key: "cup" }
    expect(judge()).toEqual([])
    for (const disqualified of [true, false]) {
      const [message, ...others] = judge({ ...board, disqualified })
      expect(others).toEqual([])
      expect(message).toMatchObject({
        type: "leaderboard.team_disqualified",
        data: {
          ...{ teamId: "a", teamKind: "club", name: "A", disqualified },
          leaderboard: { id: "ldb_cup", key: "cup" },
        },
      })
      expect(decode(message!)).toEqual(message)
    }
  })
})

describe("The catalogue", () => {
  it("has an example and a schema for every kind, and the schema accepts the example", () => {
    for (const kind of messageKinds) {
      const { description, example, schema } = describeMessage(kind)
      expect(description).toMatch(/ .*\.$/)
      expect(decode(example as Message)).toEqual(example)
      expect(schema).toMatchObject({
        type: "object",
        properties: { type: { enum: [kind] }, data: { type: "object" } },
      })
      expect(JSON.stringify(schema)).not.toContain('"$ref":"#/$defs/undefined"')
    }
  })
})

describe("A pattern of kinds", () => {
  it("is a kind, a family that exists, or everything", () => {
    for (const fine of [...messageKinds, "*", "quest.*", "leaderboard.*"]) {
      expect(isKindPattern(fine)).toBe(true)
    }
    for (const wrong of ["", "quest", "quest.", "quest.*.x", "**", "que*", "*.created", "rule.*"]) {
      expect(isKindPattern(wrong)).toBe(false)
    }
  })

  it("stands for the kinds it matches", () => {
    const chosen = (...patterns: ReadonlyArray<string>): ReadonlyArray<MessageKind> => [
      ...kindsOf(patterns),
    ]
    expect(chosen("*")).toEqual(messageKinds)
    expect(chosen("user.*", "user.created", "level.changed")).toEqual([
      "level.changed",
      "user.created",
      "user.opened",
      "user.inactive",
      "user.deleted",
      "user.merged",
    ])
    expect(chosen()).toEqual([])
  })
})
