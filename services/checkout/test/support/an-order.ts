import type {
  CheckoutOrder,
  MerchantView,
  PayableOrder,
  UnmatchedPayment,
} from '../../src/view/checkout-order.ts';

export function anOrder(overrides: Partial<PayableOrder> = {}): PayableOrder {
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

type Option = NonNullable<CheckoutOrder['options']>[number];

export function anOption(overrides: Partial<Option> = {}): Option {
  return {
    chain: 'ETH_SEPOLIA',
    chainName: 'Ethereum Sepolia',
    symbol: 'USDT',
    contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
    amount: '54.21',
    rate: '0.9205',
    feeClass: 'HIGH',
    requiredConfirmations: 3,
    expectedSeconds: 36,
    chainId: 11155111,
    isTestNetwork: true,
    chosen: false,
    ...overrides,
  };
}

export const ON_TRON = anOption({
  chain: 'TRON_TEST',
  chainName: 'TRON Test',
  contractAddress: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf',
  amount: '54.30',
  feeClass: 'MEDIUM',
  expectedSeconds: 60,
  chainId: null,
});
export const USDC = anOption({ symbol: 'USDC', contractAddress: '0xe7f1', amount: '54.27', feeClass: 'LOW' });

/** Of 49.90 EUR, in three coins. The first one is the current choice unless `address` is null. */
export function anOpenOrder(overrides: Partial<CheckoutOrder> = {}): CheckoutOrder {
  const { address = null } = overrides;
  const chosen = address !== null;
  const options = [anOption({ chosen }), ON_TRON, USDC];
  const priced = { amount: '54.21', price: '49.90', currency: 'EUR', rate: '0.9205' };
  return { ...anOrder(priced), chosen, options, ...overrides, address };
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
