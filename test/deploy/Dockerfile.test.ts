/** deploy/Dockerfile gets every file that its build reads. `image.check.ts` runs its steps. */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { pages } from "../../deploy/package.ts"
import { root } from "../e2e/program.ts"

const read = (file: string) => readFileSync(join(root, file), "utf8")

/** The files and folders that the first stage copies, each with its folder in the image. */
const copied = [...read("deploy/Dockerfile").matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].flatMap(
  ([, sources, to]) => sources!.split(" ").map((source) => ({ source, to: to! })),
)

describe("The Dockerfile", () => {
  it("copies the files that deploy/package.ts reads, to where they are in the checkout", () => {
    const build = ["package.json", "package-lock.json", "deploy/package.ts", ...pages]
    const places = copied.map(({ source, to }) =>
      to.endsWith("/") ? `${to}${source.slice(source.lastIndexOf("/") + 1)}` : to,
    )
    for (const file of [...build, "src"]) expect(places).toContain(`./${file}`)
    for (const { source } of copied) expect(statSync(join(root, source))).toBeDefined()
  })

  it("may read each of them: the context leaves all others out", () => {
    const [everything, ...kept] = read("deploy/Dockerfile.dockerignore").trim().split("\n")
    expect(everything).toBe("*")
    expect(kept.toSorted()).toEqual(copied.map(({ source }) => `!${source}`).toSorted())
  })
})
