import type { CheckoutOrder, MerchantView, UnmatchedPayment } from '../../src/view/checkout-order.ts';

export function anOrder(overrides: Partial<CheckoutOrder> = {}): CheckoutOrder {
  return {
    orderId: 'order-1',
    chain: 'ETH_SEPOLIA',
    chainName: 'Ethereum Sepolia',
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
    explorerTxUrl: 'https://explorer.example/tx/{txid}',
    transactionTime: null,
    confirmedNum: 0,
    requiredConfirmations: 3,
    returnUrl: null,
    description: null,
    serverTime: 1_800_000_000,
    ...overrides,
  };
}

export const A_MERCHANT: MerchantView = {
  name: 'Acme Cloud',
  logoUrl: '/checkout/logo/acme.svg',
  accentColor: '#533afd',
  supportUrl: 'https://acme.example/help',
  supportEmail: 'help@acme.example',
  shopUrl: 'https://acme.example',
};

export const UNMATCHED_REASONS = [
  'WRONG_TOKEN',
  'WRONG_CHAIN',
  'LATE',
  'UNDERPAID',
  'AFTER_SUCCESS',
  'ORDER_FAILED',
] as const satisfies readonly UnmatchedPayment['reason'][];

export function anUnmatched(overrides: Partial<UnmatchedPayment> = {}): UnmatchedPayment {
  return {
    chain: 'ETH_SEPOLIA',
    chainName: 'Ethereum Sepolia',
    symbol: 'USDC',
    amount: '49.90',
    txid: '0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    explorerUrl: null,
    reason: 'WRONG_TOKEN',
    ...overrides,
  };
}
