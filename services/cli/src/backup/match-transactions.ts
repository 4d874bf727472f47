/** A transaction of a held wallet that the restored database does not know. */
export interface UnknownTransaction {
  readonly txHash: string;
  readonly nonce: number | null;
  /** Null: from the wallet to itself, without money. Undefined: no transaction that this gateway signs. */
  readonly pays: Payment | null | undefined;
  readonly blockTime: Date;
}

export interface Payment {
  readonly contract: string | null;
  readonly to: string;
  readonly amount: bigint;
}

export interface KnownNonce {
  readonly nonce: number;
  /** Undefined: no payment was signed with it yet. */
  readonly signed: { readonly orderPk: string; readonly pays: Payment } | 'CANCEL' | undefined;
}

export interface DoubtfulPayout {
  readonly orderPk: string;
  readonly pays: Payment;
  readonly requestedAt: Date;
  /** End of the time in which it could be signed; null: it waited for operators, and its clock stood still. */
  readonly expiresAt: Date | null;
}

export interface Match {
  readonly txHash: string;
  /** Null: it only used up its nonce. */
  readonly orderPk: string | null;
}

/**
 * Finds the transactions whose order is certain.
 *
 * | nonce, as restored   | the transaction                              | belongs to                                 |
 * |----------------------|----------------------------------------------|--------------------------------------------|
 * | signed for a payout   | makes the same payment                       | that payout: its fees were raised later    |
 * | signed for a cancel   | moves no money                               | that cancel                                |
 * | signed                | anything else                                | undecided: another party has the key       |
 * | free, or never used   | moves no money                               | a cancel                                   |
 * | free, or never used   | equals unsigned payouts, in a block between  | the oldest such payout                     |
 * |                       | their request and their expiry               |                                            |
 * | free, or never used   | anything else                                | undecided: its order is not in the backup  |
 *
 * The operator decides the undecided ones. Payouts of the same amount to the same receiver are interchangeable: each
 * transaction settles one of them. On chains without nonces each transaction counts as one with a nonce that was
 * never used, in the order given.
 */
export function matchTransactions(
  forgotten: readonly UnknownTransaction[],
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

/** Between the clocks of chains and databases. */
const CLOCKS_DIFFER_MS = 60_000;

function wasOpen({ requestedAt, expiresAt }: DoubtfulPayout, blockTime: Date): boolean {
  const at = blockTime.getTime();
  return at >= requestedAt.getTime() - CLOCKS_DIFFER_MS && (expiresAt === null || at <= expiresAt.getTime());
}

export function isSame(a: Payment, b: Payment): boolean {
  return a.to === b.to && a.amount === b.amount && a.contract === b.contract;
}
