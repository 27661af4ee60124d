import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { metadataPatch } from "../../../../src/dashboard/pages/definitions/lifecycle.ts"
import { mergePatch } from "../../../../src/domain/values/Metadata.ts"
import { limits } from "../../../../src/Limits.ts"
import { randomOf } from "../../../simulation/random.ts"
import { cellsOf, expectMarked, fieldsOf, markedIn } from "../pageForm.ts"
import { roundTrip } from "./roundTrip.ts"
import { base, type Json, startWorld, type World } from "./world.ts"

let world: World
beforeAll(async () => {
  world = await startWorld()
  const metric = { key: "runs", name: "Runs", aggregate: "count", actions: ["RUN"] }
  await world.api("POST", "/v1/metrics", metric)
})
afterAll(() => world.server.stop())

const quests = `${base}/quests`
const simple = { title: "Once", "reward.xp": "5", status: "active", recurrence: "none" }
const step = { "steps.0.key": "tap", "steps.0.action": "TAP", "steps.0.target": "2" }
const createdBy = async (fields: Record<string, string>): Promise<Json> => {
  const { location, text } = await world.owner.post(`${quests}/new`, fields)
  if (location === null) throw new Error(text)
  const [, id] = /\/quests\/(qst_\w+)\?done=[\w-]+$/.exec(location)!
  return read(id!)
}
const read = async (id: string): Promise<Json> => (await world.api("GET", `/v1/quests/${id}`)).json

describe("The form of a new quest", () => {
  it("creates the typed quest, with its steps and their conditions", async () => {
    const badge = (
      await world.api("POST", "/v1/badges", { name: "B", criteria: { kind: "manual" } })
    ).json.id
    const before = await createdBy({ ...simple, title: "Before" })
    const quest = await createdBy({
      ...simple,
      ...step,
      title: "Three good lessons",
      description: "Two\r\nlines",
      "reward.points": "7",
      "reward.badgeId": badge,
      "steps.0.where.0.path": "score",
      "steps.0.where.0.op": "gte",
      "steps.0.where.0.value": "90",
      "steps.2.key": "share",
      "steps.2.action": "SHARED",
      "steps.2.target": "1",
      "steps.2.sumPath": "km",
      "steps.3.key": "",
      "steps.4.key": "runs",
      "steps.4.metric": "runs",
      "steps.4.target": "3",
      startsAt: "2026-11-20T09:00:00+01:00",
      endsAt: "2026-12-20T09:00:00Z",
      recurrence: "weekly",
      claim: "manual",
      optIn: "true",
      prerequisites: `${before.id}\r\n`,
      metadata: '{"icon": "x", "n": [1, null]}',
    })
    expect(quest).toMatchObject({
      title: "Three good lessons",
      description: "Two\nlines",
      status: "active",
      reward: { xp: 5, points: 7, badgeId: badge },
      steps: [
        {
          key: "tap",
          action: "TAP",
          target: 2,
          where: [{ path: "score", op: "gte", value: 90 }],
        },
        { key: "share", action: "SHARED", target: 1, where: [], sumPath: "km", metric: null },
        { key: "runs", action: null, target: 3, where: [], sumPath: null, metric: "runs" },
      ],
      startsAt: "2026-11-20T08:00:00.000Z",
      endsAt: "2026-12-20T09:00:00.000Z",
      recurrence: "weekly",
      claim: "manual",
      optIn: true,
      prerequisites: ["before"],
      metadata: { icon: "x", n: [1, null] },
    })
  })

  it("gets rows inside rows without being saved", async () => {
    const typed = { ...simple, ...step, title: "Rows" }
    const draft = async (intent: string, fields: Record<string, string>) =>
      fieldsOf(
        (await world.owner.post(`${quests}/new/draft`, { ...fields, intent })).text,
        `${quests}/new`,
      )
    const two = await draft("add:steps", typed)
    expect(two).toMatchObject({ "steps.0.key": "tap", "steps.1.key": "" })
    const deeper = await draft("add:steps.1.where", two)
    expect(deeper).toMatchObject({ "steps.1.where.0.path": "" })
    const one = await draft("remove:steps.0", deeper)
    expect(one).toMatchObject({ "steps.0.key": "", "steps.0.where.0.path": "" })
    expect(one).not.toHaveProperty("steps.1.key")
  })

  it("marks each wrong value at its field, and keeps all that was typed", async () => {
    const row = "steps.0.where.0"
    const where = { ...step, [`${row}.path`]: "a", [`${row}.op`]: "eq", [`${row}.value`]: "1" }
    const wrong: ReadonlyArray<
      readonly [name: string, bad: string, more?: Record<string, string>]
    > = [
      ["title", ""],
      ["description", "a".repeat(limits.descriptionCharactersMax + 1)],
      ["reward.xp", "x"],
      ["reward.points", "x"],
      ["reward.badgeId", "none"],
      ["steps.0.key", "A B", step],
      ["steps.0.action", "", step],
      ["steps.0.target", "0", step],
      ["steps.0.metric", "none", { ...step, "steps.0.action": "" }],
      ["steps.0.target", "", step],
      ["steps.0.sumPath", "a..b", step],
      [`${row}.path`, "a..b", where],
      [`${row}.value`, "[1]", where],
      ["steps.1.key", "tap", { ...step, "steps.1.action": "B", "steps.1.target": "1" }],
      ["startsAt", "tomorrow"],
      ["endsAt", "2020-01-01T00:00:00Z"],
      ["prerequisites", "qst_none"],
      ["metadata", "[1]"],
      ["metadata", "{"],
    ]
    for (const [name, bad, more] of wrong) {
      const sent = { ...simple, ...more, [name]: bad }
      const reply = await world.owner.post(`${quests}/new`, sent)
      expectMarked(reply, name, bad)
      expect(fieldsOf(reply.text, `${quests}/new`)).toMatchObject(sent)
    }
  })

  it("marks a reward without any part as a whole", async () => {
    const sent = { ...simple, "reward.xp": "" }
    const reply = await world.owner.post(`${quests}/new`, sent)
    expectMarked(reply, "reward", undefined)
    expect(fieldsOf(reply.text, `${quests}/new`)).toMatchObject(sent)
  })
})

