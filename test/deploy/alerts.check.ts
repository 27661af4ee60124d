/** deploy/alerts.yml, as Prometheus reads it. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { root } from "../e2e/program.ts"
import { execute, programOf } from "./tools.ts"

const promtool = programOf("promtool", "prometheus")

test("Prometheus accepts the alerts", async () => {
  const rules = join(root, "deploy/alerts.yml")
  expect(await execute(promtool, ["check", "rules", "--lint-fatal", rules])).toContain("SUCCESS")
})

test("Prometheus accepts the configuration of compose.yaml", async () => {
  const file = join(root, "deploy/prometheus.yml")
  expect(await execute(promtool, ["check", "config", file])).toContain("SUCCESS")
})

test("each alert fires at its fault, and none on a healthy server", async () => {
  const tests = join(root, "test/deploy/alerts.yml")
  expect(await execute(promtool, ["test", "rules", tests])).toContain("SUCCESS")
})
