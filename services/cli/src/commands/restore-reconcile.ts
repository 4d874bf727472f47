import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { formatAmount } from '@opentill/domain/money';
import { backupError } from '@opentill/db/backup/backup-error';
import { withOwnersDatabase } from '../open-database.ts';
import { progressPrinter } from '../print-progress.ts';
import { readNetworks } from '../read-networks.ts';
import { reconcileWallet } from '../backup/reconcile-wallet.ts';
import { MAY_RELEASE, requireOperator } from '../backup/require-operator.ts';
import { isDepositAddress } from '../backup/store/deposits.ts';
import { releaseHold } from '../backup/store/release-hold.ts';
import { reconcileDeposits, type DepositState } from '../backup/reconcile-deposits.ts';
import {
  readDoubtful,
  readHolds,
  readPayments,
  type NamedPayout,
  type StoredPayment,
} from '../backup/store/restored-rows.ts';
import { staysHeld, type WalletProof, type WalletState } from '../backup/wallet-state.ts';
import { canonicalContract, findTokenOf } from '../families.ts';
import type { CliContext } from '../context.ts';
import { oneLine } from '../print-table.ts';

export interface ReconcileRestoreOptions {
  readonly chain?: string;
  /** Cold storage that no sweep of the backup went to. */
  readonly cold?: readonly string[];
}

export interface ReleaseOptions extends ReconcileRestoreOptions {
  readonly reason: string;
}

/**
 * Holds every wallet that a restore stopped against its chain: takes over what is proven, and names what somebody has to
 * decide or wait for. Changes nothing on any chain. Wallets of a family that it can't read stay held, and those that wait for a time
 * alone; neither holds up others.
 * @throws GatewayError RESTORE_NOT_RECONCILED while something is open
 */
