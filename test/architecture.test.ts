/** The structure of `src/` and `bench/`: dependencies point one way, functions stay short. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { parseSync, Visitor } from "rolldown/utils"
import { describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")
const source = join(root, "src")

/** What git tracks, and what it would add: neither build products nor deleted files. */
const tracked = execFileSync(
  "git",
  ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "src", "bench"],
  { cwd: root, encoding: "utf8", maxBuffer: 64 * 2 ** 20 },
)
  .split("\0")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join(root, file))
  .filter(existsSync)

/** The tools that build the client's package: npm scripts run them, nothing loads them. */
const isTool = (file: string): boolean => file.startsWith(join(source, "client/build/"))

const filesUnder = (folder: string): ReadonlyArray<string> =>
  tracked.filter((file) => file.startsWith(`${folder}/`) && !isTool(file))

const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/^(?:import|export)\s[\w*{},\s]*?"([^"]+)"/gm)].map(
    ([, target]) => target!,
  )

/** The imports of a file when it runs: types are gone then. */
const loadedBy = (file: string): ReadonlyArray<string> =>
  [
    ...readFileSync(file, "utf8").matchAll(/^(?:import|export)\s(?!type\s)[\w*{},\s]*?"([^"]+)"/gm),
  ].map(([, target]) => target!)

/** The files of Laurel that are loaded when `file` is, itself among them. */
const loadedWith = (file: string, found = new Set<string>()): ReadonlyArray<string> => {
  if (found.has(file)) return []
  found.add(file)
  for (const target of loadedBy(file)) {
    if (target.startsWith(".") && target.endsWith(".ts")) {
      loadedWith(resolve(dirname(file), target), found)
    }
  }
  return [...found]
}

/** From the ground up: a layer may import itself and the layers before it. */
const layers = [
  "client",
  "domain",
  "metrics",
  "storage",
  "engine",
  "webhooks",
  "accounts",
  "http",
  "cluster",
  "dashboard",
  "config",
  "cli",
]
/** The order inside a layer, also from the ground up; "" stands for the files that lie directly in it. */
const innerLayers: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: ["board", "values", "accounts", "project", "user", "record", "decide", "message"],
  storage: ["", "disk", "journal", "lmdb", "archive", "bucket", "durable", "postgres"],
  engine: [
    "metrics",
    "records",
    "users",
    "erasure",
    "dedupe",
    "boards",
    "commit",
    "time",
    "actor",
    "state",
    "snapshot",
    "recovery",
    "read",
    "badges",
    "payouts",
    "",
    "archive/jobs",
    "archive/check",
    "archive/make",
    "archive/restore",
    "archive/bucket",
    "archive/exports",
    "archive",
  ],
  accounts: ["", "passkeys", "people", "audit"],
  webhooks: ["send", "store", "endpoint", "outbox", ""],
  http: [
    "",
    "api/examples",
    "api",
    "body",
    "request",
    "stream",
    "contract",
    "pages",
    "docs",
    "handlers",
    "pipeline",
    "server",
    "admin",
  ],
  cluster: [""],
  dashboard: [
    "browser",
    "view",
    "request",
    "pages/definitions",
    "pages/mechanics",
    "pages/settings",
    "pages/team",
    "pages/teams",
    "pages/users",
    "pages/webhooks",
    "pages",
    "",
  ],
  cli: ["output", "process", "demo", "mcp", "sync", "import", "commands", ""],
}
/** Files that every layer may import, from the ground up too: limits of subjects come first. */
const limitFiles = tracked
  .map((file) => relative(source, file))
  .filter((file) => /^[a-z]\w*Limits\.ts$/.test(file))
const shared = ["Build.ts", ...limitFiles, "Limits.ts"]

/** The function bodies of a file that have more than 70 lines. */
const longBodies = (
  file: string,
): ReadonlyArray<{ readonly at: number; readonly lines: number }> => {
  const text = readFileSync(file, "utf8")
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length
  const found: Array<{ at: number; lines: number }> = []
  const measure = (node: {
    readonly start: number
    readonly body: { readonly start: number; readonly end: number } | null
  }): void => {
    if (node.body === null) return
    const lines = lineAt(node.body.end) - lineAt(node.body.start) - 1
    if (lines > 70) found.push({ at: lineAt(node.start), lines })
  }
  new Visitor({
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
  }).visit(parseSync(file, text).program)
  return found
}

const layerOf = (file: string): string => relative(source, file).split("/")[0]!

const rankOf = (layer: string): number => {
  if (shared.includes(layer)) return shared.indexOf(layer) - shared.length
  return layer === "main.ts" ? layers.length : layers.indexOf(layer)
}

