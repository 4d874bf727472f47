import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { CreatedOrder } from '../store/create-orders.ts';
import { isEqualOrder } from './is-equal-order.ts';

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
};
const request = {
  orderType: 'PAYOUT' as const,
  amount: '12.5',
  symbol: 'USDT',
  chain: 'ETH_SEPOLIA' as const,
  uid: '7',
  orderId: 'a',
  receiveAddress: receiver,
};
const equal = (change: object, existing: CreatedOrder = payout) =>
  isEqualOrder(existing, { ...request, ...change }, (_family, text) => evmAddressCodec.parse(text));

describe('isEqualOrder', () => {
  it.each([
    [{}],
    [{ amount: '12.50' }],
    [{ amount: '0012.500000000' }],
    [{ symbol: 'usdt' }],
    [{ receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }],
    [{ receiveAddress: `0x${receiver.slice(2).toUpperCase()}` }],
  ])('accepts a request with equal values: %j', (change) => {
    expect(equal(change)).toBe(true);
  });

  it.each([
    [{ amount: '12.500001' }],
    [{ amount: '12.5000001' }],
    [{ amount: '125' }],
    [{ symbol: 'USDC' }],
    [{ chain: 'ETH' }],
    [{ uid: null }],
    [{ uid: '07' }],
    [{ orderType: 'COLLECTION' }],
    [{ receiveAddress: '0x0000000000000000000000000000000000000001' }],
    [{ receiveAddress: 'nonsense' }],
    [{ receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }],
  ])('rejects a request with another value: %j', (change) => {
    expect(equal(change)).toBe(false);
  });

  it('ignores the receiver of a collection', () => {
    const { receiveAddress: _, ...collection } = request;
    const asked = { ...collection, orderType: 'COLLECTION' as const };
    expect(isEqualOrder({ ...payout, orderType: 'COLLECTION' }, asked, () => undefined)).toBe(true);
  });
});
