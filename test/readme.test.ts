/** What README.md says of settings, scripts and files is true. */
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { describe, expect, it } from "vitest"
import { describeSettings } from "../src/Config.ts"

const root = resolve(import.meta.dirname, "..")
const readme = readFileSync(join(root, "README.md"), "utf8")
const scripts: Record<string, string> = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
).scripts

describe("README.md", () => {
  it("lists every setting with its default", () => {
    const settings = [...describeSettings().matchAll(/^ {2}(LAUREL_\w+)=(.*)$/gm)]
    expect(settings.length).toBeGreaterThan(5)
    for (const [, variable, fallback] of settings) {
      const value = fallback === "" ? "none" : `\`${fallback}\``
      expect(readme).toContain(`| \`${variable}\` | ${value} |`)
    }
    for (const [variable] of readme.matchAll(/LAUREL_\w+/g)) {
      expect(settings.map(([, name]) => name)).toContain(variable)
    }
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
