/** The demo as a person runs it: the real program on a small repository in a temporary folder. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makeRepository } from "../demo/repository.ts"

const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
let folder: string
let repository: string
let temporary: string

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "laurel-demo-test-"))
  repository = path.join(folder, "repository")
  temporary = path.join(folder, "tmp")
  fs.mkdirSync(temporary)
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

interface Demo {
  readonly process: ChildProcess
  readonly ended: Promise<{
    readonly exitCode: number | null
    readonly output: string
    readonly complaint: string
  }>
}

/** Starts `laurel demo` in a folder; what it puts into a temporary folder lands in `temporary`. */
const startIn = (cwd: string, ...args: ReadonlyArray<string>): Demo => {
  const child = spawn(process.execPath, [program, "demo", ...args], {
    env: { ...process.env, TMPDIR: temporary, LAUREL_PORT: "not a port" },
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  let complaint = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text
  })
  const ended = once(child, "close").then(([exitCode]) => ({ exitCode, output, complaint }))
  return { process: child, ended }
}

const run = (...args: ReadonlyArray<string>) => startIn(folder, ...args).ended

/** The rows of the printed leaderboard: rank, author, commits, xp. */
const rowsOf = (output: string): ReadonlyArray<ReadonlyArray<string | number>> =>
  [...output.matchAll(/^ +([\d,]+) {2}(\S.*?) +([\d,]+) +([\d,]+) +\d+$/gm)].map(
    ([, rank, author, commits, xp]) => [Number(rank), author!, Number(commits), Number(xp)],
  )

const ada = "Ada <ada@example.org>"
const bob = "Bob <bob@example.org>"

// Two processes start and end in each; a busy machine may take its time.
describe("laurel demo", () => {
  it("gives every author the commits that git counts: all branches, merges, mailmap, from an inner folder", async () => {
    makeRepository(
      repository,
      [
        { author: ada },
        { author: ada },
        { author: "Ada L. <ada@old.example.org>" },
        { author: bob, branch: "side" },
        { author: bob, branch: "side" },
        { author: "Carol <carol@example.org>", branch: "never-merged" },
        { author: ada, merges: "side" },
        // Same e-mail under another name: git counts it apart, a leaderboard of e-mails does not.
        { author: "Robert <bob@example.org>" },
        { author: ada, authoredAt: Math.floor(Date.now() / 1_000) - 60, subject: "Just now" },
      ],
      "Ada <ada@example.org> <ada@old.example.org>\n",
    )
    const inside = path.join(repository, "inside")
    fs.mkdirSync(inside)
    const { complaint, exitCode, output } = await startIn(inside).ended
    expect(complaint).toBe("")
    expect(rowsOf(output)).toEqual([
      [1, "ada@example.org", 5, 50],
      [2, "bob@example.org", 3, 30],
      [3, "carol@example.org", 1, 10],
    ])
    expect(output).toContain("Sent 9 commits: ")
    expect(output).toContain(
      "OK: the commits of 3 authors are those that git shortlog -sne --all counts.",
    )
    expect(output).toMatch(
      /OK: repeated all commits, .*; all 9 were duplicates and nothing changed\./,
    )
    expect(exitCode).toBe(0)
    expect(fs.readdirSync(temporary)).toEqual([])
  })

  it("sends a history longer than a batch from a bare repository", async () => {
    const authorOf = (index: number) => Math.floor(Math.sqrt(index))
    const commits = Array.from({ length: 2_345 }, (_, index) => ({
      author: `Author <author-${authorOf(index)}@example.org>`,
      subject: `Change ${index}`,
    }))
    makeRepository(repository, commits)
    const bare = path.join(folder, "bare.git")
    fs.renameSync(path.join(repository, ".git"), bare)
    const { exitCode, output } = await run(bare)
    expect(output).toContain("Sent 2,345 commits: ")
    expect(output).toContain("OK: the commits of 49 authors are those")
    expect(output).toContain("all 2,345 were duplicates and nothing changed.")
    // Author n has the 2n + 1 commits from n² to (n + 1)².
    expect(rowsOf(output).slice(0, 2)).toEqual([
      [1, "author-47@example.org", 95, 950],
      [2, "author-46@example.org", 93, 930],
    ])
    expect(output).toContain("and 29 more")
    expect(exitCode).toBe(0)
  })

  it("names authors that cannot be users, and accepts unusual ones that can", async () => {
    const long = `${"x".repeat(129)}@example.org`
    makeRepository(repository, [
      { author: "Nobody <>" },
      { author: "Nobody <>" },
      { author: `Long <${long}>` },
      { author: Buffer.from("Bell <bell\u0007@example.org>") },
      { author: Buffer.from("Name \u0001\u001b[31m <control@example.org>") },
      { author: Buffer.from("J\xfcrgen <j\xfcrgen@example.org>", "latin1"), subject: "Grüße" },
      { author: "Prototype <__proto__>" },
      { author: "Smörgås 🏆 <🏆@example.org>", subject: "x".repeat(20_000) },
    ])
    const { complaint, exitCode, output } = await run(repository)
    expect(complaint).toBe("")
    expect(output).toContain('Skipped 2 commits of "": a user\'s id must not be empty.')
    expect(output).toContain(
      `Skipped 1 commits of ${JSON.stringify(long)}: a user's id must have at most 128 characters.`,
    )
    expect(output).toContain(
      'Skipped 1 commits of "bell\\u0007@example.org": a user\'s id must not contain control characters.',
    )
    expect(rowsOf(output).map(([, author]) => author)).toEqual(
      expect.arrayContaining([
        "control@example.org",
        "j\ufffdrgen@example.org",
        "__proto__",
        "🏆@example.org",
      ]),
    )
    expect(output).toContain("OK: the commits of 4 authors are those")
    expect(exitCode).toBe(0)
  })

  it("sends nothing from a repository without commits", async () => {
    makeRepository(repository, [])
    const { complaint, exitCode, output } = await run(repository)
    expect({ complaint, exitCode, output }).toEqual({
      complaint: "",
      exitCode: 0,
      output: `${repository} has no commits to send.\n`,
    })
  })

  it("reports a folder that is no repository", async () => {
    for (const [place, words] of [
      [temporary, "not a git repository"],
      [path.join(folder, "nowhere"), "No such file or directory"],
    ] as const) {
      const { complaint, exitCode, output } = await run(place)
      expect(complaint).toContain(`git could not read ${JSON.stringify(place)}: `)
      expect(complaint).toContain(words)
      expect(output).toBe("")
      expect(exitCode).toBe(1)
    }
  })

  it("removes its server and its data when it is stopped", async () => {
    makeRepository(repository, [{ author: ada }])
    const watcher = fs.watch(temporary, { recursive: true })
    const serverIsUp = new Promise<string>((resolve) => {
      watcher.on("change", (_, file) => {
        if (path.basename(String(file)) === "server.json") resolve(path.join(temporary, `${file}`))
      })
    })
    const demo = startIn(folder, repository)
    const { pid } = JSON.parse(fs.readFileSync(await serverIsUp, "utf8")) as { pid: number }
    watcher.close()
    demo.process.kill("SIGTERM")
    const { complaint, exitCode } = await demo.ended
    expect(complaint).toBe("laurel: Stopped by SIGTERM.\n")
    expect(exitCode).toBe(1)
    expect(fs.readdirSync(temporary)).toEqual([])
    expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  })
})
