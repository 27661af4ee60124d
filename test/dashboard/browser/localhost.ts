/** The server's address as a browser should ask for it. */
export const localhostOf = (url: string): string => url.replace("//127.0.0.1:", "//localhost:")
