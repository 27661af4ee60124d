/** One project goes back, on a data directory that two have. */
import { cp, readdir, writeFile } from "node:fs/promises"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { teamsAfter } from "../../../src/domain/project/Team.ts"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { restoreDraft } from "../../../src/engine/archive/restore/RestoreJob.ts"
import { planRestore, type RestoreTarget } from "../../../src/engine/archive/restore/RestorePlan.ts"
import type { Engine, UserMessage } from "../../../src/engine/Engine.ts"
import { listArchives } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { installDraft, settleSwap } from "../../../src/storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, reward, rule } from "../fixture.ts"
import { alone, found, running } from "./fixture.ts"
import { workerOf } from "./processes.ts"

const shop = { id: "prj_1", name: "shop" }
const own = "prj_1:sandbox"
const other = "prj_2:production"
const users = 6

/** A second project, which nothing may happen to. */
const foundSecond = (engine: Engine["Service"]) =>
  engine.askDirectory({
    kind: "createKey",
    by: "operator",
    projectId: "prj_2",
    projectName: "cafe",
    key: {
      id: "key_2",
      environment: "production",
      scope: "full",
      hash: "01",
      hint: "lk_live_",
    },
  })

/** Events and rewards of both projects, with ids that name the round. */
const round = Effect.fnUntraced(function* (engine: Engine["Service"], name: string) {
  for (const environment of [own, other]) {
    const messages = Array.from(
      { length: users * 2 },
      (_, index): UserMessage =>
        index % 2 === 0
          ? reward(`u${index % users}`, 1 + index, `${name}-${index}`)
          : event(`u${index % users}`, "TAP", { id: `${name}-${index}` }),
    )
    const team = { kind: "club", name } as const
    yield* engine.askProject(environment, { kind: "putTeam", teamId: name, team })
    const join = { kind: "join", teamId: name } as const
    yield* engine.askUser(environment, { userId: `u${name.length - 4}`, command: join })
    const answers = yield* engine.askUsers(environment, messages)
    for (const answer of answers) expect(answer).not.toHaveProperty("_tag")
  }
})

const membersOf = Effect.fnUntraced(function* (engine: Engine["Service"], environment: string) {
  const { teams } = yield* engine.readProject(environment)
  const members = []
  for (const team of teamsAfter(teams, undefined)) {
    members.push(yield* engine.listTeamMembers(environment, { team, limit: 9 }))
  }
  return members
})

const seen = Effect.fnUntraced(function* (engine: Engine["Service"], environment: string) {
  const states = []
  for (let n = 0; n < users; n++) states.push(yield* engine.readUser(environment, `u${n}`))
  return {
    states,
    board: yield* engine.readBoard(environment, { limit: 100, offset: 0 }),
    project: yield* engine.readProject(environment),
    counts: yield* engine.readCounts(environment),
    members: yield* membersOf(engine, environment),
  }
})

const planned = Effect.fnUntraced(function* (
  directory: string,
  target: RestoreTarget,
  { id, project }: { readonly id?: string; readonly project?: typeof shop } = {},
) {
  const archives = yield* listArchives(nodeDisk, path.join(directory, "archive"))
  const journal = path.join(directory, "journal")
  const more = project === undefined ? {} : { project }
  return yield* planRestore({ disk: nodeDisk, journal, archives, id, target, ...more })
})

/** Restores as the command does, but for the lock. */
const restore = Effect.fnUntraced(function* (...args: Parameters<typeof planned>) {
  const plan = yield* planned(...args)
  const { folder, project, sequence } = plan
  const wish = {
    directory: args[0],
    archive: folder,
    until: sequence,
    project: project === undefined ? null : { ...shop, after: project.after },
  }
  yield* Effect.scoped(restoreDraft(wish, alone))
  yield* installDraft(nodeDisk, args[0], Date.now())
  return plan
})

/** A directory with an archive after the first round of three, and what was to be seen after the second and the last. */
const history = Effect.fnUntraced(function* (how?: "kill") {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  yield* found(engine)
  yield* foundSecond(engine)
  yield* engine.askProject(other, rule("TAP", 5))
  yield* round(engine, "first")
  const { id } = yield* archives.create({ reason: "request" })
  yield* round(engine, "second")
  const point = archives.position().lastSequence
  const before = yield* seen(engine, own)
  yield* engine.askProject(own, rule("MORE", 7))
  yield* round(engine, "third")
  yield* engine.askUser(own, event("late", "TAP", { id: "late" }))
  yield* engine.askDirectory({ kind: "revokeKey", by: "operator", keyId: "key_1" })
  const between = yield* archives.create({ reason: "request" })
  yield* engine.askUser(own, { userId: "u1", command: { kind: "erasure" } })
  yield* round(engine, "fourth")
  const end = archives.position().lastSequence
  const others = yield* seen(engine, other)
  const keys = (yield* engine.readDirectory).keys
  yield* close(how)
  return { before, between: between.id, directory, end, host, id, keys, others, point }
})

const toPoint = (sequence: number): RestoreTarget => ({ kind: "sequence", sequence })

