/** deploy/compose.yaml, as Debian's docker-compose reads it: nothing is started. */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { root } from "../e2e/program.ts"
import { execute, programOf } from "./tools.ts"

const compose = programOf("docker-compose", "docker-compose")
const variables = { LAUREL_DOMAIN: "laurel.example.com", GRAFANA_PASSWORD: "secret" }

/** Debian 12's docker-compose does not know the name of a project. */
const configured = (env: NodeJS.ProcessEnv): Promise<string> =>
  execute("sh", ["-ec", `grep -v '^name:' compose.yaml | ${compose} --file - config`], {
    cwd: join(root, "deploy"),
    env: { PATH: process.env.PATH, ...env },
  })

test("the file is accepted, and what it mounts is there", async () => {
  const text = await configured(variables)
  const mounted = Array.from(text.matchAll(/- (\/.*?):\/\S+:ro$/gm), ([, source]) => source!)
  expect(mounted.length).toBeGreaterThanOrEqual(5)
  for (const source of mounted) await stat(source)
})

test("only the proxy is published beyond loopback", async () => {
  const text = await configured(variables)
  const services = text.slice(text.indexOf("services:"), text.indexOf("\nvolumes:"))
  const open = services
    .split(/^ {2}(?=\w+:$)/m)
    .slice(1)
    .filter((service) => /published: \d|^ +- \d+:\d+/m.test(service))
    .map((service) => service.slice(0, service.indexOf(":")))
  expect(open).toEqual(["caddy"])
})

test("a missing domain or password is named", async () => {
  await expect(configured({ ...variables, LAUREL_DOMAIN: "" })).rejects.toThrow(/set LAUREL_DOMAIN/)
  const without = configured({ ...variables, GRAFANA_PASSWORD: "" })
  await expect(without).rejects.toThrow(/set GRAFANA_PASSWORD/)
})
