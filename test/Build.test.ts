import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { commitOf, version } from "../src/Build.ts"

const temporaryFolder = (): string => {
  const folder = mkdtempSync(path.join(tmpdir(), "laurel-build-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const git = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@laurel.example", ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: "1", HOME: folder },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim()

test("the version is one by Semantic Versioning, and the client and the lock file have it too", () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/)
  const read = (file: string) =>
    JSON.parse(readFileSync(path.join(import.meta.dirname, "..", file), "utf8"))
  const { packages } = read("package-lock.json")
  const versions = [read("src/client/package.json"), packages[""], packages["src/client"]].map(
    (each) => each.version,
  )
  expect(versions).toEqual([version, version, version])
})

test("the commit of a checkout is the one that git names: branch, packed branch, tag, worktree", () => {
  const folder = temporaryFolder()
  git(folder, "init", "--quiet", "--initial-branch", "main")
  expect(commitOf(folder)).toBe("unknown")
  git(folder, "commit", "--quiet", "--allow-empty", "--message", "one")
  const first = git(folder, "rev-parse", "HEAD")
  expect(commitOf(folder)).toBe(first)
  git(folder, "pack-refs", "--all")
  expect(commitOf(folder)).toBe(first)

  const other = path.join(temporaryFolder(), "worktree")
  git(folder, "worktree", "add", "--quiet", "-b", "side/branch", other)
  git(other, "commit", "--quiet", "--allow-empty", "--message", "two")
  const second = git(other, "rev-parse", "HEAD")
  expect(second).not.toBe(first)
  expect(commitOf(other)).toBe(second)
  expect(commitOf(folder)).toBe(first)
  git(other, "checkout", "--quiet", "--detach", first)
  expect(commitOf(other)).toBe(first)
})

test("the file of an image comes first; anything but a hash counts as unknown", () => {
  const folder = temporaryFolder()
  const hash = "0123456789abcdef0123456789abcdef01234567"
  expect(commitOf(folder)).toBe("unknown")
  writeFileSync(path.join(folder, "commit"), `${hash}\n`)
  expect(commitOf(folder)).toBe(hash)
  for (const text of ["", "main", hash.slice(1), `${hash}"} 1\nforged 1`, hash.toUpperCase()]) {
    writeFileSync(path.join(folder, "commit"), text)
    expect(commitOf(folder)).toBe("unknown")
  }
})
