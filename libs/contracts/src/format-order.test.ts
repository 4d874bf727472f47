import { describe, expect, expectTypeOf, test } from 'vitest';
import type { CollectionStatus } from '@opentill/domain/order-status';
import {
  notifyOrderText,
  toNotifyOrder,
  type OrderToFormat,
  type TransactionContext,
  type TransferToFormat,
} from './format-order.ts';
import type { OrderStatus } from './notify-order.ts';

test('orders have the same statuses as the callbacks of a collection', () => {
  expectTypeOf<OrderStatus>().toEqualTypeOf<CollectionStatus>();
});

const order: OrderToFormat = {
  orderId: 'order-1',
  uid: null,
  orderType: 'COLLECTION',
  status: 'INIT',
  reason: null,
  chain: 'ETH',
  symbol: 'USDT',
  contractAddress: '0xda',
  decimals: 6,
  displayDecimals: 2,
  amount: 250_000_000n,
  actualAmount: null,
  confirmationsRequired: 12,
};
const transfer: TransferToFormat = {
  txHash: '0xabc',
  fromAddress: '0xfrom',
  toAddress: '0xto',
  amount: 100_500_000n,
  networkFee: 1_234_500_000_000_000n,
  blockHeight: 100,
  blockTimeSeconds: 1_700_000_000,
  state: 'DETECTED',
};
const context: TransactionContext = {
  headHeight: 104,
  nativeDecimals: 18,
  formatAddress: (address) => address.toUpperCase(),
  formatContract: (contract) => `${contract}!`,
};

describe('order without a transaction', () => {
  test('an order view has the documented fields in the documented order', () => {
    expect(JSON.stringify(toNotifyOrder(order, null))).toBe(
      '{"orderId":"order-1","uid":null,"orderType":"COLLECTION","status":"INIT","reason":null,"amount":"250.00",' +
        '"actualAmount":null,"fee":"0","feeRatio":"0","transaction":null}',
    );
  });

  test('the first callback of an order is serialised with sorted keys', () => {
    expect(notifyOrderText(toNotifyOrder({ ...order, uid: '42' }, null))).toBe(
      '{"actualAmount":null,"amount":"250.00","fee":"0","feeRatio":"0","orderId":"order-1",' +
        '"orderType":"COLLECTION","reason":null,"status":"INIT","transaction":null,"uid":"42"}',
    );
  });
});

test('a transaction shows token amounts, the fee in native coin, display addresses', () => {
  const view = toNotifyOrder(
    { ...order, status: 'PENDING', actualAmount: 100_500_000n },
    { transfer, context },
  );
  expect(view.actualAmount).toBe('100.50');
  expect(view.transaction).toEqual({
    chain: 'ETH',
    symbol: 'USDT',
    contractAddress: '0xda!',
    decimals: 6,
    txid: '0xabc',
    from: '0XFROM',
    to: '0XTO',
    amount: '100.50',
    blockNum: 100,
    confirmedNum: 5,
    status: 'PENDING',
    timestamp: 1_700_000_000,
    txGas: '0.0012345',
  });
});

test.each([
  ['DETECTED', 200, 12, 'PENDING'],
  ['VERIFIED', 110, 12, 'PENDING'],
  ['VERIFIED', 111, 12, 'SUCCESS'],
  ['VERIFIED', 100, null, 'SUCCESS'],
  ['ORPHANED', 200, 12, 'FAILED'],
] as const)(
  'a %s transfer at head %d with %s confirmations required is %s',
  (state, headHeight, required, status) => {
    const view = toNotifyOrder(
      { ...order, confirmationsRequired: required },
      { transfer: { ...transfer, state }, context: { ...context, headHeight } },
    );
    expect(view.transaction?.status).toBe(status);
  },
);

test('a native coin has a null contract, and an unknown fee is null', () => {
  const view = toNotifyOrder(
    { ...order, contractAddress: null },
    { transfer: { ...transfer, networkFee: null }, context },
  );
  expect(view.transaction).toMatchObject({ contractAddress: null, txGas: null });
});
