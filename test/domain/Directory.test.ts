import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import {
  applyDirectory,
  type DirectoryCommand,
  type DirectoryState,
  decideDirectory,
  emptyDirectory,
} from "../../src/domain/Directory.ts"

const createKey = (id: string, projectName: string): DirectoryCommand => ({
  kind: "createKey",
  projectId: `prj_${id}`,
  projectName,
  key: {
    id: `key_${id}`,
    environment: "sandbox",
    scope: "full",
    tier: "free",
    requestsPerMinute: 100,
    hash: `hash of ${id}`,
    hint: "lk_test_abc",
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

describe("The directory", () => {
  it("creates a project with its first key and uses it for the next", () => {
    const state = run(run(emptyDirectory, createKey("a", "shop")), createKey("b", "shop"))
    expect([...state.projects.keys()]).toEqual(["prj_a"])
    expect([...state.keys.values()].map(({ projectId }) => projectId)).toEqual(["prj_a", "prj_a"])
  })

  it("revokes a key once", () => {
    const state = run(emptyDirectory, createKey("a", "shop"))
    const revoked = run(state, { kind: "revokeKey", keyId: "key_a" }, 7)
    expect(revoked.keys.get("key_a")?.revokedAt).toBe(7)
    for (const keyId of ["key_a", "key_b", "constructor"]) {
      const again = decideDirectory(revoked, { kind: "revokeKey", keyId }, 8)
      expect(Result.getOrThrow(Result.flip(again)).code).toBe("key_not_found")
    }
  })
})
