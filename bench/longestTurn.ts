/** The longest turn of a server's event loop. */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

export interface LongestTurn {
  readonly clockMs: number
  readonly processorMs: number
}

const preload = fileURLToPath(new URL("processes/longestTurn.mjs", import.meta.url))

/** Variables of the environment of a server that `longestTurn` asks through `file`. */
export const longestTurnSettings = (file: string) => ({
  NODE_OPTIONS: `--import=${preload}`,
  LONGEST_TURN_FILE: file,
})

/** The longest turn of the server's event loop since the last question, in milliseconds. */
export const longestTurn = async (
  { pid }: { readonly pid: number },
  file: string,
): Promise<LongestTurn> => {
  rmSync(file, { force: true })
  process.kill(pid, "SIGUSR2")
  while (!existsSync(file)) await sleep(5)
  return JSON.parse(readFileSync(file, "utf8"))
}
