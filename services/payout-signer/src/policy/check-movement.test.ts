import { expect, test } from 'vitest';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { checkMovement } from './check-movement.ts';

const KINDS: readonly MovementKind[] = ['SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE', 'TO_COLD', 'REFUND'];
const PLACES = ['hot', 'other hot', 'deposit', 'other deposit', 'cold', 'stranger'] as const;
type Given = Parameters<typeof checkMovement>;

function isAllowed(kind: MovementKind, from: string, to: string, contract: string | null) {
  const payout = {
    wallet: from,
    receiver: to,
    symbol: contract === null ? 'COIN' : 'USDT',
    decimals: 6,
    contract,
    amountBaseUnits: 1n,
    movement: { kind, depositIndex: 7 },
  };
  const rules = {
    network: {
      chain: 'CHAIN',
      nativeSymbol: 'COIN',
      nativeDecimals: 6,
      tokens: [{ symbol: 'USDT', contract: 'usdt', decimals: 6 }],
    },
    codec: { parse: (text: string) => text },
    ownWallets: ['hot', 'other hot'],
    isDepositAddress: (address: string, index: number) => address.endsWith('deposit') && index === 7,
    policy: { coldAddressOf: () => 'cold' },
  };
  return checkMovement(...([payout, rules] as unknown as Given)).kind === 'INTENT';
}

function ways(contract: string | null): readonly string[] {
  return KINDS.flatMap((kind) =>
    PLACES.flatMap((from) =>
      PLACES.flatMap((to) => (isAllowed(kind, from, to, contract) ? [`${kind}: ${from} > ${to}`] : [])),
    ),
  );
}

const HOT = ['hot', 'other hot'];
const DEPOSITS = ['deposit', 'other deposit'];
const between = (kind: string, from: readonly string[], to: readonly string[]) =>
  from.flatMap((a) => to.map((b) => `${kind}: ${a} > ${b}`));
const TOKENS = [...between('SWEEP', DEPOSITS, [...HOT, 'cold']), ...between('TO_COLD', HOT, ['cold'])];
const COIN = [
  ...between('SWEEP', DEPOSITS, [...HOT, 'cold']),
  ...['GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE'].flatMap((kind) => between(kind, HOT, DEPOSITS)),
  ...between('TO_COLD', HOT, ['cold']),
];
test('permits movements only between the places of their kind', () => {
  expect(ways('usdt').toSorted()).toEqual(TOKENS.toSorted());
  expect(ways(null).toSorted()).toEqual(COIN.toSorted());
});
