/**
 * The style sheet and the scripts of the pages. Scripts are written in TypeScript; their types are
 * stripped once, when the dashboard starts. Each address has a hash of the file's content, so
 * browsers keep the file for good.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import path from "node:path"
import { assetReply, type Reply } from "./Replies.ts"

const folder = path.join(import.meta.dirname, "../browser")

export class Assets {
  readonly #replies = new Map<string, Reply>()
  readonly #addresses = new Map<string, string>()
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
    for (const file of readdirSync(folder)) {
      if (file.endsWith(".json")) continue
      const text = readFileSync(path.join(folder, file), "utf8")
      if (file.endsWith(".css")) this.#add(file, "text/css; charset=utf-8", text)
      else if (file.endsWith(".svg")) this.#add(file, "image/svg+xml", text)
      else this.#addScript(path.join(folder, file))
    }
  }

  /**
   * Adds a script, and first the scripts that it imports, since their addresses have hashes.
   * Returns its address.
   */
  #addScript(file: string): string {
    const name = `${path.basename(file, ".ts")}.js`
    const known = this.#addresses.get(name)
    if (known !== undefined) return known
    const text = stripped(readFileSync(file, "utf8"))
    const linked = text.replace(
      /"(\.\.?\/[\w./]+\.ts)"/g,
      (_, other) => `"${this.#addScript(path.resolve(path.dirname(file), other))}"`,
    )
    this.#add(name, "text/javascript; charset=utf-8", linked)
    return this.address(name)
  }

  #add(name: string, contentType: string, text: string): void {
    const tag = createHash("sha256").update(text).digest("hex").slice(0, 12)
    const { ext, name: base } = path.parse(name)
    const address = `${this.#prefix}/assets/${base}-${tag}${ext}`
    this.#addresses.set(name, address)
    this.#replies.set(address, assetReply(contentType, Buffer.from(text)))
  }

  /** The address of a file of `browser/`, scripts by their name with `.js`. */
  address(name: string): string {
    return this.#addresses.get(name)!
  }

  /** The file at this path, if there is one. */
  find(requestPath: string): Reply | undefined {
    return this.#replies.get(requestPath)
  }
}

/** Suppresses the warning that the function is experimental: it does not concern the operator. */
const stripped = (text: string): string => {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(text)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The path of the dashboard. */
export const dashboardPrefix = "/dashboard"
