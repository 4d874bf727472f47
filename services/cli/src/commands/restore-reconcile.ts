import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { formatAmount } from '@opentill/domain/money';
import { backupError } from '@opentill/db/backup/backup-error';
import { withOwnerDatabase } from '../open-database.ts';
import { progressPrinter } from '../print-progress.ts';
import { readNetworks } from '../read-networks.ts';
import { reconcileWallet } from '../backup/reconcile-wallet.ts';
import { RELEASING_ROLES, requireOperator } from '../backup/require-operator.ts';
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
  /** Added to the destinations of sweeps in the backup. */
  readonly cold?: readonly string[];
}

export interface ReleaseOptions extends ReconcileRestoreOptions {
  readonly reason: string;
}

/**
 * Sends no transaction. Wallets that cannot be read, or that only wait for time, stay held and block no others.
 * @throws GatewayError RESTORE_NOT_RECONCILED while a question is open
 */
export async function reconcileRestore(context: CliContext, options: ReconcileRestoreOptions): Promise<void> {
  await withOwnerDatabase(context, async (db) => {
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
          ? 'No question is open. opentill restore release lets them sign again.'
          : `No other question is open. opentill restore release lets all but ${stays} of ${states.length} sign again.`,
    );
  });
}

/** Reconciles once more first. @throws GatewayError RESTORE_NOT_RECONCILED when a question is open: releases none */
export async function releaseRestore(context: CliContext, options: ReleaseOptions): Promise<void> {
  await withOwnerDatabase(context, async (db) => {
    const operator = await requireOperator(context, db, RELEASING_ROLES);
    const { states, waitsForDeposits } = await readStates(context, db, options);
    const ready = states.filter((state) => !staysHeld(state));
    if (waitsForDeposits || ready.some(isOpen) || (states.length > 0 && ready.length === 0))
      throw backupError('RESTORE_NOT_RECONCILED', 'No wallet was released: see the open questions above.', {
        retryable: true,
      });
    for (const { hold } of ready) await releaseHold(db, hold, operator, options.reason);
    context.print(`${ready.length} wallets sign again, released by ${operator}.`);
    if (ready.length < states.length) context.print(`${states.length - ready.length} stay held: see above.`);
  });
}

interface RestoreStates {
  readonly states: readonly WalletState[];
  /** The open question belongs to no single wallet. */
  readonly waitsForDeposits: boolean;
}

/** Reads hot wallets first: they sent the fees of sweeps, which then need no decision. */
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
        `${hold.chain} ${hold.wallet}: held; not enabled in the network file, so it is neither read nor released.`,
      );
      continue;
    }
    const onProgress = progressPrinter(context, (height) => `${hold.chain}: read up to block ${height}`);
    found.push({ hold, network, ...(await reconcileWallet(db, network, hold, onProgress)) });
  }
  const deposits: { readonly state: DepositState; readonly network: NetworkConfig }[] = [];
  for (const { hold, network } of found) {
    if (deposits.some((one) => one.network === network)) continue; // once per chain
    const places = cold.map((address) => canonicalContract(network.family, address));
    deposits.push({ state: await reconcileDeposits(db, network, hold, places), network });
  }
  const states: WalletState[] = [];
  for (const one of found) {
    const { hold } = one;
    const payments = await readPayments(db, { hold });
    const payouts = await readDoubtful(db, hold);
    // Payments of deposit addresses are printed with the others of their chain.
    const state = { ...one, payments: (await isDepositAddress(db, hold)) ? [] : payments, payouts };
    for (const line of describeState(state)) context.print(line);
    states.push(state);
  }
  for (const line of deposits.flatMap(({ state, network }) => describeDeposits(state, network)))
    context.print(line);
  // A chain whose wallets only wait for time does not block others, and neither do its deposit addresses.
  const isHeld = new Set(states.filter(staysHeld).map(({ hold }) => hold.chain));
  const open = deposits.filter(({ state }) => state.waitsFor.length > 0 && !isHeld.has(state.chain));
  return { states, waitsForDeposits: open.length > 0 };
}

function describeDeposits(
  { chain, waitsFor, adopted, unknownReceivers }: DepositState,
  network: NetworkConfig,
): readonly string[] {
  if (waitsFor.length + adopted + unknownReceivers.length === 0) return [];
  return [
    `${chain} deposit addresses: ${waitsFor.length === 0 ? 'reconciled' : `${waitsFor.length} open`}${adopted === 0 ? '' : `, ${adopted} movements recognised`}`,
    ...waitsFor.map((what) => `  waits for ${what}`),
    ...(waitsFor.length === 0
      ? []
      : [
          '  note: payments of the hot wallet for their fees are recognised afterwards; decide none of them before',
        ]),
    ...unknownReceivers.map(
      ({ txHash, wallet, pays }) =>
        `  note: ${txHash} of ${wallet}: ${pays === undefined || pays === null ? 'no payment' : `${describeAmount(pays, network)} to ${pays.to}, which no sweep in the backup names; if it is cold storage, add --cold ${pays.to}`}`,
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
    ...silent.map((label) => `  note: ${label} does not report its pool`),
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
        ? 'moves no money'
        : `${describeAmount(pays, network)} to ${pays.to}`;
  const place = nonce === null ? `block ${blockHeight}` : `nonce ${nonce}`;
  return `${txHash} (${place}, ${blockTime.toISOString()}): ${what}; --order <order>, or --order-lost`;
}

function describeAmount(
  { contract, amount }: NonNullable<StoredPayment['pays']>,
  network: NetworkConfig,
): string {
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
