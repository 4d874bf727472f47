import { evmFamily } from '@opentill/chain-evm/family';
import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import type { Address } from '@opentill/chain/address-codec';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import type { Db } from '@opentill/db/database';
import { writeAudit } from '@opentill/db/operators';
import { baseUnits } from '@opentill/domain/money';
import { GatewayError } from '@opentill/domain/gateway-error';
import { sql } from 'kysely';
import { adoptPayment } from '../backup/adopt-payment.ts';
import { backupError } from '@opentill/db/backup/backup-error';
import { bookLost } from '../backup/book-lost.ts';
import { isDepositAddress } from '../backup/deposit-store.ts';
import { isSame } from '../backup/match-forgotten.ts';
import { MAY_DECIDE, requireOperator } from '../backup/require-operator.ts';
import { findPayouts, readPayments, type StoredPayment } from '../backup/restore-store.ts';
import { requiredVariable } from '../config.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { readAnchor } from '../reconcile/read-books.ts';
import { withOwnersDatabase } from './restore-reconcile.ts';

const FAMILIES = [evmFamily, suiFamily, tronFamily] as const;
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
      if (payment.decision === 'ORDER_LOST')
        return setGuard(context, db, payment, { ...decided, guards: options.guard });
      const { fate, network } = await readFate(context, db, payment);
      await db
        .transaction()
        .execute(async (tx) => bookLost(tx, payment, fate, network, { ...decided, guards: options.guard }));
      context.print(
        `${txHash} is booked as paid for an order that is lost${options.guard ? '; a payout like it will wait for you' : ''}.`,
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
    const operator = await requireOperator(context, db, MAY_DECIDE);
    const { orderPk, orderId } = await theOnlyPayout(db, order);
    await db.transaction().execute(async (tx) => {
      const { rows } = await sql`
        update doubtful_payout set decision = ${decision}, decided_by = ${operator}, decided_reason = ${options.reason},
          decided_at = clock_timestamp()
        where order_pk = ${orderPk} and decision is null returning order_pk`.execute(tx);
      if (rows.length === 0)
        throw backupError('RESTORE_NOT_RECONCILED', `${orderId} is decided already, or was never in doubt`);
      if (decision === 'PAY')
        await sql`
          update payout p set waiting_since = case p.state when 'REQUESTED' then clock_timestamp() end, expires_at = clock_timestamp() + (o.expires_at - o.created_at),
            version = p.version + 1, updated_at = clock_timestamp()
          from orders o where o.order_pk = p.order_pk and p.order_pk = ${orderPk}
            and p.state in ('REQUESTED', 'AUTHORISED', 'SIGNED')`.execute(tx);
      else
        await sql`
          insert into payout_veto (order_pk, operator, reason) values (${orderPk}, ${operator}, ${options.reason})
          on conflict do nothing`.execute(tx);
      await writeAudit(tx, {
        operator,
        action: 'decideDoubtfulPayout',
        subject: orderPk,
        outcome: 'DONE',
        details: { decision, reason: options.reason },
        requestId: null,
      });
    });
    context.print(`${orderId} is ${decision === 'PAY' ? 'paid' : 'refused'} when its wallet is released.`);
  });
}

async function setGuard(
  context: CliContext,
  db: Db,
  { chain, txHash }: StoredPayment,
  { by, reason, guards }: { readonly by: string; readonly reason: string; readonly guards: boolean },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`update forgotten_payment set guards = ${guards}, decided_by = ${by}, decided_reason = ${reason},
      decided_at = clock_timestamp() where chain = ${chain} and tx_hash = ${txHash} and decision = 'ORDER_LOST'`.execute(
      tx,
    );
    await writeAudit(tx, {
      operator: by,
      action: 'guardForgottenPayment',
      subject: null,
      outcome: 'DONE',
      details: { chain, txHash, guards, reason },
      requestId: null,
    });
  });
  context.print(guards ? 'A payout like it will wait for you.' : 'Payouts like it are paid from now on.');
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
  const networks = await readNetworkFile(requiredVariable(context, 'NETWORKS_FILE'), context.env);
  const network = networks.find((one) => one.chain === chain);
  const family = FAMILIES.find((one) => one.addressCodec.family === network?.family);
  if (network !== undefined && family === undefined)
    throw usage(`Payments on ${chain} can't be decided: what becomes of them can't be read there.`);
  const anchor = await readAnchor(db, chain);
  if (network === undefined || family === undefined || anchor === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `${chain} is not configured, or nothing of it is verified`);
  const own = {
    txHash: txHash as TxHash,
    from: wallet,
    contract: (pays?.contract ?? null) as TokenContract | null,
    to: (pays?.to ?? wallet) as Address,
    amountBaseUnits: baseUnits(pays?.amount ?? 0n),
  };
  const { fates } = await family
    .createReader(network, {})
    .readFates([own], { atHeight: anchor.height, neverAlone: true });
  const [fate] = fates;
  if (fate === undefined)
    throw backupError('RESTORE_NOT_RECONCILED', `two sources do not say alike what became of ${txHash}`, {
      retryable: true,
    });
  return { fate, network };
}

function notFound(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('NOT_FOUND', message, { retryable: false });
}

function usage(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('CLI_USAGE', message, { retryable: false });
}
