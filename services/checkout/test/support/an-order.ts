import type { CheckoutOrder } from '../../src/view/checkout-order.ts';

export function anOrder(overrides: Partial<CheckoutOrder> = {}): CheckoutOrder {
  return {
    orderId: 'order-1',
    chain: 'ETH_SEPOLIA',
    symbol: 'USDT',
    contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
    decimals: 6,
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    amount: '250.00',
    actualAmount: null,
    expiredTime: 1_800_001_800,
    status: 'INIT',
    reason: null,
    receivedAmount: '0.00',
    txid: null,
    explorerUrl: null,
    confirmedNum: 0,
    requiredConfirmations: 3,
    returnUrl: null,
    description: null,
    serverTime: 1_800_000_000,
    ...overrides,
  };
}
