import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ExpiringSendOutcome, Validity } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { BaseUnits } from '@opentill/domain/money';

/*
 * Facts and states of a wallet on a chain without nonces, whose transactions expire. What
 * ../../nonce/store/nonce-facts.ts describes for payouts, policies and halts applies here as well.
 *
 * Here no transaction replaces or orders another: a second one is a second payment. So a payout has one attempt at a
 * time, and gets another only when the first is proven to be in no block.
 *
 *   | step                  | committed                                           | after a crash behind it                         |
 *   |-----------------------|-----------------------------------------------------|-------------------------------------------------|
 *   | created               | payout REQUESTED, its amount reserved               | the payout waits                                |
 *   | authorised            | payout AUTHORISED, counted by the policy            | the payout waits, or expires                    |
 *   | signed, OPEN          | bytes, txID, expiry, reference block, unique time;  | unsent bytes: they are sent now, or expire      |
 *   |                       | payout SIGNED, all in one commit                    |                                                 |
 *   | sent, any number of   | first_sent_at, last_sent_at, outcome                | the same bytes are sent again                   |
 *   |  times                |                                                     |                                                 |
 *   | included              | outcome MINED (by the scanner)                      | –                                               |
 *   | reorganised away      | outcome ORPHANED (by the scanner)                   | the same bytes are sent again, while in time    |
 *   | SETTLED               | outcome VERIFIED (by the scanner); the tracker sets | –                                               |
 *   |                       | SUCCESS or FAILED; never another attempt            |                                                 |
 *   | DEAD                  | the proof below; payout AUTHORISED again, in one    | the payout waits, expires, is refused, or is    |
 *   |                       | commit                                              | signed again by the policy                      |
 *
 * Proof of death. All of it is required:
 * (a) The own scan has verified two blocks that the chain calls final, both at or after the attempt's expiry by their
 *     own times. A trigger checks this; it asks no node and no local clock.
 * (b) The scanner has recorded the attempt in no block that still counts (same trigger).
 * (c) Every block from its reference block to the second one past its expiry was read whole, from two sources with
 *     equal answers. Each is the parent of the next, roots and witness signatures of the headers prove them, and none
 *     holds the attempt (ExpiringSender.findInBlocks).
 * (d) Its stored bytes contain the expiry and are signed by our key.
 *
 * On chains whose epochs end transactions (SUI), (d) is the same and:
 * (a) The own scan has verified a block of a later epoch.
 * (b) In addition, it has read the attempt in no verified block (own_transaction_landed, same trigger). It reads all
 *     transactions of each.
 * (c) This reading is proof (why_epochs_unproven). From the reference block to the end of the last epoch, every
 *     checkpoint was read without a gap, its contents match its digest, and it names the one before it. A quorum of
 *     the validators signed the last one. Also, two nodes do not know the attempt. Both kept the whole stretch,
 *     executed a block of a later epoch, and know transactions of both ends of the stretch.
 * An operator's decision about this attempt after its end (payout_decision.unproven_tx_hash) replaces
 * why_epochs_unproven, and no other condition.
 *
 * No proof: a node that reports it expired, unknown, rejected or duplicate; missing answers; time that passed here.
 *
 * Invariants. Each is enforced by one statement of the database, not by the order of steps in this process:
 *
 *  1. Only bytes read from own_transaction are sent, so everything sent was committed before.
 *  2. A payout has at most one attempt that is not DEAD (unique index). So at most one transaction of it can land.
 *  3. OPEN → DEAD needs (a) and (b), and DEAD is permanent. SIGNED → AUTHORISED needs all attempts DEAD (triggers).
 *  4. No two attempts of a wallet have the same unique time (unique index). So equal payouts are different
 *     transactions.
 *  5. AUTHORISED → SIGNED and → EXPIRED are compare-and-sets on the same row.
 *  6. Every transaction that writes asserts the wallet's lease first.
 *  7. A database that knows less than was sent signs no transaction. The proof is a file next to the keystore
 *     (send-mark.ts), written before each send. Unique times grow, so the last one suffices. After an operator's
 *     release, no transaction is signed until the chain's final time is past everything that was sent.
 *  8. If a proof of death were wrong, each attempt would be a payment. So the limit windows count every attempt
 *     (../../store/spent.ts). Attempts beyond the policy's `maxAttemptsWithoutDecision` need an operator's decision
 *     each (../../policy/recheck-policy.ts).
 *  9. A transaction of the wallet that this gateway did not sign halts it (watch-foreign.ts). While such a
 *     transaction pays exactly what a payout asks for, that payout is neither signed nor returned to AUTHORISED. An
 *     operator decides whether the transaction paid it.
 */

/** May still land, or is in a block that a reorganisation may remove. */
export interface OpenAttempt {
  readonly txHash: TxHash;
  readonly orderPk: string;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  readonly resource?: PaymentIntent['resource'];
  readonly feeLimitBaseUnits: bigint;
  readonly costBaseUnits: bigint;
  readonly validity: Validity;
  /** False for adopted transactions: their bytes are not known here. */
  readonly hasBytes: boolean;
  readonly signedAt: Date;
  readonly outcome: ExpiringSendOutcome | null;
  /** null: in no block. */
  readonly minedHeight: number | null;
  readonly isVerified: boolean;
  /** True when the own scan read it in a verified block, even without an outcome from sources (SUI). It is not dead. */
  readonly hasLanded: boolean;
  /** Chains with epochs: why the own scan is no proof of death yet. Absent when proven, or when an operator decided. */
  readonly unprovenBecause?: string;
}

/** A transaction outside the wallet's attempts, and the most it may take of the coin that pays their fees. */
export interface OtherFee {
  readonly txHash: TxHash;
  readonly baseUnits: bigint;
}

export interface TimedBlock extends Pick<BlockHeader, 'height' | 'hash'> {
  readonly timeMs: number;
}

export interface ScanCursor {
  readonly seen: TimedBlock;
  readonly verified: TimedBlock;
  /** Attempts that expire at this time or earlier are over: two final blocks are not earlier. null: unknown. */
  readonly overMs: number | null;
  /** Epoch of the verified block, on chains with epochs; all earlier ones are over. null elsewhere. */
  readonly epoch: number | null;
}

export function inFlight(attempts: readonly OpenAttempt[]): readonly OpenAttempt[] {
  return attempts.filter(({ minedHeight }) => minedHeight === null);
}

/** Over by the chain's final blocks and in no known block. These must be proven dead. */
export function overdue({
  attempts,
  cursor,
}: {
  readonly attempts: readonly OpenAttempt[];
  readonly cursor: ScanCursor | null;
}): readonly OpenAttempt[] {
  return inFlight(attempts).filter(({ validity }) => isOver(validity, cursor));
}

export type End = Pick<Validity, 'expiresMs' | 'epochs'>;

export function isOver(
  { expiresMs, epochs }: End,
  cursor: Pick<ScanCursor, 'overMs' | 'epoch'> | null,
): boolean {
  if (epochs !== undefined) return (cursor?.epoch ?? null) !== null && (cursor?.epoch ?? 0) > epochs.last;
  return (cursor?.overMs ?? null) !== null && expiresMs <= (cursor?.overMs ?? 0);
}

export function mayLand({ expiresMs, epochs }: End, cursor: ScanCursor | null): boolean {
  return epochs === undefined
    ? expiresMs > (cursor?.seen.timeMs ?? 0)
    : !isOver({ expiresMs, epochs }, cursor);
}
