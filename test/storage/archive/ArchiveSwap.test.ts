import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import {
  draftIn,
  installDraft,
  replacedIn,
  settleSwap,
  takeRestored,
} from "../../../src/storage/archive/ArchiveSwap.ts"
import { type Disk, withFile } from "../../../src/storage/disk/Disk.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"

const directory = "/data"
const at = Date.UTC(2026, 10, 21, 10)
const aside = "/data/replaced-2026-11-21T10-00-00.000Z"

const write = (disk: Disk, where: string, content: string) =>
  Effect.gen(function* () {
    yield* disk.makeFolder(path.dirname(where))
    yield* withFile(disk, where, "create", (file) =>
      Effect.andThen(file.write(0, [Buffer.from(content)]), file.sync),
    )
    yield* disk.syncFolder(path.dirname(where))
  })

const contentOf = (disk: SimulatedDisk, folder: string): string | undefined => {
  try {
    return [...disk.files(folder).values()].join(" ")
  } catch {
    return undefined
  }
}

/** Snapshot and journal: those of the directory, the draft, and what was put aside. */
const contents = (disk: SimulatedDisk) =>
  Object.fromEntries(
    Object.entries({ at: directory, draft: draftIn(directory), aside }).map(([name, folder]) => [
      name,
      [contentOf(disk, `${folder}/live`), contentOf(disk, `${folder}/journal`)],
    ]),
  )

const nothing = [undefined, undefined]
const before = ["old live", "old journal"]
const after = ["new live", "new journal"]

const prepared = (what: "both" | "nothing there") =>
  Effect.gen(function* () {
    const disk = new SimulatedDisk()
    yield* disk.makeFolder(directory)
    for (const name of ["live", "journal"]) {
      if (what === "both") yield* write(disk, `${directory}/${name}/file`, `old ${name}`)
      yield* write(disk, `${draftIn(directory)}/${name}/file`, `new ${name}`)
    }
    // The replacement has no gathered journals.
    if (what === "both") yield* write(disk, `${directory}/gathered/file`, "old gathered")
    return disk
  })

describe("The swap of a data directory", () => {
  it.effect("puts the new folders in place, and keeps the old ones under the name it tells", () =>
    Effect.gen(function* () {
      const disk = yield* prepared("both")
      expect(yield* installDraft(disk, directory, at)).toBe(aside)
      expect(contents(disk)).toEqual({ at: after, draft: nothing, aside: before })
      expect((yield* disk.list(directory)).toSorted()).toEqual([
        "journal",
        "live",
        path.basename(aside),
        "restored",
      ])
    }),
  )

  it.effect("replaces nothing where nothing is", () =>
    Effect.gen(function* () {
      const disk = yield* prepared("nothing there")
      expect(yield* installDraft(disk, directory, at)).toBeUndefined()
      expect(contents(disk)).toEqual({ at: after, draft: nothing, aside: nothing })
      expect((yield* disk.list(directory)).toSorted()).toEqual(["journal", "live", "restored"])
    }),
  )

  for (const kind of ["kill", "power cut"] as const) {
    it.effect(
      `happens wholly or not at all, wherever a ${kind} hits, also the one who finishes it`,
      () =>
        Effect.gen(function* () {
          const calm = yield* prepared("both")
          const start = calm.calls
          yield* installDraft(calm, directory, at)
          const calls = calm.calls - start
          const ends = new Set<string>()
          for (let call = 1; call <= calls + 1; call++) {
            for (let second = 1; second <= 12; second++) {
              let disk = yield* prepared("both")
              disk.cutPowerAt(call)
              const installed = yield* Effect.exit(Effect.asVoid(installDraft(disk, directory, at)))
              disk = kind === "kill" ? disk.afterKill() : disk.afterPowerCut(call * 31 + second)
              disk.cutPowerAt(second)
              const settled = yield* Effect.exit(settleSwap(disk, directory))
              for (const exit of [installed, settled]) {
                if (Exit.isFailure(exit)) {
                  expect(exit.cause.reasons.filter(Cause.isDieReason)).toEqual([])
                }
              }
              disk = kind === "kill" ? disk.afterKill() : disk.afterPowerCut(call * 37 + second)
              yield* settleSwap(disk, directory)
              const found = contents(disk)
              if (Exit.isSuccess(installed)) expect(found.at).toEqual(after)
              const isNew = found.at![0] === after[0]
              ends.add(isNew ? "new" : "old")
              expect((yield* disk.list(directory)).includes("restored")).toBe(isNew)
              const gathered = contentOf(disk, `${isNew ? aside : directory}/gathered`)
              expect(gathered).toBe("old gathered")
              expect(found).toEqual(
                isNew
                  ? { at: after, draft: nothing, aside: before }
                  : { at: before, draft: nothing, aside: nothing },
              )
            }
          }
          expect([...ends].sort()).toEqual(["new", "old"])
        }),
    )
  }

  it.effect("is made known to the next start, again until that has done its part", () =>
    Effect.gen(function* () {
      const disk = yield* prepared("both")
      const ends: Array<string> = []
      const next = (end: Effect.Effect<void, string>) =>
        Effect.exit(takeRestored(disk, directory, end))
      const ended = Effect.sync(() => void ends.push("ended"))
      yield* next(ended)
      expect(ends).toEqual([])
      yield* installDraft(disk, directory, at)
      expect(Exit.isFailure(yield* next(Effect.fail("the disk is full")))).toBe(true)
      yield* next(ended)
      yield* next(ended)
      expect(ends).toEqual(["ended"])
    }),
  )

  it.effect("takes back what it has replaced, wherever a kill hits", () =>
    Effect.gen(function* () {
      const ends = new Set<string>()
      for (let call = 1; call <= 30; call++) {
        let disk = yield* prepared("both")
        yield* installDraft(disk, directory, at)
        disk.cutPowerAt(call)
        const [from = ""] = yield* replacedIn(disk, directory).pipe(Effect.orElseSucceed(() => []))
        yield* Effect.exit(installDraft(disk, directory, at + 1, { from }))
        disk = disk.afterKill()
        yield* settleSwap(disk, directory)
        const found = contents(disk)
        const [kept] = yield* replacedIn(disk, directory)
        const old = found.at![0] === before[0]
        ends.add(old ? "old" : "new")
        expect(found.at).toEqual(old ? before : after)
        const other = ["live", "journal"].map((name) =>
          contentOf(disk, `${directory}/${kept}/${name}`),
        )
        expect(other).toEqual(old ? after : before)
      }
      expect([...ends].sort()).toEqual(["new", "old"])
    }),
  )

  it.effect("touches nothing while it can not tell what was meant", () =>
    Effect.gen(function* () {
      const disk = yield* prepared("both")
      yield* write(disk, `${directory}/restore.json`, "{")
      const error = yield* Effect.flip(settleSwap(disk, directory))
      expect(error.code).toBe("EBADMSG")
      expect(contents(disk)).toEqual({ at: before, draft: after, aside: nothing })
    }),
  )
})
