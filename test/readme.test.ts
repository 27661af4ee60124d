/** README.md and deploy/settings.md are true of settings, scripts and files. */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { describeSettings } from "../src/config/Config.ts"

const root = resolve(import.meta.dirname, "..")
const readme = readFileSync(join(root, "README.md"), "utf8")
const scripts: Record<string, string> = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
).scripts

describe("deploy/settings.md", () => {
  it("lists every setting with its default and its meaning, as --help does", () => {
    const settings = [...describeSettings().matchAll(/^ {2}(LAUREL_\w+)=(.*)\n {6}(.*)$/gm)]
    expect(settings.length).toBeGreaterThan(5)
    const rows = settings.map(([, variable, fallback, meaning]) => {
      const value = fallback === "" ? "none" : `\`${fallback}\``
      return `| \`${variable}\` | ${value} | ${meaning} |`
    })
    const page = readFileSync(join(root, "deploy/settings.md"), "utf8")
    expect(page.split("\n").filter((line) => line.startsWith("| `"))).toEqual(rows)
    for (const [variable] of readme.matchAll(/LAUREL_\w+/g)) {
      expect(settings.map(([, name]) => name)).toContain(variable)
    }
  })
})

describe("README.md", () => {
  it("uses the field's words", () => {
    const pages = [
      "README.md",
      "deploy/settings.md",
      ".github/CONTRIBUTING.md",
      ".github/SECURITY.md",
    ]
    const phrases =
      /\b(anew|(is|are) (told|had)|what comes then|goes on behind|that was had|as it should be|of how many)\b/gi
    const found = pages.flatMap((page) =>
      [...readFileSync(join(root, page), "utf8").matchAll(phrases)].map(
        ([text]) => `${page}: ${text}`,
      ),
    )
    expect(found).toEqual([])
  })

  it("names only scripts and files that exist", () => {
    for (const [, script] of readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)) {
      expect(scripts).toHaveProperty([script!])
    }
    for (const [, target] of readme.matchAll(/\]\((?!https:)([^)#]+)\)/g)) {
      expect(existsSync(join(root, target!)), target).toBe(true)
    }
  })
})
