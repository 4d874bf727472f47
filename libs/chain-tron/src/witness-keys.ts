import { addressOfHex } from './address-codec.ts';
import type { IsKeyOf } from './witness-trail.ts';

/*
 * A witness may let another key sign its blocks: its witness permission (java-tron's BlockCapsule.validateSignature). No block proves
 * which key that is, so it is learned from blocks. A key other than the witness's own counts once it has signed, without another one
 * in between, for a day. Until then the witness counts as one that did not sign.
 */

/** Keeps a text beyond the life of the process. */
export interface WitnessKeyStore {
  /** Undefined before the first write. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/** A witness began to sign with a key that is not its own: an alarm. */
export interface NewWitnessKey {
  readonly witness: string;
  /** Address of the key. */
  readonly signer: string;
  /** The key that counted until now, if it was not the witness's own. */
  readonly before: string | undefined;
  readonly countsFrom: Date;
}

export interface WitnessKeys {
  /** Reads what is stored. To be awaited before `isKeyOf`. */
  load(): Promise<void>;
  readonly isKeyOf: IsKeyOf;
  /** The key that now signs for each of these witnesses. */
  note(signers: ReadonlyMap<string, string>): Promise<void>;
}

/** So long a key must have signed before it counts: operators have the time to look into the alarm. */
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
  const hasCome = ({ sinceMs }: NonNullable<Entry['next']>): boolean => sinceMs + SEEN_FOR_MS <= epochMs();

  async function load(): Promise<Map<string, Entry>> {
    known ??= parse(await store.read());
    return known;
  }

  /** Undefined: unchanged. */
  function changed(witnessHex: string, signerHex: string, entry: Entry): Entry | undefined {
    const { key, next } = entry;
    if (signerHex === witnessHex || signerHex === key) return next === undefined ? undefined : { key };
    if (next?.key === signerHex) return hasCome(next) ? { key: signerHex } : undefined;
    const sinceMs = epochMs();
    onNewKey({
      witness: shown(witnessHex),
      signer: shown(signerHex),
      before: key === undefined ? undefined : shown(key),
      countsFrom: new Date(sinceMs + SEEN_FOR_MS),
    });
    return { key, next: { key: signerHex, sinceMs } };
  }

  return {
    load: async () => void (await load()),
    isKeyOf(witnessHex, signerHex) {
      if (signerHex === witnessHex) return true;
      const { key, next } = known?.get(witnessHex) ?? {};
      return signerHex === key || (next?.key === signerHex && hasCome(next));
    },
    async note(signers) {
      const entries = await load();
      let isChanged = false;
      for (const [witnessHex, signerHex] of signers) {
        const entry = changed(witnessHex, signerHex, entries.get(witnessHex) ?? {});
        if (entry === undefined) continue;
        isChanged = true;
        entries.set(witnessHex, entry);
      }
      if (isChanged) await store.write(JSON.stringify(Object.fromEntries(entries)));
    },
  };
}

function shown(addressHex: string): string {
  return addressOfHex(addressHex) ?? addressHex;
}

/** Of several sources only what all say alike. */
export function agreedSigners(told: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string> {
  const [first, ...others] = told;
  return new Map(
    [...(first ?? [])].filter(([witness, signer]) => others.every((other) => other.get(witness) === signer)),
  );
}

/** For as long as the process lives. */
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

/** A text of another form is forgotten: its keys are learned again. */
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
