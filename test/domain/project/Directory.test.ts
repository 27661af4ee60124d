import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import { type DirectoryCommand, decideDirectory } from "../../../src/domain/decide/Directory.ts"
import {
  type ApiKey,
  type DirectoryState,
  emptyDirectory,
  limitOf,
  type Tier,
} from "../../../src/domain/project/Directory.ts"
import { applyDirectory } from "../../../src/domain/record/applyDirectory.ts"
import { limits } from "../../../src/Limits.ts"

const createKey = (
  id: string,
  projectName: string,
  more: Partial<ApiKey> = {},
): DirectoryCommand => ({
  kind: "createKey",
  by: "operator",
  projectId: `prj_${id}`,
  projectName,
  key: {
    id: `key_${id}`,
    environment: "sandbox",
    scope: "full",
    hash: `hash of ${id}`,
    hint: "lk_test_abc",
    ...more,
  },
})

const run = (state: DirectoryState, command: DirectoryCommand, at = 1): DirectoryState =>
  applyDirectory(state, {
    sequence: state.sequence + 1,
    at,
    subject: { actor: "directory" },
    cause: { kind: "request" },
    facts: Result.getOrThrow(decideDirectory(state, command, at)),
  })

const refusal = (state: DirectoryState, command: DirectoryCommand, at = 1) =>
  Result.getOrThrow(Result.flip(decideDirectory(state, command, at)))

const pointers = (command: DirectoryCommand, at?: number) =>
  refusal(emptyDirectory, command, at).errors?.map(({ pointer }) => pointer)

describe("The directory", () => {
  it("keeps its first secret forever", () => {
    const state = run(emptyDirectory, { kind: "createDirectory", hashSecret: "aa" })
    expect(state.hashSecret).toBe("aa")
    expect(refusal(state, { kind: "createDirectory", hashSecret: "bb" }).code).toBe("conflict")
    expect(run(state, createKey("a", "shop")).hashSecret).toBe("aa")
  })

  it("creates a project with its first key and uses it for the next", () => {
    const state = run(run(emptyDirectory, createKey("a", "shop")), createKey("b", "shop"))
    expect([...state.projects.keys()]).toEqual(["prj_a"])
    expect([...state.keys.values()].map(({ projectId }) => projectId)).toEqual(["prj_a", "prj_a"])
  })

  it("revokes a key once", () => {
    const state = run(emptyDirectory, createKey("a", "shop"))
    const revoked = run(state, { kind: "revokeKey", by: "operator", keyId: "key_a" }, 7)
    expect(revoked.keys.get("key_a")?.revokedAt).toBe(7)
    for (const keyId of ["key_a", "key_b", "constructor"]) {
      expect(refusal(revoked, { kind: "revokeKey", by: "operator", keyId }, 8).code).toBe(
        "key_not_found",
      )
    }
  })

  it("takes project names that could be host names, of 1 to 63 characters", () => {
    for (const name of ["a", "0-9", "x".repeat(63)]) {
      expect(run(emptyDirectory, createKey("a", name)).projects.get("prj_a")?.name).toBe(name)
    }
    for (const name of ["", "-a", "A", "a_b", "a b", "é", "a\n", "x".repeat(64)]) {
      expect(pointers(createKey("a", name))).toEqual(["/project"])
    }
  })

  it("gives a project the limit of the tiers free and pro, and enterprise one of its own or none", () => {
    const most = limits.requestsPerMinuteMax
    const shop = run(emptyDirectory, createKey("a", "shop"))
    const limit = (tier: Tier, requestsPerMinute?: number | null): DirectoryCommand => ({
      kind: "limitProject",
      by: "operator",
      projectId: "prj_a",
      tier,
      requestsPerMinute,
    })
    const after = (command: DirectoryCommand) => limitOf(run(shop, command).projects.get("prj_a")!)
    expect(limitOf(shop.projects.get("prj_a")!)).toEqual({
      tier: "enterprise",
      requestsPerMinute: null,
    })
    expect(after(limit("free"))).toEqual({ tier: "free", requestsPerMinute: 100 })
    expect(after(limit("pro"))).toEqual({ tier: "pro", requestsPerMinute: 1_000 })
    for (const number of [1, most]) {
      expect(after(limit("enterprise", number)).requestsPerMinute).toBe(number)
    }
    const limited = run(shop, limit("enterprise", 5))
    for (const none of [limit("enterprise"), limit("enterprise", null)]) {
      expect(limitOf(run(limited, none).projects.get("prj_a")!).requestsPerMinute).toBeNull()
    }
    const bad = [limit("free", 100), limit("free", null), limit("pro", 5)]
    for (const number of [0, -1, 1.5, Number.NaN, most + 1]) bad.push(limit("enterprise", number))
    for (const command of bad) {
      expect(refusal(shop, command).errors?.map(({ pointer }) => pointer)).toEqual(["/rateLimit"])
    }
  })

  it("refuses a key that has expired already, and names all faults at once", () => {
    expect(pointers(createKey("a", "shop", { expiresAt: 5 }), 5)).toEqual(["/expiresAt"])
    run(emptyDirectory, createKey("a", "shop", { expiresAt: 6 }), 5)
    const all = createKey("a", "?", { name: "", expiresAt: 1 })
    expect(pointers(all, 5)).toEqual(["/project", "/name", "/expiresAt"])
  })

  it("holds a bounded number of projects", () => {
    const project = (index: number) => ({ id: `prj_${index}`, name: `p${index}`, createdAt: 1 })
    const full: DirectoryState = {
      ...emptyDirectory,
      projects: new Map(
        Array.from({ length: limits.projectsMax }, (_, index) => [`prj_${index}`, project(index)]),
      ),
    }
    expect(refusal(full, createKey("a", "one-more")).code).toBe("quota_exceeded")
    run(full, createKey("a", "p0"))
  })

  it("lists revoked keys until there are too many, and forgets the longest revoked first", () => {
    let state = run(emptyDirectory, createKey("kept", "shop"))
    for (let index = 0; index <= limits.endedKeysMax; index++) {
      state = run(state, createKey(`a${index}`, "shop"))
      state = run(state, { kind: "revokeKey", by: "operator", keyId: `key_a${index}` }, index)
    }
    expect(state.keys.size).toBe(limits.endedKeysMax + 1)
    expect(state.keys.has("key_kept")).toBe(true)
    expect(state.keys.has("key_a0")).toBe(false)
    expect(state.keys.has("key_a1")).toBe(true)
  })
})
