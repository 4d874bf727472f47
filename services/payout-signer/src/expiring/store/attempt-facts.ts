import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ExpiringSendOutcome, Validity } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { BaseUnits } from '@opentill/domain/money';

/*
 * What the signer knows of a wallet on a chain without nonces, whose transactions end by time, and the states in it. What is
 * said of payouts, of policies and of halts in ../../nonce/store/nonce-facts.ts holds here as well.
 *
 * Nothing replaces a transaction there and nothing orders them: a second one is a second payment. So a payout has one attempt
 * at a time, and gets another only when the first is proven to land nowhere.
 *
 *   | step                  | what is committed                                   | a crash behind it leaves                        |
 *   |-----------------------|-----------------------------------------------------|-------------------------------------------------|
 *   | created               | payout REQUESTED, its amount reserved               | a payout that waits                             |
 *   | authorised            | payout AUTHORISED, counted by the policy            | a payout that waits, or expires                 |
 *   | signed, OPEN          | bytes, txID, expiry, reference block, unique time;  | bytes that nobody has seen: they are sent now,  |
 *   |                       | payout SIGNED, all in one commit                    | or expire unsent                                |
 *   | sent, any number of   | first_sent_at, last_sent_at, outcome                | bytes that are sent again: the same             |
 *   |  times                |                                                     |                                                 |
 *   | included              | fate MINED (by the scanner)                         | –                                               |
 *   | reorganised away      | fate ORPHANED (by the scanner)                      | sent again, the same bytes, while in time       |
 *   | SETTLED               | fate VERIFIED (by the scanner): SUCCESS or FAILED,  | –                                               |
 *   |                       | as the tracker says; never another attempt          |                                                 |
 *   | DEAD                  | the proof below; payout AUTHORISED again, in one    | a payout that waits, expires, is refused, or is |
 *   |                       | commit                                              | signed anew: by the policy, as any other        |
 *
 * The proof of death, all of it: (a) the gateway's own scan has verified two blocks that the chain itself calls final, both of
 * the attempt's expiry or later by their own times (a trigger of the database insists: no node is asked, and no clock here);
 * (b) the scanner has recorded it in no block that still counts (the same trigger); (c) every block between its reference block
 * and the second of those past its expiry was read whole, from two sources that gave the same, each the parent of the next, proven
 * by the roots and the witnesses' signatures of the headers, and none holds it (ExpiringSender.findInBlocks); (d) its stored bytes say themselves when they expire, and are signed by our key.
 *
 * Where epochs of the chain end transactions and not its time (SUI), (a) is that the own scan has verified a block of a later epoch,
 * (b) that it has read the attempt in no verified block either, all of whose transactions it goes through (own_transaction_landed,
 * the same trigger), and (c) that this reading is proof (why_epochs_unproven): from the attempt's reference block to the end of its last
 * epoch every checkpoint was read without a gap, its contents checked against its digest, each naming the one before it, and the last
 * one is signed by a quorum of its validators; and that two nodes which have kept all of the stretch, have executed a block of a
 * later epoch and know transactions of both ends of the stretch when they are asked for them, know none of it. In place of
 * why_epochs_unproven stands an operator's decision about this attempt after its end (payout_decision.unproven_tx_hash), and of nothing else.
 *
 * What proves nothing: that a node says it expired, is unknown, is refused or is a duplicate; that nobody answers; that some
 * time went by here.
 *
 * Invariants, each held by one statement of the database and not by the order of things in this process:
 *
 *  1. What is sent was committed before: only bytes read from own_transaction are sent.
 *  2. A payout has at most one attempt that is not DEAD (a unique index). So at most one transaction of it can land.
 *  3. OPEN → DEAD needs (a) and (b), and DEAD is for ever; SIGNED → AUTHORISED needs all attempts DEAD (triggers).
 *  4. No two attempts of a wallet have the same unique time (a unique index): equal payouts are different transactions.
 *  5. AUTHORISED → SIGNED and → EXPIRED are compare-and-sets on the same row.
 *  6. Every transaction that writes asserts the wallet's lease first.
 *  7. A database that knows less than was sent signs nothing: what proves it is a file beside the keystore (send-mark.ts),
 *     written before anything is sent; unique times grow, so the last one tells. Released by an operator, nothing is signed
 *     before the chain's own final time is past everything that was sent.
 *  8. Should a proof of death be wrong, each attempt is a payment: so windows count every attempt (../../store/spent.ts), and a payout gets
 *     more of them than the policy's `maxAttemptsWithoutDecision` only by an operator's decision about each (../../policy/judge-again.ts).
 *  9. What the wallet did that nobody here signed halts it (watch-foreign.ts). While such a transaction pays just what a payout
 *     asks for, the payout is neither signed nor, if it was before, unsigned again: an operator says whether it was paid by it.
 */

