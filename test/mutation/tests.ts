/** The tests that look at a module: by the number of imports between them. */
import fs from "node:fs"
import path from "node:path"

const importsOf = (file: string): ReadonlyArray<string> =>
  [...fs.readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+\.ts)"/g)].map(
    ([, target]) => path.join(path.dirname(file), target!),
  )

/** How many imports lie between `file` and each module that it needs. */
const distancesFrom = (file: string, read: (file: string) => ReadonlyArray<string>) => {
  const distances = new Map([[file, 0]])
  for (const [each, distance] of distances) {
    for (const target of read(each)) {
      if (!distances.has(target)) distances.set(target, distance + 1)
    }
  }
  return distances
}

export class Tests {
  readonly #distances = new Map<string, ReadonlyMap<string, number>>()
  readonly #ms: ReadonlyMap<string, number>

  /** `ms`: how long each test file takes. Paths are relative to the working directory. */
  constructor(ms: ReadonlyMap<string, number>) {
    this.#ms = ms
    const known = new Map<string, ReadonlyArray<string>>()
    const read = (file: string): ReadonlyArray<string> => {
      if (!known.has(file)) known.set(file, fs.existsSync(file) ? importsOf(file) : [])
      return known.get(file)!
    }
    for (const test of ms.keys()) this.#distances.set(test, distancesFrom(test, read))
  }

  /** The tests of a module, its own first, then the nearest: `least` of them, and more for up to `budgetMs`. */
  of(module: string, least: number, budgetMs: number): ReadonlyArray<string> {
    const own = module.replace(/^src/, "test").replace(/\.ts$/, ".test.ts")
    const nearest = [...this.#ms]
      .flatMap(([test, ms]) => {
        const distance = this.#distances.get(test)?.get(module)
        return distance === undefined ? [] : [{ test, ms, distance: test === own ? 0 : distance }]
      })
      .sort((one, other) => one.distance - other.distance || one.ms - other.ms)
    const chosen: Array<string> = []
    let spent = 0
    for (const { ms, test } of nearest) {
      if (chosen.length >= least && spent + ms > budgetMs) continue
      chosen.push(test)
      spent += ms
    }
    return chosen
  }
}
