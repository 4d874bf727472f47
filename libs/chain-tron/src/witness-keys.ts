import { addressOfHex } from './address-codec.ts';
import type { IsKeyOf } from './witness-trail.ts';

// A witness may let another key sign its blocks: its witness permission (java-tron BlockCapsule.validateSignature). No
// block proves which key that is, so it is learned from blocks. A key other than the witness's own counts once sources
// agree on it a second time, a day or more after the first, and no source has shown another signer in between. Until
// then the witness counts as one that did not sign.

export interface WitnessKeyStore {
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** Raise an alarm: the key is not the witness's own and does not count yet. */
export interface NewWitnessKey {
  readonly witness: string;
  readonly signer: string;
  /** The key that counted until now, if it was not the witness's own. */
  readonly before: string | undefined;
  readonly countsFrom: Date;
}

export interface WitnessKeys {
  /** Must be awaited before `isKeyOf`. */
  load(): Promise<void>;
  readonly isKeyOf: IsKeyOf;
  /**
   * One map per source. At least `needed` sources must have answered, and all must agree. A source that shows another
   * key than a pending one removes the pending one.
   */
  note(signersBySource: readonly ReadonlyMap<string, string>[], needed: number): Promise<void>;
  pending(): readonly NewWitnessKey[];
}

/** Time that a key must have signed before it counts, so that operators can look into the alarm. */
const SEEN_FOR_MS = 24 * 60 * 60 * 1_000;

interface Entry {
  readonly key?: string | undefined;
  readonly next?: { readonly key: string; readonly sinceMs: number } | undefined;
}

export function createWitnessKeys({
  store,
  epochMs,
  onNewKey,
}: {
  readonly store: WitnessKeyStore;
  readonly epochMs: () => number;
  readonly onNewKey: (key: NewWitnessKey) => void;
}): WitnessKeys {
  let known: Map<string, Entry> | undefined;
  async function load(): Promise<Map<string, Entry>> {
    known ??= parse(await store.read());
    return known;
  }

  /** Returns the same object if unchanged. */
  function agreed(witnessHex: string, signerHex: string, entry: Entry): Entry {
    const { key, next } = entry;
    if (signerHex === (key ?? witnessHex)) return { key };
    if (next?.key !== signerHex) {
      const started = { key: signerHex, sinceMs: epochMs() };
      if (signerHex !== witnessHex) onNewKey(describe(witnessHex, { key, next: started }));
      return { key, next: started };
    }
    if (next.sinceMs + SEEN_FOR_MS > epochMs()) return entry;
    return { key: signerHex === witnessHex ? undefined : signerHex };
  }

  return {
    load: async () => void (await load()),
    isKeyOf: (witnessHex, signerHex) => signerHex === witnessHex || signerHex === known?.get(witnessHex)?.key,
    async note(signersBySource, needed) {
      const entries = await load();
      const before = textOf(entries);
      for (const witnessHex of new Set(signersBySource.flatMap((signers) => [...signers.keys()]))) {
        const entry = entries.get(witnessHex) ?? {};
        const signers = signersBySource.map((one) => one.get(witnessHex));
        const [signer] = signers;
        if (
          signer !== undefined &&
          signersBySource.length >= needed &&
          signers.every((one) => one === signer)
        )
          entries.set(witnessHex, agreed(witnessHex, signer, entry));
        else if (signers.some((one) => one !== undefined && one !== entry.next?.key))
          entries.set(witnessHex, { key: entry.key });
      }
      const after = textOf(entries);
      if (after !== before) await store.write(after);
    },
    pending: () =>
      [...(known ?? [])].flatMap(([witnessHex, { key, next }]) =>
        next === undefined || next.key === witnessHex ? [] : [describe(witnessHex, { key, next })],
      ),
  };
}

function textOf(entries: ReadonlyMap<string, Entry>): string {
  return JSON.stringify(
    Object.fromEntries([...entries].filter(([, { key, next }]) => key !== undefined || next !== undefined)),
  );
}

function describe(
  witnessHex: string,
  { key, next }: { readonly key: string | undefined; readonly next: NonNullable<Entry['next']> },
): NewWitnessKey {
  return {
    witness: shown(witnessHex),
    signer: shown(next.key),
    before: key === undefined ? undefined : shown(key),
    countsFrom: new Date(next.sinceMs + SEEN_FOR_MS),
  };
}

function shown(addressHex: string): string {
  return addressOfHex(addressHex) ?? addressHex;
}

export function createMemoryStore(): WitnessKeyStore {
  let text: string | undefined;
  return {
    read: () => Promise.resolve(text),
    write: (next) => {
      text = next;
      return Promise.resolve();
    },
  };
}

/** Ignores a malformed text; its keys are learned again. */
function parse(text: string | undefined): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [witness, value] of Object.entries(objectOf(text))) {
    const { key, next } = value as { key?: unknown; next?: { key?: unknown; sinceMs?: unknown } };
    entries.set(witness, {
      ...(typeof key === 'string' && { key }),
      ...(typeof next?.key === 'string' &&
        typeof next.sinceMs === 'number' && { next: { key: next.key, sinceMs: next.sinceMs } }),
    });
  }
  return entries;
}

function objectOf(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    const isFilled = typeof value === 'object' && value !== null;
    return isFilled && Object.values(value).every((one) => typeof one === 'object' && one !== null)
      ? value
      : {};
  } catch {
    return {};
  }
}
