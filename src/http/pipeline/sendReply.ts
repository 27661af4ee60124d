import { JsonText } from "../body/JsonText.ts"
import type { OperationReply } from "../contract/Operation.ts"
import type { Exchange } from "../request/Exchange.ts"

/** Sends what an operation answers. */
export const sendReply = (
  exchange: Exchange,
  status: number,
  { body, headers: more = [], location, replayed }: OperationReply<unknown>,
): void => {
  const headers = ["Cache-Control", "no-store", ...more]
  if (replayed) headers.push("Idempotency-Replayed", "true")
  if (location !== undefined) headers.push("Location", location)
  if (status === 204) exchange.replyEmpty(204, headers)
  else {
    const json = body instanceof JsonText ? body.text : JSON.stringify(body)
    exchange.reply(status, "application/json", json, headers)
  }
}
