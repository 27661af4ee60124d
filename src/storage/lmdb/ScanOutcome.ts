/** The output of a scan process and the meaning of its exit. Does not load Effect. */
import { fileURLToPath } from "node:url"
import { keyName } from "../SealedValue.ts"
import { dataFile } from "./environment.ts"
import type { Scanned, ScanOptions, ScanPosition } from "./scan.ts"

/** Each message is a line of JSON. */
export type FromScan =
  | { readonly at: ScanPosition }
  | { readonly scanned: Scanned }
  /** The damage, as a sentence. */
  | { readonly fault: string }
  /** The error of LMDB at the position of the last `at`. */
  | { readonly thrown: string }
  /** The error of the operating system. */
  | { readonly failed: string }

/**
 * `fault`: the damage, as a sentence. `failed`: the scan could not run, so the state of the
 * database is unknown.
 */
export type ScanOutcome = Scanned | { readonly fault: string } | { readonly failed: string }

export interface ScanArguments extends Pick<ScanOptions, "whole"> {
  /** Existing environments. */
  readonly folders: ReadonlyArray<string>
}

/** The arguments for Node to run scans one after another. */
export const scanArguments = (options: ScanArguments): ReadonlyArray<string> => [
  fileURLToPath(new URL("scanProcess.ts", import.meta.url)),
  JSON.stringify(options),
]

/** Signals that can end a process when it reads a damaged or missing page. */
const signalsOfDamage = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTRAP"]

/** Follows a scan of `folder`. */
export class ScanListener {
  readonly #folder: string
  #at: ScanPosition = { table: "", done: 0, total: 0 }
  #said: ScanOutcome | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Whether the outcome is known: further lines are about another folder. */
  get isOver(): boolean {
    return this.#said !== undefined
  }

  /** Takes a message. Returns the position if the message has one. */
  hear(message: FromScan): ScanPosition | undefined {
    if ("at" in message) {
      this.#at = message.at
      return message.at
    }
    if ("scanned" in message) this.#said = message.scanned
    else if ("fault" in message) this.#said = this.#damaged(message.fault)
    else if ("thrown" in message) {
      this.#said = this.#damaged(`${this.#reading()} failed: ${message.thrown}`)
    } else this.#said = message
    return undefined
  }

  /** The outcome after the process has ended. */
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
