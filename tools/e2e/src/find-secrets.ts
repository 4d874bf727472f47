export interface Secret {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A text that must not contain a secret. */
export interface Place {
  readonly name: string;
  readonly text: string;
}

/** Shorter texts match by chance. */
const BYTES_MIN = 8;

/**
 * Finds secrets in plain text, hex (either case), base64 (either alphabet), JSON and URL encoding. Returns one line per
 * find, without the secret. Pure. Throws RangeError for a secret that is too short.
 */
export function findSecrets(places: readonly Place[], secrets: readonly Secret[]): string[] {
  const wanted = secrets.map(({ name, bytes }) => {
    if (bytes.length < BYTES_MIN) throw new RangeError(`${name} is too short to search for`);
    return { name, forms: formsOf(Buffer.from(bytes)) };
  });
  return places.flatMap((place) => {
    const lower = place.text.toLowerCase();
    return wanted.flatMap(({ name, forms }) => {
      const found = forms.some(({ text, isHex }) => (isHex ? lower : place.text).includes(text));
      return found ? [`${place.name} has ${name}`] : [];
    });
  });
}

/** Returns each row of `length` consecutive words as a secret, so that a partly leaked mnemonic is found. */
export function rowsOfWords(words: readonly string[], length = 3): readonly Secret[] {
  return Array.from({ length: words.length - length + 1 }, (_, start) => ({
    name: `words ${start + 1} to ${start + length}`,
    bytes: Buffer.from(words.slice(start, start + length).join(' '), 'utf8'),
  }));
}

function formsOf(bytes: Buffer): readonly { readonly text: string; readonly isHex: boolean }[] {
  const plain = bytes.toString('utf8');
  const isText = Buffer.from(plain, 'utf8').equals(bytes);
  return [
    { text: bytes.toString('hex'), isHex: true },
    // Without padding and last digit, which depend on the bytes that follow.
    { text: bytes.toString('base64').replace(/.?=*$/, ''), isHex: false },
    { text: bytes.toString('base64url').replace(/.$/, ''), isHex: false },
    ...(isText
      ? [plain, JSON.stringify(plain).slice(1, -1), encodeURIComponent(plain)].map((text) => ({
          text,
          isHex: false,
        }))
      : []),
  ];
}
