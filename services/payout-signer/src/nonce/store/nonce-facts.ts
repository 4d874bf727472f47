import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import type { BaseUnits } from '@opentill/domain/money';

/*
 * Facts and states of one wallet with nonces. Every decision of this service is a function of these facts.
 *
 * Nonce (wallet_nonce): one row for each nonce that was ever assigned, without a gap from the first one on; never
 * deleted.
 *
 *   | state            | meaning                                      | next                                                 |
 *   |------------------|----------------------------------------------|------------------------------------------------------|
 *   | RESERVED, free   | assigned, then given back                    | RESERVED for the next payout; SIGNED                 |
 *   | RESERVED, order  | an authorised payout will be signed with it  | SIGNED; free if the payout ended or cannot be signed |
 *   | SIGNED           | bytes are stored, perhaps sent, not final    | FINAL; TAKEN                                         |
 *   | FINAL            | one of its own transactions is VERIFIED      | SIGNED when a reorganisation removes that one        |
 *   | TAKEN            | an unknown transaction used it: a foreign    | –                                                    |
 *   |                  | one, or ours, signed in commits that we lost |                                                      |
 *
 * Payout (payout.state): REQUESTED → AUTHORISED → SIGNED; REQUESTED, AUTHORISED → REFUSED (here) or EXPIRED (the
 * tracker). SIGNED is the last state that is decided here. From then on the nonce has the state, and the tracker
 * moves the order.
 *
 * Invariants. Each is enforced by one statement of the database, not by the order of steps in this process:
 *
 *  1. Only bytes read from own_transaction are sent, so everything sent was committed before.
 *  2. A payout has at most one nonce that is SIGNED or FINAL (save-signed.ts checks it, a unique index enforces it).
 *     So at most one transaction of it can land, however often it is signed.
 *  3. A SIGNED payout gets another nonce only when its first is TAKEN and an operator decided to pay it again
 *     (payout_decision; a trigger enforces it): the transaction that took the nonce may have paid it. A nonce becomes
 *     TAKEN only by a transaction count at a verified block and the proven absence of its own transactions. The
 *     payout is signed again only after the same proof once more. Each proof needs two sources; where two are
 *     configured, a single one is never accepted.
 *  4. REQUESTED or AUTHORISED → SIGNED and → EXPIRED are compare-and-sets on the same row.
 *  5. Payouts are signed with the lowest unsigned nonces, whichever payout reserved them. So every nonce below a
 *     signed one is signed, and a payout that cannot be signed blocks no other. A gap is still possible (an operator
 *     took over the payout of a nonce). The next payout fills it, or a transaction that moves no money.
 *  6. Every transaction that writes asserts the wallet's lease first.
 *  7. No answer to a broadcast proves that a payment failed. Only receipts show the outcome, and the scanner reads
 *     them.
 *  8. A database that knows less than was sent signs no transaction. Proofs are a file next to the keystore
 *     (../nonce-mark.ts), written before the first send of each nonce, the chain's count, and the pools of nodes.
 *     After an operator's release, transactions that move no money use up the nonces up to there, and payouts wait
 *     until those are final. So forgotten bytes cannot land in addition. Nonces that a single source's pool keeps
 *     claiming are used up in the same way.
 *  9. A row authorises no payment. The policy is asked again when a payout is signed. A higher fee is signed only in
 *     place of bytes that our own key signed for the same payment. Of several rows of a nonce, only those with such
 *     bytes count as landed.
 */

export interface OwnAttempt {
  readonly txHash: TxHash;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly terms: FeeTerms;
  readonly signedAt: Date;
  readonly lastSentAt: Date | null;
  readonly outcome: SendOutcome | null;
  readonly isMined: boolean;
  readonly isVerified: boolean;
}

/** undefined if our key signed exactly the row's content, otherwise the difference. */
export type Verifications = Map<TxHash, string | undefined>;

export interface OpenNonce {
  readonly nonce: number;
  readonly state: 'RESERVED' | 'SIGNED';
  readonly orderPk: string | null;
  readonly purpose: 'PAYOUT' | 'CANCEL';
  /** Oldest first; empty while RESERVED. */
  readonly attempts: readonly OwnAttempt[];
}

export function isMined(nonce: OpenNonce): boolean {
  return nonce.attempts.some((attempt) => attempt.isMined);
}

export function inFlight(nonces: readonly OpenNonce[]): readonly OpenNonce[] {
  return nonces.filter((nonce) => nonce.state === 'SIGNED' && !isMined(nonce));
}

export function noncesToReserve(free: readonly number[], next: number, count: number): readonly number[] {
  const taken = free.slice(0, count);
  return [...taken, ...Array.from({ length: count - taken.length }, (_, i) => next + i)];
}
