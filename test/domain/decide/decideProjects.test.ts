import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Asker } from "../../../src/domain/accounts/Account.ts"
import { type DirectoryCommand, decideDirectory } from "../../../src/domain/decide/Directory.ts"
import type { PartitionPlace, ProjectsCommand } from "../../../src/domain/decide/decideProjects.ts"
import {
  type DirectoryState,
  emptyDirectory,
  type Project,
  partitionOf,
  projectNamed,
} from "../../../src/domain/project/Directory.ts"
import { applyDirectory } from "../../../src/domain/record/applyDirectory.ts"
import { decodeDirectory, encodeDirectory } from "../../../src/engine/records/Codec.ts"
import { limits } from "../../../src/Limits.ts"

const now = 1_000_000
const account = (id: string, owner: boolean) => ({
  id,
  email: `${id}@example.com`,
  name: id,
  password: "$argon2id$",
  passkeys: [],
  access: { owner, projects: [] },
  createdAt: 0,
})
const session = (id: string, accountId: string, confirmedAt: number) => ({
  id,
  accountId,
  hash: id,
  agent: "",
  address: "",
  createdAt: now,
  usedAt: now,
  confirmedAt,
})
const longAgo = now - limits.sessionConfirmedMs
const peopled: DirectoryState = {
  ...emptyDirectory,
  accounts: new Map([
    ["ada", account("ada", true)],
    ["bob", account("bob", false)],
  ]),
  sessions: new Map([
    ["ses_ada", session("ses_ada", "ada", now)],
    ["ses_late", session("ses_late", "ada", longAgo)],
    ["ses_bob", session("ses_bob", "bob", now)],
  ]),
}
const owner: Asker = { sessionId: "ses_ada" }

const after = (state: DirectoryState, command: ProjectsCommand, at = now): DirectoryState =>
  applyDirectory(state, {
    sequence: state.sequence + 1,
    at,
    subject: { actor: "directory" },
    cause: { kind: "request" },
    facts: Result.getOrThrow(decideDirectory(state, command, at)),
  })
const refusal = (state: DirectoryState, command: ProjectsCommand) =>
  Result.getOrThrow(Result.flip(decideDirectory(state, command, now)))

const create = (name: string, id = `prj_${name}`, by: Asker = owner): ProjectsCommand => ({
  kind: "createProject",
  by,
  project: { id, name },
})

