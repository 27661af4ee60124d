/** Receivers that verify messages: short programs to copy, which run as they stand. */
import { readFileSync } from "node:fs"
import path from "node:path"
import { limits } from "../../../Limits.ts"
import { commandBox } from "../../view/Commands.ts"
import { type Html, html } from "../../view/Html.ts"

const programOf = (file: string): string =>
  readFileSync(path.join(import.meta.dirname, file), "utf8")

const receivers = [
  ["JavaScript, with the package standardwebhooks", "receiver-js", programOf("receiver.mjs")],
  ["Python, with its standard library", "receiver-py", programOf("receiver.py")],
] as const

export const verificationSection = (): Html =>
  html`<details><summary>Verify messages in your receiver</summary>
<p>Messages follow <a href="https://www.standardwebhooks.com" rel="noreferrer">Standard Webhooks</a>: verify each one before you use it, and answer with a 2xx within ${limits.webhookTimeoutMs / 1_000} seconds.</p>
${receivers.map(([label, id, text]) => commandBox({ id, label, text }))}</details>`
