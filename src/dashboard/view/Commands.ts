/**
 * Texts to copy: secrets, and shell commands that send a request with an API key, by curl,
 * JavaScript and Python.
 */
import { type Html, html } from "./Html.ts"

export interface Command {
  readonly id: string
  readonly label: string
  readonly text: string
}

/**
 * A request of the API. `path` follows `/v1/`. A request with a body is a POST; the body is JSON
 * without single quotes.
 */
export interface ApiRequest {
  readonly path: string
  readonly body?: string
}

export const eventRequest: ApiRequest = {
  path: "events",
  body: `{"userId":"ada","action":"LESSON_DONE"}`,
}
export const boardRequest: ApiRequest = { path: "leaderboard" }

export const curl = (origin: string, key: string, { body, path }: ApiRequest): string => {
  const data = body === undefined ? "" : `-H "Content-Type: application/json" -d '${body}' `
  return `curl -H "Authorization: Bearer ${key}" ${data}${origin}/v1/${path}`
}

const javascript = (origin: string, key: string, { body, path }: ApiRequest): string =>
  body === undefined
    ? `node -e 'fetch("${origin}/v1/${path}", {
  headers: { Authorization: "Bearer ${key}" },
}).then((reply) => reply.json()).then(console.log)'`
    : `node -e 'fetch("${origin}/v1/${path}", {
  method: "POST",
  headers: { Authorization: "Bearer ${key}", "Content-Type": "application/json" },
  body: JSON.stringify(${body}),
}).then((reply) => reply.json()).then(console.log)'`

const python = (origin: string, key: string, { body, path }: ApiRequest): string =>
  body === undefined
    ? `python3 -c 'import urllib.request as http
request = http.Request("${origin}/v1/${path}", headers={"Authorization": "Bearer ${key}"})
print(http.urlopen(request).read().decode())'`
    : `python3 -c 'import json, urllib.request as http
request = http.Request("${origin}/v1/${path}",
  headers={"Authorization": "Bearer ${key}", "Content-Type": "application/json"},
  data=json.dumps(${body}).encode())
print(http.urlopen(request).read().decode())'`

/** Stands for the API key in a shell variable. */
export const keyVariable = "$KEY"

/** The same request in each language. */
export const commandsOf = (
  origin: string,
  key: string,
  request: ApiRequest,
): ReadonlyArray<Command> => {
  // The programs stand in single quotes, in which a shell expands nothing.
  const inProgram = key === keyVariable ? `'"${keyVariable}"'` : key
  return [
    { id: "curl", label: "curl", text: curl(origin, key, request) },
    { id: "javascript", label: "JavaScript", text: javascript(origin, inProgram, request) },
    { id: "python", label: "Python", text: python(origin, inProgram, request) },
  ]
}

const copyable = ({ id, label, text }: Command): Html =>
  html`<pre id="${id}" tabindex="0" role="region" aria-label="${label}">${text}</pre>
<p><button type="button" data-copy="${id}" aria-label="Copy ${label}" hidden>Copy</button></p>`

/** A command below its heading. */
export const commandBox = (command: Command): Html =>
  html`<h3>${command.label}</h3>
${copyable(command)}`

/** Commands as an accordion: one is open at a time, initially the first. */
export const commandTabs = (commands: ReadonlyArray<Command>): ReadonlyArray<Html> =>
  commands.map(
    (command, index) =>
      html`<details name="commands"${index === 0 && html` open`}><summary>${command.label}</summary>
${copyable(command)}</details>`,
  )

/**
 * A secret that is shown once. `what` names it for screen readers, such as "the key"; `id` is
 * unique on the page.
 */
export const secretBox = (id: string, what: string, text: string): Html =>
  html`<code class="secret" id="${id}" tabindex="0">${text}</code>
<p><button type="button" data-copy="${id}" aria-label="Copy ${what}" hidden>Copy</button></p>`