describe("Projects of the directory", () => {
  it("are created, renamed, archived and unarchived by an owner and by the command line", () => {
    for (const by of [owner, "operator"] as const) {
      let state = after(peopled, create("shop", "prj_a", by))
      expect(projectNamed(state, "shop")).toEqual({ id: "prj_a", name: "shop", createdAt: now })
      state = after(state, { kind: "archiveProject", by, projectId: "prj_a" }, now + 1)
      state = after(state, { kind: "renameProject", by, projectId: "prj_a", name: "store" })
      expect(state.projects.get("prj_a")).toEqual({
        id: "prj_a",
        name: "store",
        createdAt: now,
        archivedAt: now + 1,
      })
      state = after(state, { kind: "unarchiveProject", by, projectId: "prj_a" })
      expect(state.projects.get("prj_a")).toEqual({ id: "prj_a", name: "store", createdAt: now })
    }
  })

  it("are no business of other accounts, and archived only by a session that was confirmed lately", () => {
    const state = after(peopled, create("shop", "prj_a"))
    const commands: ReadonlyArray<(by: Asker) => ProjectsCommand> = [
      (by) => ({ kind: "createProject", by, project: { id: "prj_b", name: "bank" } }),
      (by) => ({ kind: "renameProject", by, projectId: "prj_a", name: "store" }),
      (by) => ({ kind: "archiveProject", by, projectId: "prj_a" }),
      (by) => ({ kind: "unarchiveProject", by, projectId: "prj_a" }),
      (by) => ({ kind: "limitProject", by, projectId: "prj_a", tier: "enterprise" }),
    ]
    for (const command of commands) {
      expect(refusal(state, command({ sessionId: "ses_bob" })).code).toBe("insufficient_role")
      expect(refusal(state, command({ sessionId: "ses_none" })).code).toBe("unauthorized")
    }
    const late = { sessionId: "ses_late" }
    const archive = { kind: "archiveProject", by: late, projectId: "prj_a" } as const
    expect(refusal(state, archive).code).toBe("confirmation_required")
    expect(after(state, { ...archive, kind: "unarchiveProject" }).projects.size).toBe(1)
  })

  it("are limited by an owner, not by an admin of the project, and keep the limit when they change", () => {
    const state = after(peopled, create("shop", "prj_a"))
    const admin = account("bob", false)
    const access = { owner: false, projects: [{ projectId: "prj_a", role: "admin" }] } as const
    const withAdmin = {
      ...state,
      accounts: new Map(state.accounts).set("bob", { ...admin, access }),
    }
    const limit = { kind: "limitProject", projectId: "prj_a", tier: "free" } as const
    const byAdmin = { ...limit, by: { sessionId: "ses_bob" } }
    expect(refusal(withAdmin, byAdmin).code).toBe("insufficient_role")
    let limited = after(withAdmin, { ...limit, by: owner })
    const free = { tier: "free", requestsPerMinute: 100 }
    expect(limited.projects.get("prj_a")?.limit).toEqual(free)
    expect(Result.getOrThrow(decideDirectory(limited, { ...limit, by: owner }, now))).toEqual([])
    const same = { by: owner, projectId: "prj_a" } as const
    limited = after(limited, { ...same, kind: "renameProject", name: "store" })
    limited = after(limited, { ...same, kind: "archiveProject" })
    limited = after(limited, { ...same, kind: "unarchiveProject" })
    expect(limited.projects.get("prj_a")).toEqual({
      id: "prj_a",
      name: "store",
      createdAt: now,
      limit: free,
    })
    const again = decodeDirectory(Buffer.from(encodeDirectory(limited)))
    expect(again.projects).toEqual(limited.projects)
    const unknown = { ...limit, by: owner, projectId: "prj_x" }
    expect(refusal(limited, unknown).code).toBe("project_not_found")
  })

  it("have well-formed names of their own, also beside archived projects", () => {
    let state = after(peopled, create("shop", "prj_a"))
    state = after(state, create("bank", "prj_b"))
    state = after(state, { kind: "archiveProject", by: owner, projectId: "prj_a" })
    const rename = (name: string): ProjectsCommand => ({
      kind: "renameProject",
      by: owner,
      projectId: "prj_b",
      name,
    })
    expect(refusal(state, create("shop", "prj_c")).code).toBe("conflict")
    expect(refusal(state, rename("shop")).code).toBe("conflict")
    for (const name of ["", "Shop", "-a", "a b", "<b>", "a".repeat(64)]) {
      expect(refusal(state, rename(name)).errors).toMatchObject([{ pointer: "/name" }])
      expect(refusal(state, create(name)).errors).toMatchObject([{ pointer: "/name" }])
    }
    expect(projectNamed(after(state, rename("a".repeat(63))), "a".repeat(63))?.id).toBe("prj_b")
    expect(Result.getOrThrow(decideDirectory(state, rename("bank"), now))).toEqual([])
    const unknown = { kind: "renameProject", by: owner, projectId: "prj_x", name: "x" } as const
    expect(refusal(state, unknown).code).toBe("project_not_found")
  })

  it(`are at most ${limits.projectsMax}`, () => {
    const projects = new Map(
      Array.from({ length: limits.projectsMax - 1 }, (_, index) => {
        const name = `p${index}`
        return [name, { id: name, name, createdAt: 0 }] as const
      }),
    )
    const full = after({ ...peopled, projects }, create("last"))
    expect(full.projects.size).toBe(limits.projectsMax)
    expect(refusal(full, create("more")).code).toBe("quota_exceeded")
  })

  it("take no new key while they are archived", () => {
    let state = after(peopled, create("shop", "prj_a"))
    state = after(state, { kind: "archiveProject", by: owner, projectId: "prj_a" })
    const key = {
      id: "key_a",
      environment: "sandbox",
      scope: "full",
      hash: "",
      hint: "",
    } as const
    const asked = {
      kind: "createKey",
      by: "operator",
      projectId: "prj_z",
      projectName: "shop",
      key,
    } as const
    const refused = Result.getOrThrow(Result.flip(decideDirectory(state, asked, now)))
    expect(refused.detail).toBe("Project shop is archived. Unarchive it first.")
  })

  describe("in a cluster", () => {
    const createIn = (partitions: number | undefined, name: string): ProjectsCommand => ({
      ...(create(name) as Extract<ProjectsCommand, { kind: "createProject" }>),
      partitions,
    })
    const partitionsOf = ({ projects }: DirectoryState) =>
      [...projects.values()].map((project) => partitionOf(project))
    /** As one with so many projects in each partition. */
    const spread = (...counts: ReadonlyArray<number>): DirectoryState => {
      const projects = counts.flatMap((count, index) =>
        Array.from({ length: count }, (_, n): Project => {
          const id = `prj_${index + 1}_${n}`
          return { id, name: id.replaceAll("_", "-"), createdAt: 0, partition: index + 1 }
        }),
      )
      return { ...peopled, projects: new Map(projects.map((each) => [each.id, each])) }
    }

    it("go to the partition that has the fewest, the first of several", () => {
      let state = peopled
      for (let n = 0; n < 5; n++) state = after(state, createIn(3, `p${n}`))
      expect(partitionsOf(state)).toEqual([1, 2, 3, 1, 2])
      expect(after(spread(2, 1, 1), createIn(3, "new")).projects.get("prj_new")?.partition).toBe(2)
      expect(after(spread(2, 2, 1), createIn(3, "new")).projects.get("prj_new")?.partition).toBe(3)
    })

    it("go to one server after another, and to the one with the least load", () => {
      const places = (servers: string, loads: ReadonlyArray<number> = []) =>
        [...servers].map((server, index) => ({ server, load: loads[index] ?? 0 }))
      const createAt = (at: ReadonlyArray<PartitionPlace>, name: string): ProjectsCommand => ({
        ...createIn(undefined, name),
        ...{ partitions: at },
      })
      let state = peopled
      for (let n = 0; n < 6; n++) state = after(state, createAt(places("aaaabbcc"), `p${n}`))
      expect(partitionsOf(state)).toEqual([1, 5, 7, 2, 6, 8])
      const made = (at: ReadonlyArray<PartitionPlace>, before: DirectoryState) =>
        partitionOf(after(before, createAt(at, "new")).projects.get("prj_new")!)
      // A busy server gets none, although it has the fewest projects.
      expect(made(places("abb", [90, 5, 5]), spread(1, 1, 1))).toBe(2)
      // On one server: the fewest projects, then the least load.
      expect(made(places("aaa", [0, 9, 5]), spread(1, 0, 0))).toBe(3)
    })

    it("of a data directory that joined one are in the first, and archived ones count", () => {
      let state = after(after(peopled, create("one")), create("two"))
      state = after(state, createIn(2, "three"))
      state = after(state, { kind: "archiveProject", by: owner, projectId: "prj_three" })
      state = after(after(state, createIn(2, "four")), createIn(2, "five"))
      expect(partitionsOf(state)).toEqual([1, 1, 2, 2, 1])
      expect(state.projects.get("prj_three")?.partition).toBe(2)
    })

    it("have no partition where it is the first, or there is no cluster", () => {
      for (const partitions of [undefined, 1, 3]) {
        const made = after(peopled, createIn(partitions, "shop")).projects.get("prj_shop")
        expect(made).toEqual({ id: "prj_shop", name: "shop", createdAt: now })
      }
      const withKey = decideDirectory(
        spread(1),
        {
          kind: "createKey",
          by: "operator",
          projectId: "prj_shop",
          projectName: "shop",
          partitions: 2,
          key: {
            id: "key_1",
            environment: "sandbox",
            scope: "full",
            hash: "00",
            hint: "lk",
          },
        },
        now,
      )
      expect(Result.getOrThrow(withKey)[0]).toMatchObject({
        kind: "project.created",
        project: { id: "prj_shop", partition: 2 },
      })
    })

    it("are adopted where other partitions have their data, archived, under free names", () => {
      const long = "x".repeat(63)
      const made = (id: string, name: string, partition?: number): Project => ({
        ...{ id, name, createdAt: 5 },
        ...(partition !== undefined && { partition }),
      })
      const known = { ...emptyDirectory, projects: new Map([["a", made("a", "shop", 2)]]) }
      const adoptAll = (state: DirectoryState) =>
        after(state, {
          kind: "adoptProjects",
          by: "operator",
          projects: [
            made("a", "renamed since", 2),
            made("b", "shop", 3),
            made("c", "shop", 3),
            made("d", long, 2),
            made("e", long, 2),
            made("f", "gone with its data"),
          ],
        })
      const adopted = adoptAll(known)
      const shown = [...adopted.projects.values()].map(({ archivedAt, id, name, partition }) => [
        ...[id, name, partition, archivedAt],
      ])
      expect(shown).toEqual([
        ["a", "shop", 2, undefined],
        ["b", "shop-2", 3, now],
        ["c", "shop-3", 3, now],
        ["d", long, 2, now],
        ["e", `${long.slice(0, 61)}-2`, 2, now],
      ])
      expect(adoptAll(adopted).projects).toEqual(adopted.projects)
    })

    it("are gathered in the first when the data directory has left it", () => {
      const facts = [{ kind: "projects.gathered" }] as const
      const gathered = applyDirectory(spread(1, 2), {
        sequence: 4,
        at: now,
        subject: { actor: "directory" },
        cause: { kind: "request" },
        facts,
      })
      expect(partitionsOf(gathered)).toEqual([1, 1, 1])
      expect(gathered.projects.get("prj_2_1")).toEqual({
        id: "prj_2_1",
        name: "prj-2-1",
        createdAt: 0,
      })
    })

    it("keep their partition with a new name, and in the snapshot", () => {
      const renamed = after(spread(0, 1), {
        kind: "renameProject",
        by: owner,
        projectId: "prj_2_0",
        name: "store",
      })
      expect(renamed.projects.get("prj_2_0")).toMatchObject({ name: "store", partition: 2 })
      const stored = decodeDirectory(Buffer.from(encodeDirectory(renamed)))
      expect(stored.projects).toEqual(renamed.projects)
    })
  })
})