describe("src/", () => {
  const files = filesUnder(source)

  it("has only the known layers", () => {
    const unknown = files.filter(
      (file) => rankOf(layerOf(file)) === -1 && !shared.includes(layerOf(file)),
    )
    expect(unknown).toEqual([])
  })

  it("imports one way: client, domain, metrics, storage, engine, webhooks and accounts, http, cluster, dashboard, config, cli, main", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith(".") && target.endsWith(".ts"))
        .map((target) => resolve(dirname(file), target))
        .filter((target) => {
          const [from, to] = [layerOf(file), layerOf(target)]
          const sideways = from === "accounts" && to === "webhooks"
          return from !== to && (sideways || rankOf(to) >= rankOf(from))
        })
        .map((target) => `${relative(source, file)} imports ${relative(source, target)}`),
    )
    expect(wrong).toEqual([])
  })

  it.each(Object.entries(innerLayers))("imports one way inside %s/", (layer, order) => {
    const folder = join(source, layer)
    const rank = (file: string) => order.indexOf(relative(folder, dirname(file)))
    const wrong = filesUnder(folder).flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith("."))
        .map((target) => resolve(dirname(file), target))
        .filter((target) => target.startsWith(`${folder}/`) && rank(target) > rank(file))
        .map((target) => `${relative(source, file)} imports ${relative(source, target)}`),
    )
    expect(filesUnder(folder).filter((file) => rank(file) === -1)).toEqual([])
    expect(wrong).toEqual([])
  })

  it.each(["src", "bench"])("has no circle of imports in %s/, types included", (top) => {
    const folder = join(root, top)
    const [open, done, circles] = [new Set<string>(), new Set<string>(), [] as string[]]
    const visit = (file: string, path: ReadonlyArray<string>): void => {
      const name = relative(folder, file)
      if (open.has(file)) circles.push([...path.slice(path.indexOf(name)), name].join(" → "))
      if (open.has(file) || done.has(file) || !file.endsWith(".ts")) return
      open.add(file)
      for (const target of importsOf(file).map((target) => resolve(dirname(file), target))) {
        if (target.startsWith(`${folder}/`)) visit(target, [...path, name])
      }
      open.delete(file)
      done.add(file)
    }
    for (const file of filesUnder(folder)) visit(file, [])
    expect(circles).toEqual([])
  })

  it("keeps the contract apart: http/api imports only itself, the domain, Effect, limits and version", () => {
    const wrong = filesUnder(join(source, "http/api")).flatMap((file) =>
      importsOf(file)
        .filter(
          (target) => !/^(\.\/|\.\.\/\.\.\/(domain\/|(Limits|Build)\.ts$)|effect)/.test(target),
        )
        .map((target) => `${relative(source, file)} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it("keeps the client apart: it imports only itself", () => {
    const folder = join(source, "client")
    const wrong = filesUnder(folder).flatMap((file) =>
      importsOf(file)
        .filter((target) => !resolve(dirname(file), target).startsWith(`${folder}/`))
        .map((target) => `${relative(source, file)} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it("keeps the domain pure: of Effect only data modules, of Node nothing", () => {
    const wrong = filesUnder(join(source, "domain")).flatMap((file) => {
      const text = readFileSync(file, "utf8")
      const named = /import \{([^}]*)\} from "effect"/.exec(text)?.[1] ?? ""
      const names = named.split(",").map((name) => name.replace("type ", "").trim())
      const impure = names.filter(
        (name) => name !== "" && !["Result", "Schema", "Option"].includes(name),
      )
      const outside = importsOf(file).filter((target) => !/^(\.|effect$)/.test(target))
      return [...impure, ...outside].map((name) => `${relative(source, file)} imports ${name}`)
    })
    expect(wrong).toEqual([])
  })

  it("imports lmdb in two files, and has one reader of the environment", () => {
    const importers = files.filter((file) => importsOf(file).includes("lmdb"))
    expect(importers.map((file) => relative(source, file))).toEqual([
      "storage/lmdb/OpeningLock.ts",
      "storage/lmdb/environment.ts",
    ])
    // The demo hands its environment on to the processes that it starts, and so does the program with one setting.
    const readers = files
      .filter((file) => readFileSync(file, "utf8").includes("process.env"))
      .map((file) => relative(source, file))
      .filter((file) => !file.startsWith("cli/demo/") && file !== "main.ts")
    expect(readers).toEqual(["config/Config.ts"])
  })

  it("loads no more than a start needs: Node's http without fetch, and undici in its thread alone", () => {
    const importers = files.filter((file) =>
      /^import (?!type ).*"node:https?"/m.test(readFileSync(file, "utf8")),
    )
    expect(importers).toEqual([])
    const loaded = loadedWith(join(source, "cli/process/Server.ts"))
    const undici = loaded.filter((file) => loadedBy(file).includes("undici"))
    expect(undici).toEqual([])
    expect(loaded).toContain(join(source, "webhooks/send/SenderThread.ts"))
    // The dashboard is imported where the settings want one.
    const layers = loaded.map((file) => relative(source, file))
    expect(layers.filter((file) => /^(dashboard|accounts\/people)\//.test(file))).toEqual([])
  })

  it("loads nothing of PostgreSQL unless a cluster is set", () => {
    const importers = files.filter((file) => importsOf(file).includes("pg"))
    expect(importers.map((file) => relative(source, file))).toEqual([
      "storage/postgres/PgConnection.ts",
      "storage/postgres/ServerCheck.ts",
    ])
    const placing = files.filter((file) =>
      importsOf(file).some((target) => target.startsWith("effect/cluster")),
    )
    expect(placing.map((file) => relative(source, file))).toEqual(["cluster/Placement.ts"])
    for (const start of ["main.ts", "cli/process/Server.ts", "cli/process/OpenEngine.ts"]) {
      const loaded = loadedWith(join(source, start)).map((file) => relative(source, file))
      expect(loaded.filter((file) => /^(cluster|storage\/postgres)\//.test(file))).toEqual([])
    }
    expect(loadedWith(join(source, "storage/postgres/ClusterStorage.ts"))).toContain(
      join(source, "storage/postgres/PgConnection.ts"),
    )
    expect(loadedWith(join(source, "cli/process/ClusterServer.ts"))).toContain(
      join(source, "cluster/Placement.ts"),
    )
  })

  it("loads the client of a bucket where a bucket is opened, and nothing of it in a server without one", () => {
    const client = "@bradenmacdonald/s3-lite-client"
    const naming = files.filter((file) => readFileSync(file, "utf8").includes(`"${client}"`))
    expect(naming.map((file) => relative(source, file))).toEqual(["storage/bucket/Bucket.ts"])
    expect(loadedBy(naming[0]!)).not.toContain(client)
    for (const start of ["main.ts", "cli/process/Server.ts", "cli/process/OpenServices.ts"]) {
      const loaded = loadedWith(join(source, start)).map((file) => relative(source, file))
      expect(loaded.filter((file) => /bucket\/|Shipments|ShipJob/.test(file))).toEqual([])
    }
    expect(loadedWith(join(source, "cli/process/OpenShipments.ts"))).toContain(
      join(source, "engine/archive/bucket/Shipments.ts"),
    )
  })

  it("loads nothing but Node and LMDB for the scan of a database", () => {
    const loaded = loadedWith(join(source, "storage/lmdb/scanProcess.ts"))
    const outside = loaded.flatMap(loadedBy).filter((target) => !/^(\.|node:|lmdb$)/.test(target))
    expect(outside).toEqual([])
    expect(loaded).toContain(join(source, "storage/lmdb/scan.ts"))
  })

  it("reads the machine's clock where nothing is dated or timed by it: records have a clock of their own", () => {
    const readers = files.filter((file) =>
      /\bDate\.now\b|\bcurrentTimeMillis|new Date\(\)/.test(readFileSync(file, "utf8")),
    )
    const outside = readers
      .map((file) => relative(source, file))
      // The client runs on other machines.
      .filter((file) => !/^(cli|client)\//.test(file))
    expect(outside.toSorted()).toEqual([
      // Ages of objects, which the clock of the bucket's server dates.
      "engine/archive/bucket/ShipJob.ts",
      "engine/time/Clock.ts",
      // The name of a file for people, and its age.
      "storage/journal/JournalRecovery.ts",
      // Ages of files, which the machine's clock dates.
      "storage/postgres/Leftovers.ts",
      // Signatures, which receivers hold against their own clocks.
      "webhooks/DispatcherLive.ts",
      "webhooks/send/Signature.ts",
    ])
  })

  it("has no file longer than 600 lines", () => {
    const long = files
      .map((file) => ({ file, lines: readFileSync(file, "utf8").split("\n").length - 1 }))
      .filter(({ lines }) => lines > 600)
      .map(({ file, lines }) => `${relative(source, file)}: ${lines}`)
    expect(long).toEqual([])
  })

  it("has no function body longer than 70 lines", () => {
    const long = files.flatMap((file) =>
      longBodies(file).map(({ at, lines }) => `${relative(source, file)}:${at}: ${lines}`),
    )
    expect(long).toEqual([])
  })

  it("never runs a mailbox with Effect.forever, which yields to the event loop each time", () => {
    const forever = filesUnder(join(source, "engine")).filter((file) =>
      readFileSync(file, "utf8").includes("Effect.forever"),
    )
    expect(forever).toEqual([])
  })
})
