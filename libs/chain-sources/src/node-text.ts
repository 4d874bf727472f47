const LENGTH_MAX = 300;
/** Providers repeat the requested URL, which contains the key; some add links to their plans. */
const URL_GRAMMAR = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/** For errors and logs: at most 300 characters, without URLs, which may contain keys. */
export function boundedText(text: string): string {
  // Cut first, so that a long text is cheap; a URL that is cut is still replaced.
  return text.slice(0, LENGTH_MAX).replace(URL_GRAMMAR, '<url>');
}
