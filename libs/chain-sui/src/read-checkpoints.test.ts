import { expect, it } from 'vitest';
import type { GrpcTypes } from '@mysten/sui/grpc';
import type { CheckpointTail } from './checkpoint-tail.ts';
import { createCheckpointsPerCall } from './checkpoints-per-call.ts';
import { createFetchMethods } from './fetch-checkpoints.ts';
import { readCheckpoints } from './read-checkpoints.ts';
import { isSame } from './read-verified.ts';
import type { Reading } from './reading.ts';
import type { SuiSource } from './sui-sources.ts';

const digestOf = (height: number): string =>
  String(height + 1)
    .repeat(43)
    .slice(0, 43)
    .replaceAll('0', 'A');

/** One system transaction per checkpoint; totals are higher by `moreTransactions`. */
function aSource(label: string, moreTransactions: number): SuiSource {
  const getCheckpoint = ({
    checkpointId,
  }: {
    readonly checkpointId: { readonly sequenceNumber: bigint };
  }) => {
    const height = Number(checkpointId.sequenceNumber);
    const checkpoint = {
      sequenceNumber: BigInt(height),
      digest: digestOf(height),
      summary: {
        epoch: 1n,
        timestamp: { seconds: BigInt(height), nanos: 0 },
        previousDigest: digestOf(height - 1),
        totalNetworkTransactions: BigInt(height + moreTransactions),
      },
      transactions: [{ transaction: { sender: `0x${'0'.repeat(64)}` }, balanceChanges: [] }],
    } as unknown as GrpcTypes.Checkpoint;
    return Promise.resolve({ response: { checkpoint } });
  };
  const ask = (question: (services: unknown, call: unknown) => unknown) =>
    question({ ledger: { getCheckpoint } }, {});
  return { label, ask } as unknown as SuiSource;
}

function aReading(): Reading {
  const tail = { await: () => Promise.resolve(undefined), get: () => undefined, clear: () => undefined };
  return {
    coins: new Set(),
    tailOf: () => tail as unknown as CheckpointTail,
    fetchMethods: createFetchMethods(() => 0),
    perCall: createCheckpointsPerCall(),
    totals: new WeakMap(),
    shownChanges: new WeakMap(),
    lookedBack: new WeakMap(),
  } as unknown as Reading;
}

it('compares transaction totals only within one source', async () => {
  const reading = aReading();
  const [honest, byzantine] = [aSource('honest', 100), aSource('byzantine', 107)];
  const read = async (source: SuiSource, height: number) =>
    (await readCheckpoints(reading, source, { from: height, to: height }, {}))[0];
  const [ours, theirs] = [await read(honest, 5), await read(byzantine, 5)];
  await expect(read(honest, 6)).resolves.toMatchObject({ header: { height: 6 } });
  await expect(read(byzantine, 6)).resolves.toMatchObject({ header: { height: 6 } });
  expect(isSame(ours, theirs)).toBe(false);
  expect(isSame(ours, await read(aSource('other', 100), 5))).toBe(true);
});
