/** What a scan's process says, and what its end means. Loads nothing of Effect. */
import { fileURLToPath } from "node:url"
import { keyName } from "../SealedValue.ts"
import { dataFile } from "./environment.ts"
import type { Sums, TableSum } from "./Sums.ts"
import type { Scanned, ScanOptions, ScanPosition } from "./scan.ts"

type SumRows = ReadonlyArray<readonly [string, TableSum]>

/** A line of JSON each. */
export type FromScan =
  | { readonly at: ScanPosition }
  | {
      readonly scanned: Omit<Scanned, "found" | "stored"> & {
        readonly found: SumRows
        readonly stored: SumRows | null
      }
    }
  /** What is damaged. */
  | { readonly fault: string }
  /** What LMDB threw where `at` says. */
  | { readonly thrown: string }
  /** Why the system let it read nothing. */
  | { readonly failed: string }

/** `fault`: a sentence about the damage. `failed`: why the database could not be read, which says nothing of it. */
export type ScanOutcome = Scanned | { readonly fault: string } | { readonly failed: string }

/** The arguments with which Node runs a scan. */
export const scanArguments = (options: ScanOptions): ReadonlyArray<string> => [
  fileURLToPath(new URL("scanProcess.ts", import.meta.url)),
  JSON.stringify(options),
]

/** The signals by which a process ends that reads a page which is damaged or missing. */
const signalsOfDamage = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTRAP"]

/** Follows a scan of `folder`. */
export class ScanListener {
  readonly #folder: string
  #at: ScanPosition = { table: "", done: 0, total: 0 }
  #said: ScanOutcome | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Takes a line of its output; answers how far it is, where the line says so. */
  hear(line: string): ScanPosition | undefined {
    const message: FromScan = JSON.parse(line)
    if ("at" in message) {
      this.#at = message.at
      return message.at
    }
    if ("scanned" in message) {
      const { found, stored, ...scanned } = message.scanned
      const sums = (rows: SumRows): Sums => new Map(rows)
      this.#said = {
        ...scanned,
        found: sums(found),
        stored: stored === null ? undefined : sums(stored),
      }
    } else if ("fault" in message) this.#said = this.#damaged(message.fault)
    else if ("thrown" in message) {
      this.#said = this.#damaged(`${this.#reading()} failed: ${message.thrown}`)
    } else this.#said = message
    return undefined
  }

  /** What its end means. */
  ended(code: number | null, signal: string | null): ScanOutcome {
    if (this.#said !== undefined) return this.#said
    return signal !== null && signalsOfDamage.includes(signal)
      ? this.#damaged(`${this.#reading()} ended the process that checks it by ${signal}`)
      : { failed: `The process that checks the database ended with ${signal ?? code}` }
  }

  #damaged(words: string): ScanOutcome {
    return { fault: `The database ${dataFile(this.#folder)} is damaged: ${words}` }
  }

  #reading(): string {
    const { after, table } = this.#at
    if (table === "") return "opening it"
    const where = after === undefined ? "" : `, after key ${keyName(Buffer.from(after, "hex"))},`
    return `reading table ${table}${where}`
  }
}
