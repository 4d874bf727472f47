import type { UnsignedCall } from '@opentill/chain/wallet-sender';
import type { Bump } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import { inFlight, type OpenNonce, type OwnAttempt } from './store/nonce-facts.ts';

type Context = Pick<PassContext, 'sender' | 'key' | 'signal'>;

/** Bumps with the data fee of now: the price of data may have changed since the transaction was signed. */
export async function withNewDataFees(context: Context, bumps: readonly Bump[]): Promise<readonly Bump[]> {
  const fees = await readFees(
    context,
    bumps.map(({ nonce, attempt }) => ({ nonce, attempt })),
  );
  return bumps.map((bump, place) => ({ ...bump, terms: { ...bump.terms, ...feeAt(fees, place) } }));
}

/** Estimates the data fee of transactions in flight that have none stored: a restore attached them. */
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
  const found = new Map(missing.map(({ attempt }, place) => [attempt, feeAt(fees, place)]));
  return nonces.map((nonce) => ({
    ...nonce,
    attempts: nonce.attempts.map((attempt) => ({
      ...attempt,
      terms: { ...attempt.terms, ...found.get(attempt) },
    })),
  }));
}

async function readFees(
  { sender, key, signal }: Context,
  transactions: readonly { readonly nonce: OpenNonce; readonly attempt: OwnAttempt }[],
): Promise<readonly bigint[] | undefined> {
  if (sender.dataFees === undefined || transactions.length === 0) return undefined;
  const calls = transactions.map(({ nonce, attempt }): UnsignedCall => {
    const { contract, to, amountBaseUnits, terms } = attempt;
    const intent = nonce.purpose === 'CANCEL' ? null : { from: key.wallet, contract, to, amountBaseUnits };
    return { wallet: key.wallet, intent, gasLimit: terms.gasLimit };
  });
  return sender.dataFees(calls, { signal });
}

function feeAt(fees: readonly bigint[] | undefined, place: number): { dataFeeBaseUnits?: bigint } {
  const fee = fees?.[place];
  return fee === undefined ? {} : { dataFeeBaseUnits: fee };
}
