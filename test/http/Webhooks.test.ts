/** Webhooks from the HTTP call that causes a message to the receiver that has it. */
import { Effect, Schema } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { messageSchema } from "../../src/domain/MessageData.ts"
import { type MessageKind, messageKinds } from "../../src/domain/MessageKind.ts"
import { limits } from "../../src/Limits.ts"
import { answer, isSignedBy, Receiver } from "../webhooks/Receiver.ts"
import { startServer, type TestServer } from "./fixture.ts"
import { RunningClock } from "./RunningClock.ts"
import { asking, endAll, kindsOf, receiving, until, webhookUrls } from "./webhooks.ts"

afterEach(endAll)

describe("Every kind of message", () => {
  const clock = new RunningClock("2026-11-03T12:00:00Z")
  let server: TestServer
  let receiver: Receiver
  let secret: string
  let webhookId: string

  beforeAll(async () => {
    server = await startServer({ webhookUrls, clock })
    receiver = await Receiver.start()
    const created = await asking(server).register(receiver)
    secret = created.secret
    webhookId = created.id
  })
  afterAll(async () => {
    await server.stop()
    await receiver.stop()
  })

  /** What a call makes the receiver get: at least `kinds`, each as its schema says. */
  const causes = async (kinds: ReadonlyArray<MessageKind>, call: () => unknown) => {
    const before = receiver.received.length
    await call()
    await receiver.until(() => {
      const got = new Set(kindsOf(receiver).slice(before))
      return kinds.every((kind) => got.has(kind))
    })
    const received = receiver.received.slice(before)
    for (const each of received) {
      expect(isSignedBy(secret, each)).toBe(true)
      expect(each.headers["webhook-id"]).toBe(each.message.id)
      expect(Buffer.byteLength(each.body)).toBeLessThan(limits.messageBytesMax)
      const kind: MessageKind = each.message.type
      const schema = messageSchema(kind) as unknown as Schema.Codec<unknown>
      const decoded = Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(each.message)
      expect(decoded).toEqual(each.message)
      told.add(kind)
    }
    return received.map(({ message }) => message)
  }
  const told = new Set<MessageKind>()

  it("reaches the receiver when its cause is called", async () => {
    const { ask, grant, track } = asking(server)
    await ask("PATCH", "/v1/project", { streaks: [{ key: "daily" }] })
    const badge = await ask("POST", "/v1/badges", {
      name: "Tapper",
      criteria: { kind: "action_count", action: "TAP", target: 2 },
    })
    await ask("POST", "/v1/rules", { action: "TAP", reward: { xp: 150, points: 3 } })

    let quest: { readonly id: string } | undefined
    await causes(["quest.created"], async () => {
      quest = await ask("POST", "/v1/quests", {
        title: "Tap twice",
        reward: { xp: 10 },
        steps: [{ key: "taps", action: "TAP", target: 2 }],
      })
    })
    await causes(["quest.updated"], () =>
      ask("PATCH", `/v1/quests/${quest!.id}`, { title: "Tap two times" }),
    )
    const first = await causes(
      [
        "user.created",
        "event.tracked",
        "xp.earned",
        "points.earned",
        "level.changed",
        "streak.extended",
        "quest.started",
        "quest.progressed",
      ],
      () => track("ada", "TAP", { metadata: { lesson: 7 } }),
    )
    expect(first.find(({ type }) => type === "event.tracked").data).toMatchObject({
      userId: "ada",
      action: "TAP",
      metadata: { lesson: 7 },
      xp: { earned: 150, total: 150 },
    })
    let second: { readonly eventId: string } | undefined
    const completed = await causes(["quest.completed", "badge.earned"], async () => {
      second = await track("ada", "TAP")
    })
    expect(completed.find(({ type }) => type === "badge.earned").data).toMatchObject({
      badgeId: badge.id,
      name: "Tapper",
      source: { kind: "criteria", id: null },
    })
    let reward: { readonly rewardId: string } | undefined
    await causes(["reward.granted"], async () => {
      reward = await grant("ada", { type: "points", amount: 5, reason: "Well done" })
    })
    const undone = await causes(["xp.revoked", "points.revoked", "badge.revoked"], () =>
      ask("DELETE", `/v1/users/ada/events/${second!.eventId}`),
    )
    expect(undone.map(({ data }) => data.cause)).toEqual(
      undone.map(() => ({ kind: "revocation", id: second!.eventId })),
    )
    await causes(["reward.revoked"], () =>
      ask("DELETE", `/v1/users/ada/rewards/${reward!.rewardId}`),
    )

    await ask("POST", "/v1/quests", {
      title: "Soon over",
      reward: { xp: 10 },
      endsAt: "2026-11-04T00:00:00Z",
      steps: [{ key: "taps", action: "TAP", target: 9 }],
    })
    await causes(["quest.started"], () => track("bob", "TAP"))
    const later = await causes(
      ["quest.expired", "streak.broken", "leaderboard.window_closed"],
      () => clock.set("2026-11-06T12:00:00Z"),
    )
    expect(later.find(({ type }) => type === "quest.expired").data).toMatchObject({
      userId: "bob",
      title: "Soon over",
      cause: { kind: "clock", id: null },
    })

    const [test] = await causes(["webhook.test"], () =>
      ask("POST", `/v1/webhooks/${webhookId}/test`),
    )
    expect(test.data.webhookId).toBe(webhookId)
    const erasure = { userId: "ada", command: { kind: "erasure" } } as const
    const [deleted] = await causes(["user.deleted"], () =>
      Effect.runPromise(server.engine.askUser("prj_test:sandbox", erasure)),
    )
    expect(deleted.data).toEqual({ sequence: expect.any(Number), userId: "ada" })
    const away = await receiving()
    away.answer = answer(410)
    const [disabled] = await causes(["webhook.disabled"], async () => {
      const other = await asking(server).register(away, ["reward.granted"])
      await grant("carl")
      await until(
        () => ask("GET", `/v1/webhooks/${other.id}`),
        ({ status }) => status === "disabled",
      )
    })
    expect([...told].toSorted()).toEqual([...messageKinds].toSorted())
    expect(disabled.type).toBeDefined()
    expect(kindsOf(away)).toEqual(["reward.granted"])
  })
})
