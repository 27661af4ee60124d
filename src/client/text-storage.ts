export { type TextItems, textStorage } from "./queue/TextStorage.ts"
