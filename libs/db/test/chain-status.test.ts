import { expect, test } from 'vitest';
import type { ChainState } from '@opentill/domain/chain-status';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { readScannedStatus, writeChainStatus } from '../src/chain-status.ts';

const { admin } = await openTestDatabase();

async function reports(state: ChainState, reason: string | null = null): Promise<ChainState | undefined> {
  await admin.kysely
    .transaction()
    .execute((tx) => writeChainStatus(tx, 'SCANNER', 'ETH_SEPOLIA', { state, reason, detail: null }));
  return (await readScannedStatus(admin.kysely, 'ETH_SEPOLIA'))?.state;
}

test('a chain stays LEFT_OUT after a restart until it passes its start-up checks', async () => {
  expect(await reports('LEFT_OUT', 'WRONG_CHAIN')).toBe('LEFT_OUT');
  for (const state of ['STARTING', 'FAILING', 'PAUSED'] as const)
    expect(await reports(state)).toBe('LEFT_OUT');
  expect(await reports('RUNNING')).toBe('RUNNING');
  expect(await reports('FAILING', 'NO_ANSWER')).toBe('FAILING');
});
