import { describe, expect, test } from 'vitest';
import { GrpcTypes } from '@mysten/sui/grpc';
import { isReaderError } from '@opentill/chain/reader-error';
import fc from 'fast-check';
import { decodeCheckpoint } from './decode-checkpoint.ts';
import { checkpointBytesIn, readCheckpointBytes } from './read-checkpoint-bytes.ts';
import type { RawCheckpoint } from './raw-checkpoint.ts';

const USDC = `0x${'a1'.repeat(32)}::usdc::USDC`;
const SUI = `0x${'2'.padStart(64, '0')}::sui::SUI`;
const DIGESTS = [
  'CbkhN6W6Kcw5vueryvknRRRMcrX86SueMkfbYFg6N2uJ',
  '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S',
];
const ADDRESSES = ['a', 'b', 'c', 'd', 'e', '0'].map((digit) => `0x${digit.repeat(64)}`);

/** From a correct node, or from one with missing and malformed fields. */
function checkpointsOf(isCorrect: boolean) {
  const or = <T>(good: fc.Arbitrary<T>, bad: fc.Arbitrary<T>) => (isCorrect ? good : fc.oneof(good, bad));
  const given = <T>(value: fc.Arbitrary<T>) =>
    isCorrect ? value : fc.option(value, { nil: undefined, freq: 12 });
  const digest = or(fc.constantFrom(...DIGESTS), fc.constant('none'));
  const address = or(fc.constantFrom(...ADDRESSES), fc.constantFrom(`0x${'A'.repeat(64)}`, '0x2', ''));
  const uint64 = or(fc.bigInt(0n, 2n ** 50n), fc.bigInt(0n, 2n ** 64n - 1n));
  const coinType = or(
    fc.constantFrom(USDC, SUI, '0x2::sui::SUI', `${USDC}2`, '0x2::a::B<0x2::c::D>'),
    fc.constantFrom('x', ''),
  );
  const amount = or(fc.bigInt(-(10n ** 30n), 10n ** 30n).map(String), fc.constantFrom('', 'x', '1.5'));
  const change = fc.record({ address: given(address), coinType: given(coinType), amount: given(amount) });
  const transaction = fc.record({
    digest: given(digest),
    transaction: given(
      fc.record({
        sender: given(address),
        gasPayment: given(fc.record({ owner: given(address), price: uint64, budget: uint64 })),
        version: fc.constant(1),
      }),
    ),
    effects: given(
      fc.record({
        status: given(fc.record({ success: given(fc.boolean()) })),
        epoch: uint64,
        gasUsed: given(
          fc.record({
            computationCost: given(uint64),
            storageCost: given(uint64),
            storageRebate: given(uint64),
            nonRefundableStorageFee: uint64,
          }),
        ),
        transactionDigest: digest,
      }),
    ),
    checkpoint: given(uint64),
    balanceChanges: isCorrect
      ? fc.uniqueArray(change, { minLength: 1, maxLength: 4, selector: (one) => one.address ?? '' })
      : fc.array(change, { maxLength: 4 }),
    transactionIndex: given(uint64),
  });
  const timestamp = fc.record({
    seconds: or(fc.bigInt(0n, 4n * 10n ** 9n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
    nanos: or(fc.integer({ min: 0, max: 999_999_999 }), fc.integer()),
  });
  const bcs = fc.record({ name: fc.constant('Name'), value: given(fc.uint8Array({ maxLength: 5 })) });
  // Bytes that contradict the other fields would make all of these checkpoints invalid.
  const proof = isCorrect ? {} : { bcs: given(bcs) };
  return fc.record({
    sequenceNumber: given(or(fc.constant(7n), uint64)),
    digest: given(digest),
    summary: given(
      fc.record({
        digest,
        epoch: given(uint64),
        sequenceNumber: uint64,
        totalNetworkTransactions: given(uint64),
        previousDigest: given(digest),
        timestamp: given(timestamp),
        ...proof,
      }),
    ),
    contents: given(fc.record({ digest, version: fc.constant(1), ...proof })),
    transactions: fc.array(transaction, { maxLength: 4 }),
  });
}
const [correct, arbitrary] = [checkpointsOf(true), checkpointsOf(false)];
const checkpoint = fc.oneof(correct, arbitrary);

function withoutUnset(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUnset);
  if (value instanceof Uint8Array) return new Uint8Array(value); // toEqual tells a Buffer from a Uint8Array
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => [name, withoutUnset(one)]),
  );
}
const messageOf = (fields: unknown): Uint8Array =>
  GrpcTypes.ListCheckpointsResponse.toBinary(
    GrpcTypes.ListCheckpointsResponse.create({
      checkpoint: withoutUnset(fields) as GrpcTypes.Checkpoint,
      watermark: { cursor: new Uint8Array(16), checkpoint: 5n },
    }),
  );

