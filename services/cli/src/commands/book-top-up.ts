import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import {
  bookMeasuredTopUp,
  ownerBalance,
  readTopUp,
  type TopUp,
  type TopUpErrorCode,
} from '@opentill/db/top-ups';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readNetworks } from '../read-networks.ts';
import { requiredVariable } from '../config.ts';
import { cliError, usage, type CliContext } from '../context.ts';
import { withOpsDatabase } from '../open-database.ts';
import type { Reason } from '../add-command.ts';
import { callOps, printList } from '../ops-client.ts';
import { unexplainedRest } from '../reconcile/compare-hot-wallets.ts';
import { createComparison } from '../reconcile/create-comparison.ts';
import { displayAmount } from '../reconcile/display-amount.ts';
import { shownOf, type ShowOptions } from './ops/read-options.ts';

interface TopUpOptions {
  readonly chain: string;
  readonly symbol: string;
  readonly amount: string;
  readonly txid: string;
}

/**
 * Native coin that is not an asset of orders is booked as coin for fees. Two nodes must show that the hot wallets hold
 * the amount beyond the ledger at the verified block. Idempotent by transaction, also if the scanner sees it.
 */
export async function recordTopUp(context: CliContext, options: TopUpOptions): Promise<void> {
  const file = requiredVariable(context, 'NETWORKS_FILE');
  const networks = await readNetworks(context, file);
  const network = networks.find((n) => n.chain === options.chain);
  if (network === undefined) {
    throw usage(`${options.symbol} on ${options.chain} is not configured in ${file}.`);
  }
  const topUp = readTopUp(network, options);
  const isNew = await withOpsDatabase(context, (db) => bookIfHeld(db, network, topUp, options));
  context.print(
    isNew
      ? `Booked ${options.amount} ${topUp.symbol} on ${topUp.chain}: ${topUp.ref}`
      : 'Already booked; nothing changed.',
  );
}

async function bookIfHeld(
  db: Db,
  network: NetworkConfig,
  topUp: TopUp,
  { chain, symbol, amount, txid }: TopUpOptions,
): Promise<boolean> {
  const owner = await ownerBalance(db, topUp.chain, topUp.symbol);
  const isBooked = (await bookMeasuredTopUp(db, topUp)) === 'BEFORE';
  const asOfHeight = isBooked ? undefined : await requireHeld(db, network, topUp);
  return db.transaction().execute(async (tx) => {
    const measured = asOfHeight === undefined ? undefined : { asOfHeight, owner };
    const outcome = await bookMeasuredTopUp(tx, topUp, measured);
    if (outcome === 'MOVED')
      throw cliError(
        'GAS_BOOKED_MEANWHILE',
        `${topUp.symbol} on ${topUp.chain} was booked by another command at the same time; nothing was booked now. Run it again.`,
        { retryable: true },
      );
    const booked = outcome === 'BOOKED';
    const details = { chain, symbol, amount, txid, booked };
    await writeAuditOfDatabaseUser(tx, { action: 'bookTopUp', subject: chain, details });
    return booked;
  });
}

/** Returns the height at which the hot wallets hold the amount beyond the ledger. Throws TOP_UP_NOT_COVERED. */
async function requireHeld(db: Db, network: NetworkConfig, topUp: TopUp): Promise<number> {
  const nothing = () => undefined;
  const work = { db, network, paidOnly: true, hotOnly: true, onProgress: nothing, onRead: nothing };
  const found = await createComparison(work)();
  if (found === undefined)
    throw notCovered(
      `${network.chain}: no scanner has verified a block yet. Start the services, then book the top-up.`,
    );
  const { books, lines } = found;
  const line = lines.find(({ symbol, what }) => symbol === topUp.symbol && what === 'hot wallets');
  const beyond = line === undefined ? 0n : unexplainedRest(line);
  if (beyond >= topUp.amountBaseUnits) return books.anchor.height;
  const shown = (value: bigint): string => displayAmount(books, topUp.symbol, value);
  throw notCovered(
    `At block ${books.anchor.height} the hot wallets hold ${shown(beyond)} more than the ledger, not ${shown(topUp.amountBaseUnits)}. Check the transaction, or wait until its block is verified.`,
  );
}

function notCovered(message: string): GatewayError<TopUpErrorCode> {
  return new GatewayError('TOP_UP_NOT_COVERED', message, { retryable: false });
}

export async function undoTopUp(
  context: CliContext,
  input: Reason & { readonly ref: string },
): Promise<void> {
  const { reversed, amountBaseUnits, symbol, chain } = await callOps(context, 'reverseTopUp', input);
  context.print(
    reversed
      ? `Reversed ${amountBaseUnits} base units of ${symbol} on ${chain}.`
      : 'Already reversed; nothing changed.',
  );
}

const SHOWN_MAX = 1_000;

export async function listTopUps(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listTopUps', shownOf(options), SHOWN_MAX, (t) => [
    t.ref,
    t.amount ?? `${t.amountBaseUnits} base units`,
    t.symbol,
    t.bookedAt,
    t.state,
  ]);
}
