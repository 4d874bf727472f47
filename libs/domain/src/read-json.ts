/** The error text is safe to log. */
export type ReadJson =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly mistake: string };

const PLACE = /\(line [0-9]{1,9} column [0-9]{1,9}\)$/;

/** JSON.parse's error quotes the text, maybe a misplaced passphrase: only the position is kept. */
export function readJson(text: string): ReadJson {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    const place = PLACE.exec((error as Error).message)?.[0];
    return { ok: false, mistake: place === undefined ? 'it is not JSON' : `it is not JSON ${place}` };
  }
}
