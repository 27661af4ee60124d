/** The server's address under `localhost`, where passkeys work. */
export const localhostOf = (url: string): string => url.replace("//127.0.0.1:", "//localhost:")
