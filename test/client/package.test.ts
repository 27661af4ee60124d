/** The package as an app gets it: its size, its types, its modules. */
import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Entry, entries, folder } from "../../src/client/build/entries.ts"
import { buildPackage } from "../../src/client/build/package.ts"
import { gzippedBytes } from "../../src/client/build/size.ts"
import { Server, temporaryFolder } from "../e2e/program.ts"
import { fullKey, startServer, type TestServer } from "../http/fixture.ts"

const run = promisify(execFile)
const tsc = resolve(folder, "../../node_modules/typescript/bin/tsc")
let app: string
let server: TestServer

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), "laurel-app-"))
  const installed = join(app, "node_modules/laurel-client")
  await mkdir(installed, { recursive: true })
  await cp(join(folder, "package.json"), join(installed, "package.json"))
  await buildPackage(installed)
  for (const name of ["react", "react-dom", "scheduler", "@types"]) {
    await symlink(resolve(folder, "../../node_modules", name), join(app, "node_modules", name))
  }
  server = await startServer()
})
afterAll(async () => {
  await server.stop()
  await rm(app, { recursive: true })
})

/** The output of the compiler for files of the app; options may come before them. */
const compiled = async (...files: ReadonlyArray<string>): Promise<string> => {
  await writeFile(join(app, "package.json"), '{ "type": "module" }')
  const types = ["--types", "node", "--typeRoots", resolve(folder, "../../node_modules/@types")]
  const strict = "--strict --noEmit --target esnext --module nodenext --jsx react-jsx".split(" ")
  const options = [...strict, ...types]
  const checked = await run(process.execPath, [tsc, ...options, ...files], { cwd: app }).catch(
    ({ stdout }) => ({ stdout }),
  )
  return checked.stdout
}