describe("The form of a quest", () => {
  it("changes nothing if it is saved unchanged, for quests of every kind", async () => {
    await roundTrip(world, {
      schema: "NewQuest",
      list: "quests",
      count: 40,
      known: new Map([["key", ["a", "b", "c", "d", "e"]]]),
      edit: (body) => {
        delete body.reward.badgeId
        delete body.reward.currencies
        delete body.reward.freezes
        delete body.prerequisites
        for (const step of body.steps ?? []) {
          if (typeof step.metric !== "string") continue
          step.metric = "runs"
          for (const name of ["action", "sumPath", "where"]) delete step[name]
        }
        if (body.description !== undefined)
          body.description = ["a\r\nb", "\na", " "][body.description.length % 3]
      },
    })
  })

  it("changes metadata as a whole, but refuses a null that a change cannot set", async () => {
    const quest = await createdBy({ ...simple, metadata: '{"a": {"b": 1, "c": null}, "d": 2}' })
    const address = `${quests}/${quest.id}`
    const save = async (metadata: string) => {
      const fields = fieldsOf((await world.owner.get(address)).text, address)
      return world.owner.post(address, { ...fields, metadata })
    }
    expect((await save('{"a": {"c": null, "x": [null]}, "e": 1}')).status).toBe(303)
    expect((await read(quest.id)).metadata).toEqual({ a: { c: null, x: [null] }, e: 1 })
    const refused = await save('{"e": null}')
    expect([refused.status, markedIn(refused.text)]).toEqual([400, ["metadata"]])
    expect((await save("")).status).toBe(303)
    expect((await read(quest.id)).metadata).toEqual({})
  })

  it("tries the quest with an event that completes it", async () => {
    const fields = { ...simple, ...step, "steps.0.target": "1" }
    const event = { "event.userId": "u", "event.action": "TAP", intent: "try" }
    const { text } = await world.owner.post(`${quests}/new/draft`, { ...fields, ...event })
    expect(cellsOf(text, "Quests")).toEqual(["", "Once: completed"])
    expect(cellsOf(text, "From")).toEqual(["", "this quest: 5 xp"])
  })

  it("tries a quest without steps, new or saved, with the event by which an app completes it", async () => {
    const fresh = `${quests}/new`
    const { text: blank } = await world.owner.get(fresh)
    const fields = fieldsOf(blank, fresh)
    expect(fields["event.action"]).toBe("")
    const form = { ...fields, ...simple, intent: "try" }
    const tried = await world.owner.post(`${fresh}/draft`, form)
    expect([tried.status, markedIn(tried.text)]).toEqual([200, []])
    expect(tried.text).toContain("QUEST_COMPLETE of a new user")
    expect(cellsOf(tried.text, "Quests")).toEqual(["", "Once: completed"])
    const address = `${quests}/${(await createdBy(simple)).id}`
    const saved = fieldsOf((await world.owner.get(address)).text, address)
    const again = await world.owner.post(`${address}/draft`, { ...saved, intent: "try" })
    expect(cellsOf(again.text, "Quests")).toEqual(["Once: completed", "Once: completed"])
  })

  it("does not overwrite a change by somebody else that it did not show", async () => {
    const quest = await createdBy({ ...simple, ...step, title: "Both" })
    const address = `${quests}/${quest.id}`
    const fields = fieldsOf((await world.owner.get(address)).text, address)
    await world.owner.post(`${address}/pause`)
    const refused = await world.owner.post(address, { ...fields, title: "Mine" })
    expect(refused.status).toBe(412)
    expect((await read(quest.id)).title).toBe("Both")
  })
})

