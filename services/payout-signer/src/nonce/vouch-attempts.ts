import type { PassContext, PassMemory } from './pass-deps.ts';
import type { OpenNonce, OwnAttempt, Vouches } from './store/nonce-facts.ts';

/** A row costs a signature to be looked at: however many somebody writes, a pass looks at no more. */
const VOUCHED_AT_ONCE = 64;

/**
 * Looks at the bytes of attempts that stand beside others of their nonce and that nobody looked at yet: which of them is the
 * newest, and whether one landed, must not be said by rows that anybody wrote. One that stands alone is looked at when it is
 * to be replaced.
 */
export async function vouchSiblings(context: PassContext, nonces: readonly OpenNonce[]): Promise<void> {
  const { memory } = context;
  forgetOthers(memory.vouches, nonces);
  const unknown = nonces
    .filter(({ attempts }) => attempts.length > 1)
    .flatMap((nonce) => nonce.attempts.map((attempt) => ({ nonce, attempt })))
    .filter(({ attempt }) => !memory.vouches.has(attempt.txHash))
    .slice(0, VOUCHED_AT_ONCE);
  if (unknown.length > 0) await vouch(context, unknown);
  tellOfForged(context, nonces);
}

/** The alarm holds while a forged one stands beside, or in the place of, what is not final. */
export function tellOfForged({ memory, observe, key }: PassContext, nonces: readonly OpenNonce[]): void {
  const forged = nonces.flatMap(({ nonce, attempts }) =>
    attempts.flatMap(({ txHash }) => {
      const difference = memory.vouches.get(txHash);
      return difference === undefined ? [] : [`nonce ${nonce}, ${txHash}: ${difference}`];
    }),
  );
  observe.forged(key, forged);
}

/** Looks at the bytes of these now, whatever was known. @returns those that our key signed for just what the database says */
export async function vouch<T extends { readonly nonce: OpenNonce; readonly attempt: OwnAttempt }>(
  { store, sender, key, memory }: PassContext,
  attempts: readonly T[],
): Promise<readonly T[]> {
  const bytes = await store.readRaw(attempts.map(({ attempt }) => attempt.txHash));
  return attempts.filter(({ nonce: { nonce, purpose }, attempt }) => {
    const { txHash, contract, to, amountBaseUnits, terms } = attempt;
    const intent = purpose === 'CANCEL' ? null : { from: key.wallet, contract, to, amountBaseUnits };
    const raw = bytes.get(txHash);
    const difference =
      raw === undefined
        ? 'no bytes'
        : sender.differenceOf({ txHash, raw }, { wallet: key.wallet, nonce, terms, intent });
    memory.vouches.set(txHash, difference);
    return difference === undefined;
  });
}

/** The nonces without attempts that are known to be none of ours. What can't be read any more may be sent all the same. */
export function withoutForged(
  { vouches }: Pick<PassMemory, 'vouches'>,
  nonces: readonly OpenNonce[],
): readonly OpenNonce[] {
  return nonces.map((nonce) => {
    const attempts = nonce.attempts.filter(({ txHash }) => vouches.get(txHash) === undefined);
    return attempts.length === nonce.attempts.length || attempts.length === 0
      ? nonce
      : { ...nonce, attempts };
  });
}

/**
 * The nonces with the fates of what our key is known to have signed alone, where there are several: by a row that somebody put
 * beside ours, with the hash of whatever stands in a block, no nonce is used up, and our bytes go on as long as they may land.
 */
export function withVouchedFates(
  { vouches }: Pick<PassMemory, 'vouches'>,
  nonces: readonly OpenNonce[],
): readonly OpenNonce[] {
  const isOurs = ({ txHash }: OwnAttempt): boolean =>
    vouches.has(txHash) && vouches.get(txHash) === undefined;
  return nonces.map((nonce) => {
    const { attempts } = nonce;
    if (attempts.length < 2 || attempts.every((attempt) => !attempt.isMined || isOurs(attempt))) return nonce;
    const nowhere = { isMined: false, isVerified: false };
    return {
      ...nonce,
      attempts: attempts.map((attempt) => (isOurs(attempt) ? attempt : { ...attempt, ...nowhere })),
    };
  });
}

function forgetOthers(vouches: Vouches, nonces: readonly OpenNonce[]): void {
  const waiting = new Set(nonces.flatMap(({ attempts }) => attempts.map(({ txHash }) => txHash)));
  for (const txHash of vouches.keys()) if (!waiting.has(txHash)) vouches.delete(txHash);
}
