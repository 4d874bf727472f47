import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { CreatedOrder } from '../store/create-orders.ts';
import { differences } from './differences.ts';

const receiver = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const payout: CreatedOrder = {
  orderId: 'a',
  orderType: 'PAYOUT',
  uid: '7',
  chain: 'ETH_SEPOLIA',
  family: 'EVM',
  symbol: 'USDT',
  decimals: 6,
  displayDecimals: 2,
  amount: 12_500_000n,
  address: receiver,
  sourceAddress: '0x00000000000000000000000000000000000000aa',
  expiresAt: new Date(0),
  currency: null,
  price: null,
  rate: null,
  choices: null,
  options: null,
  linkId: null,
};
const request = {
  orderType: 'PAYOUT' as const,
  amount: '12.5',
  coin: { symbol: 'USDT', chain: 'ETH_SEPOLIA' } as const,
  uid: '7',
  orderId: 'a',
  receiveAddress: receiver,
};
const differing = (change: object, existing: CreatedOrder = payout) =>
  differences(existing, { ...request, ...change }, (_family, text) => evmAddressCodec.parse(text));

describe('differences', () => {
  it.each([
    [{}],
    [{ amount: '12.50' }],
    [{ amount: '0012.500000000' }],
    [{ coin: { symbol: 'usdt', chain: 'ETH_SEPOLIA' } }],
    [{ receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }],
    [{ receiveAddress: `0x${receiver.slice(2).toUpperCase()}` }],
  ])('accepts a request with equal values: %j', (change) => {
    expect(differing(change)).toEqual([]);
  });

  it.each([
    ['amount', { amount: '12.500001' }],
    ['amount', { amount: '12.5000001' }],
    ['amount', { amount: '125' }],
    ['symbol', { coin: { symbol: 'USDC', chain: 'ETH_SEPOLIA' } }],
    ['chain', { coin: { symbol: 'USDT', chain: 'ETH' } }],
    ['uid', { uid: null }],
    ['uid', { uid: '07' }],
    ['orderType', { orderType: 'COLLECTION' }],
    ['receiveAddress', { receiveAddress: '0x0000000000000000000000000000000000000001' }],
    ['receiveAddress', { receiveAddress: 'nonsense' }],
    ['receiveAddress', { receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }],
  ])('reports another %s: %j', (field, change) => {
    expect(differing(change)).toEqual([field]);
  });

  it('lists all fields that differ', () => {
    expect(differing({ amount: '1', uid: null })).toEqual(['amount', 'uid']);
  });

  it('ignores the receiver of a collection', () => {
    const { receiveAddress: _, ...collection } = request;
    const asked = { ...collection, orderType: 'COLLECTION' as const };
    expect(differences({ ...payout, orderType: 'COLLECTION' }, asked, () => undefined)).toEqual([]);
  });
});
