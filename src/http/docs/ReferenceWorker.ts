/**
 * The worker thread that makes the files of the reference. The files are the
 * OpenAPI document and the script of the page: the Scalar reader that Effect ships, cut out of the
 * page that Effect renders, and the script that starts the reader.
 */
import { Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { answerQuestions } from "../../storage/Channel.ts"
import { Api } from "../api/Api.ts"
import { type Document, indexText, pagesOf } from "./Markdown.ts"
import { makeFile, type PublicFile } from "./PublicFile.ts"
import type { ReferenceFiles } from "./ReferenceThread.ts"

/**
 * Starts the reader. The reader writes every parameter into its snippets, unless the parameter has
 * a media type. `leftOut` therefore gives a media type to optional parameters, so that each snippet
 * runs as it stands.
 *
 * Of a reply with several media types the reader puts a choice into a button, which no reader of the
 * screen finds: it gets JSON alone. The description of `format` names the table.
 *
 * The colours have the contrast that WCAG AA demands on the reader's backgrounds. `repairs` corrects
 * markup of the reader that axe reports, as soon as the reader adds or changes it. After its change,
 * an element no longer matches the selector.
 */
const start = `
const leftOut = (parameter) => {
  const { schema, ...rest } = parameter
  const isSent = parameter.required || schema.default !== undefined
  return isSent ? parameter : { ...rest, content: { "text/plain": { schema } } }
}
const show = (content) => Scalar.createApiReference("#reference", {
  content,
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  defaultOpenAllTags: true,
  authentication: { preferredSecurityScheme: "apiKey" },
  customCss: \`
    .markdown td:first-child code { white-space: nowrap; }
    .markdown-summary, .markdown-summary *, .property-detail, .property-detail * { line-height: 1.5 !important; }
    .collapsible-section-trigger button { display: none !important; }
    .light-mode.light-mode {
      --scalar-color-2: #595959;
      --scalar-color-3: #636363;
      --scalar-color-green: #006644;
      --scalar-color-red: #c00000;
      --scalar-color-yellow: #785a00;
      --scalar-color-blue: #0058a3;
      --scalar-color-orange: #a83800;
    }
    .dark-mode.dark-mode { --scalar-color-3: #9a9a9a; --scalar-color-red: #ff6b66; }
  \`,
});
const repairs = [
  ["button[aria-selected]:not([role])", (button) => button.removeAttribute("aria-selected")],
  ["aside[role=navigation]", (aside) => aside.removeAttribute("role")],
  ["button[role=search]", (button) => {
    button.removeAttribute("role");
    button.setAttribute("aria-label", "Search");
  }],
  ["[role=tablist] button:not([role])", (button) => button.setAttribute("role", "tab")],
  ["[role=region]", (region) => region.setAttribute("role", "group")],
  [".endpoints:not([tabindex])", (list) => list.setAttribute("tabindex", "0")],
];
const repairOne = (element) => {
  for (const [selector, change] of repairs) if (element.matches(selector)) change(element);
};
const repairAll = (element) => {
  repairOne(element);
  for (const [selector, change] of repairs) element.querySelectorAll(selector).forEach(change);
};
new MutationObserver((changes) => {
  for (const { addedNodes, target, type } of changes) {
    if (type === "attributes") repairOne(target);
    else for (const node of addedNodes) if (node instanceof Element) repairAll(node);
  }
}).observe(document.body, {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ["aria-selected", "role"],
});
fetch("/openapi.json").then((reply) => reply.json()).then((document) => {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    operation.parameters = operation.parameters.map(leftOut);
    const { content } = operation.responses["200"] ?? {};
    if (content?.["application/json"]) delete content["text/csv"];
  }
  show(document);
});
`

/** Cuts the reader's script out of the page that Effect renders, and adds `start`. */
const loadScript = async (): Promise<PublicFile> => {
  const { dispose, handler } = HttpRouter.toWebHandler(
    HttpApiScalar.layer(Api, { path: "/docs" }).pipe(Layer.provide(HttpServer.layerServices)),
    { disableLogger: true },
  )
  try {
    const response = await handler(new Request("http://localhost/docs"))
    const html = await response.text()
    const begin = html.indexOf("<script>") + "<script>".length
    const text = html.slice(begin, html.indexOf("</script>", begin)) + start
    return await makeFile(text, {
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "public, max-age=31536000, immutable",
    })
  } finally {
    await dispose()
  }
}

const document = OpenApi.fromApi(Api)

const loadDocument = (): Promise<PublicFile> =>
  makeFile(JSON.stringify(document), {
    contentType: "application/json",
    cacheControl: "no-cache",
  })

const loadText = (text: string, kind: "markdown" | "plain"): Promise<PublicFile> =>
  makeFile(text, { contentType: `text/${kind}; charset=utf-8`, cacheControl: "no-cache" })

const loadPages = async (): Promise<Pick<ReferenceFiles, "index" | "pages">> => {
  const pages = pagesOf(document as unknown as Document)
  const files = pages.map(
    async ({ name, text }) => [name, await loadText(text, "markdown")] as const,
  )
  return {
    index: await loadText(indexText(document as unknown as Document, pages), "plain"),
    pages: Object.fromEntries(await Promise.all(files)),
  }
}

answerQuestions<"files", ReferenceFiles>(async () => ({
  document: await loadDocument(),
  script: await loadScript(),
  ...(await loadPages()),
}))
