import { BcsCursor } from './bcs-cursor.ts';

/** The used fields of a signed checkpoint summary (crates/sui-types/src/messages_checkpoint.rs). */
export interface SummaryBytes {
  readonly epoch: bigint;
  readonly sequenceNumber: bigint;
  readonly totalTransactions: bigint;
  readonly contentDigest: Buffer;
  readonly previousDigest: Buffer | undefined;
  readonly timestampMs: bigint;
  /** Committee of the next epoch; set in the last checkpoint of an epoch. */
  readonly nextCommittee: readonly { readonly publicKey: Buffer; readonly weight: bigint }[] | undefined;
}

const COMMITMENT_KINDS = 2;
const CONTENTS_V1 = 0;
const CONTENTS_V2 = 1;

/** Undefined if the bytes have an unknown form. */
export function readSummaryBytes(bytes: Uint8Array): SummaryBytes | undefined {
  return known(() => {
    const cursor = new BcsCursor(bytes);
    const [epoch, sequenceNumber, totalTransactions] = [cursor.u64(), cursor.u64(), cursor.u64()];
    const contentDigest = cursor.digest();
    const previousDigest = cursor.option(() => cursor.digest());
    for (let cost = 0; cost < 4; cost += 1) cursor.u64();
    const timestampMs = cursor.u64();
    cursor.vector(() => {
      if (cursor.uleb() >= COMMITMENT_KINDS) throw new RangeError('unknown kind of commitment');
      return cursor.digest();
    });
    const nextCommittee = cursor.option(() =>
      cursor.vector(() => ({ publicKey: cursor.bytes(), weight: cursor.u64() })),
    );
    return {
      epoch,
      sequenceNumber,
      totalTransactions,
      contentDigest,
      previousDigest,
      timestampMs,
      nextCommittee,
    };
  });
}

/** Transaction digests in order. Undefined if the bytes have an unknown form. */
export function readContentsBytes(bytes: Uint8Array): readonly Buffer[] | undefined {
  return known(() => {
    const cursor = new BcsCursor(bytes);
    const version = cursor.uleb();
    const digests = (): Buffer => {
      const transaction = cursor.digest();
      cursor.digest(); // digest of the effects
      return transaction;
    };
    if (version === CONTENTS_V1) return cursor.vector(digests);
    if (version !== CONTENTS_V2) throw new RangeError('unknown version of checkpoint contents');
    return cursor.vector(() => {
      const transaction = digests();
      // Each signature, and the version of the address alias that verified it.
      cursor.vector(() => {
        cursor.bytes();
        return cursor.option(() => cursor.u64());
      });
      return transaction;
    });
  });
}

function known<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