/** A transaction that may land yet, or is in a block that may be taken back. */
export interface OpenAttempt {
  readonly txHash: TxHash;
  readonly orderPk: string;
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  /** Absent: it pays. See PaymentIntent. */
  readonly resource?: PaymentIntent['resource'];
  readonly feeLimitBaseUnits: bigint;
  /** What it costs at most, fees of every kind. */
  readonly costBaseUnits: bigint;
  readonly validity: Validity;
  /** Whether its bytes are known here: of what was adopted they are not. */
  readonly hasBytes: boolean;
  readonly signedAt: Date;
  readonly outcome: ExpiringSendOutcome | null;
  /** The block that holds it, as far as the scanner has seen; null: none. */
  readonly minedHeight: number | null;
  /** Whether that block is deep enough to count for good. */
  readonly isVerified: boolean;
  /** Whether the own scan has read it in a verified block, also while nobody says what became of it there (SUI): it is not dead. */
  readonly hasLanded: boolean;
  /** Where epochs end it: why the own scan is no proof yet that no block up to its end holds it. Absent: it is, or an operator decided. */
  readonly unprovenBecause?: string;
}

/** A transaction besides the attempts of the wallet, and what it may take of the coin that pays its fees, at its dearest. */
export interface FeeElsewhere {
  readonly txHash: TxHash;
  readonly baseUnits: bigint;
}

/** A block of the stored chain with its own time. */
export interface TimedBlock extends Pick<BlockHeader, 'height' | 'hash'> {
  readonly timeMs: number;
}

/** Position of the scanner. */
export interface ScanCursor {
  readonly seen: TimedBlock;
  readonly verified: TimedBlock;
  /** Whatever expires at this time or before is over: two final blocks are not earlier. Null: nothing is known to be. */
  readonly overMs: number | null;
  /** Of the verified block, where the chain ends transactions by epochs: all before it are over. Null elsewhere. */
  readonly epoch: number | null;
}

/** Those that no block holds, as far as the scanner has seen. */
export function inFlight(attempts: readonly OpenAttempt[]): readonly OpenAttempt[] {
  return attempts.filter(({ minedHeight }) => minedHeight === null);
}

/** Those whose time is over by the chain's final blocks, and that no block is known to hold: to be proven dead. */
export function overdue({
  attempts,
  cursor,
}: {
  readonly attempts: readonly OpenAttempt[];
  readonly cursor: ScanCursor | null;
}): readonly OpenAttempt[] {
  return inFlight(attempts).filter(({ validity }) => isOver(validity, cursor));
}

/** What ends a transaction, of its validity. */
export type End = Pick<Validity, 'expiresMs' | 'epochs'>;

/** Whether what ends so can be in no block but those that the own scan has verified: by the chain's time, or by its epochs. */
export function isOver(
  { expiresMs, epochs }: End,
  cursor: Pick<ScanCursor, 'overMs' | 'epoch'> | null,
): boolean {
  if (epochs !== undefined) return (cursor?.epoch ?? null) !== null && (cursor?.epoch ?? 0) > epochs.last;
  return (cursor?.overMs ?? null) !== null && expiresMs <= (cursor?.overMs ?? 0);
}

/** Whether the next block may take it, as far as the own scan has seen. */
export function mayLand({ expiresMs, epochs }: End, cursor: ScanCursor | null): boolean {
  return epochs === undefined
    ? expiresMs > (cursor?.seen.timeMs ?? 0)
    : !isOver({ expiresMs, epochs }, cursor);
}
