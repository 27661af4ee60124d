/** What a server renders of the app. */
import { createElement } from "react"
import { renderToString } from "react-dom/server"
import { createLaurel } from "../../../src/client/index.ts"
import { useProgress } from "../../../src/client/react.ts"
import { App, type AppProps } from "./app.ts"

const offline = createLaurel({
  url: "http://127.0.0.1:1",
  fetch: () => {
    throw new Error("A server that renders a page must send no request")
  },
})

export const rendered = (props: Omit<AppProps, "client">): string =>
  renderToString(createElement(App, { client: offline, ...props }))

const Lonely = () => createElement("p", null, String(useProgress("ada").isLoading))

/** A component without a provider. */
export const renderedAlone = (): string => renderToString(createElement(Lonely))
