/** Something that nobody but its owner may read. */
export interface Secret {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Where it might have got to. */
export interface Place {
  readonly name: string;
  readonly text: string;
}

/** So short a text is found by chance. */
const BYTES_MIN = 8;

/**
 * Where secrets stand: as they are, in hex of either case, in base64 of either alphabet, and as JSON or a URL would
 * write them. One line per find, without the secret. Pure. Throws RangeError for a secret too short to look for.
 */
export function findSecrets(places: readonly Place[], secrets: readonly Secret[]): string[] {
  const wanted = secrets.map(({ name, bytes }) => {
    if (bytes.length < BYTES_MIN) throw new RangeError(`${name} is too short to look for`);
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

/** Three words of a mnemonic in a row tell it as well as all of them: each such row is a secret. */
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
    // Padding depends on what follows, and the last digit on it too.
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