describe("The package", () => {
  it.each(Object.entries(entries))("%s has at most %i bytes, gzipped", async (entry, goal) => {
    expect(await gzippedBytes(entry as Entry)).toBeLessThanOrEqual(goal)
  })

  it("is used by the examples of its README, in strict TypeScript", async () => {
    const around = `
      import { createLaurel as create } from "laurel-client"
      const request = new Request("http://localhost/")
      const { signal } = new AbortController()
      const show: (...what: ReadonlyArray<unknown>) => void = () => {}
      const [reload, report] = [show, show]
      void [request, signal, show, reload, report, create]
    `
    const laurel = `const laurel = create({ url: "", key: "" })`
    const files: Array<string> = []
    const text = await readFile(join(folder, "README.md"), "utf8")
    for (const [, kind, block] of text.matchAll(/^```(tsx?)\n([\s\S]*?)^```$/gm)) {
      const client = block!.includes("const laurel =") ? "" : laurel
      files.push(`example-${files.length}.${kind}`)
      await writeFile(join(app, files.at(-1)!), `${around}${client}\n${block}`)
    }
    expect(files.length).toBeGreaterThan(4)
    expect(await compiled(...files)).toBe("")
  })

  it("marks its parts for React as those of the browser, as Next.js asks for", async () => {
    const dist = join(app, "node_modules/laurel-client/dist")
    const first = async (file: string) => (await readFile(join(dist, file), "utf8")).slice(0, 12)
    expect(await first("react.js")).toMatch(/^"use client"/)
    expect(await first("react-elements.js")).toMatch(/^"use client"/)
    expect(await first("index.js")).not.toContain("use client")
  })

  it("defines the elements in a page whose bundler drops what nothing uses", async () => {
    const imports = ["elements", "react-elements"].map(async (entry) => {
      const file = join(app, `uses-${entry}.js`)
      const names = entry === "elements" ? "" : "{ Toast } from "
      const use = entry === "elements" ? "" : "\nconsole.log(Toast)"
      await writeFile(file, `import ${names}"laurel-client/${entry}"${use}`)
      const bundled = await rolldown({ input: file, external: /^react/, logLevel: "silent" })
      const { output } = await bundled.generate({ format: "esm" })
      await bundled.close()
      return output[0].code.includes('"laurel-toast"') && /\.define\(/.test(output[0].code)
    })
    expect(await Promise.all(imports)).toEqual([true, true])
  })

  it("makes the page of the quickstart for Next.js, whose token reads its user alone", async () => {
    const page = await readFile(join(folder, "quickstart.md"), "utf8")
    const files = [...page.matchAll(/`(app\/\S+)`:\n\n```tsx?\n([\s\S]*?)^```$/gm)]
    expect(files.map(([, name]) => name)).toEqual([
      "app/laurel.ts",
      "app/laurel-token/route.ts",
      "app/game.tsx",
      "app/page.tsx",
    ])
    for (const [, name, text] of files) {
      await mkdir(join(app, name!, ".."), { recursive: true })
      await writeFile(join(app, name!), text!)
    }
    // Next.js is not here: outside of it, waiting for a request is nothing.
    await mkdir(join(app, "node_modules/next"))
    await writeFile(
      join(app, "node_modules/next/server.js"),
      "export const connection = async () => {}",
    )
    await writeFile(
      join(app, "node_modules/next/server.d.ts"),
      "export const connection: () => Promise<void>",
    )
    await writeFile(join(app, "node_modules/next/package.json"), '{ "type": "module" }')
    const bundler = ["--module", "esnext", "--moduleResolution", "bundler"]
    expect(await compiled(...bundler, ...files.map(([, name]) => name!))).toBe("")

    const real = await Server.start(await temporaryFolder())
    const key = await real.createKey()
    await real.request(key, "PUT", "/v1/users/ada", {})
    const bundled = await rolldown({
      input: ["app/page.tsx", "app/laurel-token/route.ts"].map((name) => join(app, name)),
      platform: "node",
      external: /^react/,
      logLevel: "silent",
    })
    await bundled.write({ dir: join(app, "app/built"), format: "esm" })
    await bundled.close()
    const program = `
      import { createElement } from "react"
      import { prerender } from "react-dom/static.edge"
      import Page from "./page.js"
      import { GET } from "./route.js"
      const { prelude } = await prerender(createElement(Page))
      const texts = [new Response(prelude), await GET()].map((reply) => reply.text())
      console.log(JSON.stringify(await Promise.all(texts)))
    `
    await writeFile(join(app, "app/built/try.mjs"), program)
    const env = { ...process.env, LAUREL_URL: real.url, LAUREL_KEY: key }
    const { stdout } = await run(process.execPath, [join(app, "app/built/try.mjs")], { env })
    const [html, token] = JSON.parse(stdout)
    expect(html).toContain("Level 1, 0 xp")
    expect(html).toContain('<laurel-leaderboard user="ada" label="Leaderboard"')
    const statuses = ["ada", "grace"].map(
      async (user) => (await real.request(token, "GET", `/v1/users/${user}`)).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 403])
    expect(await real.stop()).toBe(0)
  })

  it("gives publint and Are the Types Wrong no cause for complaint", async () => {
    const installed = join(app, "node_modules/laurel-client")
    await run("npm", ["pack", "--pack-destination", app], { cwd: installed })
    const { version } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"))
    const file = join(app, `laurel-client-${version}.tgz`)
    const tool = (name: string) => resolve(folder, "../../node_modules/.bin", name)
    // ES modules alone: `require` of them needs Node 20.19.
    await run(tool("attw"), [file, "--profile", "esm-only"])
    await run(tool("publint"), [file, "--strict"])
  })

  it("is used by a program in TypeScript, whose mistakes the compiler finds", async () => {
    const program = `
      import { createLaurel, LaurelError } from "laurel-client"
      const [url, key] = process.argv.slice(2) as [string, string]
      const laurel = createLaurel({ url, key })
      const metadata = { score: 93 }
      const { xp } = await laurel.events.track({ userId: "ada", action: "LESSON_DONE", metadata })
      // @ts-expect-error: an action is text
      const wrong = () => laurel.events.track({ userId: "ada", action: 7 })
      // @ts-expect-error: no such member
      const misspelt = () => laurel.events.track({ userId: "ada", action: "A", metdata: {} })
      const code = await laurel.users.get("nobody").catch((error: LaurelError) => error.code)
      // @ts-expect-error: no such code
      if (code === "user_not_fuond") throw wrong() ?? misspelt()
      console.log(JSON.stringify({ earned: xp.earned, code }))
    `
    await writeFile(join(app, "app.ts"), program)
    expect(await compiled("app.ts")).toBe("")
    const args = [join(app, "app.ts"), server.url, fullKey]
    const { stdout } = await run(process.execPath, args)
    expect(JSON.parse(stdout)).toEqual({ earned: 0, code: "user_not_found" })
  })
})