export async function reconcileRestore(context: CliContext, options: ReconcileRestoreOptions): Promise<void> {
  await withOwnersDatabase(context, async (db) => {
    const { states, waitsForDeposits } = await readStates(context, db, options);
    const open = states.filter(isOpen).length;
    const stays = states.filter(staysHeld).length;
    if (waitsForDeposits)
      throw backupError('RESTORE_NOT_RECONCILED', 'Deposit addresses are not reconciled.', {
        retryable: true,
      });
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
 * that can't be reconciled, or whose time has not come, stay held.
 * @throws GatewayError RESTORE_NOT_RECONCILED when something is open: then nothing is released
 */
export async function releaseRestore(context: CliContext, options: ReleaseOptions): Promise<void> {
  await withOwnersDatabase(context, async (db) => {
    const operator = await requireOperator(context, db, MAY_RELEASE);
    const { states, waitsForDeposits } = await readStates(context, db, options);
    const ready = states.filter((state) => !staysHeld(state));
    if (waitsForDeposits || ready.some(isOpen) || (states.length > 0 && ready.length === 0))
      throw backupError('RESTORE_NOT_RECONCILED', 'Nothing is released: see above what is open.', {
        retryable: true,
      });
    for (const { hold } of ready) await releaseHold(db, hold, operator, options.reason);
    context.print(`${ready.length} wallets sign again, released by ${operator}.`);
    if (ready.length < states.length) context.print(`${states.length - ready.length} stay held: see above.`);
  });
}

interface RestoreStates {
  readonly states: readonly WalletState[];
  /** Something is open of deposit addresses, which belong to no one wallet. */
  readonly waitsForDeposits: boolean;
}

/** Wallets first: what the hot ones sent brought fees to deposit addresses, which takes it out of what is to be decided. */
async function readStates(
  context: CliContext,
  db: Db,
  { chain, cold = [] }: ReconcileRestoreOptions,
): Promise<RestoreStates> {
  const networks = await readNetworks(context);
  const found: Pick<WalletState, 'hold' | 'network' | keyof WalletProof>[] = [];
  for (const hold of await readHolds(db)) {
    if (chain !== undefined && hold.chain !== chain) continue;
    const network = networks.find((one) => one.chain === hold.chain && (one.enabled || chain !== undefined));
    if (network === undefined) {
      context.print(
        `${hold.chain} ${hold.wallet}: held; not enabled in the network file, so nothing is asked or released.`,
      );
      continue;
    }
    // Blocks of a day take some minutes.
    const onProgress = progressPrinter(context, (height) => `${hold.chain}: read up to block ${height}`);
    found.push({ hold, network, ...(await reconcileWallet(db, network, hold, onProgress)) });
  }
  const deposits: { readonly state: DepositState; readonly network: NetworkConfig }[] = [];
  for (const { hold, network } of found) {
    if (deposits.some((one) => one.network === network)) continue; // once for a chain
    const places = cold.map((address) => canonicalContract(network.family, address));
    deposits.push({ state: await reconcileDeposits(db, network, hold, places), network });
  }
  const states: WalletState[] = [];
  for (const one of found) {
    const { hold } = one;
    const payments = await readPayments(db, { hold });
    const payouts = await readDoubtful(db, hold);
    // What a deposit address paid is told of with the others.
    const state = { ...one, payments: (await isDepositAddress(db, hold)) ? [] : payments, payouts };
    for (const line of describeState(state)) context.print(line);
    states.push(state);
  }
  for (const line of deposits.flatMap(({ state, network }) => describeDeposits(state, network)))
    context.print(line);
  // A chain whose wallets wait for its time alone holds up no other, and what its addresses wait for neither.
  const isHeld = new Set(states.filter(staysHeld).map(({ hold }) => hold.chain));
  const open = deposits.filter(({ state }) => state.waitsFor.length > 0 && !isHeld.has(state.chain));
  return { states, waitsForDeposits: open.length > 0 };
}

function describeDeposits(
  { chain, waitsFor, adopted, strange }: DepositState,
  network: NetworkConfig,
): readonly string[] {
  if (waitsFor.length + adopted + strange.length === 0) return [];
  return [
    `${chain} deposit addresses: ${waitsFor.length === 0 ? 'reconciled' : `${waitsFor.length} open`}${adopted === 0 ? '' : `, ${adopted} movements recognised`}`,
    ...waitsFor.map((what) => `  waits for ${what}`),
    ...(waitsFor.length === 0
      ? []
      : [
          '  note: payments of the hot wallet that brought fees there are recognised then; decide about none before',
        ]),
    ...strange.map(
      ({ txHash, wallet, pays }) =>
        `  note: ${txHash} of ${wallet}: ${pays === undefined || pays === null ? 'no payment' : `${amountOf(pays, network)} to ${pays.to}, where no sweep of the backup went; if that is cold storage, say --cold ${pays.to}`}`,
    ),
  ];
}

function isOpen({ waitsFor, payments, payouts }: WalletState): boolean {
  return waitsFor.length + payments.length + payouts.length > 0;
}

function describeState(state: WalletState): readonly string[] {
  const { hold, network, waitsFor, payments, payouts, adopted, silent } = state;
  const open = waitsFor.length + payments.length + payouts.length;
  return [
    `${hold.chain} ${hold.wallet}: ${open === 0 ? 'reconciled' : `${open} open`}${adopted === 0 ? '' : `, ${adopted} payments recognised`}`,
    ...silent.map((label) => `  note: ${label} does not say what waits in its pool`),
    ...waitsFor.map((what) => `  waits for ${what}`),
    ...payments.map((payment) => `  decide payment ${describePayment(payment, network)}`),
    ...payouts.map((payout) => `  decide payout ${describePayout(payout)}`),
  ];
}

function describePayment(
  { txHash, nonce, pays, blockHeight, blockTime }: StoredPayment,
  network: NetworkConfig,
): string {
  const what =
    pays === undefined
      ? 'not a payment'
      : pays === null
        ? 'moves nothing'
        : `${amountOf(pays, network)} to ${pays.to}`;
  const place = nonce === null ? `block ${blockHeight}` : `nonce ${nonce}`;
  return `${txHash} (${place}, ${blockTime.toISOString()}): ${what}; --order <order>, or --order-lost`;
}

function amountOf({ contract, amount }: NonNullable<StoredPayment['pays']>, network: NetworkConfig): string {
  const token = findTokenOf(network, contract);
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
