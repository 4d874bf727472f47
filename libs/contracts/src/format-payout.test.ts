import { expect, test } from 'vitest';
import { baseUnits } from '@opentill/domain/money';
import { toNotifyOrder, type OrderToFormat } from './format-order.ts';
import { toPayoutTransfer, type PayoutTransaction } from './format-payout.ts';

const order: OrderToFormat = {
  orderId: 'p-1',
  uid: null,
  orderType: 'PAYOUT',
  status: 'PENDING_CONFIRMATION',
  reason: null,
  chain: 'ETH',
  symbol: 'USDT',
  contractAddress: '0xdac1',
  decimals: 6,
  displayDecimals: 2,
  amount: 250_000_000n,
  actualAmount: null,
  confirmationsRequired: 12,
};
const transaction: PayoutTransaction = {
  txHash: '0xaa',
  wallet: '0xhot',
  receiver: '0xto',
  amount: baseUnits(250_000_000n),
  state: 'VERIFIED',
  succeeded: true,
  delivered: baseUnits(250_000_000n),
  networkFee: 63_000_000_000_000n,
  blockHeight: 90,
  blockTimeSeconds: 1_760_000_000,
};
const context = {
  headHeight: 91,
  nativeDecimals: 18,
  formatAddress: (address: string) => address.toUpperCase(),
  formatContract: (contract: string) => contract.toUpperCase(),
};
const shown = (change: Partial<PayoutTransaction>) =>
  toNotifyOrder(order, { transfer: toPayoutTransfer({ ...transaction, ...change }), context }).transaction;

test('a payout is shown as a transaction from the hot wallet to the receiver', () => {
  expect(shown({})).toEqual({
    chain: 'ETH',
    symbol: 'USDT',
    contractAddress: '0XDAC1',
    decimals: 6,
    txid: '0xaa',
    from: '0XHOT',
    to: '0XTO',
    amount: '250.00',
    blockNum: 90,
    confirmedNum: 2,
    status: 'SUCCESS',
    timestamp: 1_760_000_000,
    txGas: '0.000063',
  });
});

test.each([
  [{ state: 'MINED' }, 'PENDING', '250.00'],
  [{ state: 'MINED', succeeded: false, delivered: baseUnits(0n) }, 'PENDING', '250.00'],
  [{ delivered: baseUnits(249_000_000n) }, 'SUCCESS', '249.00'],
  [{ succeeded: false, delivered: baseUnits(0n) }, 'FAILED', '250.00'],
  [{ delivered: baseUnits(0n) }, 'FAILED', '250.00'],
  [{ state: 'ORPHANED' }, 'FAILED', '250.00'],
] as const)('a payout transaction with %o is %s with amount %s', (change, status, amount) => {
  expect(shown(change)).toMatchObject({ status, amount });
});

test('a negative fee is shown as 0', () => {
  expect(shown({ networkFee: -5n })).toMatchObject({ status: 'SUCCESS', txGas: '0' });
});
