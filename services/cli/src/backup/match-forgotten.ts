/** A transaction of a held wallet that the restored database does not know, as far as matching goes. */
export interface ForgottenPayment {
  readonly txHash: string;
  /** Null where transactions have none. */
  readonly nonce: number | null;
  /** Null: it moved nothing, from the wallet to itself. Undefined: nothing that this gateway signs. */
  readonly pays: Payment | null | undefined;
  readonly blockTime: Date;
}

export interface Payment {
  /** Null: the native coin. */
  readonly contract: string | null;
  readonly to: string;
  readonly amount: bigint;
}

/** Who has a nonce that is not final, as the restored database has it. */
export interface KnownNonce {
  readonly nonce: number;
  /** What was signed with it; undefined: nothing yet. */
  readonly signed: { readonly orderPk: string; readonly pays: Payment } | 'CANCEL' | undefined;
}

/** A payout that was unsigned when the backup was taken. */
export interface DoubtfulPayout {
  readonly orderPk: string;
  readonly pays: Payment;
  readonly requestedAt: Date;
  /** Until when it could be signed; null: it waited for operators, and its clock stood. */
  readonly expiresAt: Date | null;
}

export interface Match {
  readonly txHash: string;
  /** Null: it only used its nonce up. */
  readonly orderPk: string | null;
}

/**
 * Which forgotten transactions are certainly whose. In words:
 *
 * | nonce, as restored          | the transaction                                | is                                         |
 * |-----------------------------|------------------------------------------------|--------------------------------------------|
 * | signed for a payout         | pays just that                                 | that payout's: its fees were raised later  |
 * | signed for a cancel         | moves nothing                                  | that cancel's                              |
 * | signed                      | anything else                                  | for the operator: somebody else has the key|
 * | free, or never given out    | moves nothing                                  | a cancel                                   |
 * | free, or never given out    | pays what unsigned payouts ask for, in a block | the oldest such payout's                   |
 * |                             | between their request and their expiry         |                                            |
 * | free, or never given out    | anything else                                  | for the operator: its order is forgotten   |
 *
 * Payouts of the same amount to the same receiver are as good as one another: each transaction settles one of them. Where there
 * are no nonces each transaction is as one of a nonce that was never given out, in the order in which they are given.
 */
export function matchForgotten(
  forgotten: readonly ForgottenPayment[],
  nonces: readonly KnownNonce[],
  doubtful: readonly DoubtfulPayout[],
): readonly Match[] {
  const known = new Map(nonces.map((one) => [one.nonce, one.signed]));
  const left = doubtful.toSorted((a, b) => a.requestedAt.getTime() - b.requestedAt.getTime());
  return forgotten
    .toSorted((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0))
    .flatMap((payment): readonly Match[] => {
      const { txHash, pays, nonce } = payment;
      const signed = nonce === null ? undefined : known.get(nonce);
      if (pays === undefined) return [];
      if (signed === 'CANCEL') return pays === null ? [{ txHash, orderPk: null }] : [];
      if (signed !== undefined)
        return pays !== null && isSame(pays, signed.pays) ? [{ txHash, orderPk: signed.orderPk }] : [];
      if (pays === null) return [{ txHash, orderPk: null }];
      const place = left.findIndex(
        (payout) => isSame(pays, payout.pays) && wasOpen(payout, payment.blockTime),
      );
      const [payout] = place === -1 ? [] : left.splice(place, 1);
      return payout === undefined ? [] : [{ txHash, orderPk: payout.orderPk }];
    });
}

/** Clocks of chains and databases differ by less. */
const CLOCKS_DIFFER_MS = 60_000;

function wasOpen({ requestedAt, expiresAt }: DoubtfulPayout, blockTime: Date): boolean {
  const at = blockTime.getTime();
  return at >= requestedAt.getTime() - CLOCKS_DIFFER_MS && (expiresAt === null || at <= expiresAt.getTime());
}

export function isSame(a: Payment, b: Payment): boolean {
  return a.to === b.to && a.amount === b.amount && a.contract === b.contract;
}
