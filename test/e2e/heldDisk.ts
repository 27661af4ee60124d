/**
 * Loaded before the program (`--import`), never by it: holds the calls of the disk that the file `HELD_CALL` names, as
 * long as that file is there, and says so on stderr. TimeoutQueue are short, so that a test need not wait for them.
 */
import fs from "node:fs"
import { limits } from "../../src/Limits.ts"

const where = process.env.HELD_CALL!
const pollMs = 20
Object.assign(limits, { commitDeadlineMs: 2_000, runningStepMs: 250 })

type Any = (...args: Array<unknown>) => unknown

const named = (): string | undefined => {
  try {
    return fs.readFileSync(where, "utf8")
  } catch {
    return undefined
  }
}

const calls = fs as unknown as Record<string, Any>
for (const name of ["writev", "statfs"]) {
  const original = calls[name]!
  calls[name] = (...args) => {
    if (named() !== name) return original(...args)
    fs.writeSync(2, `held ${name}\n`)
    const poll = setInterval(() => {
      if (named() === name) return
      clearInterval(poll)
      original(...args)
    }, pollMs)
    return undefined
  }
}
