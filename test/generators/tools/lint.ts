/** Prints what the linters say of the document that is named as argument: an object from each rule to the places. */
import { readFile } from "node:fs/promises"
import { createConfig, lintFromString } from "@redocly/openapi-core"
import spectralCore, { type RulesetDefinition } from "@stoplight/spectral-core"
import spectralRulesets from "@stoplight/spectral-rulesets"

const source = await readFile(process.argv[2]!, "utf8")

const findings: Record<string, Array<string>> = {}
const report = (rule: string, place: string, message: string): void => {
  findings[rule] ??= []
  findings[rule].push(`${place} ${message}`)
}

const config = await createConfig({ extends: ["recommended"] })
const absoluteRef = "openapi.json"
for (const { location, message, ruleId } of await lintFromString({ source, absoluteRef, config })) {
  report(`redocly ${ruleId}`, location[0]?.pointer ?? "", message)
}

const spectral = new spectralCore.Spectral()
spectral.setRuleset({ extends: [[spectralRulesets.oas as RulesetDefinition, "recommended"]] })
for (const { code, message, path } of await spectral.run(JSON.parse(source))) {
  report(`spectral ${code}`, path.join("/"), message)
}

process.stdout.write(JSON.stringify(findings))
