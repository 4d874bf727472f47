const LENGTH_MAX = 300;
/** Providers repeat the URL that was asked, with the key in it; some name others, to buy more. */
const URL_GRAMMAR = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/** What a node said, fit for an error and a log: bounded, and without URLs, in which keys stand. */
export function boundedText(text: string): string {
  // Cut first, so that a long text costs nothing; a URL that is cut is still one up to the cut.
  return text.slice(0, LENGTH_MAX).replace(URL_GRAMMAR, '<url>');
}
