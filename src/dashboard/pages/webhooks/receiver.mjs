// npm install standardwebhooks
// WEBHOOK_SECRET=whsec_… node receiver.mjs
import { createServer } from "node:http"
import { Webhook } from "standardwebhooks"

const webhook = new Webhook(process.env.WEBHOOK_SECRET)

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    // The bytes as they came: JSON that was parsed and written again has another signature.
    const message = webhook.verify(Buffer.concat(chunks), request.headers)
    // The same message may come twice: remember message.id.
    console.log(message.type, message.data)
    response.writeHead(204).end()
  } catch {
    response.writeHead(401).end()
  }
})
server.listen(process.env.PORT ?? 3000, () => {
  console.log("Listening on port", server.address().port)
})
