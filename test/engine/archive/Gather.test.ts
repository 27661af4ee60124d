/** The projects of three partitions become those of one data directory. */
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import { environmentId, partitionOf } from "../../../src/domain/project/Directory.ts"
import { metricTotal } from "../../../src/domain/user/MetricState.ts"
import { verifyArchive, verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { exportLines } from "../../../src/engine/archive/exports/ExportJob.ts"
import { importLines } from "../../../src/engine/archive/exports/ImportJob.ts"
import type { ResultOf } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeArchive } from "../../../src/engine/archive/make/ArchiveJob.ts"
import { gatherPartitions } from "../../../src/engine/archive/restore/GatherJob.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { draftIn, installDraft, settleSwap } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import type { EndpointStats } from "../../../src/webhooks/store/DeliveryStore.ts"
import { badgeWith, metricWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { receiving, type Started, startOn, until, webhook } from "../../webhooks/fixture.ts"
import { answer } from "../../webhooks/Receiver.ts"
import { event, once, quest, reward, rule } from "../fixture.ts"
import { alone } from "./fixture.ts"

const users = 4
const projects = [1, 2, 3].map((number) => ({
  number,
  id: `prj_${number}`,
  name: `p${number}`,
  environment: environmentId(`prj_${number}`, "sandbox"),
}))
/** Messages of each project. */
const messages = 12 + 2

type Project = (typeof projects)[number]

/** An engine with its webhooks on a data directory. */
const opened = Effect.fnUntraced(function* (directory: string) {
  const scope = yield* Scope.make()
  const { storage } = yield* Scope.provide(DurableStorage.open({ directory }), scope)
  const started = yield* startOn(storage)
  const close = (how?: "kill") => Effect.andThen(started.close(how), Scope.close(scope, Exit.void))
  return { ...started, close }
})

const foundCluster = Effect.fnUntraced(function* ({ askDirectory }: Engine["Service"]) {
  yield* askDirectory({ kind: "createDirectory", hashSecret: "00" })
  for (const { id, name, number } of projects) {
    yield* askDirectory({
      kind: "createKey",
      by: "operator",
      projectId: id,
      projectName: name,
      partitions: 3,
      key: {
        ...{ id: `key_${number}`, hash: `0${number}`, hint: "lk_test_" },
        ...{ environment: "sandbox", scope: "full" },
      },
    })
  }
})

/** The same commands in each project: what has the same number in two partitions. */
const fill = Effect.fnUntraced(function* (
  { engine }: Pick<Started, "engine">,
  { environment, number }: Project,
  url: string,
) {
  yield* engine.askProject(environment, rule("TAP", number))
  yield* engine.askProject(environment, quest("Tour", 7))
  // Before there is a webhook, which would have the messages about this user to erase.
  yield* engine.askUser(environment, event("u3", "TAP"))
  yield* engine.askUser(environment, { userId: "u3", command: { kind: "erasure" } })
  const hook = webhook(url, ["xp.earned"])
  yield* engine.askProject(environment, hook)
  for (let n = 0; n < 12; n++) {
    yield* engine.askUser(environment, event(`u${n % (users - 1)}`, "TAP", { id: `e${n}` }))
  }
  yield* engine.askUser(environment, reward("u1", 10 * number, "r1"))
  yield* engine.askUser(environment, reward("u2", 1), once("key", "first"))
  return hook.webhook.id
})

/** All that callers read of a project. */
const seen = Effect.fnUntraced(function* (
  { deliveries, engine }: Pick<Started, "engine" | "deliveries">,
  { environment }: Project,
  webhookId: string,
) {
  const { sequence: _, webhooks, ...definitions } = yield* engine.readProject(environment)
  const read = []
  for (let n = 0; n < users; n++) {
    const user = yield* engine.readUser(environment, `u${n}`)
    const history = yield* Stream.runCollect(engine.readHistory(environment, `u${n}`))
    read.push({ user, history: history.flat() })
  }
  const log = yield* deliveries.list(environment, webhookId, {
    ...{ status: undefined, before: undefined, limit: 1_000 },
  })
  return {
    read,
    definitions,
    webhooks: [...webhooks.values()].map(({ since: __, ...rest }) => rest),
    board: yield* engine.readBoard(environment, { limit: 100, offset: 0 }),
    counts: yield* engine.readCounts(environment),
    actions: yield* engine.readActions(environment),
    log: log.deliveries.map(({ at, attempts, index, last, sequence, status }) => ({
      ...{ at, attempts, index, last, sequence, status },
    })),
  }
})

const messagesOf = ({ dropped, failed, pending, succeeded }: EndpointStats["stored"]): number =>
  dropped + failed + pending + succeeded

/** A cluster's data directories, and what was to be seen in them. */
const cluster = Effect.fnUntraced(function* (
  url: string,
  how: { readonly waits?: true; readonly last?: "kill" } = {},
) {
  const folder = yield* temporaryFolder
  const folders = projects.map(({ number }) => path.join(folder, String(number)))
  const hooks: Array<string> = []
  const before = []
  const numbers = new Set<number>()
  for (const [index, project] of projects.entries()) {
    const started = yield* opened(folders[index]!)
    const { engine } = started
    if (index === 0) yield* foundCluster(engine)
    else yield* engine.askDirectory({ kind: "beginPartition", partition: project.number })
    const hook = yield* fill(started, project, url)
    hooks.push(hook)
    const { webhooks } = yield* engine.readProject(project.environment)
    numbers.add(webhooks.get(hook)!.since)
    yield* until(
      Effect.map(started.deliveries.stats(project.environment, hook), (stats) => stats!.stored),
      (stored) => messagesOf(stored) === messages && (how.waits === true || stored.pending === 0),
    )
    before.push(yield* seen(started, project, hook))
    yield* started.close(index === 2 ? how.last : undefined)
  }
  // Two are of the same record in their partitions.
  expect(numbers.size).toBe(2)
  return { before, folder: path.join(folder, "gathered"), folders, hooks }
})

const gather = Effect.fnUntraced(function* (
  directory: string,
  folders: ReadonlyArray<string>,
  dropPending = false,
): Effect.fn.Return<ResultOf<"gather">, unknown> {
  yield* nodeDisk.makeFolder(directory)
  const input = { directory, folders, at: Date.now(), dropPending }
  return yield* Effect.scoped(gatherPartitions(input, alone))
})

describe("The projects of a cluster", () => {
  it.live("are gathered in one data directory with all that they had, and go on there", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const { before, folder, folders, hooks } = yield* cluster(receiver.url())
      const result = yield* gather(folder, folders)
      expect(result).toMatchObject({ faultCount: 0, left: 0, dropped: 0 })
      expect(result.counts).toMatchObject({ projects: 3, keys: 3, environments: 3, answers: 3 })
      expect(result.counts.users).toBe(3 * (users - 1))
      // A crash in the midst of what follows is finished by the next opening.
      yield* installDraft(nodeDisk, folder, Date.now())
      const started = yield* opened(folder)
      const { engine } = started
      const directory = yield* engine.readDirectory
      expect([...directory.projects.values()].map(partitionOf)).toEqual([1, 1, 1])
      const numbers = []
      for (const [index, project] of projects.entries()) {
        expect(yield* seen(started, project, hooks[index]!)).toEqual(before[index])
        const { webhooks } = yield* engine.readProject(project.environment)
        numbers.push(...[...webhooks.values()].map(({ since }) => since))
      }
      expect(new Set(numbers).size).toBe(3)

      const received = receiver.received.length
      for (const [index, { environment, number }] of projects.entries()) {
        // What was sent before is there: ids, and keys of requests.
        const again = yield* engine.askUser(environment, event("u0", "TAP", { id: "e0" }))
        expect(again.reply.duplicate).toBe(true)
        yield* engine.askUser(environment, reward("u2", 1), once("key", "first"))
        const other = Effect.flip(engine.askUser(environment, reward("u2", 1), once("key")))
        expect(yield* other).toMatchObject({ code: "idempotency_key_reused" })
        const { user } = before[index]!.read[0]!
        yield* engine.askUser(environment, event("u0", "TAP"))
        expect((yield* engine.readUser(environment, "u0"))!.xp).toBe(user!.xp + number)
      }
      yield* until(
        Effect.sync(() => receiver.received.length),
        (count) => count >= received + 3,
      )
      yield* started.close()
      const check = yield* Effect.scoped(verifyLive({ directory: folder }, alone))
      expect(check.faults).toEqual([])
      // An archive has the journals of the partitions, and an export of a project has its records of before.
      const archives = path.join(folder, "archive")
      const wish = { directory: folder, archives, at: Date.now(), throttled: false }
      const made = yield* Effect.scoped(makeArchive({ ...wish, reason: "request" }, alone))
      const archive = path.join(archives, made.id)
      const copied = yield* Effect.scoped(verifyArchive({ folder: archive }, alone))
      expect(copied.faults).toEqual([])
      const restored = yield* temporaryFolder
      const back = { directory: restored, archive, until: made.sequence, project: null }
      yield* Effect.scoped(restoreDraft(back, alone))
      yield* installDraft(nodeDisk, restored, Date.now())
      const file = path.join(restored, "export.ndjson")
      const scope = { project: "p2", environment: "sandbox" }
      yield* Effect.scoped(
        exportLines({ folder: restored, file, laurel: "1", at: 0, scope }, alone),
      )
      const imported = yield* temporaryFolder
      yield* Effect.scoped(importLines({ directory: imported, file }, alone))
      yield* installDraft(nodeDisk, imported, Date.now())
      for (const [directory, own] of [
        [restored, projects],
        [imported, projects.slice(1, 2)],
      ] as const) {
        const again = yield* opened(directory)
        for (const { environment, number } of own) {
          const chunks = yield* Stream.runCollect(again.engine.readHistory(environment, "u1"))
          expect(chunks.flat()).toEqual(before[number - 1]!.read[1]!.history)
        }
        yield* again.close()
      }
    }),
  )

  it.live("have their former events in backfills of badges and of metrics", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const { folder, folders } = yield* cluster(receiver.url())
      yield* gather(folder, folders)
      yield* installDraft(nodeDisk, folder, Date.now())
      const started = yield* opened(folder)
      const { engine } = started
      const finished = (environment: string, id: string) =>
        until(engine.readBackfill(environment, id), (run) => run?.status === "finished")
      for (const { environment, number } of projects) {
        for (let n = 0; n < users - 1; n++)
          yield* engine.askUser(environment, event(`u${n}`, "TAP"))
        const criteria = { kind: "action_count", action: "TAP", target: 5, where: [] } as const
        const badge = badgeWith({ id: `bdg_${number}`, criteria })
        yield* engine.askProject(environment, { kind: "createBadge", badge })
        const metric = metricWith({ id: `mtr_${number}` })
        yield* engine.askProject(environment, { kind: "createMetric", metric })
        const start = { kind: "startBackfill", badgeId: badge.id, notify: false } as const
        yield* engine.askProject(environment, start)
        yield* finished(environment, badge.id)
        yield* engine.askProject(environment, { kind: "startMetricBackfill", metricId: metric.id })
        yield* finished(environment, metric.id)
        for (let n = 0; n < users - 1; n++) {
          const user = (yield* engine.readUser(environment, `u${n}`))!
          expect(user.badgeCounts.get(badge.id)).toBe(5)
          expect(user.badges.has(badge.id)).toBe(true)
          expect(metricTotal(user.metrics.get(metric.id))).toBe(5)
        }
      }
      yield* started.close()
    }),
  )

  it.live("are gathered only whole, and lose no message unasked", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      receiver.answer = answer(500)
      const { folder, folders, hooks } = yield* cluster(receiver.url(), {
        waits: true,
        last: "kill",
      })
      const refusal = (folders: ReadonlyArray<string>) => Effect.flip(gather(folder, folders))
      expect(yield* refusal(folders.slice(0, 2))).toMatchObject({
        kind: "refused",
        detail: expect.stringContaining("partition 3 is missing"),
      })
      expect(yield* refusal(folders)).toMatchObject({
        kind: "refused",
        detail: expect.stringContaining("The snapshot of"),
      })
      const third = yield* opened(folders[2]!)
      yield* third.close()
      const [own, ...others] = yield* Effect.forEach(folders, (directory) =>
        Effect.scoped(verifyLive({ directory }, alone)),
      )
      expect([own!, ...others].map(({ faults }) => faults)).toEqual([[], [], []])
      expect(yield* refusal(folders)).toMatchObject({
        kind: "refused",
        detail: expect.stringMatching(/^\d+ messages to webhooks wait .* --drop-pending$/),
      })
      expect(yield* nodeDisk.list(folder)).toEqual([])
      const { dropped } = yield* gather(folder, folders, true)
      expect(dropped).toBeGreaterThan(0)
      // As after a crash: what was not installed is given up, and made again.
      yield* settleSwap(nodeDisk, folder)
      expect(yield* nodeDisk.list(folder)).toEqual([])
      expect(yield* gather(folder, folders, true)).toMatchObject({ dropped })
      expect((yield* nodeDisk.list(draftIn(folder))).toSorted()).toEqual([
        "gathered",
        "journal",
        "live",
      ])
      yield* installDraft(nodeDisk, folder, Date.now())
      const started = yield* opened(folder)
      for (const [index, { environment }] of projects.entries()) {
        const { deliveries } = started
        const page = { status: "pending", before: undefined, limit: 1 } as const
        const pending = yield* deliveries.list(environment, hooks[index]!, page)
        // Dropped once it is due.
        expect(yield* deliveries.standing(pending.deliveries[0]!)).toBe("gone")
      }
      yield* started.close()
    }),
  )
})