/** The reason if the checkpoint is rejected. */
function outcomeOf(read: () => RawCheckpoint | undefined, coins: ReadonlySet<string> | undefined): unknown {
  try {
    return decodeCheckpoint(read(), coins, 7);
  } catch (error) {
    if (!(error instanceof Error) || !isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
    return { refused: error.message, context: error.context };
  }
}

describe('readCheckpointBytes', () => {
  test('decodes or rejects a checkpoint exactly like the SDK reader', () => {
    const seen = { read: 0, refused: 0 };
    fc.assert(
      fc.property(checkpoint, fc.boolean(), (fields, areAllCoins) => {
        const message = messageOf(fields);
        const coins = areAllCoins ? undefined : new Set([USDC]);
        const bySdk = outcomeOf(
          () => GrpcTypes.ListCheckpointsResponse.fromBinary(message).checkpoint,
          coins,
        );
        const byHand = outcomeOf(() => readCheckpointBytes(checkpointBytesIn(message)!), coins);
        expect(byHand).toEqual(bySdk);
        seen[Object.hasOwn(bySdk as object, 'refused') ? 'refused' : 'read'] += 1;
      }),
      { numRuns: 250 },
    );
    expect(seen.read).toBeGreaterThan(20);
    expect(seen.refused).toBeGreaterThan(20);
  });

  test('reads each field like the SDK reader', () => {
    fc.assert(
      fc.property(checkpoint, (fields) => {
        const message = messageOf(fields);
        const bySdk = GrpcTypes.ListCheckpointsResponse.fromBinary(message).checkpoint;
        const byHand = withoutUnset(readCheckpointBytes(checkpointBytesIn(message)!));
        expect(bySdk).toMatchObject(byHand as object);
      }),
      { numRuns: 100 },
    );
  });

  test('finds no checkpoint in a message without one', () => {
    const end = { reason: GrpcTypes.QueryEndReason.CHECKPOINT_BOUND };
    const none = GrpcTypes.ListCheckpointsResponse.create({ watermark: { cursor: new Uint8Array(3) }, end });
    expect(checkpointBytesIn(GrpcTypes.ListCheckpointsResponse.toBinary(none))).toBeUndefined();
    expect(checkpointBytesIn(new Uint8Array())).toBeUndefined();
  });

  test('throws only INCONSISTENT_ANSWER for truncated or malformed bytes', () => {
    const read = (bytes: Uint8Array): boolean => {
      try {
        const inside = checkpointBytesIn(bytes);
        if (inside !== undefined) readCheckpointBytes(inside);
        return true;
      } catch (error) {
        if (!isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
        return false;
      }
    };
    let refused = 0;
    fc.assert(
      fc.property(
        checkpoint,
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        fc.nat(),
        (fields, place, byte, length) => {
          const message = messageOf(fields);
          const changed = Uint8Array.from(message);
          changed[place % message.length] = byte;
          read(changed);
          if (!read(message.subarray(0, length % message.length))) refused += 1;
        },
      ),
      { numRuns: 250 },
    );
    expect(refused).toBeGreaterThan(40);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void read(bytes)),
      { numRuns: 700 },
    );
  });
});
