/** README.md and deploy/settings.md are true of settings, scripts and files. */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { OpenApi } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { commandVariables, describeSettings } from "../src/config/Config.ts"
import { describeMessage } from "../src/domain/message/MessageCatalogue.ts"
import { messageKinds } from "../src/domain/message/MessageKind.ts"
import { errorKinds } from "../src/domain/values/Errors.ts"
import { exportFormat } from "../src/engine/archive/exports/ExportLines.ts"
import { Api } from "../src/http/api/Api.ts"
import { guidePages } from "../src/http/docs/Guide.ts"
import { dataFormat } from "../src/storage/format.ts"

const root = resolve(import.meta.dirname, "..")
const readme = readFileSync(join(root, "README.md"), "utf8")
const scripts: Record<string, string> = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
).scripts

describe("deploy/settings.md", () => {
  it("lists every setting with its default and its meaning, as --help does", () => {
    const settings = [...describeSettings().matchAll(/^ {2}([A-Z]+_\w+)=(.*)\n {6}(.*)$/gm)]
    expect(settings.length).toBeGreaterThan(5)
    const rows = settings.map(([, variable, fallback, meaning]) => {
      const value = fallback === "" ? "none" : `\`${fallback}\``
      return `| \`${variable}\` | ${value} | ${meaning} |`
    })
    const page = readFileSync(join(root, "deploy/settings.md"), "utf8")
    expect(page.split("\n").filter((line) => line.startsWith("| `"))).toEqual(rows)
    for (const [variable] of readme.matchAll(/LAUREL_\w+/g)) {
      const names = settings.map(([, name]) => name)
      expect([...names, ...Object.values(commandVariables)]).toContain(variable)
    }
  })
})

describe("Texts that users and operators read", () => {
  it("use the field's words", () => {
    const pages = [
      ...guidePages.map(({ path }) => path),
      "bench/README.md",
      "src/README.md",
      "src/dashboard/README.md",
      ".github/CHANGELOG.md",
      ".github/CONTRIBUTING.md",
      ".github/SECURITY.md",
      ".github/VERSIONS.md",
    ].map((page) => [page, readFileSync(join(root, page), "utf8")] as const)
    const titles = Object.values(errorKinds).map(({ title }) => ["title", title] as const)
    const reference = [
      ["openapi.json", JSON.stringify(OpenApi.fromApi(Api))],
      ["webhook-events", JSON.stringify(messageKinds.map(describeMessage))],
    ] as const
    const phrases =
      /\b(anew|(is|are|was|were) (told|had)|what comes then|goes on behind|that was had|as it should be|of how many|whoever|by what|so that it may|woken by)\b/gi
    const found = [...pages, ...titles, ...reference].flatMap(([place, text]) =>
      [...text.matchAll(phrases)].map(
        ({ index }) => `${place}: ${text.slice(index - 40, index + 40)}`,
      ),
    )
    expect(found).toEqual([])
  })
})

describe("The changelog and VERSIONS.md", () => {
  it("have the numbers of the formats that this version has", () => {
    const changes = readFileSync(join(root, ".github/CHANGELOG.md"), "utf8")
    const versions = readFileSync(join(root, ".github/VERSIONS.md"), "utf8")
    expect(/^- All stored data has one format, (\d+)\./m.exec(changes)?.[1]).toBe(`${dataFormat}`)
    expect(/^- An export has format (\d+):/m.exec(changes)?.[1]).toBe(`${exportFormat}`)
    expect(/^\| the data directory, .*?\| (\d+) \|/m.exec(versions)?.[1]).toBe(`${dataFormat}`)
    expect(/^\| export \| (\d+) \|/m.exec(versions)?.[1]).toBe(`${exportFormat}`)
  })
})

describe("src/README.md", () => {
  const tour = readFileSync(join(root, "src/README.md"), "utf8")

  it("names only files and folders that exist", () => {
    const paths = [...tour.matchAll(/`([\w-]+(?:\/[\w.-]+)+\/?)`/g)].map(([, path]) => path!)
    expect(paths.length).toBeGreaterThan(100)
    const missing = paths.filter(
      (path) => !existsSync(join(root, "src", path)) && !existsSync(join(root, path)),
    )
    expect(missing).toEqual([])
  })

  it.each(["An event", "A start", "A failover"])("goes through %s in six files", (title) => {
    const section = tour.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!
    const steps = [...section.matchAll(/^\d\. `([\w/]+\.ts)`/gm)]
    expect(steps.length).toBe(6)
  })
})

describe("README.md", () => {
  it("names only scripts and files that exist", () => {
    for (const [, script] of readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)) {
      expect(scripts).toHaveProperty([script!])
    }
    for (const [, target] of readme.matchAll(/\]\((?!https:)([^)#]+)\)/g)) {
      expect(existsSync(join(root, target!)), target).toBe(true)
    }
  })
})
