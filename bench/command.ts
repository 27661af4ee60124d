/** The command line of `npm run bench`. */
import { existsSync } from "node:fs"
import path from "node:path"
import { parseArgs } from "node:util"
import type { BenchOptions, Variant } from "./options.ts"

/** Names of benches. */
export interface Names {
  /** Run when the command line names none. */
  readonly all: ReadonlyArray<string>
  /** Benches that `--quick` shortens. */
  readonly short: ReadonlyArray<string>
  /** Benches that can measure a running server. */
  readonly remote: ReadonlyArray<string>
  /** Benches that can compare two servers of Laurel. */
  readonly variants: ReadonlyArray<string>
  /** Run only when the command line names them. */
  readonly onlyByName: ReadonlyArray<string>
}

export interface Command {
  readonly names: ReadonlyArray<string>
  readonly options: BenchOptions
  readonly help: boolean
  /** Renews the tables of the pages from this run. */
  readonly table: boolean
  /** Files. */
  readonly json?: string
  readonly html?: string
  readonly compare?: string
}

/** The command line is wrong. */
export class Refusal extends Error {}

const text = { type: "string" } as const
const optionTypes = {
  quick: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  table: { type: "boolean", default: false },
  url: text,
  key: text,
  connections: text,
  rate: text,
  duration: text,
  minutes: text,
  users: text,
  base: { type: "string", multiple: true, default: [] as Array<string> },
  with: { type: "string", multiple: true, default: [] as Array<string> },
  alone: { type: "boolean", default: false },
  json: text,
  html: text,
  compare: text,
} as const

const parse = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: optionTypes })
  } catch (error) {
    throw new Refusal((error as Error).message)
  }
}

const numberOf = (name: string, given: string | undefined): number | undefined => {
  if (given === undefined) return undefined
  if (!/^[1-9]\d{0,6}$/.test(given)) {
    throw new Refusal(`--${name} needs a whole number from 1 to 9,999,999, not ${given}.`)
  }
  return Number(given)
}

const targetOf = (url?: string, key?: string): BenchOptions["target"] => {
  if (url === undefined && key === undefined) return undefined
  if (url === undefined || key === undefined) throw new Refusal("--url and --key go together.")
  if (!URL.canParse(url) || new URL(url).protocol !== "http:") {
    throw new Refusal(`--url needs an address that begins with http://, not ${url}.`)
  }
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port || 80), key }
}

/** A server of another checkout, which starts as its own benches start it. */
const checkoutOf = (given: string): Variant => {
  const checkout = path.resolve(given)
  if (!existsSync(path.join(checkout, "bench/laurel.ts"))) {
    throw new Refusal(`--base needs the path of a checkout of Laurel, not ${given}.`)
  }
  return { name: `Laurel in ${path.basename(checkout)}`, checkout, settings: {} }
}

/** A server of this checkout with other settings. */
const settingsOf = (given: string): Variant => {
  const settings: Record<string, string> = {}
  for (const part of given.split(",")) {
    const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(part) ?? []
    if (name === undefined) throw new Refusal(`--with needs NAME=VALUE,NAME=VALUE…, not ${given}.`)
    settings[name] = value!
  }
  return { name: `Laurel with ${given}`, settings }
}

const refuseOthers = (
  names: ReadonlyArray<string>,
  able: ReadonlyArray<string>,
  what: string,
): void => {
  const others = names.filter((name) => !able.includes(name))
  if (others.length > 0) throw new Refusal(`${others.join(", ")} ${what}.`)
}

/** Throws `Refusal`. */
export const readCommand = (args: ReadonlyArray<string>, known: Names): Command => {
  const { positionals, values } = parse(args)
  const connections = numberOf("connections", values.connections)
  const rate = numberOf("rate", values.rate)
  const seconds = numberOf("duration", values.duration)
  const minutes = numberOf("minutes", values.minutes)
  const users = numberOf("users", values.users)
  const target = targetOf(values.url, values.key)
  const variants = [...values.base.map(checkoutOf), ...values.with.map(settingsOf)]
  if (variants.length > 0 && target !== undefined) {
    throw new Refusal("--base and --with need servers of the bench: leave out --url.")
  }
  const isNarrow = target !== undefined || variants.length > 0
  const narrow = target !== undefined ? known.remote : known.variants
  const byDefault = isNarrow ? narrow : values.quick ? known.short : known.all
  const names = positionals.length > 0 ? positionals : byDefault
  const every = [...known.all, ...known.onlyByName]
  const unknown = names.filter((name) => !every.includes(name))
  if (unknown.length > 0) throw new Refusal(`No bench is called ${unknown.join(", ")}.`)
  if (target !== undefined) {
    refuseOthers(names, known.remote, "cannot measure a server that runs already")
  } else if (variants.length > 0) {
    refuseOthers(names, known.variants, "cannot compare two servers of Laurel")
  }
  const { alone, compare, help, html, json, table } = values
  if (table && (values.quick || isNarrow || alone || users !== undefined)) {
    throw new Refusal("--table needs a run in full: no --quick, --url, --base, --with, --users.")
  }
  return {
    names,
    options: {
      quick: values.quick,
      ...(target !== undefined && { target }),
      ...(connections !== undefined && { connections }),
      ...(rate !== undefined && { rate }),
      ...(seconds !== undefined && { seconds }),
      ...(minutes !== undefined && { minutes }),
      ...(users !== undefined && { users }),
      ...(variants.length > 0 && { variants }),
      ...(alone && { alone }),
    },
    help,
    table,
    ...(json !== undefined && { json }),
    ...(html !== undefined && { html }),
    ...(compare !== undefined && { compare }),
  }
}