describe("A restore of one project", () => {
  for (const how of [undefined, "kill"] as const) {
    it.live(
      `brings it back to the point, and takes nothing from others, after ${how ?? "an orderly end"}`,
      () =>
        Effect.gen(function* () {
          const { before, directory, end, host, id, keys, others, point } = yield* history(how)
          const plan = yield* restore(directory, toPoint(point), { project: shop })
          expect(plan).toMatchObject({
            archive: { id },
            sequence: end,
            project: { ...shop, after: point },
            lost: { first: point + 1, erasures: [{ environment: own, userId: "u1" }] },
          })
          const check = yield* Effect.scoped(verifyLive({ directory }, alone))
          expect([check.faults, check.sequence]).toEqual([[], end])
          const { archives, close, engine } = yield* running({ directory, host })
          expect(yield* seen(engine, own)).toEqual(before)
          expect(yield* seen(engine, other)).toEqual(others)
          expect(yield* engine.readUser(own, "late")).toBeUndefined()
          // Keys stay as they are: the one that was revoked since is no key again.
          expect((yield* engine.readDirectory).keys).toEqual(keys)
          expect(keys.get("key_1")?.revokedAt).not.toBeNull()
          // Numbers are not used again, and ids are known where their records are.
          expect(archives.position().lastSequence).toBe(end)
          const tap = (environment: string, name: string) =>
            engine.askUser(environment, event("u1", "TAP", { id: `${name}-1` }))
          expect(yield* tap(own, "second")).toMatchObject({ reply: { duplicate: true } })
          expect(yield* tap(own, "third")).toMatchObject({ reply: { duplicate: false } })
          expect(yield* tap(other, "third")).toMatchObject({ reply: { duplicate: true } })
          yield* round(engine, "fifth")
          expect(archives.position().lastSequence).toBeGreaterThan(end)
          yield* close()
          expect((yield* Effect.scoped(verifyLive({ directory }, alone))).faults).toEqual([])
        }),
    )
  }

  it.live("is what the journal says ever after, from the same archive as from any that fits", () =>
    Effect.gen(function* () {
      const { between, directory, host, id, point } = yield* history()
      yield* restore(directory, toPoint(point), { project: shop })
      const second = yield* running({ directory, host })
      yield* round(second.engine, "fifth")
      const truth = [yield* seen(second.engine, own), yield* seen(second.engine, other)]
      yield* second.close()
      // What was archived in between knows what was given up.
      const refusal = yield* Effect.flip(planned(directory, { kind: "last" }, { id: between }))
      expect(refusal).toMatchObject({ kind: "refused" })
      yield* Effect.promise(() => writeFile(path.join(directory, "live", "data.mdb"), "nothing"))
      const plan = yield* restore(directory, { kind: "last" })
      expect(plan).toMatchObject({ archive: { id }, lost: undefined })
      const third = yield* running({ directory, host })
      expect([yield* seen(third.engine, own), yield* seen(third.engine, other)]).toEqual(truth)
      yield* third.close()
    }),
  )

  it.live(
    "is refused where the project was not there yet or has nothing to give up, and where the journal is not whole",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryFolder
        const host = yield* makeWorkerHost({ background: false })
        const { archives, close, engine } = yield* running({ directory, host })
        yield* found(engine)
        const { id } = yield* archives.create({ reason: "request" })
        yield* foundSecond(engine)
        yield* close()
        const nothing = yield* Effect.flip(
          planned(directory, { kind: "archive" }, { id, project: shop }),
        )
        expect(nothing.message).toMatch(/^Project shop has no record after record \d+: /)
        const cafe = { id: "prj_2", name: "cafe" }
        const early = yield* Effect.flip(
          planned(directory, { kind: "archive" }, { id, project: cafe }),
        )
        expect(early.message).toMatch(/^Project cafe was made by record \d+, after record \d+\.$/)
        const [newest] = (yield* Effect.promise(() => readdir(path.join(directory, "journal"))))
          .filter((name) => name.endsWith(".segment"))
          .toSorted()
          .toReversed()
        yield* Effect.promise(() => writeFile(path.join(directory, "journal", newest!), "nothing"))
        const damaged = yield* Effect.flip(
          planned(directory, { kind: "archive" }, { id, project: shop }),
        )
        expect(damaged).toMatchObject({ kind: "refused" })
      }),
  )

  it.live("that dies at any step changes nothing", () =>
    Effect.gen(function* () {
      const { directory, end, host, others, point } = yield* history()
      const { folder } = yield* planned(directory, toPoint(point), { project: shop })
      const project = { ...shop, after: point }
      for (const step of ["begun", "copied", "journal", "verified"] as const) {
        const copy = yield* temporaryFolder
        yield* Effect.promise(() => cp(directory, copy, { recursive: true }))
        const wish = { directory: copy, archive: folder, until: end, project }
        const asked = (at: Step) =>
          Effect.promise(async () => {
            if (at === step) process.kill(await workerOf(process.pid), "SIGKILL")
          })
        const result = yield* Effect.result(host.run("restore", wish, { asked }))
        expect(result).toMatchObject(Result.fail({ kind: "died" }))
        yield* settleSwap(nodeDisk, copy)
        const opened = yield* running({ directory: copy, host })
        expect(yield* seen(opened.engine, other)).toEqual(others)
        expect(yield* opened.engine.readUser(own, "late")).toBeDefined()
        yield* opened.close()
      }
    }),
  )
})