describe("The directory of a partition other than the first", () => {
  const decide = (state: DirectoryState, command: DirectoryCommand) =>
    decideDirectory(state, command, now)
  const begin = (state: DirectoryState, partition: number) =>
    decide(state, { kind: "beginPartition", partition })
  const facts = [{ kind: "partition.begun", partition: 3 }] as const
  const record = {
    sequence: 1,
    at: now,
    subject: { actor: "directory" },
    cause: { kind: "heartbeat" },
  }
  const third = applyDirectory(emptyDirectory, { ...record, facts } as never)

  it("is begun once, and stored", () => {
    expect(begin(emptyDirectory, 3)).toEqual(Result.succeed(facts))
    expect(third.partition).toBe(3)
    expect(begin(third, 3)).toEqual(Result.succeed([]))
    expect(decodeDirectory(Buffer.from(encodeDirectory(third)))).toEqual(third)
    const heartbeat = { ...record, sequence: 2, facts: [] }
    expect(applyDirectory(third, heartbeat as never)).toEqual({ ...third, sequence: 2 })
  })

  it("is no other partition's, and not one that has projects", () => {
    expect(begin(third, 4)).toMatchObject({ failure: { code: "conflict" } })
    expect(begin(peopled, 3)).toMatchObject({ failure: { code: "conflict" } })
    const hashed = { ...emptyDirectory, hashSecret: "00" }
    expect(begin(hashed, 3)).toMatchObject({ failure: { code: "conflict" } })
  })

  it("takes nothing else", () => {
    const project = { id: "prj_1", name: "shop" }
    for (const command of [
      { kind: "createProject", by: "operator", project },
      { kind: "createDirectory", hashSecret: "00" },
    ] as const) {
      expect(decide(third, command)).toMatchObject({ failure: { code: "conflict" } })
    }
    expect(decide(third, { kind: "heartbeat" })).toEqual(Result.succeed([]))
  })
})
