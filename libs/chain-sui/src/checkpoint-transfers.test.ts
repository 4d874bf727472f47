import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { transfersOf } from './checkpoint-transfers.ts';
import { SUI_COIN_TYPE } from './coin-type.ts';
import type { SuiCheckpoint } from './decode-checkpoint.ts';

const [PAYER, OTHER] = ['a', 'b'].map((digit) => `0x${digit.repeat(64)}` as Address) as [Address, Address];
const USDC = `0x${'d'.repeat(64)}::usdc::USDC`;

/** PAYER sent the transaction and paid the gas (negative: a storage rebate). */
function given(gasMist: bigint, changes: readonly (readonly [Address, string, bigint])[]) {
  const transaction = {
    txHash: 'tx',
    place: 0,
    sender: PAYER,
    gasOwner: PAYER,
    gasMist,
    succeeded: true,
    changes: changes.map(([address, coinType, amount]) => ({ address, coinType, amount })),
  };
  const checkpoint = { header: { hash: 'h', height: 1 }, transactions: [transaction] };
  const found = transfersOf({ proofs: new WeakMap() }, checkpoint as unknown as SuiCheckpoint, true);
  return found.map(({ to, contract, amountBaseUnits }) => [to, contract, amountBaseUnits]);
}

test('does not count a storage rebate as a transfer', () => {
  expect(given(-5n, [[PAYER, SUI_COIN_TYPE, 5n]])).toEqual([]);
  // PAYER received less than the rebate, because a part was paid to OTHER.
  expect(
    given(-5n, [
      [PAYER, SUI_COIN_TYPE, 2n],
      [OTHER, SUI_COIN_TYPE, 3n],
    ]),
  ).toEqual([[OTHER, null, 3n]]);
});

test('counts every other increase of a balance as a transfer', () => {
  expect(given(-5n, [[PAYER, SUI_COIN_TYPE, 6n]])).toEqual([[PAYER, null, 6n]]);
  expect(given(-5n, [[OTHER, SUI_COIN_TYPE, 5n]])).toEqual([[OTHER, null, 5n]]);
  expect(given(-5n, [[PAYER, USDC, 5n]])).toEqual([[PAYER, USDC, 5n]]);
  expect(given(5n, [[PAYER, SUI_COIN_TYPE, 5n]])).toEqual([[PAYER, null, 5n]]);
});
