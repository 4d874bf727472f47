import { dataFeeCapOf } from '@opentill/contracts/payout-terms';
import type { UnsignedCall } from '@opentill/chain/wallet-sender';
import type { Bump } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import { inFlight, type OpenNonce, type OwnAttempt } from './store/nonce-facts.ts';

type Context = Pick<PassContext, 'sender' | 'key' | 'rules' | 'signal'>;

/**
 * Bumps with the data fee of now: the price of data may have changed since the transaction was signed. Without those
 * whose fee is unknown or above the cap: the earlier transaction lands when fees fall.
 */
export async function withNewDataFees(context: Context, bumps: readonly Bump[]): Promise<readonly Bump[]> {
  const fees = await readFees(
    context,
    bumps.map(({ nonce, attempt }) => ({ nonce, attempt })),
  );
  if (fees === undefined) return bumps;
  const cap = dataFeeCapOf(context.rules.network);
  return bumps.flatMap((bump, place) => {
    const dataFeeBaseUnits = fees[place];
    if (dataFeeBaseUnits === undefined || dataFeeBaseUnits > cap) return [];
    return [{ ...bump, terms: { ...bump.terms, dataFeeBaseUnits } }];
  });
}

/**
 * Estimates the data fee of transactions in flight that have none stored: a restore attached them, or no source named
 * it. Where none names it now, the cap counts.
 */
export async function withMissingDataFees(
  context: Context,
  nonces: readonly OpenNonce[],
): Promise<readonly OpenNonce[]> {
  const missing = inFlight(nonces).flatMap((nonce) => {
    const attempt = nonce.attempts.at(-1);
    return attempt === undefined || attempt.terms.dataFeeBaseUnits !== undefined ? [] : [{ nonce, attempt }];
  });
  const fees = await readFees(context, missing);
  if (fees === undefined) return nonces;
  const cap = dataFeeCapOf(context.rules.network);
  const found = new Map(missing.map(({ attempt }, place) => [attempt, fees[place] ?? cap]));
  return nonces.map((nonce) => ({
    ...nonce,
    attempts: nonce.attempts.map((attempt) => {
      const dataFeeBaseUnits = found.get(attempt);
      return dataFeeBaseUnits === undefined
        ? attempt
        : { ...attempt, terms: { ...attempt.terms, dataFeeBaseUnits } };
    }),
  }));
}

async function readFees(
  { sender, key, signal }: Context,
  transactions: readonly { readonly nonce: OpenNonce; readonly attempt: OwnAttempt }[],
): Promise<readonly (bigint | undefined)[] | undefined> {
  if (sender.dataFees === undefined || transactions.length === 0) return undefined;
  const calls = transactions.map(({ nonce, attempt }): UnsignedCall => {
    const { contract, to, amountBaseUnits, terms } = attempt;
    const intent = nonce.purpose === 'CANCEL' ? null : { from: key.wallet, contract, to, amountBaseUnits };
    return { wallet: key.wallet, intent, gasLimit: terms.gasLimit };
  });
  return sender.dataFees(calls, { signal });
}
