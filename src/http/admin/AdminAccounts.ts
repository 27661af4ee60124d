/**
 * Accounts of the dashboard on the admin server: `GET /admin/accounts` → `{ accounts }` · `POST /admin/accounts/links` → 201
 * and the link's path · `DELETE /admin/accounts/:email` → 204. A server without a dashboard has none of them.
 */
import { Effect } from "effect"
import { type AccountAdmin, LinkRequest } from "../../accounts/AccountAdmin.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import type { Exchange } from "../request/Exchange.ts"
import { percentDecode } from "../request/RequestParts.ts"
import { type Answer, jsonBody, notFound } from "./AdminParts.ts"

const linkRequest = jsonBody<LinkRequest>(LinkRequest)

export const accountRoute = (
  accounts: AccountAdmin["Service"] | undefined,
  exchange: Exchange,
): Answer => {
  if (accounts === undefined) return Effect.fail(noDashboard)
  const { path, request } = exchange
  const name = /^\/admin\/accounts\/([^/]+)$/.exec(path)?.[1]
  switch (`${request.method} ${path}`) {
    case "GET /admin/accounts":
      return Effect.map(accounts.list, (all) => ({ status: 200, body: { accounts: all } }))
    case "POST /admin/accounts/links":
      return Effect.map(Effect.flatMap(linkRequest(exchange), accounts.createLink), (body) => ({
        status: 201,
        body,
      }))
  }
  const email = request.method === "DELETE" && name !== undefined ? percentDecode(name) : undefined
  return email === undefined
    ? Effect.fail(notFound)
    : Effect.as(accounts.remove(email), { status: 204 })
}

const noDashboard = laurelError("not_found", "The server runs with LAUREL_DASHBOARD=off.")
