/** The worker thread that makes the files of the guide. */
import { answerQuestions } from "../../storage/Channel.ts"
import { type GuideFiles, guidePictures, styleAddress } from "./Guide.ts"
import { guideStyle, renderGuide } from "./GuideHtml.ts"
import { makeFile } from "./PublicFile.ts"

const cacheControl = "no-cache"

answerQuestions<"files", GuideFiles>(async () => {
  const contentType = "text/html; charset=utf-8"
  const pages = [...renderGuide()].map(
    async ([address, html]) =>
      [address, await makeFile(html, { cacheControl, contentType })] as const,
  )
  const pictures = guidePictures.map(
    async ({ address, text }) =>
      [address, await makeFile(text, { cacheControl, contentType: "image/svg+xml" })] as const,
  )
  const style = await makeFile(guideStyle, { cacheControl, contentType: "text/css; charset=utf-8" })
  return {
    ...Object.fromEntries(await Promise.all([...pages, ...pictures])),
    [styleAddress]: style,
  }
})
