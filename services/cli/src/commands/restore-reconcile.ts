import { readNetworkFile } from '@opentill/contracts/read-network-file';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase, type Db } from '@opentill/db/database';
import { formatAmount } from '@opentill/domain/money';
import { sql } from 'kysely';
import { backupError } from '@opentill/db/backup/backup-error';
import { reconcileWallet, type WalletState } from '../backup/reconcile-wallet.ts';
import { MAY_RELEASE, requireOperator } from '../backup/require-operator.ts';
import { readHolds, type Hold, type NamedPayout, type StoredPayment } from '../backup/restore-store.ts';
import { requiredVariable } from '../config.ts';
import type { CliContext } from '../context.ts';
import { oneLine } from '../print-table.ts';

export interface ReconcileRestoreOptions {
  readonly chain?: string;
}

export interface ReleaseOptions extends ReconcileRestoreOptions {
  readonly reason: string;
}

/**
 * Holds every wallet that a restore stopped against its chain: takes over what is proven, and names what somebody has to
 * decide or wait for. Changes nothing on any chain. Wallets of a family that it can't read stay held, and hold up no others.
 * @throws GatewayError RESTORE_NOT_RECONCILED while something is open
 */
export async function reconcileRestore(context: CliContext, options: ReconcileRestoreOptions): Promise<void> {
  await withOwnersDatabase(context, async (db) => {
    const states = await readStates(context, db, options);
    const open = states.filter(isOpen).length;
    const stays = states.filter(({ isReadable }) => !isReadable).length;
    if (open > stays || (open > 0 && open === states.length))
      throw backupError(
        'RESTORE_NOT_RECONCILED',
        `${open} of ${states.length} held wallets are not reconciled.`,
        { retryable: true },
      );
    context.print(
      states.length === 0
        ? 'No wallet is held.'
        : stays === 0
          ? 'Nothing is open. opentill restore release lets them sign again.'
          : `Nothing else is open. opentill restore release lets all but ${stays} of ${states.length} sign again.`,
    );
  });
}

/**
 * Lets the wallets sign again whose chains have been reconciled, in the name of an operator. Reconciles once more before. Those
 * that can't be reconciled stay held.
 * @throws GatewayError RESTORE_NOT_RECONCILED when something is open: then nothing is released
 */
export async function releaseRestore(context: CliContext, options: ReleaseOptions): Promise<void> {
  await withOwnersDatabase(context, async (db) => {
    const operator = await requireOperator(context, db, MAY_RELEASE);
    const states = await readStates(context, db, options);
    const readable = states.filter(({ isReadable }) => isReadable);
    if (readable.some(isOpen) || (states.length > 0 && readable.length === 0))
      throw backupError('RESTORE_NOT_RECONCILED', 'Nothing is released: see above what is open.', {
        retryable: true,
      });
    for (const { hold } of readable) await release(db, hold, operator, options.reason);
    context.print(`${readable.length} wallets sign again, released by ${operator}.`);
    if (readable.length < states.length)
      context.print(`${states.length - readable.length} stay held: see above.`);
  });
}

async function readStates(
  context: CliContext,
  db: Db,
  { chain }: ReconcileRestoreOptions,
): Promise<readonly WalletState[]> {
  const networks = await readNetworkFile(requiredVariable(context, 'NETWORKS_FILE'), context.env);
  const states: WalletState[] = [];
  for (const hold of await readHolds(db)) {
    if (chain !== undefined && hold.chain !== chain) continue;
    const network = networks.find((one) => one.chain === hold.chain && (one.enabled || chain !== undefined));
    if (network === undefined) {
      context.print(
        `${hold.chain} ${hold.wallet}: held; not enabled in the network file, so nothing is asked or released.`,
      );
      continue;
    }
    const state = await reconcileWallet(db, network, hold);
    for (const line of describeState(state, network)) context.print(line);
    states.push(state);
  }
  return states;
}

