/** deploy/alerts.yml against the metrics of this commit. promtool runs the alerts themselves (`npm run test:deploy`). */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { catalogue } from "../../src/metrics/Catalogue.ts"
import { root } from "../e2e/program.ts"

const textOf = (file: string): string => readFileSync(join(root, file), "utf8")

const namesIn = (text: string, pattern: RegExp): ReadonlySet<string> =>
  new Set(Array.from(text.matchAll(pattern), ([, name]) => name!))

test("alerts ask only for metrics that exist", () => {
  const asked = namesIn(textOf("deploy/alerts.yml"), /\b((?:laurel|process|nodejs)_[a-z_]+)\b/g)
  const known = new Set(Object.keys(catalogue))
  const series = [...asked].map((name) => name.replace(/_bucket$/, ""))
  expect(series.length).toBeGreaterThan(10)
  expect(series.filter((name) => !known.has(name))).toEqual([])
})

test("each alert has a unit test", () => {
  const alerts = namesIn(textOf("deploy/alerts.yml"), /- alert: (\w+)/g)
  const tested = namesIn(textOf("test/deploy/alerts.yml"), / {2}- name: (Laurel\w+)/g)
  expect([...alerts].toSorted()).toEqual([...tested].toSorted())
})
