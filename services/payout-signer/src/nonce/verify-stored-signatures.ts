import type { PassContext, PassMemory } from './pass-deps.ts';
import type { OpenNonce, OwnAttempt, Verifications } from './store/nonce-facts.ts';

/** Per pass. Each costs a signature check, and a third party may insert any number. */
const VERIFIED_AT_ONCE = 64;

/** Rows that a third party inserted must not decide which attempt is newest, or whether one landed. */
export async function verifySiblings(context: PassContext, nonces: readonly OpenNonce[]): Promise<void> {
  const { memory } = context;
  forgetOthers(memory.verifications, nonces);
  const unknown = nonces
    .filter(({ attempts }) => attempts.length > 1)
    .flatMap((nonce) => nonce.attempts.map((attempt) => ({ nonce, attempt })))
    .filter(({ attempt }) => !memory.verifications.has(attempt.txHash))
    .slice(0, VERIFIED_AT_ONCE);
  if (unknown.length > 0) await verifyAttempts(context, unknown);
  reportForged(context, nonces);
}

export function reportForged({ memory, observe, key }: PassContext, nonces: readonly OpenNonce[]): void {
  const forged = nonces.flatMap(({ nonce, attempts }) =>
    attempts.flatMap(({ txHash }) => {
      const difference = memory.verifications.get(txHash);
      return difference === undefined ? [] : [`nonce ${nonce}, ${txHash}: ${difference}`];
    }),
  );
  observe.forged(key, forged);
}

/** Returns attempts whose rows our key signed exactly. */
export async function verifyAttempts<T extends { readonly nonce: OpenNonce; readonly attempt: OwnAttempt }>(
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
    memory.verifications.set(txHash, difference);
    return difference === undefined;
  });
}

/** Where all attempts are forged, they stay: bytes that became unreadable may still be sent. */
export function withoutForged(
  { verifications }: Pick<PassMemory, 'verifications'>,
  nonces: readonly OpenNonce[],
): readonly OpenNonce[] {
  return nonces.map((nonce) => {
    const attempts = nonce.attempts.filter(({ txHash }) => verifications.get(txHash) === undefined);
    return attempts.length === nonce.attempts.length || attempts.length === 0
      ? nonce
      : { ...nonce, attempts };
  });
}

/** Where a nonce has several attempts, a row with the hash of some mined transaction must not use it up. */
export function withVerifiedFates(
  { verifications }: Pick<PassMemory, 'verifications'>,
  nonces: readonly OpenNonce[],
): readonly OpenNonce[] {
  const isOurs = ({ txHash }: OwnAttempt): boolean =>
    verifications.has(txHash) && verifications.get(txHash) === undefined;
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

function forgetOthers(verifications: Verifications, nonces: readonly OpenNonce[]): void {
  const waiting = new Set(nonces.flatMap(({ attempts }) => attempts.map(({ txHash }) => txHash)));
  for (const txHash of verifications.keys()) if (!waiting.has(txHash)) verifications.delete(txHash);
}
