import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { UnsignedCall } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { withMissingDataFees, withNewDataFees } from './data-fees.ts';
import type { OpenNonce, OwnAttempt } from './store/nonce-facts.ts';

const WALLET = `0x${'11'.repeat(20)}` as Address;
const TERMS = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };

function signed(nonce: number, purpose: OpenNonce['purpose'], dataFeeBaseUnits?: bigint): OpenNonce {
  const terms = { ...TERMS, ...(dataFeeBaseUnits !== undefined && { dataFeeBaseUnits }) };
  const payment = { contract: null, to: WALLET, amountBaseUnits: baseUnits(5n) };
  const attempts = [{ ...payment, terms, isMined: false } as OwnAttempt];
  return { nonce, state: 'SIGNED', orderPk: 'p', purpose, attempts };
}

/** Charges ten times the gas; a cancel one more. */
function contextOf(hasDataFees: boolean) {
  const dataFees = (calls: readonly UnsignedCall[]) =>
    Promise.resolve(
      calls.map(({ intent, gasLimit }) => gasLimit * 10n + (intent === null ? 1n : intent.amountBaseUnits)),
    );
  const sender = hasDataFees ? { dataFees } : {};
  const signal = new AbortController().signal;
  return { sender, key: { wallet: WALLET }, signal } as unknown as Parameters<typeof withNewDataFees>[0];
}
const fees = (nonces: readonly OpenNonce[]) =>
  nonces.map(({ attempts }) => attempts.at(-1)?.terms.dataFeeBaseUnits);

test('a replacement has the data fee of now, and a cancel that of its own bytes', async () => {
  const nonces = [signed(1, 'PAYOUT', 3n), signed(2, 'CANCEL', 3n)];
  const bumps = nonces.map((nonce) => ({ nonce, attempt: nonce.attempts[0]!, terms: TERMS }));
  const raised = await withNewDataFees(contextOf(true), bumps);
  expect(raised.map(({ terms }) => terms.dataFeeBaseUnits)).toEqual([210_005n, 210_001n]);
  expect(await withNewDataFees(contextOf(false), bumps)).toEqual(bumps);
});

test('transactions that a restore attached get the data fee that their rows lack', async () => {
  const nonces = [signed(1, 'PAYOUT', 3n), signed(2, 'PAYOUT')];
  expect(fees(await withMissingDataFees(contextOf(true), nonces))).toEqual([3n, 210_005n]);
  expect(fees(await withMissingDataFees(contextOf(false), nonces))).toEqual([3n, undefined]);
});
