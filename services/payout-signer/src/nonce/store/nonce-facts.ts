import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import type { BaseUnits } from '@opentill/domain/money';

/*
 * What the signer knows of one wallet, and the states in it. Every decision of this service is a function of these facts.
 *
 * Nonce (wallet_nonce; one row for each that was ever given out, from the first one on without a hole; never deleted):
 *
 *   | state            | means                                        | becomes                                              |
 *   |------------------|----------------------------------------------|------------------------------------------------------|
 *   | RESERVED, free   | given out, then given back                   | RESERVED for the next payout; SIGNED                 |
 *   | RESERVED, order  | an authorised payout will be signed with it  | SIGNED; free when the payout ended or can't be signed|
 *   | SIGNED           | bytes are stored, perhaps sent, not final    | FINAL; TAKEN                                         |
 *   | FINAL            | one of its own transactions is VERIFIED      | SIGNED when a reorganisation takes that back         |
 *   | TAKEN            | something unknown used it: a stranger's, or  | nothing any more                                     |
 *   |                  | ours, signed in commits that were lost       |                                                      |
 *
 * Payout (payout.state): REQUESTED → AUTHORISED → SIGNED; REQUESTED, AUTHORISED → REFUSED (here) or EXPIRED (the tracker).
 * SIGNED is the end of what is decided here: from then on the payout's nonce goes on, and the tracker moves the order.
 *
 * Invariants, each held by one statement of the database and not by the order of things in this process:
 *
 *  1. What is sent was committed before: only bytes read from own_transaction are sent.
 *  2. A payout has at most one nonce that is SIGNED or FINAL (save-signed.ts asks, a unique index insists). So however
 *     often it is signed, at most one transaction of it can land.
 *  3. A payout that is SIGNED gets another nonce only when its first is TAKEN and an operator decided that it is to be paid
 *     again (payout_decision; a trigger insists): what took the nonce may have paid it. A nonce becomes TAKEN only by a count
 *     of transactions at a verified block and the proven absence of its own transactions, and it is signed anew only by the
 *     same proof once more, each by two sources, where two are configured never by one alone.
 *  4. REQUESTED or AUTHORISED → SIGNED and → EXPIRED are compare-and-sets on the same row.
 *  5. Payouts are signed with the lowest nonces there are, whoever they were reserved for. So every nonce below a signed one
 *     is signed, and a payout that can't be signed holds up no other. A gap can come about all the same (a nonce whose
 *     payout was taken over by hand); it is filled by the next payout, or by a transaction that moves nothing.
 *  6. Every transaction that writes asserts the wallet's lease first.
 *  7. No answer to a broadcast says that a payment failed. Only receipts say what became of it, and the scanner reads them.
 *  8. A database that knows less than was sent signs nothing: what proves it is a file beside the keystore (../nonce-mark.ts),
 *     written before anything is sent with a new nonce, the chain's count, and what waits in the pools of nodes. Released by
 *     an operator, the nonces up to there are used up by transactions that move nothing, and payouts wait for those to be
 *     final: bytes that were forgotten can't land beside them. So are those that the pool of one source alone claims for long.
 *  9. What stands in a row is no authorisation: the policy is asked again when a payout is signed, and a dearer transaction
 *     is signed only in the place of bytes that our own key signed for the same. Of several rows of a nonce none is taken for
 *     landed but by such bytes.
 */

/** One transaction ever signed with a nonce. */
export interface OwnAttempt {
  readonly txHash: TxHash;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly terms: FeeTerms;
  readonly signedAt: Date;
  readonly lastSentAt: Date | null;
  readonly outcome: SendOutcome | null;
  /** Whether a block holds it, as far as the scanner has seen. */
  readonly isMined: boolean;
  /** Whether it is deep enough to count for good. */
  readonly isVerified: boolean;
}

/** What is known of attempts, by their own bytes: undefined where our key signed just that, else what differs. */
export type Vouches = Map<TxHash, string | undefined>;

/** A nonce that is given out and not final. */
export interface OpenNonce {
  readonly nonce: number;
  readonly state: 'RESERVED' | 'SIGNED';
  readonly orderPk: string | null;
  readonly purpose: 'PAYOUT' | 'CANCEL';
  /** Oldest first; empty while RESERVED. */
  readonly attempts: readonly OwnAttempt[];
}

/** Whether a block holds one of the nonce's transactions, as far as the scanner has seen. */
export function isMined(nonce: OpenNonce): boolean {
  return nonce.attempts.some((attempt) => attempt.isMined);
}

/** Nonces whose transactions are on their way: signed, in no block. Ascending. */
export function inFlight(nonces: readonly OpenNonce[]): readonly OpenNonce[] {
  return nonces.filter((nonce) => nonce.state === 'SIGNED' && !isMined(nonce));
}

/** Nonces for `count` payouts to be authorised: free ones first, lowest first, then new ones from `next` on. */
export function noncesToReserve(free: readonly number[], next: number, count: number): readonly number[] {
  const taken = free.slice(0, count);
  return [...taken, ...Array.from({ length: count - taken.length }, (_, i) => next + i)];
}