function isOpen({ waitsFor, payments, payouts }: WalletState): boolean {
  return waitsFor.length + payments.length + payouts.length > 0;
}

function describeState(state: WalletState, network: NetworkConfig): readonly string[] {
  const { hold, waitsFor, payments, payouts, adopted, silent } = state;
  const open = waitsFor.length + payments.length + payouts.length;
  return [
    `${hold.chain} ${hold.wallet}: ${open === 0 ? 'reconciled' : `${open} open`}${adopted === 0 ? '' : `, ${adopted} payments recognised`}`,
    ...silent.map((label) => `  note: ${label} does not say what waits in its pool`),
    ...waitsFor.map((what) => `  waits for ${what}`),
    ...payments.map((payment) => `  decide payment ${describePayment(payment, network)}`),
    ...payouts.map((payout) => `  decide payout ${describePayout(payout)}`),
  ];
}

function describePayment({ txHash, nonce, pays, blockTime }: StoredPayment, network: NetworkConfig): string {
  const what =
    pays === undefined
      ? 'not a payment'
      : pays === null
        ? 'moves nothing'
        : `${amountOf(pays, network)} to ${pays.to}`;
  return `${txHash} (nonce ${nonce}, ${blockTime.toISOString()}): ${what}; --order <order>, or --order-lost`;
}

function amountOf({ contract, amount }: NonNullable<StoredPayment['pays']>, network: NetworkConfig): string {
  const token = network.tokens.find((one) => (one.contract?.toLowerCase() ?? null) === contract);
  if (token !== undefined)
    return `${formatAmount(amount, token.decimals, token.displayDecimals)} ${token.symbol}`;
  if (contract === null) return `${formatAmount(amount, network.nativeDecimals, 0)} ${network.nativeSymbol}`;
  return `${amount} base units of ${contract}`;
}

function describePayout(payout: NamedPayout): string {
  const { orderPk, orderId, merchantId, pays, symbol, decimals, displayDecimals, expiresAt } = payout;
  const until =
    expiresAt === null ? 'waited for approval' : `could be signed until ${expiresAt.toISOString()}`;
  const amount = formatAmount(pays.amount, decimals, displayDecimals);
  return `${orderPk} (${oneLine(orderId)} of ${merchantId}): ${amount} ${symbol} to ${pays.to}, ${until}; no transaction pays it; --pay or --refuse`;
}

/** All at once: the hold, the halt that says so, and the lease, which the next signer then takes. */
async function release(
  db: Db,
  { restoreId, chain, wallet }: Hold,
  operator: string,
  reason: string,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`
      update restore_hold set released_at = clock_timestamp(), released_by = ${operator}, released_reason = ${reason}
      where restore_id = ${restoreId} and chain = ${chain} and wallet = ${wallet} and released_at is null`.execute(
      tx,
    );
    await sql`
      update wallet_halt set released_at = clock_timestamp(), released_by = ${operator}, released_reason = ${reason}
      where chain = ${chain} and wallet = ${wallet} and set_by = 'opentill restore' and released_at is null`.execute(
      tx,
    );
    await sql`
      update signer.lease set expires_at = clock_timestamp()
      where name = ${`wallet/${chain}/${wallet}`} and holder = ${`restore ${restoreId}`}`.execute(tx);
    await sql`
      insert into audit_entry (operator, action, subject, outcome, details)
      values (${operator}, 'releaseRestore', ${`${chain}/${wallet}`}, 'DONE', ${JSON.stringify({ restoreId, reason })})`.execute(
      tx,
    );
  });
}

/** The database as its owner: these rows are nobody else's to write. */
export async function withOwnersDatabase<T>(context: CliContext, work: (db: Db) => Promise<T>): Promise<T> {
  const url = requiredVariable(context, 'DATABASE_ADMIN_URL');
  const database = openDatabase({ url, applicationName: 'opentill-restore', poolMax: 2 });
  try {
    return await work(database.kysely);
  } finally {
    await database.close();
  }
}
