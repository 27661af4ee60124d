/** Guides in Markdown: their blocks of commands, and a shell that runs them as a reader does. */
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { Output, root } from "./program.ts"

/** A block of commands, and what the page says that they print. */
export interface Step {
  readonly commands: string
  shown?: { readonly kind: string; readonly text: string }
}

export const stepsOf = async (page: string): Promise<ReadonlyArray<Step>> => {
  const text = await readFile(join(root, page), "utf8")
  const steps: Array<Step> = []
  for (const [, kind, block] of text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (kind === "sh") steps.push({ commands: block! })
    else steps.at(-1)!.shown = { kind: kind!, text: block! }
  }
  return steps
}

/** A shell that runs one block after another, as a reader types them. */
export class Shell {
  readonly #process
  readonly #output: Output
  #blocks = 0

  constructor(env: NodeJS.ProcessEnv) {
    this.#process = spawn("sh", ["-e"], { cwd: root, env, stdio: "pipe", detached: true })
    this.#output = new Output(this.#process.stdout)
    const { pid } = this.#process
    onTestFinished(() => {
      try {
        // With the processes that it left in the background.
        process.kill(-pid!, "SIGKILL")
      } catch {}
    })
  }

  /** Resolves with what the block prints. */
  async run(block: string): Promise<string> {
    const mark = `== end of block ${this.#blocks++} ==`
    const before = this.#output.text.length
    this.#process.stdin.write(`${block}\necho "${mark}"\n`)
    await this.#output.waitFor(new RegExp(mark))
    return this.#output.text.slice(before).replace(`${mark}\n`, "")
  }
}
