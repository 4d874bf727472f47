/** What a text is as JSON, or what is wrong with it in words that may be logged. */
export type ReadJson =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly mistake: string };

/** How V8 ends a message that knows the place. */
const PLACE = /\(line [0-9]{1,9} column [0-9]{1,9}\)$/;

/**
 * Reads the JSON of a file that a person names or writes. The error of JSON.parse quotes the text, and the text may be
 * a passphrase in the wrong place: of it nothing is kept but line and column, where it knows them.
 */
export function readJson(text: string): ReadJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    const place = PLACE.exec((error as Error).message)?.[0];
    return { ok: false, mistake: place === undefined ? 'it is not JSON' : `it is not JSON ${place}` };
  }
}
