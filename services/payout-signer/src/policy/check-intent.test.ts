import { expect, test } from 'vitest';
import { checkIntent } from './check-intent.ts';

type Given = Parameters<typeof checkIntent>;

const HOT = ['hot', 'other hot'];

function paidFrom(wallet: string, movement: { kind: 'REFUND'; depositIndex: null } | null = null) {
  const payout = {
    wallet,
    receiver: 'stranger',
    symbol: 'USDT',
    decimals: 6,
    contract: 'usdt',
    amountBaseUnits: 1n,
    movement,
  };
  const rules = {
    network: {
      chain: 'CHAIN',
      nativeSymbol: 'COIN',
      nativeDecimals: 6,
      tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 6 }],
    },
    codec: { parse: (text: string) => text, isZero: () => false },
    ownWallets: HOT,
    isDepositAddress: (address: string) => address === 'deposit',
    policy: { coldAddressOf: () => 'cold' },
  };
  return checkIntent(...([payout, rules] as unknown as Given));
}

test('rejects a payout or refund from an address that is no own hot wallet', () => {
  for (const movement of [null, { kind: 'REFUND', depositIndex: null } as const]) {
    for (const wallet of HOT) expect(paidFrom(wallet, movement)).toMatchObject({ kind: 'INTENT' });
    for (const wallet of ['deposit', 'cold', 'stranger'])
      expect(paidFrom(wallet, movement)).toEqual({ kind: 'REFUSED', reason: 'Wallet not allowed' });
  }
});
