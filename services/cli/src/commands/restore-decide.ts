import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { backupError } from '@opentill/db/backup/backup-error';
import { readNetworks } from '../read-networks.ts';
import { adoptPayment } from '../backup/store/adopt-payment.ts';
import { decideDoubtful, setGuard } from '../backup/store/decide.ts';
import { readFates } from '../families.ts';
import { bookLost } from '../backup/store/book-lost.ts';
import { isDepositAddress } from '../backup/store/deposits.ts';
import { isSame } from '../backup/match-forgotten.ts';
import { MAY_DECIDE, requireOperator } from '../backup/require-operator.ts';
import { findPayouts, readPayments, type StoredPayment } from '../backup/store/restored-rows.ts';
import { notFound, usage, type CliContext } from '../context.ts';
import { readAnchor } from '../reconcile/store/read-books.ts';
import { withOwnersDatabase } from '../open-database.ts';

/** Elsewhere the case of a letter is part of the name. */
const HEX = /^(0x)?[0-9a-f]{64}$/i;

export interface PaymentDecision {
  readonly order?: string;
  readonly orderLost?: boolean;
  /** Commander's: false with --no-guard. */
  readonly guard: boolean;
  readonly reason: string;
}

/**
 * Says whose a forgotten payment was: an order's that asks for just that, or one's that no database knows any more. What was
 * said to be lost may be said to be an order's later, when its merchant has made the order anew.
 * @throws GatewayError NOT_FOUND, CLI_USAGE, RESTORE_NOT_RECONCILED
 */
export async function decidePayment(
  context: CliContext,
  txHash: string,
  options: PaymentDecision,
): Promise<void> {
  if ((options.order === undefined) === (options.orderLost !== true))
    throw usage('Give either --order <order> or --order-lost.');
  await withOwnersDatabase(context, async (db) => {
    const by = await requireOperator(context, db, MAY_DECIDE);
    const [payment] = await readPayments(db, {
      txHash: HEX.test(txHash) ? txHash.toLowerCase() : txHash,
      all: true,
    });
    if (payment === undefined) throw notFound(`No forgotten payment has the hash ${txHash}.`);
    if (await isDepositAddress(db, payment))
      throw usage(
        `${txHash} is of a deposit address, which pays nobody's orders: name cold storage with restore reconcile --cold.`,
      );
    const decided = { by, reason: options.reason };
    if (options.order === undefined) {
      const guards = options.guard;
      if (payment.decision === 'ORDER_LOST') {
        await setGuard(db, payment, guards, decided);
        context.print(
          guards ? 'A payout like it will wait for you.' : 'Payouts like it are paid from now on.',
        );
        return;
      }
      const { fate, network } = await readFate(context, db, payment);
      await bookLost(db, payment, fate, network, { ...decided, guards });
      context.print(
        `${txHash} is booked as paid for an order that is lost${guards ? '; a payout like it will wait for you' : ''}.`,
      );
      return;
    }
    const payout = await theOnlyPayout(db, options.order);
    const { pays } = payment;
    if (pays === undefined || pays === null || !isSame(pays, payout.pays))
      throw usage(`${txHash} does not pay what ${options.order} asks for.`);
    await db.transaction().execute(async (tx) => adoptPayment(tx, payment, payout.orderPk, decided));
    context.print(
      `${txHash} is the payment of ${payout.orderId}; it goes the way of every payout from here.`,
    );
  });
}

export interface PayoutDecision {
  readonly pay?: boolean;
  readonly refuse?: boolean;
  readonly reason: string;
}

/**
 * Says what becomes of a payout that was unsigned when the backup was taken and that no transaction has paid: it is paid
 * now, its time beginning anew, or refused.
 * @throws GatewayError NOT_FOUND, CLI_USAGE, RESTORE_NOT_RECONCILED
 */
export async function decidePayout(
  context: CliContext,
  order: string,
  options: PayoutDecision,
): Promise<void> {
  if ((options.pay === true) === (options.refuse === true)) throw usage('Give either --pay or --refuse.');
  const decision = options.pay === true ? 'PAY' : 'REFUSE';
  await withOwnersDatabase(context, async (db) => {
    const by = await requireOperator(context, db, MAY_DECIDE);
    const payout = await theOnlyPayout(db, order);
    await decideDoubtful(db, payout, decision, { by, reason: options.reason });
    context.print(
      `${payout.orderId} is ${decision === 'PAY' ? 'paid' : 'refused'} when its wallet is released.`,
    );
  });
}

async function theOnlyPayout(db: Db, order: string) {
  const [payout, another] = await findPayouts(db, order);
  if (payout === undefined) throw notFound(`No payout has the order id or key ${order}.`);
  if (another !== undefined) throw usage(`Several merchants have an order ${order}: give its key.`);
  return payout;
}

/** What the transaction did, by two sources at a verified block. */
async function readFate(
  context: CliContext,
  db: Db,
  { chain, wallet, txHash, pays }: StoredPayment,
): Promise<{ readonly fate: TransactionFate; readonly network: NetworkConfig }> {
  const networks = await readNetworks(context);
  const network = networks.find((one) => one.chain === chain);
  const anchor = await readAnchor(db, chain);
  if (network === undefined || anchor === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `${chain} is not configured, or nothing of it is verified`);
  const moved = pays ?? { contract: null, to: wallet, amount: 0n };
  const [fate] = await readFates(network, anchor, [{ txHash, wallet, pays: moved }]);
  if (fate === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `two sources do not say alike what became of ${txHash}`, {
      retryable: true,
    });
  return { fate, network };
}
