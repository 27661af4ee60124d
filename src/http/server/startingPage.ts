/**
 * The page of a browser while the server starts: the progress instead of JSON, reloaded every second. It has no link and no
 * style, so it needs nothing that is not there yet.
 */
import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
import type { Exchange } from "../request/Exchange.ts"

const headers = [
  "Content-Security-Policy",
  "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options",
  "nosniff",
  "Cache-Control",
  "no-store",
  "Vary",
  "Accept",
  "Retry-After",
  "1",
]

/** Whether a browser asks for a page, not a program for an operation. */
export const asksForPage = ({ request }: Exchange): boolean =>
  String(request.headers.accept ?? "").includes("text/html")

/** Refuses with a page. One that was asked for reloads itself; a form is sent again by the person. */
export const refuseWithPage = (exchange: Exchange, { code, detail }: LaurelError): void => {
  const isForm = exchange.request.method === "POST"
  const { status, title } = errorKinds[code]
  const advice = isForm
    ? "Nothing was changed. Go back and send the form again in a moment."
    : "This page reloads by itself."
  const escaped = detail.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<h1>${title}</h1>
<p role="status">${escaped}</p>
<p>${advice}</p>
</html>`
  exchange.dropBody()
  const more = isForm ? headers : [...headers, "Refresh", "1"]
  exchange.reply(status, "text/html; charset=utf-8", body, more)
}