describe("The buttons of a quest", () => {
  it("publish, pause, resume and archive it", async () => {
    const quest = await createdBy({ ...simple, ...step, title: "Press", status: "draft" })
    const press = async (verb: string) => {
      const { location } = await world.owner.post(`${quests}/${quest.id}/${verb}`)
      expect(location).toBe(quests)
      return (await read(quest.id)).status
    }
    expect(quest.status).toBe("draft")
    expect(await press("publish")).toBe("active")
    expect(await press("pause")).toBe("paused")
    expect(await press("resume")).toBe("active")
    expect(await press("archive")).toBe("archived")
    expect((await world.owner.get(quests)).text).not.toContain(quest.id)
    expect((await world.owner.get(`${quests}?status=archived`)).text).toContain(quest.id)
    const { text } = await world.owner.get(`${quests}/${quest.id}`)
    expect(text).toContain('<fieldset class="bare" disabled>')
    expect((await world.owner.post(`${quests}/${quest.id}/pause`)).status).toBe(409)
  })
})

describe("A metadata patch", () => {
  it("changes any generated object into any other", () => {
    const random = randomOf(3)
    const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(random() * items.length)]!
    const objectOf = (depth: number): Record<string, unknown> =>
      Object.fromEntries(
        ["a", "b", "__proto__"].flatMap((name) => {
          if (random() < 0.3) return []
          return [
            [name, depth > 0 && random() < 0.5 ? objectOf(depth - 1) : pick([1, "x", [null]])],
          ]
        }),
      )
    for (let round = 0; round < 500; round++) {
      const [before, after] = [objectOf(2), objectOf(2)]
      expect(mergePatch(before, metadataPatch(before, after))).toEqual(after)
      expect(metadataPatch(after, after)).toEqual({})
    }
  })
})
