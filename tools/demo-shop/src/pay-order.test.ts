import { describe, expect, it } from 'vitest';
import type { CheckoutOrder } from '@opentill/sdk/orders';
import { createPayOrder } from './pay-order.ts';

const ORDER: CheckoutOrder = {
  orderId: 'shop-1',
  chain: 'ETH_SEPOLIA',
  chainName: 'Ethereum (local devnet)',
  symbol: 'USDT',
  contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  decimals: 6,
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  amount: '12.90',
  actualAmount: null,
  expiredTime: 1_800_001_800,
  status: 'INIT',
  reason: null,
  receivedAmount: '0.00',
  txid: null,
  explorerUrl: null,
  explorerTxUrl: null,
  transactionTime: null,
  confirmedNum: 0,
  requiredConfirmations: 3,
  returnUrl: null,
  description: null,
  serverTime: 1_800_000_000,
  merchant: {
    name: null,
    logoUrl: null,
    accentColor: null,
    supportUrl: null,
    supportEmail: null,
    shopUrl: null,
  },
  isTestNetwork: true,
  unmatched: [],
  unmatchedCount: 0,
};

/** `gateway.order` is the gateway's answer. `sent` collects the amounts that the wallet paid. */
function aShop(fields: Partial<CheckoutOrder> = {}) {
  const gateway = { order: { ...ORDER, ...fields } };
  const sent: string[] = [];
  const wallet = {
    refuses: false,
    async pay({ amount }: { readonly amount: string }) {
      if (wallet.refuses) throw new Error('the node is away');
      sent.push(amount);
      return `0x${sent.length}`;
    },
  };
  const pay = createPayOrder({ pay: async () => gateway.order }, wallet);
  return { gateway, sent, wallet, pay: async () => pay('shop-1') };
}

describe('createPayOrder', () => {
  it('pays the missing amount of an unpaid or underpaid order', async () => {
    const { gateway, sent, pay } = aShop();
    await pay();
    gateway.order = { ...gateway.order, status: 'PENDING', receivedAmount: '2.40' };
    await pay();
    expect(sent).toEqual(['12.9', '10.5']);
  });

  it('pays once for several clicks before the payment is seen', async () => {
    const { sent, pay } = aShop();
    const clicks = await Promise.allSettled([pay(), pay()]);
    expect(clicks.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await expect(pay()).rejects.toThrow('A payment of shop-1 is on its way.');
    expect(sent).toEqual(['12.9']);
  });

  it('pays again after the node rejected a payment', async () => {
    const { wallet, sent, pay } = aShop();
    wallet.refuses = true;
    await expect(pay()).rejects.toThrow('the node is away');
    wallet.refuses = false;
    await pay();
    expect(sent).toEqual(['12.9']);
  });

  it.each([
    { status: 'PENDING_CONFIRMATION', receivedAmount: '12.90' },
    { status: 'SUCCESS', receivedAmount: '12.90' },
    { status: 'EXPIRED', reason: 'Not paid' },
    { status: 'FAILED', reason: 'Refused by operator' },
    { status: 'PENDING', receivedAmount: '13.00' },
  ] as const)('rejects the payment of an order that expects none: %j', async (fields) => {
    const { sent, pay } = aShop(fields);
    await expect(pay()).rejects.toThrow('shop-1 wants no payment now');
    expect(sent).toEqual([]);
  });
});
