import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { UnsignedCall } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { withMissingDataFees, withNewDataFees } from './data-fees.ts';
import type { OpenNonce, OwnAttempt } from './store/nonce-facts.ts';

const WALLET = `0x${'11'.repeat(20)}` as Address;
const UNKNOWN = `0x${'22'.repeat(20)}` as Address;
const TERMS = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };

function signed(
  nonce: number,
  purpose: OpenNonce['purpose'],
  dataFeeBaseUnits?: bigint,
  to = WALLET,
): OpenNonce {
  const terms = { ...TERMS, ...(dataFeeBaseUnits !== undefined && { dataFeeBaseUnits }) };
  const payment = { contract: null, to, amountBaseUnits: baseUnits(5n) };
  const attempts = [{ ...payment, terms, isMined: false } as OwnAttempt];
  return { nonce, state: 'SIGNED', orderPk: 'p', purpose, attempts };
}

/** Charges ten times the gas; a cancel one more. No source names the fee of payments to UNKNOWN. */
function contextOf(hasDataFees: boolean, maxGas = 200_000) {
  const dataFees = (calls: readonly UnsignedCall[]) =>
    Promise.resolve(
      calls.map(({ intent, gasLimit }) =>
        intent?.to === UNKNOWN ? undefined : gasLimit * 10n + (intent === null ? 1n : intent.amountBaseUnits),
      ),
    );
  const rules = {
    network: { dataFee: 'op-stack', payouts: { maxOpenNonces: 1, maxGas, maxFeePerGas: '2' } },
  };
  const sender = hasDataFees ? { dataFees } : {};
  const signal = new AbortController().signal;
  return { sender, key: { wallet: WALLET }, rules, signal } as unknown as Parameters<
    typeof withNewDataFees
  >[0];
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

test('replaces no transaction whose data fee is unknown or above the cap', async () => {
  const nonces = [signed(1, 'PAYOUT', 3n, UNKNOWN), signed(2, 'PAYOUT', 3n), signed(3, 'CANCEL', 3n)];
  const bumps = nonces.map((nonce) => ({ nonce, attempt: nonce.attempts[0]!, terms: TERMS }));
  const kept = async (maxGas?: number) =>
    (await withNewDataFees(contextOf(true, maxGas), bumps)).map(({ nonce }) => nonce.nonce);
  expect(await kept()).toEqual([2, 3]);
  expect(await kept(105_002)).toEqual([3]);
});

test('an unknown data fee counts with the cap, and those of others with their own', async () => {
  const nonces = [signed(1, 'PAYOUT', undefined, UNKNOWN), signed(2, 'PAYOUT')];
  expect(fees(await withMissingDataFees(contextOf(true), nonces))).toEqual([400_000n, 210_005n]);
});

test('transactions that a restore attached get the data fee that their rows lack', async () => {
  const nonces = [signed(1, 'PAYOUT', 3n), signed(2, 'PAYOUT')];
  expect(fees(await withMissingDataFees(contextOf(true), nonces))).toEqual([3n, 210_005n]);
  expect(fees(await withMissingDataFees(contextOf(false), nonces))).toEqual([3n, undefined]);
});
