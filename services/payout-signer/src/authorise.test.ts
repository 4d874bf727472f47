import { expect, test } from '@jest/globals';
import { openGate } from './authorise.ts';
import type { PassContext } from './pass-deps.ts';
import type { OpenNonce, WalletView } from './wallet-facts.ts';

const context = { key: { chain: 'ETH', wallet: '0xf' } } as unknown as PassContext;
const nonce = (n: number, state: OpenNonce['state'], orderPk: string | null = null): OpenNonce => {
  return { nonce: n, state, orderPk, purpose: 'PAYOUT', attempts: [] };
};
const view = (nextNonce: number, ...nonces: OpenNonce[]) =>
  ({ cursor: { seen: {}, verified: {} }, nonces, nextNonce }) as unknown as WalletView;
const pausedBy = async (seen: WalletView, latest: number, highest = latest) =>
  (await openGate(context, seen, { latest, pending: { highest, agreed: 0 } })).pausedBy;

test('nonces are given out while the chain counts no more than there are bytes of ours for', async () => {
  expect(await pausedBy(view(3), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'RESERVED', 'a')), 2)).toBeUndefined();
});

test('a nonce that is free, or reserved, explains nothing that the chain has', async () => {
  expect(await pausedBy(view(3), 4)).toBe('CHAIN_AHEAD');
  // Given out and freed before the backup; signed with after it, and that is forgotten.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'RESERVED')), 4)).toBe('CHAIN_AHEAD');
  expect(await pausedBy(view(5, nonce(3, 'RESERVED', 'a'), nonce(4, 'SIGNED', 'b')), 4)).toBe('CHAIN_AHEAD');
});

test('what waits in the pool of a single source is enough to wait', async () => {
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 4)).toBe('CHAIN_AHEAD');
  // Beside a gap of ours nothing can wait in a pool but what is not ours.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'SIGNED', 'b')), 3, 5)).toBe('CHAIN_AHEAD');
});
