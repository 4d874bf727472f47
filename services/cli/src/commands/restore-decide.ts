import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { backupError } from '@opentill/db/backup/backup-error';
import { readNetworks } from '../read-networks.ts';
import { adoptPayment } from '../backup/store/adopt-payment.ts';
import { decideDoubtful, setGuard } from '../backup/store/decide-doubtful-payout.ts';
import { readFates } from '../families.ts';
import { bookLostOrder } from '../backup/store/book-lost-order.ts';
import { isDepositAddress } from '../backup/store/deposits.ts';
import { isSame } from '../backup/match-transactions.ts';
import { DECIDING_ROLES, requireOperator } from '../backup/require-operator.ts';
import { findPayouts, readPayments, type StoredPayment } from '../backup/store/restored-rows.ts';
import { notFound, usage, type CliContext } from '../context.ts';
import { readAnchor } from '../reconcile/store/read-chain-ledger.ts';
import { withOwnerDatabase } from '../open-database.ts';

/** Base58 hashes are case-sensitive. */
const HEX = /^(0x)?[0-9a-f]{64}$/i;

export interface PaymentDecision {
  readonly order?: string;
  readonly orderLost?: boolean;
  /** Set by commander: false with --no-guard. */
  readonly guard: boolean;
  readonly reason: string;
}

/**
 * The order must have the same receiver, token and amount. A payment of a lost order may be assigned later, after its
 * merchant has created the order again.
 */
export async function decidePayment(
  context: CliContext,
  txHash: string,
  options: PaymentDecision,
): Promise<void> {
  if ((options.order === undefined) === (options.orderLost !== true))
    throw usage('Give either --order <order> or --order-lost.');
  await withOwnerDatabase(context, async (db) => {
    const by = await requireOperator(context, db, DECIDING_ROLES);
    const [payment] = await readPayments(db, {
      txHash: HEX.test(txHash) ? txHash.toLowerCase() : txHash,
      all: true,
    });
    if (payment === undefined)
      throw notFound(`No payment to decide has the hash ${txHash}; opentill restore reconcile lists them.`);
    if (await isDepositAddress(db, payment))
      throw usage(
        `${txHash} was sent by a deposit address, which pays no orders: name cold storage with restore reconcile --cold.`,
      );
    const decided = { by, reason: options.reason };
    if (options.order === undefined) {
      const guards = options.guard;
      if (payment.decision === 'ORDER_LOST') {
        await setGuard(db, payment, guards, decided);
        context.print(
          guards ? 'An equal payout will wait for an operator.' : 'Equal payouts are paid from now on.',
        );
        return;
      }
      const { fate, network } = await readOutcome(context, db, payment);
      await bookLostOrder(db, payment, fate, network, { ...decided, guards });
      context.print(
        `${txHash} is booked as paid for a lost order${guards ? '; an equal payout will wait for an operator' : ''}.`,
      );
      return;
    }
    const payout = await findOnePayout(db, options.order);
    const { pays } = payment;
    if (pays === undefined || pays === null || !isSame(pays, payout.pays))
      throw usage(`${txHash} differs from ${options.order} in receiver, token or amount.`);
    await db.transaction().execute(async (tx) => adoptPayment(tx, payment, payout.orderPk, decided));
    context.print(
      `${txHash} is the payment of ${payout.orderId}; the scanner and the tracker settle it like every payout.`,
    );
  });
}

export interface PayoutDecision {
  readonly pay?: boolean;
  readonly refuse?: boolean;
  readonly reason: string;
}

/** Decides a payout that was unsigned at the backup and that no transaction has paid. */
export async function decidePayout(
  context: CliContext,
  order: string,
  options: PayoutDecision,
): Promise<void> {
  if ((options.pay === true) === (options.refuse === true)) throw usage('Give either --pay or --refuse.');
  const decision = options.pay === true ? 'PAY' : 'REFUSE';
  await withOwnerDatabase(context, async (db) => {
    const by = await requireOperator(context, db, DECIDING_ROLES);
    const payout = await findOnePayout(db, order);
    await decideDoubtful(db, payout, decision, { by, reason: options.reason });
    context.print(
      `${payout.orderId} is ${decision === 'PAY' ? 'paid' : 'refused'} when its wallet is released.`,
    );
  });
}

async function findOnePayout(db: Db, order: string) {
  const [payout, another] = await findPayouts(db, order);
  if (payout === undefined) throw notFound(`No payout has the order id or key ${order}.`);
  if (another !== undefined) throw usage(`Several merchants have an order ${order}: give the order's key.`);
  return payout;
}

async function readOutcome(
  context: CliContext,
  db: Db,
  { chain, wallet, txHash, pays }: StoredPayment,
): Promise<{ readonly fate: TransactionFate; readonly network: NetworkConfig }> {
  const networks = await readNetworks(context);
  const network = networks.find((one) => one.chain === chain);
  const anchor = await readAnchor(db, chain);
  if (network === undefined || anchor === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `${chain} is not configured, or no block of it is verified`);
  const moved = pays ?? { contract: null, to: wallet, amount: 0n };
  const [fate] = await readFates(network, anchor, [{ txHash, wallet, pays: moved }]);
  if (fate === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `two sources do not agree on the outcome of ${txHash}`, {
      retryable: true,
    });
  return { fate, network };
}
